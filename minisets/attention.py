"""Multihead attention, and a way to look at its weights."""

from __future__ import annotations

import contextlib
import contextvars
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from autograd import Tensor, attention, no_grad, relu, sigmoid, softmax, where
from autograd.backend import Array
from minisets.nn import Linear, Module
from minisets.style import Style, resolve

_recorder: contextvars.ContextVar[dict[int, list[np.ndarray]] | None] = contextvars.ContextVar("recorder", default=None)


class Multihead(Module):
    """Multihead(Q, K, V) = concat(O₁, …, O_h) W^O,     Oⱼ = ω(Q Wⱼ^Q (K Wⱼ^K)ᵀ · scale) V Wⱼ^V.

    Q is (B, n, d_q), K and V are (B, m, d_k); a side without B is shared by all sets.  Each head works in d/h of the d
    features.  ω is the softmax over the keys present, or, for the constructions in the paper's proofs, 1 + f element by
    element, with f the identity, sigmoid or relu: a sum over the keys instead of a mean.
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
        if not (isinstance(heads, int) and heads >= 1 and d % heads == 0):
            raise ValueError(f"the number of heads must divide the width d = {d}, given {heads}")
        self.style, self.heads, self.d = resolve(style, choices), heads, d
        bias = self.style.bias
        self.q = Linear(d_q, d, bias=bias, rng=rng)
        self.k = Linear(d_k, d, bias=bias, rng=rng)
        self.v = Linear(d_k, d, bias=bias, rng=rng)
        self.o = Linear(d, d, bias=bias, rng=rng) if self.style.output else None
        self.scale = 1 / math.sqrt(d if self.style.scale == "width" else d / heads)

    def forward(self, Q: Any, K: Any, V: Any, mask: Array | None = None) -> Tensor:
        return self.attend(self.q(Q), K, V, mask)

    def attend(self, q: Tensor, K: Any, V: Any, mask: Array | None = None) -> Tensor:
        """The same from queries q = Q W^Q that are projected already."""
        h = self.heads
        q, k, v = split_heads(q, h), split_heads(self.k(K), h), split_heads(self.v(V), h)  # (B, h, n or m, d/h)
        for_scores = mask[:, None, None, :] if mask is not None and mask.ndim == 2 else mask  # (B, 1, 1, m)
        if self.style.omega == "softmax":
            heads = attention(q, k, v, mask=for_scores, scale=self.scale)
        else:
            heads = weights(q, k, for_scores, self.scale, self.style.omega) @ v
        if (seen := _recorder.get()) is not None and id(self) in seen:
            with no_grad():
                seen[id(self)].append(weights(q, k, for_scores, self.scale, self.style.omega).numpy())
        joined = join_heads(heads)  # (B, n, d)
        return joined if self.o is None else self.o(joined)


def split_heads(X: Tensor, h: int) -> Tensor:
    """(B, n, d) -> (B, h, n, d/h): head j gets the j-th run of d/h features."""
    *batch, n, d = X.shape
    return X.reshape(*batch, n, h, d // h).swapaxes(-2, -3)


def join_heads(X: Tensor) -> Tensor:
    """(B, h, n, d/h) -> (B, n, d), which undoes split_heads."""
    *batch, h, n, e = X.shape
    return X.swapaxes(-2, -3).reshape(*batch, n, h * e)


def weights(q: Tensor, k: Tensor, mask: Array | None, scale: float, omega: str) -> Tensor:
    """ω(q kᵀ · scale), of shape (B, h, n, m): the plain form, with the weights in memory."""
    scores = (q @ k.swapaxes(-1, -2)) * scale
    if omega == "softmax":
        return softmax(scores, mask=mask)
    f = {"1+identity": lambda s: s, "1+sigmoid": sigmoid, "1+relu": relu}[omega]
    return 1 + f(scores) if mask is None else where(mask, 1 + f(scores), 0)


@contextlib.contextmanager
def record_attention(net: Module) -> Iterator[dict[str, list[np.ndarray]]]:
    """Look inside: the weights of every Multihead in the net, by name, one (B, h, n, m) array for each call.

    with record_attention(net) as seen:
        net(X, mask)
    seen["encoder.0.mab.attention"][0]
    """
    found = {name: module for name, module in net.named_modules() if isinstance(module, Multihead)}
    seen: dict[int, list[np.ndarray]] = {id(module): [] for module in found.values()}
    token = _recorder.set(seen)
    try:
        yield {name: seen[id(module)] for name, module in found.items()}
    finally:
        _recorder.reset(token)
