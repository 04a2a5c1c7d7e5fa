"""The blocks of the paper, each written as its equation.

Sets are X (B, n, d) with an optional mask (B, n), or a single set (n, d) with a mask (n,).  Arguments are checked when
a block is called (see masks.py); forward assumes that they are valid, and calls the forward of inner blocks directly.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from autograd import Tensor, relu
from autograd.backend import Array
from minisets.attention import Multihead
from minisets.checks import check_widths
from minisets.masks import SetModule, check_sets, zero_masked
from minisets.nn import Identity, LayerNorm, Linear, Module, SetNorm, init
from minisets.notation import layer_notation
from minisets.style import Style, resolve


class rFF(SetModule):  # the paper's own spelling
    """rFF(X): one feed-forward network applied to each row, FC layers of the given widths with a ReLU after each.

    last=None omits the activation after the last layer.  skip=True: a skip connection goes around it, as in a MAB.
    """

    def __init__(
        self, d_in: int, *widths: int, last: str | None = "relu", skip: bool = False, rng: np.random.Generator
    ) -> None:
        check_widths("rFF", widths, last)
        gains = [None] * len(widths) if skip else init.gains(len(widths), last)
        self.layers = [Linear(a, b, gain=g, rng=rng) for a, b, g in zip((d_in, *widths), widths, gains, strict=False)]
        self.d_in, self.last = d_in, last
        self.notation = layer_notation("FC", widths, last)

    def forward(self, X: Tensor, mask: Array | None = None) -> Tensor:
        *layers, final = self.layers
        for layer in layers:
            X = relu(layer(X))
        return relu(final(X)) if self.last else final(X)


class MAB(Module):
    """MAB(X, Y) = LN(H + rFF(H)),     H = LN(X + Multihead(X, Y, Y)).

    X (B, n, d_x) supplies the queries, Y (B, m, d_y) the keys and values; if either has no B, all sets share it.
    mask (B, m) is True where an element of Y is present, mask_x (B, n) where one of X is.  skip(X) is X, projected if
    d_x ≠ d; in the authors' style it is the projected queries.

    The style decides where to normalize; unused norms are Identity.  norm_position="pre" gives the equations of Set
    Transformer++: MAB = H + rFF(SN(H)) and H = X + Multihead(SN(X), SN(Y), SN(Y)), where SN is the style's norm.
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
        if s.residual == "query":
            self.skip: Module = self.attention.q
        else:
            self.skip = Linear(d_x, d, rng=rng) if d_x != d else Identity()
        norm = SetNorm if s.norm_kind == "set" else LayerNorm
        pre, post = s.norm_position == "pre", s.norm_position == "post"
        self.rff = rFF(d, d, skip=True, rng=rng)
        self.norm_x = norm(d_x) if pre and not learned_queries else Identity()  # learned queries are parameters
        self.norm_y = norm(d_y) if pre else Identity()
        self.norm_rff = norm(d) if pre else Identity()
        self.norm_h = norm(d) if post else Identity()
        self.norm_out = norm(d) if post else Identity()

    def __call__(self, X: Any, Y: Any, mask: Any = None, mask_x: Any = None) -> Tensor:
        X, mask_x = check_sets("MAB", X, mask_x, self.d_x, self.attention.q.weight)
        Y, mask = check_sets("MAB", Y, mask, self.d_y, self.attention.q.weight)
        if X.ndim == Y.ndim == 3 and X.shape[0] != Y.shape[0]:
            raise ValueError(f"MAB was given different batch sizes, {X.shape} and {Y.shape}; omit B from a shared set")
        return zero_masked(self.forward(X, Y, mask, mask_x), mask_x)

    def forward(self, X: Tensor, Y: Tensor, mask: Array | None = None, mask_x: Array | None = None) -> Tensor:
        x, y = self.norm_x(X, mask_x), self.norm_y(Y, mask)
        H = self.norm_h(self.skip(X) + self.attention.forward(x, y, y, mask), mask_x)
        return self.norm_out(H + self.rff.forward(self.norm_rff(H, mask_x)), mask_x)


class SAB(SetModule):
    """SAB(X) = MAB(X, X): every element attends to every element, in O(n²) time."""

    def __init__(
        self, d_in: int, d: int, heads: int, *, style: str | Style = "paper", rng: np.random.Generator, **choices: Any
    ) -> None:
        self.d_in, self.notation = d_in, f"SAB({d}, {heads})"
        self.mab = MAB(d_in, d_in, d, heads, style=style, rng=rng, **choices)

    def forward(self, X: Tensor, mask: Array | None = None) -> Tensor:
        return self.mab.forward(X, X, mask, mask)


class ISAB(SetModule):
    """ISAB_m(X) = MAB(X, H),     H = MAB(I, X): attention via m learned inducing points I (m, d), in O(n m) time.

    With m = 1 the second MAB has a single key: its softmax weight is 1, whatever its score, which gets no gradient.
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
        self.d_in, self.notation = d_in, f"ISAB_{m}({d}, {heads})"
        self.I = init.learned_rows(rng, m, d)
        self.mab0 = MAB(d, d_in, d, heads, style=style, learned_queries=True, rng=rng, **choices)
        self.mab1 = MAB(d_in, d, d, heads, style=style, rng=rng, **choices)

    def forward(self, X: Tensor, mask: Array | None = None) -> Tensor:
        H = self.mab0.forward(self.I, X, mask)  # (B, m, d)
        return self.mab1.forward(X, H, mask_x=mask)  # (B, n, d)


class PMA(SetModule):
    """PMA_k(Z) = MAB(S, rFF(Z)): k learned seed vectors S (k, d) pool a set of any size into k vectors.

    All of the paper's experiments omit the rFF, and so does the default; rff_before_pma=True includes it.
    norm_in_pma=False omits the normalization, as Set Transformer++ does.
    """

    pools = True

    def __init__(
        self, d: int, heads: int, k: int = 1, *, style: str | Style = "paper", rng: np.random.Generator, **choices: Any
    ) -> None:
        self.d_in, self.k, self.notation = d, k, f"PMA_{k}({d}, {heads})"
        self.S = init.learned_rows(rng, k, d)
        s = resolve(style, choices)
        s = s if s.norm_in_pma else dataclasses.replace(s, norm_position="none")
        self.rff = rFF(d, d, rng=rng) if s.rff_before_pma else Identity()
        self.mab = MAB(d, d, d, heads, style=s, learned_queries=True, rng=rng)

    def forward(self, Z: Tensor, mask: Array | None = None) -> Tensor:
        return self.mab.forward(self.S, self.rff.forward(Z), mask)  # (B, k, d)
