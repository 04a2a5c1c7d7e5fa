"""Every block, baseline and architecture, small, under a name: what the self-test and tests of properties run over."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from autograd import Tensor
from minisets import ISAB, MAB, PMA, SAB, STYLES, Dotprod, Multihead, Pooling, build, rFF, rFFp
from minisets.architectures import ROWS
from minisets.nn import Module

D_IN, D = 3, 8


@dataclass(frozen=True)
class Subject:
    """A network on sets (B, n, D_IN) with a mask; equivariant ones keep the set, the others pool it."""

    name: str
    make: Callable[[np.random.Generator], Module]
    equivariant: bool

    def __str__(self) -> str:
        return self.name

    def net(self, seed: int = 0, dtype: str = "float64") -> Module:
        """In float64 and in evaluation; biases and scales are drawn too, so that nothing is zero or one by chance."""
        rng = np.random.default_rng(seed)
        net = self.make(rng).astype(dtype).eval()
        for p in net.parameters():
            p.data += 0.1 * rng.normal(size=p.shape)
        return net


class PMAOnInput(Module):
    """PMA after a row-wise layer, since PMA itself keeps its width."""

    def __init__(self, rng: np.random.Generator, **choices) -> None:
        self.rff, self.pma = rFF(D_IN, D, rng=rng), PMA(D, 2, 2, rng=rng, **choices)

    def forward(self, X, mask=None):
        return self.pma(self.rff(X, mask), mask)


class CrossMAB(Module):
    """MAB as a function of the set that answers; those who ask are learned."""

    def __init__(self, rng: np.random.Generator, **choices) -> None:
        self.X = Tensor(rng.normal(size=(4, 2)), requires_grad=True)
        self.mab = MAB(2, D_IN, D, 2, rng=rng, **choices)

    def forward(self, Y, mask=None):
        return self.mab(self.X, Y, mask)


class CrossAttention(Module):
    """Multihead as a function of the set that answers, with keys and values of different projections."""

    def __init__(self, rng: np.random.Generator, **choices) -> None:
        self.Q = Tensor(rng.normal(size=(4, 2)), requires_grad=True)
        self.multihead = Multihead(2, D_IN, D, 2, rng=rng, **choices)

    def forward(self, Y, mask=None):
        return self.multihead(self.Q, Y, Y * 2.0, mask)


def subjects() -> list[Subject]:
    found = [
        Subject("rFF", lambda rng: rFF(D_IN, D, D, rng=rng), True),
        Subject("Pooling-mean", lambda rng: Pooling(D_IN, "mean"), False),
        Subject("Pooling-sum", lambda rng: Pooling(D_IN, "sum"), False),
        Subject("Pooling-max", lambda rng: Pooling(D_IN, "max"), False),
        Subject("Dotprod", lambda rng: Dotprod(D_IN, rng=rng), False),
    ]
    for pooling in ("mean", "sum", "max"):
        for form in ("matrix", "scalar"):
            found.append(
                Subject(
                    f"rFFp-{pooling}-{form}",
                    lambda rng, p=pooling, f=form: rFFp(D_IN, D, D, pooling=p, form=f, rng=rng),
                    True,
                )
            )
    variants = {style: {"style": style} for style in STYLES} | {
        "authors-ln": {"style": "authors", "ln": True},
        "paper-set": {"normalise": "set"},
        "pre-layer": {"norm": "pre"},
        "no-bias": {"bias": False},
        "1+relu": {"omega": "1+relu"},
        "1+sigmoid": {"omega": "1+sigmoid"},
        "1+identity": {"omega": "1+identity"},
        "pma-rff": {"rff_before_pma": True},
    }
    for name, choices in variants.items():
        found += [
            Subject(f"SAB-{name}", lambda rng, c=choices: SAB(D_IN, D, 2, rng=rng, **c), True),
            Subject(f"ISAB-{name}", lambda rng, c=choices: ISAB(D_IN, D, 2, 3, rng=rng, **c), True),
            Subject(f"Multihead-{name}", lambda rng, c=choices: CrossAttention(rng, **c), False),
            Subject(f"MAB-{name}", lambda rng, c=choices: CrossMAB(rng, **c), False),
            Subject(f"PMA-{name}", lambda rng, c=choices: PMAOnInput(rng, **c), False),
        ]
    whole = ("max_regression", "clustering", "unique_characters", "point_cloud")
    rows = [(label, task) for task in whole for label in ROWS[task]]
    rows += [(label, task) for task in ROWS if task not in whole for label in (ROWS[task][0], ROWS[task][-1])]
    for label, task in rows:  # the other tasks have the same labels, only deeper or wider: their first and last row
        found.append(
            Subject(
                f"{task}: {label}",
                lambda rng, la=label, t=task: build(la, task=t, d_in=D_IN, d_out=2, d=D, heads=2, rng=rng),
                False,
            )
        )
    return found


SUBJECTS = subjects()
BLOCKS = [s for s in SUBJECTS if ":" not in s.name]
