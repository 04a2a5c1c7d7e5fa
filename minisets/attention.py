"""Multihead attention, section 2.2 of the paper."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from autograd import Tensor, attention, join_heads, relu, sigmoid, softmax, split_heads, where
from autograd.backend import Array
from autograd.ops.nn import score_mask
from minisets.checks import positive_int
from minisets.masks import check_sets
from minisets.nn import Identity, Linear, Module
from minisets.style import Style, resolve


class Multihead(Module):
    """Multihead(Q, K, V) = concat(O₁, …, O_h) W^O,     Oⱼ = Att(Q Wⱼ^Q, K Wⱼ^K, V Wⱼ^V),     Att(Q, K, V) = ω(Q Kᵀ) V.

    Q is (B, n, d_q), K and V are (B, m, d_k); one without B is shared by all sets.  Each head has d/h of the d
    features.  ω(S) is the softmax of S · scale over the unmasked keys or, for the constructions in the paper's proofs,
    1 + f(S · scale) elementwise, with f the identity, sigmoid or relu, which sums over the keys instead of averaging,
    so the output is unbounded.  The paper's scale is 1/√d.  A query without unmasked keys outputs zeros.
    """

    def __init__(
        self,
        d_q: int,
        d_k: int,
        d: int,
        heads: int,
        *,
        style: str | Style = "paper",
        rng: np.random.Generator,
        **choices: Any,
    ) -> None:
        heads, d = positive_int("the number of heads", heads), positive_int("the width d", d)
        if d % heads:
            raise ValueError(f"the number of heads must divide the width d = {d}, given {heads}")
        s = self.style = resolve(style, choices)
        self.heads, self.d, self.d_q, self.d_k = heads, d, d_q, d_k
        self.q = Linear(d_q, d, bias=s.bias, rng=rng)
        self.k = Linear(d_k, d, bias=s.bias, rng=rng)
        self.v = Linear(d_k, d, bias=s.bias, rng=rng)
        self.o = Linear(d, d, bias=s.bias, rng=rng) if s.output else Identity()
        self.scale = 1 / math.sqrt(d if s.scale == "width" else d / heads)

    def __call__(self, Q: Any, K: Any, V: Any, mask: Any = None) -> Tensor:
        Q, _ = check_sets("Multihead", Q, None, self.d_q, self.q.weight)
        V, _ = check_sets("Multihead", V, mask, self.d_k, self.q.weight)
        K, mask = check_sets("Multihead", K, mask, self.d_k, self.q.weight)
        return self.forward(Q, K, V, mask)

    def forward(self, Q: Tensor, K: Tensor, V: Tensor, mask: Array | None = None) -> Tensor:
        h = self.heads
        q, k, v = split_heads(self.q(Q), heads=h), split_heads(self.k(K), heads=h), split_heads(self.v(V), heads=h)
        if self.style.omega == "softmax":
            outputs = attention(q, k, v, mask=mask, scale=self.scale)  # O₁, …, O_h: (B, h, n, d/h)
        else:
            outputs = self.omega(q, k, mask) @ v
        return self.o(join_heads(outputs))  # (B, n, d)

    def weights(self, Q: Tensor, K: Tensor, V: Tensor, mask: Array | None = None) -> Tensor:
        """The weights ω(Q Kᵀ) that forward applies to V, for inspection: (B, h, n, m)."""
        return self.omega(split_heads(self.q(Q), heads=self.heads), split_heads(self.k(K), heads=self.heads), mask)

    def omega(self, q: Tensor, k: Tensor, mask: Array | None) -> Tensor:
        """ω(q kᵀ), computed explicitly."""
        mask = None if mask is None else score_mask(mask, q, k)
        scores = q @ k.swapaxes(-1, -2) * self.scale
        if self.style.omega == "softmax":
            return softmax(scores, mask=mask)
        weights = 1 + ONE_PLUS[self.style.omega](scores)
        return weights if mask is None else where(mask, weights, 0)


ONE_PLUS: dict[str, Callable[[Tensor], Tensor]] = {"1+identity": lambda s: s, "1+sigmoid": sigmoid, "1+relu": relu}
