"""Every row of every table in the paper, built from the label that is printed there.

    net = build("ISAB(16) + PMA(4)", d_in=2, d_out=5, rng=rng)                 # (B, n, 2) -> (B, 4, 5)
    net = build("rFF + Pooling", task="point_cloud", d_in=3, d_out=40, rng=rng)

A label names an encoder and a way to pool.  How many layers, how wide, with how many heads and how much dropout is the
matter of the experiment; the supplement's tables say so, and stand here as data.
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from autograd import Tensor
from autograd.backend import Array
from minisets.blocks import ISAB, PMA, SAB, rFF
from minisets.nn import Dropout, Linear, Module
from minisets.pooling import Dotprod, Pooling, rFFp
from minisets.style import Style

POOLS = (PMA, Pooling, Dotprod)


@dataclass(frozen=True)
class Plan:
    """One of the supplement's architecture tables."""

    d: int  # width
    heads: int
    rff: int  # FC layers of an rFF encoder
    last: str | None  # the activation of the last of them
    blocks: int  # SABs or ISABs of an attention encoder
    pooling: str  # what "Pooling" means
    pooled: int  # FC(d, ReLU) layers after pooling
    seeds: int  # what "PMA" means without a number
    sabs: int  # SABs after PMA
    outputs: int | None  # vectors that the network returns for a set; None: as many as there are seeds
    dropout: float = 0.0  # before and after pooling


PLANS = {
    "max_regression": Plan(64, 4, 4, None, 2, "mean", 1, 1, 0, outputs=1),
    "unique_characters": Plan(64, 4, 4, None, 2, "mean", 1, 1, 0, outputs=1),
    "clustering": Plan(128, 4, 4, "relu", 2, "mean", 3, 4, 1, outputs=None),
    "clustering_large": Plan(128, 4, 4, "relu", 2, "mean", 3, 6, 1, outputs=None),
    "image_clustering": Plan(256, 4, 6, None, 3, "mean", 5, 4, 2, outputs=None),
    "set_anomaly": Plan(128, 4, 8, None, 4, "mean", 3, 4, 1, outputs=1),
    "point_cloud": Plan(256, 4, 4, None, 2, "max", 1, 1, 0, outputs=1, dropout=0.5),
    "point_cloud_5000": Plan(512, 4, 4, None, 1, "max", 1, 1, 0, outputs=1, dropout=0.5),
}

_BASELINES = ("rFF + Pooling", "rFFp-mean + Pooling", "rFFp-max + Pooling", "rFF + Dotprod")
_CLUSTERING = (
    *_BASELINES,
    "SAB + Pooling",
    "ISAB (16) + Pooling",
    "ISAB (32) + Pooling",
    "ISAB (64) + Pooling",
    "rFF + PMA",
    "SAB + PMA",
    "ISAB (16) + PMA",
    "ISAB (32) + PMA",
    "ISAB (64) + PMA",
)
ROWS = {  # the labels that the paper's tables print, by experiment
    "max_regression": ("rFF + Pooling (mean)", "rFF + Pooling (sum)", "rFF + Pooling (max)", "SAB + PMA"),
    "unique_characters": (
        *_BASELINES, "rFF + PMA", "SAB + Pooling", "SAB + Dotprod",
        "SAB + PMA (1)", "SAB + PMA (2)", "SAB + PMA (4)", "SAB + PMA (8)",
    ),
    "clustering": _CLUSTERING,
    "clustering_large": ("rFF + Pooling", "rFFp-mean + Pooling", "rFF + PMA (6)", "SAB (32) + PMA (6)"),
    "image_clustering": _CLUSTERING,
    "set_anomaly": (*_BASELINES, "SAB + Pooling", "rFF + PMA", "SAB + PMA"),
    "point_cloud": ("rFF + Pooling", "rFFp-max + Pooling", "rFF + PMA (1)", "ISAB (16) + Pooling", "ISAB (16) + PMA",
                    "Set Transformer (16)"),
}  # fmt: skip
ROWS["point_cloud_5000"] = ROWS["point_cloud"]


@dataclass(frozen=True)
class Label:
    """What a label says: an encoder (with its number of inducing points), and a pooling (with seeds or a kind)."""

    encoder: str
    pooling: str
    m: int | None = None
    k: int | None = None
    kind: str | None = None


def parse(text: str) -> Label:
    """Read a label, whatever its case and spaces; "(ours)" and citations are passed over."""
    plain = re.sub(r"\(ours\)|\[.*?\]|\\cite\w*\{.*?\}|[\s_{}$\\]", "", text.lower())
    plain = re.sub(r"^settransformer", "sab", plain) + ("+pma" if plain.startswith("settransformer") else "")
    number = r"(?:\(?(\d+)\)?)?"
    match = re.fullmatch(
        rf"(rff|rffp-?mean|rffp-?max|i?sab{number})\+(pooling(?:\(?(mean|sum|max)\)?)?|dotprod|pma{number})", plain
    )
    known = sorted({label for rows in ROWS.values() for label in rows})
    if not match:
        near = difflib.get_close_matches(text, known, n=4, cutoff=0.3)
        hint = f"the nearest are {', '.join(map(repr, near))}" if near else f"the tables have {', '.join(known)}"
        raise ValueError(f"there is no architecture {text!r}; {hint}")
    encoder, m, pooling, kind, k = match.groups()
    encoder = re.sub(r"\d|[()]", "", encoder).replace("rffpm", "rffp-m")
    if encoder == "isab" and m is None:
        raise ValueError(f"{text!r} does not say how many inducing points; write 'ISAB (16)', for example")
    if 0 in (int(m or 1), int(k or 1)):
        raise ValueError(f"{text!r}: there must be at least one inducing point, and at least one seed")
    if encoder == "sab" and m is not None:  # the paper's table of large sets writes SAB (32) for ISAB (32)
        encoder = "isab"
    pooling = "pma" if pooling.startswith("pma") else "dotprod" if pooling == "dotprod" else "pooling"
    return Label(encoder, pooling, int(m) if m else None, int(k) if k else None, kind)


def build(
    label: str,
    *,
    d_in: int,
    d_out: int,
    rng: np.random.Generator,
    task: str = "clustering",
    d: int | None = None,
    heads: int | None = None,
    outputs: int | None = None,
    dropout: float | None = None,
    style: str | Style = "paper",
    **choices: Any,
) -> Network:
    """The network of a row of the task's table, from sets (B, n, d_in) to (B, outputs, d_out), or (B, d_out) for one.

    d, heads, outputs and dropout stand in for the table's; style and single choices of it go to every attention block.
    """
    if task not in PLANS:
        raise ValueError(f"there is no task {task!r}; the tasks are {', '.join(PLANS)}")
    row, plan = parse(label), PLANS[task]
    d = plan.d if d is None else d
    heads = plan.heads if heads is None else heads
    dropout = plan.dropout if dropout is None else dropout
    k = row.k or plan.seeds
    if outputs is None:
        outputs = plan.outputs or k
    if min(d_in, d_out, d, outputs) < 1:
        raise ValueError(f"d_in, d_out, d and outputs must be at least 1, given {d_in}, {d_out}, {d}, {outputs}")
    attention = {"style": style, "rng": rng, **choices}

    widths = (d,) * plan.rff
    inputs = (d_in, *[d] * (plan.blocks - 1))
    encoder: list[Module] = {
        "rff": lambda: [rFF(d_in, *widths, last=plan.last, rng=rng)],
        "rffp-mean": lambda: [rFFp(d_in, *widths, pooling="mean", last=plan.last, rng=rng)],
        "rffp-max": lambda: [rFFp(d_in, *widths, pooling="max", last=plan.last, rng=rng)],
        "sab": lambda: [SAB(a, d, heads, **attention) for a in inputs],
        "isab": lambda: [ISAB(a, d, heads, row.m, **attention) for a in inputs],
    }[row.encoder]()

    drop: list[Module] = [Dropout(dropout, rng=rng)] if dropout else []
    if row.pooling == "pma":
        sabs = [SAB(d, d, heads, **attention) for _ in range(plan.sabs)]
        decoder = [*drop, PMA(d, heads, k, **attention), *drop, *sabs]
    else:
        k, pooled = 1, Dotprod(d, rng=rng) if row.pooling == "dotprod" else Pooling(d, row.kind or plan.pooling)
        decoder = [pooled, *drop, rFF(d, *[d] * plan.pooled, rng=rng), *drop]
    each = outputs == k  # one output for each seed, or all outputs from all seeds
    head = Linear(d, d_out, rng=rng) if each else Linear(k * d, outputs * d_out, rng=rng)
    return Network(label, encoder, decoder, head, widths=(d_in, d, d_out), outputs=outputs)


class Network(Module):
    """y = head(decoder(encoder(X))): blocks that keep the set, layers that pool it and go on, and a last linear map."""

    def __init__(
        self,
        label: str,
        encoder: list[Module],
        decoder: list[Module],
        head: Linear,
        *,
        widths: tuple[int, int, int],
        outputs: int,
    ) -> None:
        self.encoder, self.decoder, self.head = encoder, decoder, head
        self.label, self.outputs = label, outputs
        self.d_in, self.d, self.d_out = widths

    def forward(self, X: Any, mask: Array | None = None) -> Tensor:
        for block in self.encoder:
            X = block(X, mask)  # (B, n, d)
        for layer in self.decoder:
            X = layer(X, mask) if isinstance(layer, POOLS) else layer(X)  # (B, k, d) from the pooling on
        *batch, k, d = X.shape
        if self.head.weight.shape[0] != d:
            X = X.reshape(*batch, k * d)  # all outputs from all seeds
        Y = self.head(X).reshape(*batch, self.outputs, self.d_out)
        return Y[..., 0, :] if self.outputs == 1 else Y

    def __str__(self) -> str:
        """As a person would draw it: each layer in the paper's notation, the shape that leaves it, its parameters."""
        rows = [("X", f"(B, n, {self.d_in})", 0)]
        rows += [(block.notation, f"(B, n, {self.d})", _count(block)) for block in self.encoder]
        k = "n"
        for layer in self.decoder:
            k = getattr(layer, "k", k)  # what is left of the set, from the pooling on
            rows.append((layer.notation, f"(B, {k}, {self.d})", _count(layer)))
        out = f"(B, {self.d_out})" if self.outputs == 1 else f"(B, {self.outputs}, {self.d_out})"
        rows.append((self.head.notation, out, _count(self.head)))
        wide = max(len(notation) for notation, _, _ in rows)
        lines = [
            f"  {notation:{wide}}   {shape:14}{(count and f'{count:,}') or '':>10}".rstrip()
            for notation, shape, count in rows
        ]
        return "\n".join([f"{self.label}: {_count(self):,} parameters", *lines])


def _count(module: Module) -> int:
    return sum(p.size for p in module.parameters())
