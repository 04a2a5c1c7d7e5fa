"""One table of examples for every op, used to test gradients, values, dtypes and devices.

A case is the name of an op, its input arrays and its settings.  An op without a case fails the tests, so a new op
starts here.  Besides a typical case there is one for each thing that could go wrong: broadcasting, a mask, an empty
dimension or one of length 1, large values.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import autograd
from autograd.registry import OPS as REGISTERED

OPS = {name: op for name, op in REGISTERED.items() if (op.__module__ or "").startswith("autograd.")}


@dataclass(frozen=True)
class Case:
    """op(*inputs, **settings); if the op takes a list, inputs are its elements; a setting `rng` is a seed."""

    op: str
    inputs: tuple[Any, ...]
    settings: dict[str, Any] = field(default_factory=dict)
    label: str = ""

    def arguments(self) -> dict[str, Any]:
        """The settings with a new generator, so that each call samples the same random numbers."""
        return {k: np.random.default_rng(v) if k == "rng" else v for k, v in self.settings.items()}

    def run(self, *inputs: Any) -> Any:
        """Run the op on other inputs of the same kind, such as Tensors."""
        inputs = (list(inputs),) if self.op in ("concatenate", "stack") else inputs
        return getattr(autograd, self.op)(*inputs, **self.arguments())

    def __str__(self) -> str:
        return f"{self.op}-{self.label}" if self.label else self.op


class Samples:
    """Random inputs for cases.  Each case starts from the same seed, so that a new one does not change the others."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng([seed, 1])  # not default_rng(0), which tests use: the values would be the same
        self.start = self.rng.bit_generator.state

    def case(self, op: str, *inputs: Any, label: str = "", **settings: Any) -> Case:
        self.rng.bit_generator.state = self.start
        return Case(op, inputs, settings, label)

    def normal(self, *shape: int) -> np.ndarray:
        return self.rng.normal(size=shape)

    def positive(self, *shape: int) -> np.ndarray:
        return self.rng.uniform(0.5, 2.0, size=shape)

    def mixture(self, *batch: int, n: int, k: int, D: int, spread: float = 1.0) -> tuple[np.ndarray, ...]:
        log_pi = np.log(self.rng.dirichlet(np.ones(k), size=batch))
        points, mu = self.normal(*batch, n, D) * spread, self.normal(*batch, k, D)
        return points, log_pi, mu, self.positive(*batch, k, D)


def elementwise(make: Samples) -> Iterator[Case]:
    case, normal, positive = make.case, make.normal, make.positive
    for op in ("add", "subtract", "multiply", "maximum", "minimum"):
        yield case(op, normal(3, 4), normal(3, 4))
        yield case(op, normal(2, 1, 4), normal(3, 1), label="broadcast")
        yield case(op, normal(3, 4), normal(), label="0-d")
        yield case(op, normal(0, 4), normal(1, 4), label="empty")
        yield case(op, normal(1), normal(1, 1), label="size 1")
    yield case("divide", normal(3, 4), positive(3, 4))
    yield case("divide", normal(2, 1, 4), -positive(3, 1), label="broadcast")
    yield case("divide", normal(0, 4), positive(4), label="empty")
    yield case("power", positive(3, 4), normal(3, 4))
    yield case("power", positive(2, 1, 4), normal(3, 1), label="broadcast")
    yield case("power", normal(3, 4), 3, label="integer exponent")
    yield case("power", normal(3, 4), 0, label="exponent 0")
    yield case("power", 2.5, normal(3, 4), label="number to a Tensor")
    yield case("power", positive(0, 4), normal(4), label="empty")
    for op in ("negative", "exp", "abs", "tanh", "sigmoid", "softplus", "relu"):
        yield case(op, normal(3, 4))
        yield case(op, normal(), label="0-d")
        yield case(op, normal(2, 0, 3), label="empty")
    yield case("sigmoid", np.array([-800.0, -30.0, 30.0, 800.0]), label="large")
    yield case("softplus", np.array([-800.0, -30.0, 30.0, 800.0]), label="large")
    for op in ("log", "sqrt"):
        yield case(op, positive(3, 4))
        yield case(op, positive(1, 1), label="size 1")
        yield case(op, positive(2, 0), label="empty")
    yield case("where", make.rng.random((3, 4)) < 0.5, normal(3, 4), normal(3, 4))
    yield case("where", make.rng.random((3, 1)) < 0.5, normal(4), normal(2, 1, 1), label="broadcast")
    yield case("where", make.rng.random((3, 4)) < 0.5, normal(3, 4), 0.0, label="number")
    yield case("clip", 2 * normal(3, 4), low=-1.0, high=1.0)
    yield case("clip", 2 * normal(3, 4), low=0.5, label="from below")
    yield case("clip", normal(0, 2), high=1.0, label="empty")
    yield case("clip", 2 * normal(3, 4), -positive(3, 1), positive(4), label="array bounds")
    yield case("clip", normal(4), 0.1 + normal(2, 3, 1), label="broadcast to the bound")
    yield case("clip", normal(3, 4), 2.0 + positive(3, 4), 1.0 + normal(3, 4) / 9, label="low above high")
    yield case("astype", normal(3, 4), dtype="float64")
    yield case("to_device", normal(3, 4), device="cpu")


def reductions(make: Samples) -> Iterator[Case]:
    case, normal = make.case, make.normal
    for op in ("sum", "mean", "max", "min", "var", "logsumexp"):
        yield case(op, normal(3, 4))
        yield case(op, normal(2, 3, 4), axis=1, label="axis")
        yield case(op, normal(2, 3, 4), axis=(0, -1), label="two axes")
        yield case(op, normal(2, 3, 4), axis=-2, keepdims=True, label="keepdims")
        yield case(op, normal(2, 1), axis=1, label="size 1")
        yield case(op, normal(0, 3), axis=1, label="empty batch")
    yield case("sum", normal(2, 0), axis=1, label="no elements")
    yield case("logsumexp", normal(2, 0), axis=1, label="no elements")
    yield case("logsumexp", 1e4 * normal(3, 4), axis=1, label="large")
    yield case("max", np.array([[1.0, 5.0, 2.0], [4.0, 3.0, 0.0]]), axis=0, label="integers")
    yield case("var", normal(3, 4), axis=0, ddof=1, label="unbiased")
    yield case("std", normal(3, 4), axis=0, ddof=1)
    yield case("std", normal(2, 3, 4), axis=(0, -1), keepdims=True, label="two axes, keepdims")


def shape(make: Samples) -> Iterator[Case]:
    case, normal = make.case, make.normal
    yield case("reshape", normal(3, 4), shape=(2, 6))
    yield case("reshape", normal(3, 4), shape=(2, -1, 3), label="-1")
    yield case("reshape", normal(0, 4), shape=(2, 0), label="empty")
    yield case("transpose", normal(2, 3, 4))
    yield case("transpose", normal(2, 3, 4), axes=(1, -1, 0), label="axes")
    yield case("transpose", normal(0, 3), label="empty")
    yield case("swapaxes", normal(2, 3, 4), axis1=0, axis2=-1)
    yield case("broadcast_to", normal(3, 1), shape=(2, 3, 4))
    yield case("broadcast_to", normal(1), shape=(0, 3), label="to an empty shape")
    yield case("concatenate", normal(2, 3), normal(1, 3), normal(0, 3))
    yield case("concatenate", normal(2, 3), normal(2, 1), axis=-1, label="axis")
    yield case("stack", normal(2, 3), normal(2, 3))
    yield case("stack", normal(2, 3), normal(2, 3), normal(2, 3), axis=-1, label="axis")
    yield case("split", normal(6, 2), sections=3)
    yield case("split", normal(2, 6), sections=[1, 1, 4], axis=-1, label="at indices")
    yield case("split", normal(2, 0), sections=2, axis=1, label="empty")
    for label, index in {
        "integer": 1,
        "negative": -1,
        "slice": slice(None, None, 2),
        "reversed": slice(None, None, -1),
        "tuple": (1, slice(1, 3)),
        "new axis": (slice(None), None, 2),
        "ellipsis": (Ellipsis, 0),
        "array": np.array([2, 0, 1]),
        "repeats": np.array([1, 1, 0, 1]),
        "pairs": (np.array([0, 2, 2]), np.array([3, 1, 1])),
        "mixed": (slice(None), np.array([[0, 0], [1, 3]])),
        "list": [0, 0],
        "tuple of repeats": (slice(None), (1, 1, 3)),
        "mask": np.array([True, False, True]),
        "full mask": make.rng.random((3, 4)) < 0.5,
        "empty mask": np.zeros(3, dtype=bool),
    }.items():
        yield case("getitem", normal(3, 4), index=index, label=label)
    yield case("pad", normal(2, 3), widths=[(1, 2), (0, 1)])
    yield case("pad", normal(0, 3), widths=[(1, 0), (0, 0)], value=-1.0, label="empty")


def products(make: Samples) -> Iterator[Case]:
    case, normal = make.case, make.normal
    for label, x, y in (
        ("", (3, 4), (4, 2)),
        ("batch", (5, 3, 4), (5, 4, 2)),
        ("broadcast", (2, 1, 3, 4), (5, 4, 2)),
        ("one matrix per head", (2, 3, 4, 5), (3, 5, 2)),
        ("row", (4,), (5, 4, 2)),
        ("column", (5, 3, 4), (4,)),
        ("vectors", (4,), (4,)),
        ("empty", (3, 0), (0, 2)),
        ("empty batch", (0, 3, 4), (4, 2)),
    ):
        yield case("matmul", normal(*x), normal(*y), label=label)
    for label, subscripts, x, y in (
        ("", "ij,jk->ik", (3, 4), (4, 2)),
        ("implicit", "ij,jk", (3, 4), (4, 2)),
        ("batch", "bnd,bmd->bnm", (2, 3, 4), (2, 5, 4)),
        ("outer", "i,j->ji", (3,), (4,)),
        ("letters of one operand", "ijk,jl->k", (2, 3, 4), (3, 5)),
        ("to a scalar", "ij,ij->", (3, 4), (3, 4)),
    ):
        yield case("einsum", subscripts, normal(*x), normal(*y), label=label)
    yield case("linear", normal(3, 4), normal(4, 2), normal(2))
    yield case("linear", normal(2, 3, 4), normal(4, 2), label="no bias")
    yield case("linear", normal(4), normal(4, 2), normal(2), label="vector")
    yield case("linear", normal(0, 3, 4), normal(4, 2), normal(2), label="empty")
    yield case("linear", normal(2, 3, 1), normal(1, 1), normal(1), label="size 1")


def normalization_and_images(make: Samples) -> Iterator[Case]:
    case, normal, positive = make.case, make.normal, make.positive
    yield case("softmax", normal(3, 4))
    yield case("softmax", normal(2, 3, 4), axis=1, label="axis")
    yield case("softmax", 1e4 * normal(3, 4), label="large")
    yield case("softmax", normal(2, 0), label="empty")
    yield case("softmax", normal(2, 1), label="size 1")
    one_row_masked = np.array([[True, False, True], [False, False, False]])
    yield case("softmax", normal(2, 3), mask=one_row_masked, label="masked")
    yield case("log_softmax", normal(3, 4))
    yield case("log_softmax", normal(2, 3, 4), axis=0, label="axis")
    yield case("log_softmax", 1e4 * normal(3, 4), label="large")
    yield case("log_softmax", normal(2, 0), label="empty")
    yield case("layer_norm", normal(3, 4), normal(4), normal(4))
    yield case("layer_norm", normal(2, 3, 4), label="no parameters")
    yield case("layer_norm", normal(2, 3, 4), normal(4), eps=0.1, label="gamma only")
    yield case("layer_norm", normal(0, 4), normal(4), normal(4), label="empty")
    yield case("layer_norm", normal(2, 1), normal(1), normal(1), label="size 1")
    yield case("batch_norm", normal(5, 3), normal(3), normal(3))
    yield case("batch_norm", normal(2, 3, 4, 4), normal(3), normal(3), label="images")
    yield case("batch_norm", normal(2, 4, 3), axis=-1, label="no parameters")
    statistics = (normal(3), positive(3))
    frozen = {"statistics": statistics, "frozen": True}
    yield case("batch_norm", normal(5, 3), normal(3), normal(3), **frozen, label="frozen")
    yield case("batch_norm", normal(4, 3, 1, 1), normal(3), label="one pixel")
    yield case("conv2d", normal(2, 3, 5, 6), normal(4, 3, 3, 2), normal(4))
    yield case("conv2d", normal(2, 3, 5, 6), normal(4, 3, 3, 3), stride=2, padding=1, label="stride 2")
    yield case(
        "conv2d", normal(1, 1, 6, 5), normal(2, 1, 2, 3), normal(2), stride=(3, 1), padding=(0, 2), label="pairs"
    )
    yield case("conv2d", normal(2, 1, 1, 1), normal(1, 1, 1, 1), label="size 1")
    yield case("conv2d", normal(3, 2, 1, 1), normal(2, 2, 3, 3), normal(2), stride=2, padding=1, label="one pixel")
    yield case("conv2d", normal(2, 2, 7, 7), normal(3, 2, 2, 2), normal(3), stride=3, label="gaps between windows")
    yield case("conv2d", normal(2, 2, 3, 4), normal(3, 2, 1, 1), normal(3), padding=2, label="windows of padding only")
    yield case("conv2d", normal(0, 2, 4, 4), normal(3, 2, 3, 3), normal(3), label="empty batch")


def pooling(make: Samples) -> Iterator[Case]:
    case, normal = make.case, make.normal
    mask = np.array([[True, True, False], [False, False, False]])
    for op in ("mean_pool", "max_pool"):
        yield case(op, normal(2, 3, 4))
        yield case(op, normal(2, 3, 4), mask=mask, label="masked")
        yield case(op, normal(2, 3, 4, 2), axis=1, mask=mask, label="axis")
        yield case(op, normal(2, 0, 4), label="empty set")
        yield case(op, normal(2, 0, 4), mask=np.ones((2, 0), bool), label="empty set, masked")
        yield case(op, normal(2, 1, 4), label="size 1")
        yield case(op, normal(3, 4), axis=0, label="one set")
    yield case("dropout", normal(3, 4), p=0.4, rng=1)
    yield case("dropout", normal(3, 4), p=0.0, rng=1, label="nothing dropped")


def attention(make: Samples) -> Iterator[Case]:
    case, normal = make.case, make.normal
    mask = np.array([[True, True, False], [False, False, False]])
    q, k, v = normal(2, 4, 5, 3), normal(2, 4, 3, 3), normal(2, 4, 3, 2)
    yield case("attention", q, k, v)
    yield case("attention", q, k, v, scale=0.3, mask=mask, label="masked")
    yield case("attention", q, k, v, mask=make.rng.random((2, 1, 5, 3)) < 0.5, label="mask of pairs")
    yield case("attention", normal(1, 4, 5, 3), k, v, mask=mask, label="shared queries")
    yield case("attention", q[:, 0], k[:, 0], v[:, 0], mask=mask, label="one head, masked")
    yield case("attention", q[0, 0], k[:, 0], v[:, 0], mask=mask, label="queries of one set, masked")
    yield case("attention", q[:, 0], k[0, 0], v[0, 0], mask=mask, label="keys of one set, masked")
    yield case("attention", q, k[:1], v[:1], mask=make.rng.random((2, 1, 5, 3)) < 0.5, label="shared keys")
    yield case("attention", normal(5, 3), normal(2, 3), normal(2, 3), mask=np.array([True, False]), label="one set")
    yield case("attention", 100 * q, 100 * k, v, label="large")
    yield case("attention", q, k[:, :, :1], v[:, :, :1], label="one key")
    yield case("attention", q, k[:, :, :0], v[:, :, :0], label="no key")
    yield case("attention", q[:, :, :0], k, v, label="no query")
    yield case("attention", q[:0], k[:0], v[:0], mask=mask[:0], label="no set")
    yield case("split_heads", normal(2, 5, 6), heads=3)
    yield case("split_heads", normal(5, 4), heads=1, label="one head, one set")
    yield case("split_heads", normal(2, 0, 4), heads=2, label="empty set")
    yield case("join_heads", normal(2, 3, 5, 2))
    yield case("join_heads", normal(1, 5, 4), label="one head, one set")
    yield case("join_heads", normal(2, 2, 0, 2), label="empty set")


def losses(make: Samples) -> Iterator[Case]:
    case, normal, positive = make.case, make.normal, make.positive
    for op in ("absolute_error", "squared_error"):
        yield case(op, normal(3, 4), normal(3, 4))
        yield case(op, normal(3, 4), normal(3, 4), reduction="sum", label="sum")
        yield case(op, normal(0, 4), normal(0, 4), label="empty")
    yield case("cross_entropy", normal(3, 4), labels=np.array([0, 3, 1]))
    yield case(
        "cross_entropy", normal(2, 3, 4), labels=make.rng.integers(4, size=(2, 3)), reduction="none", label="none"
    )
    yield case("cross_entropy", 1e4 * normal(3, 4), labels=np.array([0, 3, 1]), reduction="sum", label="large")
    yield case("cross_entropy", normal(0, 4), labels=np.zeros(0, dtype=int), label="empty")
    yield case("cross_entropy", normal(3, 1), labels=np.zeros(3, dtype=int), label="size 1")
    yield case("binary_cross_entropy_with_logits", normal(3, 4), make.rng.random((3, 4)))
    yield case("binary_cross_entropy_with_logits", 1e3 * normal(5), make.rng.random(5), reduction="none", label="large")
    yield case("binary_cross_entropy_with_logits", normal(0), normal(0), reduction="sum", label="empty")
    yield case("poisson_negative_log_likelihood", positive(6), count=np.array([0, 1, 2, 5, 10, 0]))
    yield case("poisson_negative_log_likelihood", positive(2), count=np.array([3, 0]), reduction="none", label="none")
    yield case("poisson_negative_log_likelihood", positive(0), count=np.zeros(0, dtype=int), label="empty")
    name = "gaussian_mixture_log_likelihood"
    yield case(name, *make.mixture(2, n=4, k=3, D=2))
    yield case(name, *make.mixture(n=4, k=3, D=2), label="one set")
    yield case(name, *make.mixture(2, n=1, k=1, D=1), label="size 1")
    yield case(name, *make.mixture(2, n=0, k=3, D=2), label="empty set")
    yield case(name, *make.mixture(2, n=3, k=2, D=2, spread=100.0), label="far away")
    yield case(name, *make.mixture(1, n=3, k=2, D=512), label="512 dimensions")


def make_cases(seed: int = 0) -> Iterator[Case]:
    """All cases, with random values from the seed."""
    sections = (elementwise, reductions, shape, products, normalization_and_images, pooling, attention, losses)
    for section in sections:
        yield from section(Samples(seed))


CASES = tuple(make_cases())
