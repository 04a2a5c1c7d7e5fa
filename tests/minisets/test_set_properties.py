"""What makes a network a network on sets, for every block, baseline and architecture, outputs and gradients alike."""

import contextlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autograd import Tensor
from autograd.forms import plain_forms
from autograd.gradcheck import gradcheck
from minisets.nn import Module
from tasks.selftest.checks import block_error
from tasks.selftest.network_cases import BLOCKS, D_IN, NETWORK_CASES, NetworkCase
from tests.helpers import double

every_subject = pytest.mark.parametrize("subject", NETWORK_CASES, ids=str)
few = settings(max_examples=4)  # of each subject, and there are a hundred


@st.composite
def batches(draw, largest: int = 5):
    """Sets (B, n, D_IN), a mask that may hide whole sets, and a generator for what else a test draws."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    B, n = draw(st.integers(1, 3)), draw(st.integers(1, largest))
    mask = rng.random((B, n)) < draw(st.sampled_from([0.0, 0.5, 0.8, 1.0]))
    return rng.normal(size=(B, n, D_IN)), mask, rng


def run(net: Module, X: np.ndarray, mask: np.ndarray | None, u: np.ndarray | None = None, seed: int = 7) -> tuple:
    """Output, gradient of X and of all parameters, for the loss ⟨u, net(X)⟩."""
    leaf = Tensor(X, requires_grad=True)
    for p in net.parameters():
        p.grad = None
    y = net(leaf, mask)
    u = np.random.default_rng(seed).normal(size=y.shape) if u is None else u
    y.backward(u)
    parameters = [np.zeros(p.shape) if p.grad is None else p.grad for p in net.parameters()]
    return y.data, leaf.grad, parameters, u


def same(got: list, want: list, rtol: float = 1e-9) -> None:
    # One scale for all: a gradient that is zero by nature (a key's bias, under a softmax) is the others' rounding.
    scale = max(np.abs(b).max(initial=0.0) for b in want)
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol * scale)


@every_subject
@few
@given(batch=batches(), dtype=st.sampled_from(["float32", "float64"]))
def test_permuting_the_elements(subject: NetworkCase, batch, dtype: str):
    """f(πX) = π f(X), or f(X) if the set is pooled; the gradient of X is permuted, those of parameters are the same."""
    X, mask, rng = batch
    X, net = X.astype(dtype), subject.net(dtype=dtype)
    order = np.argsort(rng.random(mask.shape), axis=1)

    def permuted(a):
        return np.take_along_axis(a, order.reshape(*order.shape, *[1] * (a.ndim - 2)), axis=1)

    y, gX, gP, u = run(net, X, mask)
    y2, gX2, gP2, _ = run(net, permuted(X), permuted(mask), permuted(u) if subject.equivariant else u)
    same(
        [y2, gX2, *gP2],
        [permuted(y) if subject.equivariant else y, permuted(gX), *gP],
        rtol=1e-9 if dtype == "float64" else 1e-4,
    )


@every_subject
@few
@given(batch=batches(), garbage=st.sampled_from([np.nan, np.inf, -np.inf, 1e30]))
def test_masked_elements_have_no_influence(subject: NetworkCase, batch, garbage):
    """To the last bit; and hidden elements come out as zeros, and receive gradients of exactly zero."""
    X, mask, _ = batch
    net = subject.net()
    y, gX, gP, u = run(net, np.where(mask[..., None], X, 0.0), mask)
    y2, gX2, gP2, _ = run(net, np.where(mask[..., None], X, garbage), mask, u)
    for a, b in zip([y2, gX2, *gP2], [y, gX, *gP], strict=True):
        np.testing.assert_array_equal(a, b)
    assert (gX2[~mask] == 0).all()
    if subject.equivariant:
        assert (y2[~mask] == 0).all()


@every_subject
@few
@given(batch=batches(), more=st.integers(1, 3))
def test_padding_further_changes_nothing(subject: NetworkCase, batch, more):
    X, mask, rng = batch
    net, n = subject.net(), X.shape[1]
    y, gX, gP, u = run(net, X, mask)
    X2 = np.concatenate([X, rng.normal(size=(len(X), more, D_IN)) * 1e3], axis=1)
    mask2 = np.concatenate([mask, np.zeros((len(X), more), dtype=bool)], axis=1)
    u2 = np.concatenate([u, np.zeros((len(X), more, *u.shape[2:]))], axis=1) if subject.equivariant else u
    y2, gX2, gP2, _ = run(net, X2, mask2, u2)
    same([y2[:, :n] if subject.equivariant else y2, gX2[:, :n], *gP2], [y, gX, *gP], rtol=1e-12)


@every_subject
@few
@given(batch=batches())
def test_sets_of_a_batch_do_not_know_each_other(subject: NetworkCase, batch):
    """Each set alone, unpadded and without a mask, gives what it gives in the batch; so does a single set (n, d)."""
    X, mask, _ = batch
    net = subject.net()
    y, gX, _, u = run(net, X, mask)
    for b in range(len(X)):
        alone = X[b][mask[b]]
        ub = u[b][mask[b]] if subject.equivariant else u[b]
        got = run(net, alone[None], None, ub[None])
        single = run(net, alone, None, ub)
        want = [y[b][mask[b]] if subject.equivariant else y[b], gX[b][mask[b]]]
        same([got[0][0], got[1][0]], want, rtol=1e-12)
        same([single[0], single[1]], want, rtol=1e-12)


@every_subject
@few
@given(batch=batches())
def test_equal_elements_are_treated_alike(subject: NetworkCase, batch):
    X, _, _ = batch
    X = np.concatenate([X, X], axis=1)  # every element twice
    net, n = subject.net(), X.shape[1] // 2
    # A maximum over elements that differ in the last bit goes to one of them; only plain forms are alike to the bit.
    with plain_forms() if "Pooling" in subject.name else contextlib.nullcontext():
        y, _, _, _ = run(net, X, None)
        u = np.ones_like(y)
        y, gX, _, _ = run(net, X, None, u)
    same([gX[:, :n]], [gX[:, n:]])
    if subject.equivariant:
        same([y[:, :n]], [y[:, n:]])


@every_subject
@pytest.mark.parametrize("size", [0, 1])
def test_empty_sets_and_single_elements(subject: NetworkCase, size: int):
    """Finite, forward and backward, with a mask that hides all or with no element at all; and both agree."""
    net = subject.net()
    mask = np.arange(3) < np.full((2, 1), size)
    padded = run(net, np.ones((2, 3, D_IN)), mask)
    assert all(np.isfinite(a).all() for a in (padded[0], padded[1], *padded[2]))
    u = padded[3][:, :size] if subject.equivariant else padded[3]
    bare = run(net, np.ones((2, size, D_IN)), None, u)
    assert all(np.isfinite(a).all() for a in (bare[0], bare[1], *bare[2]))
    same([padded[0][:, :size] if subject.equivariant else padded[0], *padded[2]], [bare[0], *bare[2]], rtol=1e-12)


@every_subject
@pytest.mark.parametrize("size", [1e-6, 1e3, 1e6])
def test_any_magnitude_stays_finite(subject: NetworkCase, size: float):
    for dtype in ("float32", "float64"):
        X = (size * np.random.default_rng(0).normal(size=(2, 4, D_IN))).astype(dtype)
        y, gX, gP, _ = run(subject.net(dtype=dtype), X, None)
        assert all(np.isfinite(a).all() for a in (y, gX, *gP))


@pytest.mark.parametrize("subject", BLOCKS, ids=str)
@pytest.mark.parametrize("masked", [False, True])
def test_gradients_of_every_block_and_style(subject: NetworkCase, masked: bool):
    rng = np.random.default_rng(1)
    mask = np.array([[True, True, False, True], [True, False, False, False], [False] * 4]) if masked else None
    net, X = subject.net(), rng.normal(size=(3, 4, D_IN))
    errors = gradcheck(net, X, mask, directions=1)
    assert set(errors) >= {name for name, _ in net.named_parameters()}
    run(net, X, mask)
    for name, p in net.named_parameters():
        # A key's bias moves all scores of a query alike, which a softmax does not see; all else must learn.
        assert name.endswith("k.bias") or np.abs(p.grad).max() > 0, name


@pytest.mark.parametrize("subject", BLOCKS, ids=str)
def test_on_the_double_of_a_gpu(subject: NetworkCase):
    """Values and gradients, also with a mask that leaves a set empty: no block touches the host behind CuPy's back."""
    with double.installed():
        assert block_error(subject, "float64", "cuda") < 1e-10
