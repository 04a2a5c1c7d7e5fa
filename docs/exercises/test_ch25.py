"""Checks of the answers to chapter 25: python -m pytest docs/exercises/test_ch25.py"""

import math

import numpy as np
import pytest

from autograd import Tensor, gaussian_mixture_log_likelihood
from docs.exercises import answers
from minisets import MAB, Multihead
from minisets.interop import load_authors

ch25 = answers("ch25")
rng = np.random.default_rng(0)


@pytest.mark.parametrize("d_x", [3, 8])
def test_authors_mab(d_x: int):
    sizes = {"fc_q": (8, d_x), "fc_k": (8, 5), "fc_v": (8, 5), "fc_o": (8, 8)}
    state = {f"{name}.weight": rng.normal(size=size) for name, size in sizes.items()}
    state |= {f"{name}.bias": rng.normal(size=8) for name in sizes}
    block = MAB(d_x, 5, 8, 2, style="authors", rng=rng).astype("float64")
    load_authors(block, state)
    X, Y = rng.normal(size=(6, d_x)), rng.normal(size=(4, 5))
    np.testing.assert_allclose(ch25.authors_mab(state, X, Y, 2), block(X, Y).numpy(), rtol=1e-9, atol=1e-9)


def test_with_the_scale_of_a_head():
    width = Multihead(4, 4, 8, 4, scale="width", bias=False, rng=rng).astype("float64")
    head = Multihead(4, 4, 8, 4, scale="head", bias=False, rng=rng).astype("float64")
    head.load_state_dict(width.state_dict())
    X = rng.normal(size=(5, 4))
    assert np.abs(head(X, X, X).numpy() - width(X, X, X).numpy()).max() > 1e-3
    head.q.weight.data = ch25.with_the_scale_of_a_head(width.q.weight.data, 4)
    np.testing.assert_allclose(head(X, X, X).numpy(), width(X, X, X).numpy(), rtol=1e-9)


def test_without_output():
    full = Multihead(4, 4, 8, 1, bias=False, rng=rng).astype("float64")
    short = Multihead(4, 4, 8, 1, bias=False, output=False, rng=rng).astype("float64")
    short.q, short.k = full.q, full.k
    short.v.weight.data = ch25.without_output(full.v.weight.data, full.o.weight.data)
    X = rng.normal(size=(5, 4))
    np.testing.assert_allclose(short(X, X, X).numpy(), full(X, X, X).numpy(), rtol=1e-9)


def test_all_sigmas():
    Y, X = rng.normal(size=(3, 4)), rng.normal(size=(7, 2))
    found = ch25.all_sigmas(Y)
    assert found.shape == (3, 5)
    log_pi = Y[:, 0] - np.log(np.exp(Y[:, 0]).sum())
    mu, sigma = Y[:, 1:3], np.log1p(np.exp(Y[:, 3:]))
    distance = ((X[:, None] - mu) ** 2).sum(axis=-1) / sigma[:, 0] ** 2
    circles = np.log(np.exp(log_pi - distance / 2 - 2 * np.log(sigma[:, 0]) - np.log(2 * math.pi)).sum(axis=1))
    parts = (log_pi, found[:, 1:3], np.log1p(np.exp(found[:, 3:])))
    ours = gaussian_mixture_log_likelihood(X[None], *(Tensor(part[None]) for part in parts))
    np.testing.assert_allclose(ours.numpy()[0], circles, rtol=1e-9)


@pytest.mark.parametrize(("m", "d"), [(16, 128), (1, 64), (32, 256)])
def test_xavier_bound(m: int, d: int):
    assert ch25.xavier_bound((1, m, d)) == pytest.approx(math.sqrt(6 / (d * (m + 1))))
    assert ch25.xavier_bound((d, m)) == pytest.approx(math.sqrt(6 / (m + d)))
    assert ch25.xavier_bound((4, 3, 5, 5)) == pytest.approx(math.sqrt(6 / (25 * 7)))
