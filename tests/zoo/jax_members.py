"""Right and wrong, in JAX."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from tests.zoo.member import D_IN, D, Zoo

ZOO = Zoo("JAX")
add = ZOO.add


def _weights(rng: np.random.Generator, *shape: int) -> Any:
    return jnp.asarray(rng.normal(size=shape), dtype="float32")


@add("invariant", "Deep Sets with a masked mean, jitted")
def deep_sets(rng: np.random.Generator) -> Any:
    W = _weights(rng, D_IN, D)

    @jax.jit
    def f(X: Any, mask: Any) -> Any:
        H = jnp.where(mask[..., None], jnp.tanh(jnp.where(mask[..., None], X, 0) @ W), 0)
        return H.sum(1) / jnp.maximum(mask.sum(1, keepdims=True), 1)

    return f


@add("equivariant", "self-attention, over the keys of each set")
def attention(rng: np.random.Generator) -> Any:
    W, V = _weights(rng, D_IN, D), _weights(rng, D_IN, D)
    return lambda X: jax.nn.softmax((X @ W) @ jnp.swapaxes(X @ W, -1, -2) / D, axis=-1) @ (X @ V)


@add("equivariant", "self-attention, the softmax over axis 0", "batch_independence", "batch")
def softmax_over_axis_0(rng: np.random.Generator) -> Any:
    W, V = _weights(rng, D_IN, D), _weights(rng, D_IN, D)
    return jax.jit(lambda X: jax.nn.softmax((X @ W) @ jnp.swapaxes(X @ W, -1, -2) / D, axis=0) @ (X @ V))


@add("invariant", "a scan over the elements that keeps its last state", "invariant", "position")
def scanned(rng: np.random.Generator) -> Any:
    W, U = _weights(rng, D_IN, D), _weights(rng, D, D)

    def f(X: Any) -> Any:
        start = jnp.zeros((X.shape[0], D))
        return jax.lax.scan(lambda h, x: (jnp.tanh(x @ W + h @ U), None), start, jnp.swapaxes(X, 0, 1))[0]

    return f
