"""Multihead attention, and a way to look at its weights."""

from __future__ import annotations

import contextlib
import contextvars
import math
import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from autograd import Tensor, attention, disregard, forms, no_grad, relu, sigmoid, softmax, summed_attention, where
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
        pooled, output = self.pool(Q, K, V, mask)
        return pooled if output is None else output(pooled)  # (B, n, d)

    def pool(
        self, Q: Tensor, K: Tensor, V: Tensor, mask: Array | None = None, q: Tensor | None = None
    ) -> tuple[Tensor, Linear | None]:
        """For sets that have entered: concat(O₁, …, O_h), and the projection W^O that is still to be applied, if any.

        Whoever has projected the queries already gives q = Q W^Q as well.
        """
        record(self, lambda: self.weights(Q, K, mask))
        match self.order(Q, K, mask, q):
            case "few keys":
                return self._few_keys(Q, K, V), None
            case "few queries":
                return self._few_queries(self.q(Q) if q is None else q, K, V, mask), self.o
        return self._textbook(self.q(Q) if q is None else q, K, V, mask), self.o

    # A score is ⟨x W^Q, y W^K⟩ = x W^Q (W^K)ᵀ yᵀ: a product of four, and products may be multiplied in any order.  So
    # may those of the answer, P y W^V W^O.  The orders give the same numbers, up to rounding, at different prices.

    def _textbook(self, q: Tensor, K: Tensor, V: Tensor, mask: Array | None) -> Tensor:
        """(x W^Q) (y W^K)ᵀ and (P (y W^V)) W^O, as the equation is written."""
        h, keys, omega = self.heads, _of_keys(mask), self.style.omega
        q, k, v = split_heads(q, h), split_heads(self.k(K), h), split_heads(self.v(V), h)  # (B, h, n or m, d/h)
        if omega == "softmax":
            return join_heads(attention(q, k, v, mask=keys, scale=self.scale))
        return join_heads(weights(q, k, keys, self.scale, omega) @ v)

    def _few_queries(self, q: Tensor, K: Tensor, V: Tensor, mask: Array | None) -> Tensor:
        """((x W^Q) (W^K)ᵀ) yᵀ and ((P y) W^V) W^O: the set itself is asked, and is not projected.

        The h heads of n queries have become h n queries of the set's own width, and all heads share the set.
        """
        h, e = self.heads, self.d // self.heads
        d_k = self.k.weight.shape[0]
        p = split_heads(q, h) @ self.k.weight.reshape(d_k, h, e).transpose((1, 2, 0))  # (B, h, n, d_k)
        if self.k.bias is not None:
            p = disregard(p, self.k.bias)  # ⟨q, b⟩ is the same for all keys of a query, and softmax does not see that
        *batch, _, n, _ = p.shape
        pooled = attention(p.reshape(*batch, h * n, d_k), K, V, mask=_of_keys(mask, 2), scale=self.scale)
        pooled = pooled.reshape(*pooled.shape[:-2], h, n, d_k)
        v = pooled @ self.v.weight.reshape(d_k, h, e).swapaxes(0, 1)  # (B, h, n, d/h)
        if self.v.bias is not None:
            v = v + self.v.bias.reshape(h, 1, e)  # the weights of a query add up to 1
        if mask is not None:
            v = where(mask.any(axis=-1)[..., None, None, None], v, 0)  # unless it sees nobody
        return join_heads(v)

    def _few_keys(self, Q: Tensor, K: Tensor, V: Tensor) -> Tensor:
        """x (W^Q (y W^K)ᵀ) and P ((y W^V) W^O): the keys are carried to the queries, and these are not projected."""
        h, e, (d_q, d) = self.heads, self.d // self.heads, self.q.weight.shape
        k, v = split_heads(self.k(K), h), split_heads(self.v(V), h)  # (B, h, m, d/h)
        keys = (k @ self.q.weight.reshape(d_q, h, e).transpose((1, 2, 0))) * self.scale  # (B, h, m, d_q)
        if self.q.bias is None:
            constant = np.zeros(k.shape[:-1], dtype=k.dtype)
        else:
            constant = (k @ self.q.bias.reshape(h, e, 1)).reshape(k.shape[:-1]) * self.scale  # ⟨b, k⟩ of each key
        values = v @ self.o.weight.reshape(h, e, d)  # (B, h, m, d)
        if self.o.bias is not None:
            values = values + self.o.bias / h  # the weights of a head add up to 1, so those of all heads to h
        return summed_attention(Q, keys, constant, values)

    def order(self, Q: Tensor, K: Tensor, mask: Array | None, q: Tensor | None) -> str:
        """The cheapest of the three, by the number of multiplications; the first where the others save little."""
        if self.style.omega != "softmax" or not forms.fast(Q.data, K.data) or K.shape[-2] == 0:
            return "textbook"
        B, n, m, h = (K.shape[0] if K.ndim == 3 else 1), Q.shape[-2], K.shape[-2], self.heads
        (d_q, d), d_k = self.q.weight.shape, self.k.weight.shape[0]
        B_q = Q.shape[0] if Q.ndim == 3 else 1
        queries, keys, output = B_q * n * d_q * d, 2 * B * m * d_k * d, B * n * d * d
        prices = {
            "textbook": queries + keys + 2 * B * n * m * d + output,
            "few queries": queries + B_q * n * d * d_k + 2 * B * h * n * m * d_k + B * n * d_k * d + output,
        }
        if q is None and mask is None and self.o is not None and Q.ndim == K.ndim == 3 and B_q == B:
            prices["few keys"] = keys + B * m * d * (d_q + d) + B * n * h * m * (d_q + d)
        best = min(prices, key=prices.get)
        return best if prices[best] + SMALL < prices["textbook"] else "textbook"

    def weights(self, Q: Tensor, K: Tensor, mask: Array | None) -> Tensor:
        """ω(q kᵀ · scale), to look at."""
        q, k = split_heads(self.q(Q), self.heads), split_heads(self.k(K), self.heads)
        return weights(q, k, _of_keys(mask), self.scale, self.style.omega)


SMALL = 1_000_000  # multiplications that are not worth another order: what they take, the few ops more take as well


def _of_keys(mask: Array | None, before: int = 3) -> Array | None:
    """The mask (B, m) of the keys with the dimensions of the scores, (B, 1, 1, m) or (B, 1, m)."""
    return mask if mask is None or mask.ndim == 1 else mask.reshape(mask.shape[0], *[1] * (before - 1), mask.shape[1])


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
