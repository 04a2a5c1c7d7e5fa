"""The tables of docs/23-gpu.md: what each kernel takes of a multiprocessor, and what fusing saves.

    python -m tests.gpu.tables

needs what `make test-gpu` installs, and no GPU.
"""

from __future__ import annotations

import contextlib
import re

import numpy as np

from autograd import Tensor, attention, backend, forms, layer_norm
from autograd.kernels.registry import KERNELS, Raw
from minisets import ISAB, MAB, PMA, SAB
from tests.gpu import emulation


def kernels() -> None:
    """The list, with the form of each kernel."""
    print(f"{'kernel':20}{'form':24}sizes")
    for kernel in KERNELS.values():
        form = " + ".join(dict.fromkeys(type(code).__name__ for code in kernel.code)) or "cuBLAS"
        print(f"{kernel.name:20}{form:24}{kernel.sizes}")


def means(architectures: tuple[str, ...] = ("80", "90")) -> None:
    """Registers of a thread and static shared memory of a block, as the assembler reports them for float32."""
    from tests.gpu.nvrtc import compiled  # which imports CuPy

    print(f"\n{'function, float32':42}" + "".join(f"{'sm_' + name:>18}" for name in architectures))
    found: dict[str, list[str]] = {}
    for code in dict.fromkeys(code for kernel in KERNELS.values() for code in kernel.code if isinstance(code, Raw)):
        for architecture in architectures:
            for mangled, usage in compiled(code, "float32", architecture).items():
                name, D, tile = re.match(r"_Z\d+([a-z_]+)If(?:Li(\d+)ELi(\d+)E)?", mangled).groups()
                label = f"{name}<{D}, {tile}>" if D else name
                text = f"{usage.registers} reg, {usage.shared / 1024:.1f} KiB"
                found.setdefault(label, []).append(text)
    for label, texts in sorted(found.items(), key=lambda item: (item[0].split("<")[0], len(item[0]), item[0])):
        print(f"{label:42}" + "".join(f"{text:>18}" for text in texts))


def savings(B: int = 2, n: int = 64, d: int = 32, h: int = 4) -> None:
    """Forward and backward by kernels and by CuPy's own operations, counted on the emulation."""
    rng = np.random.default_rng(0)

    def tensor(*shape: int) -> Tensor:
        return Tensor(backend.to_device(rng.normal(size=shape).astype("float32"), "cuda"), requires_grad=True)

    X, heads = tensor(B, n, d), [tensor(B, h, n, d // h) for _ in range(3)]
    subjects = {
        f"attention ({B}, {h}, {n}, {d // h})": (attention, heads),
        f"layer_norm ({B}, {n}, {d})": (layer_norm, [X, tensor(d), tensor(d)]),
        f"MAB({d}, {h}) on ({B}, {n})": (MAB(d, d, d, h, rng=rng).to("cuda"), [X, tensor(B, n, d)]),
        f"SAB({d}, {h}) on ({B}, {n})": (SAB(d, d, h, rng=rng).to("cuda"), [X]),
        f"ISAB({d}, {h}), m = 16, on ({B}, {n})": (ISAB(d, d, h, 16, rng=rng).to("cuda"), [X]),
        f"PMA({d}, {h}), k = 4, on ({B}, {n})": (PMA(d, h, 4, rng=rng).to("cuda"), [X]),
    }
    print(f"\n{'forward and backward, float32':34}{'launches':>16}{'products':>16}{'KiB of arrays':>20}")
    for name, (function, inputs) in subjects.items():
        seed = backend.to_device(np.ones(function(*inputs).shape, "float32"), "cuda")
        counts = []
        for plain in (False, True):
            for leaf in [*inputs, *getattr(function, "parameters", list)()]:
                leaf.grad = None
            with forms.plain_forms() if plain else contextlib.nullcontext(), emulation.counting() as seen:
                function(*inputs).backward(seed)
            counts.append(seen.counts)
        fused, own = counts
        launches, products = (f"{getattr(fused, x)} of {getattr(own, x)}" for x in ("launches", "products"))
        bytes_ = f"{fused.bytes_handed / 1024:,.0f} of {own.bytes_handed / 1024:,.0f}"
        print(f"{name:34}{launches:>16}{products:>16}{bytes_:>20}")


if __name__ == "__main__":
    emulation.install()
    kernels()
    means()
    savings()
