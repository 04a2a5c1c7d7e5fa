"""Fast convolution and batch norm against the plain forms."""

import contextlib

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import autograd
from autograd.fast import images
from tests.helpers.forms import TOLERANCE, dtypes, few, numbers, same_in_both_forms, sizes, tiny_pieces


@settings(max_examples=60)
@given(
    st.data(),
    st.integers(1, 5),
    st.tuples(st.integers(1, 3), st.integers(1, 3)),
    st.tuples(sizes, sizes),
    st.tuples(st.integers(1, 4), st.integers(1, 4)),
    st.tuples(st.integers(1, 3), st.integers(1, 3)),
    st.tuples(st.integers(0, 3), st.integers(0, 3)),
    st.booleans(),
    dtypes,
)
def test_conv2d(data, N, channels, image, kernel, stride, padding, bias, dtype):
    """Over strides smaller and larger than the kernel, and padding that whole windows lie in."""
    kernel = tuple(min(k, size + 2 * p) for k, size, p in zip(kernel, image, padding, strict=True))
    inputs = [data.draw(numbers(N, channels[0], *image)), data.draw(numbers(channels[1], channels[0], *kernel))]
    inputs.append(data.draw(numbers(channels[1])) if bias else None)
    same_in_both_forms(lambda *inputs: autograd.conv2d(*inputs, stride=stride, padding=padding), inputs, dtype)


@few
@given(st.data(), st.integers(2, 9), st.integers(1, 4), st.booleans(), st.booleans(), dtypes)
def test_batch_norm(data, N, C, pictures, frozen, dtype):
    """With its own statistics and given ones, that are constants or not, along the second axis and the last."""
    x = data.draw(numbers(N, C, 3, 4) if pictures else numbers(N, C))
    gamma, beta = ((data.draw(numbers(C)) if affine else None) for affine in data.draw(st.tuples(*[st.booleans()] * 2)))
    statistics = (data.draw(numbers(C)), 0.5 + data.draw(numbers(C)) ** 2) if frozen else None
    options = {"statistics": statistics, "frozen": frozen}
    same_in_both_forms(lambda *inputs: autograd.batch_norm(*inputs, **options), [x, gamma, beta], dtype)
    last = np.moveaxis(x, 1, -1)
    same_in_both_forms(lambda *inputs: autograd.batch_norm(*inputs, axis=-1, **options), [last, gamma, beta], dtype)


@few
@given(st.data(), st.integers(1, 60), st.integers(1, 4), dtypes)
def test_moments_of_pieces_are_those_of_all(data, N, C, dtype):
    x = (data.draw(numbers(N, C, 2, 2)) + 30).astype(dtype)
    for cut in (contextlib.nullcontext, tiny_pieces):
        with cut():
            mean, variance = images.moments(x, 1)
        assert mean.dtype == variance.dtype == dtype
        np.testing.assert_allclose(mean, x.astype("float64").mean(axis=(0, 2, 3)), rtol=TOLERANCE[dtype])
        np.testing.assert_allclose(variance, x.astype("float64").var(axis=(0, 2, 3)), rtol=10 * TOLERANCE[dtype])
