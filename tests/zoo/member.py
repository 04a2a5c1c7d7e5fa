"""What an inhabitant of the zoo is, and the layers that many of them share."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from autograd import Tensor, relu, softmax, where
from minisets.nn import Linear, Module

D_IN, D = 3, 8


@dataclass(frozen=True)
class Member:
    """A set function on (B, n, D_IN); a wrong one says which property it violates and which cause is to be named."""

    name: str
    kind: str  # invariant or equivariant
    text: str
    make: Callable[[np.random.Generator], Any]
    violates: str = ""  # a check that must fail; "" for a right one
    cause: str = ""  # a word of the cause that should be named
    framework: str = "minisets"

    @property
    def right(self) -> bool:
        return not self.violates

    def __str__(self) -> str:
        return self.name


class Zoo:
    """A list of members, to which a decorated class or function is added."""

    def __init__(self, framework: str = "minisets") -> None:
        self.members: list[Member] = []
        self.framework = framework

    def add(self, kind: str, text: str, violates: str = "", cause: str = "") -> Callable[[Any], Any]:
        def added(make: Any) -> Any:
            name = make.__name__.strip("_").replace("_", " ")
            name = name if "_" in make.__name__ or name.islower() else _spaced(name)
            self.members.append(Member(name, kind, text, make, violates, cause, self.framework))
            return make

        return added


def _spaced(name: str) -> str:
    """CamelCase as words."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", name).split()
    return " ".join(word if word.isupper() and len(word) > 1 else word.lower() for word in words)


def present(mask: Any, X: Any) -> np.ndarray:
    """The mask (B, n), all True if there is none."""
    return np.ones(X.shape[:2], dtype=bool) if mask is None else np.asarray(mask)


def values(X: Any) -> np.ndarray:
    """The numbers of an array or a Tensor."""
    return X.numpy() if isinstance(X, Tensor) else np.asarray(X)


class Elements(Module):
    """φ(x) = relu(x W + b), with masked elements zeroed before and after, if there is a mask."""

    def __init__(self, rng: np.random.Generator, d_in: int = D_IN, d: int = D) -> None:
        self.linear = Linear(d_in, d, rng=rng)
        self.linear.bias.data += rng.normal(size=d).astype("float32") / 2

    def forward(self, X: Any, mask: Any = None) -> Tensor:
        if mask is not None:
            X = where(np.asarray(mask)[..., None], X, 0)
        Y = relu(self.linear(X))
        return Y if mask is None else where(np.asarray(mask)[..., None], Y, 0)


class Attention(Module):
    """One head of self-attention with a residual, φ(X) + softmax(q kᵀ) v, over unmasked keys."""

    def __init__(self, rng: np.random.Generator, d: int = D) -> None:
        self.phi = Elements(rng)
        self.q, self.k, self.v = (Linear(d, d, rng=rng) for _ in range(3))

    def weights(self, scores: Tensor, mask: Any) -> Tensor:
        return softmax(scores, mask=None if mask is None else np.asarray(mask)[:, None, :])

    def forward(self, X: Any, mask: Any = None) -> Tensor:
        H = self.phi(X, mask)
        return H + self.weights(self.q(H) @ self.k(H).swapaxes(-1, -2), mask) @ self.v(H)
