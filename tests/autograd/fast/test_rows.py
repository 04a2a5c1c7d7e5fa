"""Fast linear maps, products and layer norm against the plain forms."""

from hypothesis import given
from hypothesis import strategies as st

import autograd
from tests.helpers.forms import dtypes, few, numbers, same_in_both_forms, sizes


@few
@given(st.data(), sizes, sizes, sizes, sizes, st.booleans(), dtypes)
def test_linear(data, B, n, d, e, bias, dtype):
    x, weight, b = data.draw(numbers(B, n, d)), data.draw(numbers(d, e)), data.draw(numbers(e)) if bias else None
    same_in_both_forms(autograd.linear, [x, weight, b], dtype)


@few
@given(st.data(), sizes, sizes, sizes, sizes, st.integers(1, 3), dtypes)
def test_a_product_with_a_matrix_for_each_head(data, B, n, d, e, h, dtype):
    x, heads = data.draw(numbers(B, h, n, d)), data.draw(numbers(h, d, e))
    same_in_both_forms(autograd.matmul, [x.swapaxes(1, 2).copy().swapaxes(1, 2), heads], dtype)


@few
@given(st.data(), sizes, sizes, st.integers(2, 9), st.booleans(), dtypes)
def test_layer_norm(data, B, n, d, affine, dtype):
    inputs = [data.draw(numbers(B, n, d)), *(data.draw(numbers(d)) if affine else None for _ in range(2))]
    same_in_both_forms(autograd.layer_norm, inputs, dtype)
