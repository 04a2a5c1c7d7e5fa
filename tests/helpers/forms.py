"""Comparing fast forms with plain ones: values and gradients, whole and in tiny pieces, on several threads."""

from unittest import mock

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from autograd import Tensor, threads
from autograd.fast import pieces
from autograd.forms import plain_forms

few = settings(max_examples=25)
sizes = st.integers(1, 9)
dtypes = st.sampled_from(["float32", "float64"])
TOLERANCE = {"float32": 2e-5, "float64": 1e-12}


def tiny_pieces():
    """Divide even small arrays, which otherwise are a single piece."""
    return mock.patch.multiple(pieces, PIECE=12, BLOCK=12, MIN_QUERIES=2)


def gradients(function, inputs: list, seed: int = 0) -> list[np.ndarray]:
    """The value and the gradients of all Tensors among the inputs."""
    leaves = [Tensor(x.copy(), requires_grad=True) if isinstance(x, np.ndarray) else x for x in inputs]
    y = function(*leaves)
    y.backward(np.random.default_rng(seed).normal(size=y.shape))
    return [y.data, *(x.grad for x in leaves if isinstance(x, Tensor))]


def same_in_both_forms(function, inputs: list, dtype: str, formula=None) -> None:
    """The function in fast forms, whole and in tiny pieces, against the formula (by default itself) in plain forms."""
    inputs = [x.astype(dtype) if isinstance(x, np.ndarray) else x for x in inputs]
    with threads.use(3):
        fast = [gradients(function, inputs)]
        with tiny_pieces():
            fast.append(gradients(function, inputs))
    with plain_forms():
        plain = gradients(formula or function, inputs)
    # Rounding is relative to the largest operand; one scale for all, since some gradients are exactly 0.
    scale = max(np.abs(x).max(initial=1.0) for x in plain)
    for a, b in [pair for result in fast for pair in zip(result, plain, strict=True)]:
        assert a.dtype == dtype
        np.testing.assert_allclose(a, b, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype] * scale)


@st.composite
def numbers(draw, *shape: int) -> np.ndarray:
    return np.random.default_rng(draw(st.integers(0, 2**32 - 1))).normal(size=shape)
