"""Fast halves of a MAB against the plain forms, and when a block is left to its plain form."""

import contextlib
from functools import partial

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import autograd
from autograd import Tensor, relu
from autograd.forms import plain_forms
from minisets import MAB, SAB, Multihead
from minisets.fast import blocks
from minisets.nn import Linear
from tests.helpers.forms import dtypes, few, gradients, numbers, same_in_both_forms, sizes, tiny_pieces


@few
@given(st.data(), sizes, sizes, sizes, sizes, st.booleans(), dtypes)
def test_linear_with_relu(data, B, n, d, e, bias, dtype):
    x, weight, b = data.draw(numbers(B, n, d)), data.draw(numbers(d, e)), data.draw(numbers(e)) if bias else None
    same_in_both_forms(
        lambda *inputs: blocks.linear(*inputs, relu=True),
        [x, weight, b],
        dtype,
        lambda *inputs: relu(autograd.linear(*inputs)),
    )


@few
@given(st.data(), sizes, sizes, st.integers(2, 9), st.booleans(), dtypes)
def test_layer_norm_of_a_sum(data, B, n, d, affine, dtype):
    inputs = [data.draw(numbers(B, n, d)), *(data.draw(numbers(d)) if affine else None for _ in range(2))]
    same_in_both_forms(
        lambda *inputs: blocks.sum_norm(*inputs, eps=1e-5),
        [*inputs, data.draw(numbers(B, n, d))],
        dtype,
        lambda x, gamma, beta, other: autograd.layer_norm(x + other, gamma, beta),
    )


@few
@given(st.data(), sizes, sizes, st.integers(2, 9), sizes, st.booleans(), st.booleans(), st.booleans(), dtypes)
def test_residual_norm(data, B, n, d, d_in, shared, with_relu, vectors, dtype):
    """Each half of a MAB; x may be shared by all sets."""
    x = data.draw(numbers(n, d) if shared else numbers(B, n, d))
    inputs = [x, data.draw(numbers(B, n, d_in)), data.draw(numbers(d_in, d))]
    inputs += [data.draw(numbers(d)) if vectors else None for _ in range(3)]

    def formula(x, z, weight, bias, gamma, beta):
        r = autograd.linear(z, weight, bias)
        return autograd.layer_norm(x + (relu(r) if with_relu else r), gamma, beta)

    same_in_both_forms(partial(blocks.residual_norm, relu=with_relu, eps=1e-5), inputs, dtype, formula)


def test_a_set_that_attends_to_itself_is_projected_at_once():
    rng = np.random.default_rng(0)
    for bias in (True, False):
        block, X = MAB(8, 8, 8, 2, bias=bias, rng=rng).astype("float64"), rng.normal(size=(3, 5, 8))
        found = []
        for form in (contextlib.nullcontext(), plain_forms()):
            block.zero_grad()
            with form:
                found.append(gradients(lambda X, block=block: block(X, X), [X]) + [p.grad for p in block.parameters()])
        for a, b in zip(*found, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11)


def test_an_array_that_forward_is_given_is_left_to_the_plain_form():
    rng = np.random.default_rng(0)
    X, block = rng.normal(size=(2, 3, 4)).astype("float32"), SAB(4, 8, 2, rng=rng)
    np.testing.assert_allclose(block.forward(X).data, block(X).data, rtol=1e-5, atol=1e-5)


def test_a_patched_or_subclassed_block_is_left_to_the_plain_form():
    rng = np.random.default_rng(0)
    block, X = MAB(8, 8, 8, 2, rng=rng), Tensor(rng.normal(size=(3, 5, 8)).astype("float32"))
    assert blocks.serves_mab(block, X, X)
    block.attention.forward = lambda *inputs: Tensor(np.zeros((3, 5, 8), "float32"))
    assert not blocks.serves_mab(block, X, X)
    del block.attention.forward

    class Mine(Multihead):
        def forward(self, Q, K, V, mask=None):
            return Q * 0

    block.attention = Mine(8, 8, 8, 2, rng=rng)
    assert not blocks.serves_mab(block, X, X)

    class Doubled(Linear):
        def forward(self, X):
            return 2 * super().forward(X)

    for place in ("attention.k", "attention.o", "rff.layers"):
        block, other = MAB(8, 8, 8, 2, rng=rng), Doubled(8, 8, rng=rng)
        if place == "rff.layers":
            block.rff.layers = [other]
        else:
            setattr(block.attention, place[-1], other)
        np.testing.assert_allclose(block(X, X).data, plain_forms()(block)(X, X).data, rtol=1e-5, atol=1e-5)
    block = MAB(8, 8, 8, 2, rng=rng)
    np.testing.assert_allclose(block(X, X).data, plain_forms()(block)(X, X).data, rtol=1e-5, atol=1e-5)


def test_arrays_may_have_any_strides():
    """Transposed, reversed, strided: results are those of copies."""
    rng = np.random.default_rng(0)
    x, w, b = rng.normal(size=(6, 5)), rng.normal(size=(5, 5)), rng.normal(size=5)
    odd = [np.asfortranarray(x), x[::-1][::-1], np.repeat(x, 2, axis=1)[:, ::2], np.repeat(x, 2, axis=0)[::2]]
    for function in (
        lambda x, w, b: blocks.linear(x, w, b, relu=True),
        lambda x, w, b: blocks.sum_norm(x, b, b, x, eps=1e-5),
        lambda x, w, b: blocks.residual_norm(x, x, w, b, b, b, relu=True, eps=1e-5),
        lambda x, w, b: autograd.attention(x, x * 2, x),
    ):
        for other in odd:
            for cut in (contextlib.nullcontext, tiny_pieces):
                with cut():
                    leaves = [Tensor(a, requires_grad=True) for a in (other, np.asfortranarray(w), b)]
                    y = function(*leaves)
                    y.backward(np.asfortranarray(np.cos(y.data)))
                leaves_c = [Tensor(a.copy(), requires_grad=True) for a in (x, w, b)]
                y_c = function(*leaves_c)
                y_c.backward(np.cos(y_c.data))
                np.testing.assert_allclose(y.data, y_c.data, rtol=1e-12)
                for a, c in zip(leaves, leaves_c, strict=True):
                    if c.grad is not None:
                        np.testing.assert_allclose(a.grad, c.grad, rtol=1e-10, atol=1e-12)
