"""Fast attention against the plain form, with masks and hidden keys, and only the gradients that are needed."""

import contextlib
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import autograd
from autograd import Tensor
from autograd.fast import attention
from tests.helpers.forms import dtypes, gradients, numbers, same_in_both_forms, sizes, tiny_pieces


@st.composite
def masks(draw, B: int, h: int, n: int, m: int) -> np.ndarray | None:
    shape = draw(st.sampled_from([None, (B, m), (B, 1, 1, m), (B, 1, n, m), (B, h, n, m), (1, 1, n, m), (B, 1, n, 1)]))
    if shape is None:
        return None
    return np.random.default_rng(draw(st.integers(0, 99))).random(shape) < draw(st.sampled_from([0.0, 0.3, 0.8, 1.0]))


@settings(max_examples=80)
@given(st.data(), st.integers(1, 3), st.integers(1, 3), sizes, sizes, sizes, sizes, dtypes, st.booleans())
def test_attention(data, B, h, n, m, e, f, dtype, steep):
    """Over shapes, masks with empty rows, and scores within and beyond those that need no maximum subtracted."""
    q, k, v = data.draw(numbers(B, h, n, e)), data.draw(numbers(B, h, m, e)), data.draw(numbers(B, h, m, f))
    if data.draw(st.booleans()):
        q = q[:1]  # queries that all sets share
    mask, scale = data.draw(masks(B, h, n, m)), 0.7
    if steep:  # all scores of a query grow by the same large number, which leaves float32 few digits
        k[..., 0] += 200
        dtype = "float64"
    same_in_both_forms(lambda *qkv: autograd.attention(*qkv, mask=mask, scale=scale), [q, k, v], dtype)


@pytest.mark.parametrize("cut", [contextlib.nullcontext, tiny_pieces])
def test_masked_keys_may_hold_anything_in_every_block(cut):
    rng = np.random.default_rng(0)
    q, k, v = rng.normal(size=(2, 2, 5, 3)), rng.normal(size=(2, 2, 7, 3)), rng.normal(size=(2, 2, 7, 4))
    mask = rng.random((2, 7)) < 0.5
    mask[1] = False
    wrong = [np.where(mask[:, None, :, None], x, np.nan) for x in (k, v)]

    def attend(q, k, v):
        return autograd.attention(q, k, v, mask=mask)

    with cut():
        for a, b in zip(gradients(attend, [q, k, v]), gradients(attend, [q, *wrong]), strict=True):
            np.testing.assert_array_equal(a, b)


def test_only_the_needed_gradients_are_computed():
    """With constant keys, attention computes neither their gradient nor the values'; nor does linear for constants."""
    products = []
    real = np.dot

    def counted(a, b, out=None):
        products.append((a.shape, b.shape))
        return real(a, b, out=out)

    weight = Tensor(np.ones((3, 4)), requires_grad=True)
    with mock.patch("numpy.dot", counted):
        autograd.linear(np.ones((5, 3)), weight).sum().backward()
    assert products == [((5, 3), (3, 4))]  # forward; gW is a product with a transposed operand, gx would be another dot
    q, k = np.ones((1, 4, 3)), np.ones((1, 5, 3))
    for wanted in ((True, False, False), (False, True, False), (False, False, True)):
        y, pull = attention.attention(wanted, q, k, k, scale=1.0)
        made = pull(np.ones_like(y))
        assert tuple(gradient is not None for gradient in made) == wanted
