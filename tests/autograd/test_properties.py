"""What must hold for any shape, index or mask that Hypothesis can think of."""

import numpy as np
import scipy.signal
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from autograd import Tensor, attention, conv2d, max_pool, mean_pool, multiply, softmax, where
from autograd.gradcheck import gradcheck
from tests.helpers.oracles import ORACLES

seeds = st.integers(0, 2**32 - 1)


def normal(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape)


@given(hnp.mutually_broadcastable_shapes(num_shapes=2, max_dims=4, max_side=4, min_side=0), seeds)
def test_broadcasting_sums_the_gradient_back(shapes, seed):
    """⟨gx, v⟩ = ⟨g, broadcast v ⊙ y⟩ for every pair of shapes; exact, since multiply is linear in x."""
    a, b = (normal(seed + i, *shape) for i, shape in enumerate(shapes.input_shapes))
    x, y = Tensor(a, requires_grad=True), Tensor(b, requires_grad=True)
    z = multiply(x, y)
    assert z.shape == shapes.result_shape
    g = normal(seed + 2, *z.shape)
    z.backward(g)
    assert x.grad.shape == a.shape and y.grad.shape == b.shape
    for v, tensor, other in ((normal(seed + 3, *a.shape), x, b), (normal(seed + 4, *b.shape), y, a)):
        np.testing.assert_allclose((tensor.grad * v).sum(), (g * (v * other)).sum(), atol=1e-10)


@given(hnp.mutually_broadcastable_shapes(num_shapes=3, max_dims=3, max_side=3), seeds)
def test_where_sends_each_gradient_to_the_chosen_side(shapes, seed):
    condition, a, b = (normal(seed + i, *shape) for i, shape in enumerate(shapes.input_shapes))
    gradcheck(where, condition > 0, a, b, directions=1)


@given(st.data(), hnp.array_shapes(min_dims=1, max_dims=3, max_side=4), seeds)
def test_getitem_with_any_index(data, shape, seed):
    index = data.draw(
        st.one_of(
            hnp.basic_indices(shape, allow_newaxis=True, allow_ellipsis=True),
            hnp.integer_array_indices(shape, result_shape=hnp.array_shapes(max_dims=2, max_side=4)),
            hnp.arrays(bool, shape),
            hnp.arrays(bool, shape[:1]),
        )
    )
    a = normal(seed, *shape)
    x = Tensor(a, requires_grad=True)
    y = x[index]
    np.testing.assert_array_equal(y.data, a[index])
    y.backward(np.ones(y.shape))
    counts = np.bincount(np.arange(a.size).reshape(shape)[index].ravel(), minlength=a.size)
    np.testing.assert_array_equal(x.grad.ravel(), counts)  # each element once for every time it was picked


@given(
    hnp.mutually_broadcastable_shapes(signature="(n,d),(d,m)->(n,m)", max_dims=3, max_side=3, min_side=0),
    st.booleans(),
    st.booleans(),
    seeds,
)
def test_matmul_of_any_batches(shapes, row, column, seed):
    left, right = shapes.input_shapes
    a = normal(seed, *left[-1:] if row else left)
    b = normal(seed + 1, *right[-2:-1] if column else right)
    np.testing.assert_allclose((Tensor(a) @ Tensor(b)).data, np.matmul(a, b))
    gradcheck(lambda x, y: x @ y, a, b, directions=1)


@st.composite
def attention_inputs(draw):
    B, h, n, m = draw(st.tuples(*[st.integers(1, 3)] * 3, st.integers(0, 4)))
    e, f, seed = draw(st.integers(1, 4)), draw(st.integers(1, 3)), draw(seeds)
    shared = draw(st.booleans())  # the same queries for all sets, as inducing points are
    q = normal(seed, 1 if shared else B, h, n, e)
    k, v = normal(seed + 1, B, h, m, e), normal(seed + 2, B, h, m, f)
    mask = draw(st.one_of(hnp.arrays(bool, (B, m)), hnp.arrays(bool, (B, 1, n, m)), hnp.arrays(bool, (B, h, n, m))))
    return q, k, v, mask


@given(attention_inputs())
def test_attention_with_any_mask(inputs):
    q, k, v, mask = inputs
    o = attention(q, k, v, mask=mask).data
    np.testing.assert_allclose(o, ORACLES["attention"](q, k, v, mask=mask), atol=1e-12)
    gradcheck(lambda q, k, v: attention(q, k, v, mask=mask), q, k, v, directions=1)
    lonely = ~np.broadcast_to(mask[:, None, None, :] if mask.ndim == 2 else mask, (*o.shape[:-1], k.shape[-2])).any(-1)
    assert (o[lonely] == 0).all()


@given(attention_inputs(), st.sampled_from([np.nan, np.inf, -np.inf, 1e300]))
def test_attention_ignores_masked_keys(inputs, garbage):
    """Whatever is stored in a hidden key: outputs and gradients are the same to the last bit, and its own are 0."""
    q, k, v, mask = inputs
    assume(mask.ndim == 2)
    hidden = ~mask[:, None, :, None]

    def run(k_hidden: float, v_hidden: float) -> list[np.ndarray]:
        leaves = [
            Tensor(x, requires_grad=True) for x in (q, np.where(hidden, k_hidden, k), np.where(hidden, v_hidden, v))
        ]
        o = attention(*leaves, mask=mask)
        o.backward(np.ones(o.shape))
        return [o.data] + [x.grad for x in leaves]

    clean, dirty = run(0.0, 0.0), run(garbage, garbage)
    for a, b in zip(clean, dirty, strict=True):
        np.testing.assert_array_equal(a, b)
    for gradient in dirty[2:]:
        assert (gradient[np.broadcast_to(hidden, gradient.shape)] == 0).all()


@given(st.floats(1e4, 1e30), seeds)
def test_attention_stays_finite_with_huge_logits(size, seed):
    q, k, v = (Tensor((normal(seed + i, 2, 3, 4)).astype("float32"), requires_grad=True) for i in range(3))
    o = attention(q, k, v, scale=size)
    o.sum().backward()
    assert all(np.isfinite(a).all() for a in (o.data, q.grad, k.grad, v.grad))


@given(hnp.arrays(bool, hnp.array_shapes(min_dims=2, max_dims=2, min_side=0, max_side=4)), st.integers(0, 3), seeds)
def test_pooling_with_any_mask(mask, d, seed):
    x = normal(seed, *mask.shape, d)
    dirty = np.where(mask[..., None], x, np.nan)
    for pool, name in ((mean_pool, "mean_pool"), (max_pool, "max_pool")):
        np.testing.assert_allclose(pool(dirty, mask=mask).data, ORACLES[name](x, mask=mask), atol=1e-12)
        gradcheck(lambda x, pool=pool: pool(x, mask=mask), x, directions=1)
        leaf = Tensor(dirty, requires_grad=True)
        y = pool(leaf, mask=mask)
        y.backward(np.ones(y.shape))
        assert (leaf.grad[~mask] == 0).all()


@given(hnp.arrays(bool, hnp.array_shapes(min_dims=1, max_dims=3, max_side=4)), seeds)
def test_masked_softmax_is_exactly_zero_where_hidden_and_sums_to_one(mask, seed):
    y = softmax(np.where(mask, normal(seed, *mask.shape), np.nan), mask=mask).data
    assert (y[~mask] == 0).all()
    np.testing.assert_allclose(y.sum(-1), mask.any(-1).astype(float))


@given(
    st.tuples(st.integers(1, 2), st.integers(1, 3), st.integers(1, 3)),
    st.tuples(st.integers(3, 7), st.integers(3, 7)),
    st.tuples(st.integers(1, 3), st.integers(1, 3)),
    st.tuples(st.integers(1, 3), st.integers(1, 3)),
    st.tuples(st.integers(0, 2), st.integers(0, 2)),
    seeds,
)
def test_conv2d_against_scipy(channels, image, kernel, stride, padding, seed):
    N, C_in, C_out = channels
    x, w, b = normal(seed, N, C_in, *image), normal(seed + 1, C_out, C_in, *kernel), normal(seed + 2, C_out)
    around = np.pad(x, ((0, 0), (0, 0), (padding[0],) * 2, (padding[1],) * 2))
    want = (
        np.array(
            [
                [
                    sum(scipy.signal.correlate2d(around[n, i], w[o, i], "valid") for i in range(C_in))
                    for o in range(C_out)
                ]
                for n in range(N)
            ]
        )[:, :, :: stride[0], :: stride[1]]
        + b[:, None, None]
    )
    np.testing.assert_allclose(conv2d(x, w, b, stride=stride, padding=padding).data, want, atol=1e-12)
    gradcheck(lambda x, w, b: conv2d(x, w, b, stride=stride, padding=padding), x, w, b, directions=1)
