"""Multihead attention, and a way to look at its weights."""

from __future__ import annotations

import contextlib
import contextvars
import math
import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from autograd import Tensor, attention, no_grad, relu, sigmoid, softmax, where
from autograd.backend import Array
from minisets.masks import enter
from minisets.nn import Linear, Module
from minisets.style import Style, resolve

Recorder = dict[int, list[np.ndarray]]  # by the id of a module
_recorders: contextvars.ContextVar[tuple[Recorder, ...]] = contextvars.ContextVar("recorders", default=())


class Multihead(Module):
    """Multihead(Q, K, V) = concat(O₁, …, O_h) W^O,     Oⱼ = ω(Q Wⱼ^Q (K Wⱼ^K)ᵀ · scale) V Wⱼ^V.

    Q is (B, n, d_q), K and V are (B, m, d_k); a side without B is shared by all sets.  Each head works in d/h of the d
    features.  ω is the softmax over the keys present, or, for the constructions in the paper's proofs, 1 + f element by
    element, with f the identity, sigmoid or relu: a sum over the keys instead of a mean, and as such without a bound on
    its size.
    """

    attends = True  # record_attention finds it by this

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
        heads, d = whole_number("the number of heads", heads), whole_number("the width d", d)
        if d % heads:
            raise ValueError(f"the number of heads must divide the width d = {d}, given {heads}")
        self.style, self.heads, self.d = resolve(style, choices), heads, d
        bias = self.style.bias
        self.q = Linear(d_q, d, bias=bias, rng=rng)
        self.k = Linear(d_k, d, bias=bias, rng=rng)
        self.v = Linear(d_k, d, bias=bias, rng=rng)
        self.o = Linear(d, d, bias=bias, rng=rng) if self.style.output else None
        self.scale = 1 / math.sqrt(d if self.style.scale == "width" else d / heads)

    def forward(self, Q: Any, K: Any, V: Any, mask: Any = None) -> Tensor:
        Q, _ = enter("Multihead", Q, None, self.q.weight.shape[0], like=self.q.weight)
        V, _ = enter("Multihead", V, mask, self.v.weight.shape[0], like=self.q.weight)
        K, mask = enter("Multihead", K, mask, self.k.weight.shape[0], like=self.q.weight)
        return self.attend(self.q(Q), K, V, mask)

    def attend(self, q: Tensor, K: Tensor, V: Tensor, mask: Array | None = None) -> Tensor:
        """The same from queries q = Q W^Q that are projected already, and from sets that have entered."""
        h, omega = self.heads, self.style.omega
        q, k, v = split_heads(q, h), split_heads(self.k(K), h), split_heads(self.v(V), h)  # (B, h, n or m, d/h)
        keys = mask[:, None, None, :] if mask is not None and mask.ndim == 2 else mask  # (B, 1, 1, m)
        if omega == "softmax":
            pooled = attention(q, k, v, mask=keys, scale=self.scale)
        else:
            pooled = weights(q, k, keys, self.scale, omega) @ v
        record(self, lambda: weights(q, k, keys, self.scale, omega))
        joined = join_heads(pooled)  # (B, n, d)
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


def whole_number(name: str, value: Any) -> int:
    """The value as a Python integer of at least 1, or a sentence."""
    try:
        number = operator.index(value)
    except TypeError:
        number = 0
    if number < 1:
        raise ValueError(f"{name} must be a whole number of at least 1, given {value!r}")
    return number


def record(module: Module, make_weights: Callable[[], Tensor]) -> None:
    """Called by a block that attends: keep its weights for whoever is looking, and compute nothing if nobody is."""
    watching = [seen[id(module)] for seen in _recorders.get() if id(module) in seen]
    if watching:
        with no_grad():
            seen = make_weights().numpy()
        for kept in watching:
            kept.append(seen)


@contextlib.contextmanager
def record_attention(net: Module) -> Iterator[dict[str, list[np.ndarray]]]:
    """Look inside: the weights of every block in the net that attends, by name, one array for each call.

    with record_attention(net) as seen:
        net(X, mask)
    seen["encoder.0.mab.attention"][0]      # (B, h, n, m), or (h, n, m) for a single set

    (Dotprod has one head and one query, and gives (B, 1, n).)
    """
    found = {name: module for name, module in net.named_modules() if getattr(module, "attends", False)}
    if not found:
        raise ValueError(f"nothing in this {type(net).__name__} attends, so there are no weights to record")
    seen: Recorder = {id(module): [] for module in found.values()}
    token = _recorders.set((*_recorders.get(), seen))
    try:
        yield {name: seen[id(module)] for name, module in found.items()}
    finally:
        _recorders.reset(token)
