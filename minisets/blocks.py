"""The blocks of the paper, each written as its equation.

Sets are X (B, n, d) with an optional mask (B, n), or a single set (n, d) with a mask (n,).
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from autograd import Tensor, relu, residual_norm
from autograd.backend import Array
from minisets.attention import Multihead, whole_number
from minisets.masks import enter, hide
from minisets.nn import LayerNorm, Linear, Module, SetNorm, init
from minisets.style import Style, resolve


class rFF(Module):  # the paper's own spelling
    """rFF(X): the same feed-forward network for each row, FC layers of the given widths with ReLU after each.

    last=None leaves the activation of the last layer out.
    """

    def __init__(self, d_in: int, *widths: int, last: str | None = "relu", rng: np.random.Generator) -> None:
        if not widths or last not in ("relu", None):
            raise ValueError("rFF needs at least one width, and last='relu' or last=None")
        self.layers = [Linear(a, b, rng=rng) for a, b in itertools.pairwise((d_in, *widths))]
        self.last = last
        self.notation = layers_in_words("FC", widths, last)

    def forward(self, X: Any, mask: Any = None) -> Tensor:
        first, *_ = self.layers
        X, mask = enter("rFF", X, mask, first.weight.shape[0], like=first.weight)
        for layer in self.layers[:-1]:
            X = layer(X, relu=True)
        return hide(self.layers[-1](X, relu=self.last is not None), mask)


def layers_in_words(name: str, widths: tuple[int, ...], last: str | None) -> str:
    """The paper's notation for a run of layers, equal ones counted: "FC(64, ReLU) × 3, FC(64, –)"."""
    each = [f"{name}({d}, {'–' if last is None and i + 1 == len(widths) else 'ReLU'})" for i, d in enumerate(widths)]
    runs = [(text, len(list(group))) for text, group in itertools.groupby(each)]
    return ", ".join(f"{text} × {count}" if count > 1 else text for text, count in runs)


class MAB(Module):
    """MAB(X, Y) = LN(H + rFF(H)),     H = LN(X + Multihead(X, Y, Y)).

    X (B, n, d_x) asks, Y (B, m, d_y) answers; a side without B is shared by all sets.  The mask says who of Y is
    present, mask_x who of X.  Where d_x ≠ d, X is projected in the residual.

    The style says where normalisation stands.  With norm="pre" the equations are those of Set Transformer++:
    H = X + Multihead(SN(X), SN(Y), SN(Y)) and MAB = H + FC(ReLU(SN(H))), with nothing on the residual path.
    """

    def __init__(
        self,
        d_x: int,
        d_y: int,
        d: int,
        heads: int,
        *,
        style: str | Style = "paper",
        learned_queries: bool = False,
        rng: np.random.Generator,
        **choices: Any,
    ) -> None:
        s = self.style = resolve(style, choices)
        self.d_x, self.d_y = d_x, d_y
        self.attention = Multihead(d_x, d_y, d, heads, style=s, rng=rng)
        self.skip = Linear(d_x, d, rng=rng) if s.residual == "input" and d_x != d else None
        self.ff = Linear(d, d, rng=rng)
        norm = SetNorm if s.normalise == "set" else LayerNorm
        # Each place where some style normalises; the others stay empty.  Learned queries are no data to be normalised.
        self.norm_x = norm(d_x) if s.norm == "pre" and not learned_queries else None
        self.norm_y = norm(d_y) if s.norm == "pre" else None
        self.norm_h = norm(d) if s.norm != "none" else None
        self.norm_out = norm(d) if s.norm == "post" else None

    def forward(self, X: Any, Y: Any, mask: Any = None, mask_x: Any = None) -> Tensor:
        X, mask_x = enter("MAB", X, mask_x, self.d_x, like=self.ff.weight)
        Y, mask = enter("MAB", Y, mask, self.d_y, like=self.ff.weight)
        if X.ndim == Y.ndim == 3 and X.shape[0] != Y.shape[0]:
            raise ValueError(f"MAB of {X.shape} and {Y.shape}: the batches differ; leave B out of what all sets share")
        return self.answer(X, Y, mask, mask_x)

    def answer(self, X: Tensor, Y: Tensor, mask: Array | None, mask_x: Array | None) -> Tensor:
        """The equation itself, for sets that have entered: checked, and their hidden elements zero."""
        x, y = _normal(self.norm_x, X, mask_x), _normal(self.norm_y, Y, mask)
        if self.style.residual == "query":
            residual = q = self.attention.q(x)
        else:
            residual, q = X if self.skip is None else self.skip(X), None
        pooled, output = self.attention.pool(x, y, y, mask, q)
        if self.style.norm == "pre":
            H = residual + (pooled if output is None else output(pooled))
            return hide(H + self.ff(relu(_normal(self.norm_h, H, mask_x))), mask_x)
        H = _normal_sum(self.norm_h, residual, pooled, output, mask_x)
        return hide(_normal_sum(self.norm_out, H, H, self.ff, mask_x, relu=True), mask_x)


def _normal(norm: Module | None, X: Tensor, mask: Array | None) -> Tensor:
    """X, normalised if there is a norm."""
    if norm is None:
        return X
    return norm(X, mask) if isinstance(norm, SetNorm) else norm(X)


def _normal_sum(
    norm: Module | None, X: Tensor, Z: Tensor, layer: Linear | None, mask: Array | None, relu: bool = False
) -> Tensor:
    """X + layer(Z), normalised if there is a norm; relu=True puts a ReLU after the layer."""
    if isinstance(norm, LayerNorm) and X.shape == Z.shape:  # one op does it all
        if layer is None:
            return norm(X, plus=Z)
        return residual_norm(X, Z, layer.weight, layer.bias, norm.gamma, norm.beta, relu=relu, eps=norm.eps)
    return _normal(norm, X + (Z if layer is None else layer(Z, relu=relu)), mask)


class SAB(Module):
    """SAB(X) = MAB(X, X): every element attends to every element, in O(n²)."""

    def __init__(
        self, d_in: int, d: int, heads: int, *, style: str | Style = "paper", rng: np.random.Generator, **choices: Any
    ) -> None:
        self.mab = MAB(d_in, d_in, d, heads, style=style, rng=rng, **choices)
        self.notation = f"SAB({d}, {heads})"

    def forward(self, X: Any, mask: Any = None) -> Tensor:
        X, mask = enter("SAB", X, mask, self.mab.d_x, like=self.mab.ff.weight)
        return self.mab.answer(X, X, mask, mask)


class ISAB(Module):
    """ISAB_m(X) = MAB(X, H),     H = MAB(I, X): m learned inducing points I (m, d) look at the set, in O(n m).

    With m = 1 the second half has a single key to attend to, of weight 1 whatever the scores: its query and key
    projections receive no gradient.
    """

    def __init__(
        self,
        d_in: int,
        d: int,
        heads: int,
        m: int,
        *,
        style: str | Style = "paper",
        rng: np.random.Generator,
        **choices: Any,
    ) -> None:
        self.I = learned_rows(m, d, rng)
        self.mab0 = MAB(d, d_in, d, heads, style=style, learned_queries=True, rng=rng, **choices)
        self.mab1 = MAB(d_in, d, d, heads, style=style, rng=rng, **choices)
        self.notation = f"ISAB_{m}({d}, {heads})"

    def forward(self, X: Any, mask: Any = None) -> Tensor:
        X, mask = enter("ISAB", X, mask, self.mab0.d_y, like=self.I)
        H = self.mab0.answer(self.I, X, mask, None)  # (B, m, d)
        return self.mab1.answer(X, H, None, mask)  # (B, n, d)


class PMA(Module):
    """PMA_k(Z) = MAB(S, Z): k learned seeds S (k, d) pool a set of any size into k vectors.

    rff_before_pma=True gives the paper's equation MAB(S, rFF(Z)); its experiments all leave the rFF out.
    """

    def __init__(
        self, d: int, heads: int, k: int = 1, *, style: str | Style = "paper", rng: np.random.Generator, **choices: Any
    ) -> None:
        self.S = learned_rows(k, d, rng)
        self.rff = rFF(d, d, rng=rng) if resolve(style, choices).rff_before_pma else None
        self.mab = MAB(d, d, d, heads, style=style, learned_queries=True, rng=rng, **choices)
        self.k, self.notation = k, f"PMA_{k}({d}, {heads})"

    def forward(self, Z: Any, mask: Any = None) -> Tensor:
        Z, mask = enter("PMA", Z, mask, self.mab.d_y, like=self.S)
        Z = Z if self.rff is None else self.rff(Z, mask)
        return self.mab.answer(self.S, Z, mask, None)  # (B, k, d)


def learned_rows(m: int, d: int, rng: np.random.Generator) -> Tensor:
    """m rows of d numbers, as the authors draw inducing points and seeds: U(±√(6 / (d (m + 1))))."""
    m = whole_number("the number of inducing points or seeds", m)
    return init.uniform(rng, (m, d), math.sqrt(6 / (d * (m + 1))))
