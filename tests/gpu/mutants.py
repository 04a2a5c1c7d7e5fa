"""Kernels with one mistake each: a barrier less, off by one, a mask, a stride or nan forgotten, an index too short."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from autograd.kernels import adam, attention, bias, mixture, norm, pooling, softmax
from autograd.kernels.registry import Elementwise, Raw, Reduction

SOURCE = {Raw: "source", Elementwise: "operation", Reduction: "formula"}


@dataclass(frozen=True)
class Mutant:
    """In the n-th place of the CUDA text after the start of a function, one piece of text becomes another."""

    code: Raw | Elementwise | Reduction
    kernel: str  # whose cases are run
    function: str  # in which the mistake is made
    before: str
    after: str = ""
    place: int = 1
    survives: str = ""  # why it is not caught, if it is not

    def __str__(self) -> str:
        which = f" ({self.place})" if self.place > 1 else ""
        return f"{self.function}: {self.before}{which} -> {self.after or 'nothing'}"

    def text(self) -> str:
        source = getattr(self.code, SOURCE[type(self.code)])
        where = source.index(f" {self.function}(") if isinstance(self.code, Raw) else -1
        for _ in range(self.place):
            where = source.index(self.before, where + 1)
        return source[:where] + self.after + source[where + len(self.before) :]

    def install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        attributes = self.code.__dict__  # the class is frozen
        if not isinstance(self.code, Raw):  # which compiles on each new text, and the others once
            changed = dataclasses.replace(self.code, **{SOURCE[type(self.code)]: self.text()})
            monkeypatch.setitem(attributes, "compiled", changed.compiled)
        monkeypatch.setitem(attributes, SOURCE[type(self.code)], self.text())


def softmax_mutants() -> Iterator[Mutant]:
    def mutant(kernel: str, *change: str, **more: object) -> Mutant:
        return Mutant(softmax.CODE, kernel, more.pop("function", kernel), *change, **more)

    yield mutant("softmax_forward", "row >= rows", "row > rows")
    yield mutant("softmax_forward", "j < width", "j <= width")
    yield mutant("softmax_forward", "j < width", "j + 1 < width")
    yield mutant("softmax_forward", "j < width", "j + 1 < width", place=2)
    yield mutant("softmax_forward", "(!mask || mask[j]) && ")
    yield mutant("softmax_forward", " && (!mask || mask[j])")
    yield mutant("softmax_forward", "step = 16", "step = 8")
    yield mutant("softmax_forward", "exp(x[j] - t) / s", "exp(x[j] - t)")
    yield mutant("softmax_forward", "s != 0 && ")
    yield mutant("softmax_forward", " && x[j] != -T(CUDART_INF)")
    yield mutant("softmax_forward", "  if (other_s == 0) return;", function="combine")
    yield mutant("softmax_forward", "s * exp(t - u)", "s", function="combine")
    yield mutant("softmax_backward", "row >= rows", "row > rows")
    yield mutant("softmax_backward", "j < width", "j <= width")
    yield mutant("softmax_backward", "dot = sum_of_warp(dot)", "dot = dot")
    yield mutant("softmax_backward", "step = 16", "step = 8", function="sum_of_warp")
    yield mutant("softmax_backward", "y[j] * (g[j] - dot)", "y[j] * g[j] - dot")


def norm_mutants() -> Iterator[Mutant]:
    def mutant(kernel: str, *change: str, **more: object) -> Mutant:
        return Mutant(norm.CODE, kernel, kernel, *change, **more)

    yield mutant("norm_forward", "row >= rows", "row > rows")
    yield mutant("norm_forward", "j < d", "j <= d")
    yield mutant("norm_forward", "+ warp * d", "+ warp * (d - 1)")
    yield mutant("norm_forward", "if (r < 0) r = 0;")
    yield mutant("norm_forward", "r > 0", "r >= 1")
    yield mutant("norm_forward", "/ T(d)", "/ T(d - 1)", place=2)
    yield mutant("norm_forward", "s[j] -= mean;")
    yield mutant("norm_forward", " + T(eps)")
    yield mutant("norm_backward", "__syncthreads();")
    yield mutant("norm_backward", "__syncthreads();", "__syncwarp();")
    yield mutant("norm_backward", "__syncwarp();")
    yield mutant("norm_backward", "j < 3 * d", "j < 2 * d")
    yield mutant("norm_backward", "row += gridDim.x * (long long)warps", "row += gridDim.x")
    yield mutant("norm_backward", "row < rows", "row <= rows")
    yield mutant("norm_backward", "value * T(relu_mask[start + j])", "value")
    yield mutant("norm_backward", "value * T(relu_mask[start + j])", "relu_mask[start + j] ? value : T(0)")
    yield mutant("norm_forward", "r > 0", "r >= 0")
    yield mutant("norm_forward", "if (r < 0) r = 0;", "if (!(r > 0)) r = 0;")
    yield mutant("norm_forward", "b ? p[start + j] + b[j]", "b ? p[start + j] + b[0]")
    yield mutant("norm_backward", "relu_mask[start + j]", "relu_mask[j]")
    yield mutant("norm_backward", " * scale;", ";")
    yield mutant("norm_backward", "- z[j] * mean_projection", "")
    yield mutant("norm_backward", "w < warps", "w < warps - 1")


PREVIOUS = {"attention_forward": "operator()", "attention_queries": "attention_forward"}
PREVIOUS["attention_keys"] = "attention_queries"  # the function before it


def attention_mutants() -> Iterator[Mutant]:
    def mutant(part: str, *change: str, **more: object) -> Mutant:
        kernel = part if part == "attention_forward" else "attention_backward"
        return Mutant(attention.CODE, kernel, more.pop("function", part), *change, **more)

    for part in ("attention_forward", "attention_queries", "attention_keys"):
        for place in range(1, 4 if part == "attention_queries" else 3):
            yield mutant(part, "__syncthreads();", place=place)
            yield mutant(part, "__syncthreads();", "__syncwarp();", place=place)
        if part != "attention_forward":
            for place in range(1, 4 if part == "attention_keys" else 2):
                yield mutant(part, "__syncwarp();", place=place)
        yield mutant(part, "j < at.m", "j <= at.m")
        yield mutant(part, "&& visible(i, j)", "")
        yield mutant(part, "T(scale)", "T(1)")
    waited = (
        "the shuffles before it make the lanes wait too; that their writes are seen, the emulation takes for granted"
    )
    yield mutant("attention_forward", "__syncwarp();", survives=waited)
    yield mutant("attention_forward", "return visible.key(j);", "return true;")
    yield mutant("attention_forward", "output[r][c] *= decay")
    yield mutant("attention_forward", "s[r] * decay", "s[r]")
    yield mutant("attention_forward", "output[r][c] *= share")
    yield mutant("attention_forward", "top == -T(CUDART_INF) ? T(0) : top", "top")
    yield mutant("attention_forward", "T top = t[r]", "T top = -T(CUDART_INF)")
    yield mutant("attention_forward", "t[r] + log(s[r])", "log(s[r])")
    yield mutant("attention_forward", "LANES / 2", "LANES / 4", function="largest")
    yield mutant("attention_forward", "column < width", "column <= width", function="load")
    yield mutant("attention_forward", "first + row < rows", "first + row <= rows", function="load")
    yield mutant("attention_forward", "row < rows && column", "row <= rows && column", function="store")
    yield mutant("attention_queries", "return visible.key(j);", "return true;")
    yield mutant("attention_queries", "(gP[r][c] - d[r])", "gP[r][c]")
    yield mutant("attention_queries", "T(scale)", "T(1)", place=2)
    yield mutant("attention_keys", "L[i] != -T(CUDART_INF)", "true")
    yield mutant("attention_keys", "i < at.n &&", "")
    yield mutant("attention_keys", "query += TILE", "query += TILE + 1")
    yield mutant("attention_keys", "(gP[r][c] - delta[i])", "gP[r][c]")
    # masks and features that are strided, transposed, reversed, or different for each head
    for part, before, after in (
        ("attention_forward", "task.offset(at.key_mask)", "task.set * at.key_mask.set"),
        ("attention_queries", "task.offset(at.pair_mask)", "task.set * at.pair_mask.set"),
        ("attention_keys", "task.offset(at.pair_mask)", "task.head * at.pair_mask.head"),
        ("attention_forward", "key_mask[j * key_stride]", "key_mask[j]"),
        ("attention_queries", "j * pair_key_stride", "j"),
        ("attention_keys", "i * pair_query_stride", "i"),
    ):
        yield mutant(part, before, after, function="Visibility")
    for part, matrix, width in (
        ("attention_forward", "v", "f"),
        ("attention_queries", "k", "e"),
        ("attention_keys", "q", "e"),
    ):
        yield mutant(part, f"{matrix} += task.offset(at.{matrix})", f"{matrix} += task.set * at.{matrix}.set")
        yield mutant(part, f"at.{matrix}.row", f"at.{width}")
    yield mutant("attention_queries", "o[i * at.o.row + j]", "o[i * at.f + j]")
    # nan, -inf and exact zeros that are not masked
    yield mutant("attention_forward", "s[r] == 0 ? -T", "!(s[r] > 0) ? -T")
    yield mutant("attention_queries", " && L[i] != -T(CUDART_INF)")
    yield mutant("attention_keys", " && L[i] != -T(CUDART_INF)", place=1)
    yield mutant("attention_queries", "j < at.f; j++) d[r] += G[first + r][j] * o[i * at.o.row + j]",
                 "j < at.f; j++) d[r] += G[first + r][at.f - 1 - j] * o[i * at.o.row + at.f - 1 - j]")  # fmt: skip
    # more threads than the kernel was compiled for
    for part in ("attention_forward", "attention_queries", "attention_keys"):
        yield Mutant(attention.CODE, "attention_forward" if part == "attention_forward" else "attention_backward",
                     PREVIOUS[part], "__launch_bounds__(128, 2)", "__launch_bounds__(96, 2)")  # fmt: skip


def pooling_mutants() -> Iterator[Mutant]:
    def mutant(*change: str, **more: object) -> Mutant:
        return Mutant(pooling.FORWARD, "max_pool_forward", "max_pool_forward", *change, **more)

    yield mutant("set >= sets", "set > sets")
    yield mutant("element < n", "element <= n")
    yield mutant("element = 0", "element = 1")
    yield mutant("if (mask && !mask[element]) continue;")
    yield mutant("equal = 0;", "equal = equal;", place=2)
    yield mutant(" || (value != value && best == best)")
    yield mutant("where < 0 || ")
    yield mutant("T best = 0", "T best = -1")
    yield mutant("x[element * d]", "x[element]")

    def backward(*change: str) -> Mutant:
        return Mutant(pooling.BACKWARD, "max_pool_backward", "max_pool_backward", *change)

    yield backward("ties == 1 && ")
    yield backward("valid && ")
    yield backward("g / T(ties)", "g")
    yield backward("ties > 1", "ties > 2")


def bias_mutants() -> Iterator[Mutant]:
    yield Mutant(bias.ADD_RELU, "bias_relu", "bias_relu", "if (y < 0)", "if (!(y > 0))")
    yield Mutant(bias.ADD_RELU, "bias_relu", "bias_relu", "y += b", "y -= b")
    for code in (bias.RELU_GRADIENT, bias.SUM_RELU):
        kernel = "relu_backward" if code is bias.RELU_GRADIENT else "bias_backward"
        yield Mutant(code, kernel, kernel, "y > 0", "y >= 0")
        yield Mutant(code, kernel, kernel, "g * T(y > 0)", "y > 0 ? g : T(0)")


def adam_mutants() -> Iterator[Mutant]:
    for before, after in (
        ("decay * p", "decoupled * p"),
        ("decoupled * p", "decay * p"),
        ("c2 * g * g", "c2 * grad * grad"),
    ):
        yield Mutant(adam.CODE, "adam", "adam", before, after)


MUTANTS = [*softmax_mutants(), *norm_mutants(), *attention_mutants(), *pooling_mutants(), *bias_mutants()]
MUTANTS += adam_mutants()


# ---- indices of 32 bits ---------------------------------------------------------------------------------------------

INDICES = [  # (what is run, the code, the function, the index, the same in 32 bits)
    ("softmax_forward", softmax.CODE, "softmax_forward", "x += row * width", "x += int(row) * int(width)"),
    ("softmax_forward", softmax.CODE, "softmax_forward", "mask += row * width", "mask += int(row) * int(width)"),
    ("softmax_backward", softmax.CODE, "softmax_backward", "gx += row * width", "gx += int(row) * int(width)"),
    ("norm_forward", norm.CODE, "norm_forward", "start = row * d", "start = int(row) * int(d)"),
    ("norm_backward", norm.CODE, "norm_backward", "start = row * d", "start = int(row) * int(d)"),
    ("max_pool_forward", pooling.FORWARD, "max_pool_forward", "blockIdx.x * (long long)blockDim.x + threadIdx.x",
     "int(blockIdx.x * blockDim.x + threadIdx.x)"),
    ("max_pool_forward", pooling.FORWARD, "max_pool_forward", "set * n * d", "int(set) * int(n) * int(d)"),
    ("max_pool_backward", pooling.BACKWARD, "", "x[i]", "x[int(i)]"),
    ("mixture_forward", mixture.POSTERIOR, "", "r[i * k + j] += log_pi", "r[int(i) * int(k) + j] += log_pi"),
    ("attention_sets", attention.CODE, "offset", "set * strides.set", "int(set) * int(strides.set)"),
    ("attention_sets", attention.CODE, "query", "(set * at.heads + head) * at.n",
     "int(set * at.heads + head) * int(at.n)"),
    ("attention_queries", attention.CODE, "Task", "start = blockIdx.x % tiles * tile",
     "start = int(blockIdx.x % tiles * tile)"),
    ("attention_keys", attention.CODE, "store", "const long long row", "const int row"),
    ("attention_rows", attention.CODE, "load", "(first + row) * stride", "int(first + row) * int(stride)"),
    ("attention_rows", attention.CODE, "Visibility", "i * pair_query_stride", "int(i) * int(pair_query_stride)"),
    ("attention_rows", attention.CODE, "Visibility", "j * key_stride", "int(j) * int(key_stride)"),
    ("attention_rows", attention.CODE, "attention_queries", "i * at.o.row", "int(i) * int(at.o.row)"),
]  # fmt: skip
