"""Every row of every table in the paper, built from the label printed there.

    net = build("ISAB(16) + PMA(4)", d_in=2, d_out=5, rng=rng)                 # (B, n, 2) -> (B, 4, 5)
    net = build("rFF + Pooling", task="point_cloud", d_in=3, d_out=40, rng=rng)

A label names an encoder and a pooling.  The numbers of layers and heads, the width and the dropout depend on the
experiment; they are listed here as data, from the supplement's tables.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from autograd import Tensor
from minisets.blocks import ISAB, PMA, SAB, rFF
from minisets.checks import positive_int
from minisets.labels import parse
from minisets.nn import Dropout, Linear, Module
from minisets.nn.sequential import apply_layers
from minisets.nn.summary import SummaryRow, count_parameters
from minisets.pooling import Dotprod, Pooling, rFFp
from minisets.style import CHOICES, Style, resolve


@dataclass(frozen=True)
class Hyperparameters:
    """One of the supplement's architecture tables."""

    d: int  # width
    heads: int
    rff: int  # FC layers in an rFF encoder
    last: str | None  # activation after the last of them
    blocks: int  # SABs or ISABs in an attention encoder
    pooling: str  # the kind that "Pooling" stands for
    pooled_fc: int  # FC(d, ReLU) layers after pooling
    seeds: int  # the number of seeds that "PMA" alone stands for
    sabs: int  # SABs after PMA
    outputs: int | None  # vectors that the network returns for each set; None: one per seed
    dropout: float = 0.0  # before and after pooling
    d_attention: int | None = None  # width of networks with an attention encoder, if different


_REGRESSION = Hyperparameters(
    d=64, heads=4, rff=4, last=None, blocks=2, pooling="mean", pooled_fc=1, seeds=1, sabs=0, outputs=1
)  # fmt: skip
_CLUSTERING = Hyperparameters(
    d=128, heads=4, rff=4, last="relu", blocks=2, pooling="mean", pooled_fc=3, seeds=4, sabs=1, outputs=None
)  # fmt: skip
_POINT_CLOUD = Hyperparameters(
    d=256, heads=4, rff=4, last=None, blocks=2, pooling="max", pooled_fc=1, seeds=1, sabs=0, outputs=1, dropout=0.5
)  # fmt: skip
HYPERPARAMETERS = {
    "max_regression": _REGRESSION,
    "unique_characters": _REGRESSION,  # applied to the output of the task's convolutions
    "clustering": _CLUSTERING,
    "clustering_large": replace(_CLUSTERING, seeds=6),
    "image_clustering": replace(_CLUSTERING, d=256, rff=6, last=None, blocks=3, pooled_fc=5, sabs=2),
    "set_anomaly": replace(_CLUSTERING, rff=8, last=None, blocks=4, outputs=1),
    "point_cloud": _POINT_CLOUD,
    "point_cloud_5000": replace(_POINT_CLOUD, blocks=1, d_attention=512),
}


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
    coefficients: str = "matrix",
    style: str | Style = "paper",
    **choices: Any,
) -> Network:
    """The network for a label: sets (B, n, d_in) to (B, outputs, d_out), or to (B, d_out) if outputs is 1.

    d, heads, outputs and dropout override the task's hyperparameters.  coefficients is passed to rFFp; style, and
    keyword arguments that override its choices, to every attention block.
    """
    if task not in HYPERPARAMETERS:
        raise ValueError(f"there is no task {task!r}; the tasks are {', '.join(HYPERPARAMETERS)}")
    for name in choices.keys() - {*CHOICES, "ln"}:
        raise TypeError(f"build has no argument {name!r}; {_nearest_argument(name)}")
    parsed, hp, style = parse(label), HYPERPARAMETERS[task], resolve(style, choices)
    if d is None:
        d = hp.d_attention if hp.d_attention and parsed.encoder in ("sab", "isab") else hp.d
    k = parsed.k or hp.seeds
    d_in, d_out, d, heads, outputs = (
        positive_int(name, value)
        for name, value in {
            "d_in": d_in,
            "d_out": d_out,
            "d": d,
            "heads": hp.heads if heads is None else heads,
            "outputs": outputs if outputs is not None else hp.outputs or k,
        }.items()
    )
    drop = Dropout(hp.dropout if dropout is None else dropout, rng=rng)
    drops = [drop] if drop.p else []

    widths, inputs = [d] * hp.rff, (d_in, *[d] * (hp.blocks - 1))
    encoder: Sequence[Module]
    match parsed.encoder:
        case "rff":
            encoder = [rFF(d_in, *widths, last=hp.last, rng=rng)]
        case "rffp-mean" | "rffp-max":
            kind = parsed.encoder.removeprefix("rffp-")
            encoder = [rFFp(d_in, *widths, pooling=kind, coefficients=coefficients, last=hp.last, rng=rng)]
        case "sab":
            encoder = [SAB(a, d, heads, style=style, rng=rng) for a in inputs]
        case "isab":
            encoder = [ISAB(a, d, heads, parsed.m or 0, style=style, rng=rng) for a in inputs]
    if parsed.pooling == "pma":
        pma, sabs = PMA(d, heads, k, style=style, rng=rng), range(hp.sabs)
        decoder = [*drops, pma, *drops, *(SAB(d, d, heads, style=style, rng=rng) for _ in sabs)]
        per_seed = outputs == k
    else:
        pooling = Dotprod(d, rng=rng) if parsed.pooling == "dotprod" else Pooling(d, parsed.kind or hp.pooling)
        decoder = [pooling, *drops, rFF(d, *[d] * hp.pooled_fc, rng=rng), *drops]
        k, per_seed = 1, False
    head = Linear(d, d_out, rng=rng) if per_seed else Linear(k * d, outputs * d_out, rng=rng)
    return Network(label, encoder, decoder, head, widths=(d_in, d, d_out), outputs=outputs, per_seed=per_seed)


_ARGUMENTS = {
    "d_in": "the width of the elements", "d_out": "the width of an output", "rng": "a NumPy Generator",
    "task": "an experiment in the paper", "d": "the width of the network", "heads": "the number of heads",
    "outputs": "vectors returned for each set", "dropout": "a probability", "coefficients": "for rFFp",
    "style": "a name or a Style", **dict.fromkeys(CHOICES, "part of the style"),
}  # fmt: skip
_ALIASES = {
    "d": ("width", "hidden", "dim", "d_model", "dim_hidden", "hidden_size", "features"),
    "heads": ("num_heads", "n_heads", "nhead", "h"),
    "d_in": ("dim_input", "in_features", "input_dim"),
    "d_out": ("dim_output", "out_features", "output_dim"),
    "outputs": ("num_outputs", "k", "seeds"),
}


def _nearest_argument(name: str) -> str:
    """The argument that this name was probably meant to be."""
    meant = [ours for ours, aliases in _ALIASES.items() if name.lower() in aliases]
    meant = meant or difflib.get_close_matches(name, _ARGUMENTS, n=1)
    if meant:
        return f"did you mean {meant[0]} ({_ARGUMENTS[meant[0]]})?"
    return f"the arguments are {', '.join(_ARGUMENTS)}"


class Network(Module):
    """y = head(decoder(encoder(X))): set-to-set blocks, then pooling and the layers after it, then a linear map.

    The head maps each pooled vector to one output (per_seed), or the pooled vectors, concatenated, to all outputs.
    """

    def __init__(
        self,
        label: str,
        encoder: Sequence[Module],
        decoder: Sequence[Module],
        head: Linear,
        *,
        widths: tuple[int, int, int],
        outputs: int,
        per_seed: bool,
    ) -> None:
        self.encoder, self.decoder, self.head = list(encoder), list(decoder), head
        self.label, self.outputs, self.per_seed = label, outputs, per_seed
        self.d_in, self.d, self.d_out = widths

    def forward(self, X: Any, mask: Any = None) -> Tensor:
        Z = apply_layers([*self.encoder, *self.decoder], X, mask)  # (B, k, d)
        *batch, k, d = Z.shape
        Y = self.head(Z if self.per_seed else Z.reshape(*batch, k * d)).reshape(*batch, self.outputs, self.d_out)
        return Y[..., 0, :] if self.outputs == 1 else Y

    def summary_rows(self) -> Iterator[SummaryRow]:
        """For printing: each layer in the paper's notation, with its output shape and number of parameters."""
        yield "", "X", f"(B, n, {self.d_in})", 0
        k: Any = "n"
        for layer in [*self.encoder, *self.decoder]:
            if getattr(layer, "pools", False):
                k = getattr(layer, "k", "k")  # vectors per set after pooling
            yield "", getattr(layer, "notation", type(layer).__name__), f"(B, {k}, {self.d})", count_parameters(layer)
        out = f"(B, {self.d_out})" if self.outputs == 1 else f"(B, {self.outputs}, {self.d_out})"
        yield "", self.head.notation, out, count_parameters(self.head)
