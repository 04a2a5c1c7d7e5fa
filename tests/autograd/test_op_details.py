"""Corners of single ops that the case table does not reach: ties, limits, infinity."""

import weakref

import numpy as np
import pytest

import autograd as ag
from autograd import Tensor, backend
from autograd.forms import plain_forms


def gradient(function, *values):
    x = Tensor(np.array(values), requires_grad=True)
    y = function(x)
    y.backward(np.ones(y.shape))
    return x.grad


def test_ties_share_the_gradient():
    np.testing.assert_array_equal(gradient(ag.max, 2.0, 1.0, 2.0), [0.5, 0.0, 0.5])
    np.testing.assert_array_equal(gradient(ag.min, 2.0, 1.0, 1.0), [0.0, 0.5, 0.5])
    np.testing.assert_array_equal(gradient(lambda x: ag.max_pool(x, axis=0), 3.0, 3.0), [0.5, 0.5])
    for op in (ag.maximum, ag.minimum):
        x, y = Tensor([1.0], requires_grad=True), Tensor([1.0], requires_grad=True)
        op(x, y).sum().backward()
        np.testing.assert_array_equal([x.grad, y.grad], [[0.5], [0.5]])


def test_kinks_have_a_defined_derivative():
    np.testing.assert_array_equal(gradient(ag.relu, -1.0, 0.0, 1.0), [0, 0, 1])
    np.testing.assert_array_equal(gradient(ag.abs, -1.0, 0.0, 1.0), [-1, 0, 1])
    np.testing.assert_array_equal(gradient(lambda x: ag.clip(x, low=0, high=1), -1.0, 0.0, 1.0, 2.0), [0, 1, 1, 0])


def test_powers_of_zero():
    np.testing.assert_array_equal(gradient(lambda x: x**2, 0.0, 1.0), [0, 2])
    np.testing.assert_array_equal(gradient(lambda x: x**0, 0.0, 1.0), [0, 0])
    np.testing.assert_array_equal(gradient(lambda y: ag.power(0.0, y), 1.0, 2.0), [0, 0])


def test_zero_to_a_negative_power_has_no_gradient_for_the_exponent():
    with np.errstate(divide="ignore"):
        x, y = (
            Tensor(np.array(values), requires_grad=True) for values in ([0.0, 0.0, 0.0, 2.0], [-1.0, 0.0, 2.0, -1.0])
        )
        (x**y).backward(np.ones(4))
    np.testing.assert_allclose(y.grad, [0, 0, 0, np.log(2) / 2], rtol=1e-15)
    np.testing.assert_array_equal(x.grad, [-np.inf, 0, 0, -0.25])


@pytest.mark.parametrize("bounds", [np.array([0.0, 1.0]), np.array([0, 1]), [0, 1.0], Tensor([0, 1]), np.float64(1)])
def test_bounds_of_any_kind_leave_float32_as_it_is(bounds):
    x = Tensor(np.array([[-2.0, 3.0], [0.5, 0.5]], dtype="float32"), requires_grad=True)
    for low, high in ((bounds, None), (None, bounds), (bounds, bounds)):
        x.grad, y = None, x.clip(low, high)
        y.sum().backward()
        assert y.dtype == x.grad.dtype == "float32" and x.grad.shape == x.shape
        limits = [None if b is None else np.asarray(b, dtype="float32") for b in (low, high)]
        np.testing.assert_array_equal(y.data, np.clip(x.data, *limits))
        np.testing.assert_array_equal(x.grad, y.data == x.data)
    assert x.clip().data is x.data


def test_logsumexp_of_nothing_but_minus_infinity():
    x = Tensor(np.array([[-np.inf, -np.inf], [0.0, -np.inf]]), requires_grad=True)
    y = ag.logsumexp(x, axis=1)
    np.testing.assert_array_equal(y.data, [-np.inf, 0.0])
    y.backward(np.ones(2))
    np.testing.assert_array_equal(x.grad, [[0.0, 0.0], [1.0, 0.0]])


def test_dropout_keeps_the_mean_and_is_determined_by_the_seed():
    x = np.ones((1000, 100))
    y = ag.dropout(x, p=0.3, rng=np.random.default_rng(0)).data
    assert set(np.unique(y)) == {0.0, 1 / 0.7}
    assert abs(y.mean() - 1) < 5 * np.sqrt(0.3 / 0.7 / x.size)  # five standard deviations
    np.testing.assert_array_equal(y, ag.dropout(x, p=0.3, rng=np.random.default_rng(0)).data)
    rng = np.random.default_rng(0)
    ag.dropout(x, p=0.0, rng=rng)
    assert rng.random() == np.random.default_rng(0).random()  # nothing was sampled


def test_a_query_without_keys_may_hold_nan():
    q = Tensor(np.array([[1.0, 2.0], [np.nan, np.nan]]), requires_grad=True)
    k, v = (Tensor(np.ones((2, 2)), requires_grad=True) for _ in range(2))
    ag.attention(q, k, v, mask=np.array([[True, True], [False, False]])).sum().backward()
    assert all(np.isfinite(t.grad).all() for t in (q, k, v))


def test_an_empty_set_has_no_gradient_even_if_the_upstream_gradient_is_nan():
    """A loss may divide by the size of a set; where that is 0, the nan must not spread to the other sets."""
    mask, upstream = np.array([[True, True], [False, False]]), np.array([[1.0, 1.0], [np.nan, np.nan]])
    q, k, v = (Tensor(np.eye(2), requires_grad=True) for _ in range(3))
    ag.attention(q, k, v, mask=mask).backward(upstream)
    assert all(np.isfinite(t.grad).all() for t in (q, k, v))
    for pool in (ag.mean_pool, ag.max_pool):
        x = Tensor(np.ones((2, 2, 2)), requires_grad=True)
        pool(x, mask=mask).backward(upstream)
        assert np.isfinite(x.grad).all() and (x.grad[1] == 0).all()


def test_logsumexp_of_infinity():
    assert ag.logsumexp(np.array([np.inf, 0.0])).item() == np.inf


def test_small_losses_keep_their_digits():
    """log(1 + e⁻⁴⁰) is 4e-18; 1 + e⁻⁴⁰ alone is 1."""
    loss = ag.binary_cross_entropy_with_logits(np.array([40.0]), np.array([1.0])).item()
    assert loss == pytest.approx(np.exp(-40.0), rel=1e-12)
    assert ag.softplus(np.array([-40.0])).item() == pytest.approx(np.exp(-40.0), rel=1e-12)


def test_losses_take_numbers_lists_and_their_reduction_by_place():
    assert ag.squared_error(Tensor(5.0), 3.0).item() == 4.0
    logits = Tensor(np.zeros((2, 4)))
    assert ag.cross_entropy(logits, [0, 3], "sum").item() == pytest.approx(2 * np.log(4))
    assert ag.cross_entropy(logits, labels=(0, 3), reduction="none").shape == (2,)
    assert ag.poisson_negative_log_likelihood(np.ones(2), [0, 1], "sum").item() == pytest.approx(2.0)


@pytest.mark.parametrize(
    "function",
    [
        lambda y: ag.linear(y, np.ones((3, 2))),
        lambda y: y @ np.ones((3, 2)),
        lambda y: ag.einsum("ij,jk->ik", y, np.ones((3, 2))),
        lambda y: plain_forms()(ag.batch_norm)(y),  # the fast form keeps x, in place of x̂
        lambda y: y * 2 + 1,
        lambda y: y.sum(axis=0),
        lambda y: y[np.array([0, 0])],
    ],
)
def test_an_op_that_needs_no_input_for_backward_keeps_none(function):
    y = Tensor(np.ones((4, 3)), requires_grad=True) + 1
    kept = weakref.ref(y.data)
    z = function(y)
    del y
    assert kept() is None and z.requires_grad


def test_poisson_of_rate_zero_and_count_zero():
    assert ag.poisson_negative_log_likelihood(np.zeros(1), count=np.zeros(1)).item() == 0


def test_a_gradient_that_two_inputs_share_is_added_to_neither(device: str):
    """add sends one array to x and to y; x has another gradient coming, which y must not see."""
    rng = np.random.default_rng(0)
    a, b = (Tensor(backend.to_device(rng.normal(size=(3, 4)), device), requires_grad=True) for _ in range(2))
    z, w = a * 1, b * 1
    doubled = z * 2
    y = (z + w).tanh()
    (doubled + y).backward(np.ones((3, 4)))
    np.testing.assert_allclose(backend.to_host(a.grad), backend.to_host(b.grad) + 2, atol=1e-12)
