"""Defects known from other implementations.  Each has a check here, which passes on ours and fails on a mutant of ours.

The mutants are made on the spot, each with the defect that its check is there to catch.
"""

from collections.abc import Callable

import numpy as np
import pytest
import scipy.stats

import minisets.attention
import minisets.pooling
from autograd import Tensor, attention, gaussian_mixture_log_likelihood, mean_pool, softmax
from autograd.forms import plain_forms
from minisets import ISAB, PMA, SAB, Multihead, build, testing
from minisets.nn import Dropout, Module
from minisets.optim import Adam

Patch = pytest.MonkeyPatch


def generator() -> np.random.Generator:
    return np.random.default_rng(0)


def caught(check: Callable[[], None], cause: str | None = None) -> None:
    """The check must fail, by an assertion and not by accident; mutants are made of the plain forms."""
    with plain_forms(), pytest.raises(AssertionError, match=cause):
        check()


# ---- inducing points or seeds that never train


def check_learned_rows_learn(freeze: bool = False) -> None:
    rng = generator()
    isab, pma = ISAB(2, 8, 2, 3, rng=rng), PMA(8, 2, 2, rng=rng)
    if freeze:
        isab.I.requires_grad = pma.S.requires_grad = False
    before = isab.I.data.copy(), pma.S.data.copy()
    optimizer = Adam(isab.parameters() + pma.parameters())
    (pma(isab(rng.normal(size=(4, 5, 2)))) ** 2).sum().backward()
    optimizer.step()
    assert (isab.I.data != before[0]).all() and (pma.S.data != before[1]).all()


def test_inducing_points_and_seeds_learn():
    check_learned_rows_learn()
    caught(lambda: check_learned_rows_learn(freeze=True))


# ---- heads


def check_heads() -> None:
    """Against a loop over heads: head j has features j·e … (j+1)·e of queries, keys and values, e = d/h."""
    rng, d, h = generator(), 12, 3
    net = Multihead(5, 5, d, h, rng=rng).astype("float64")
    X, e = rng.normal(size=(2, 4, 5)), d // h
    q, k, v = (layer(X).data for layer in (net.q, net.k, net.v))
    heads = []
    for j in range(h):
        part = slice(j * e, (j + 1) * e)
        scores = np.einsum("bne,bme->bnm", q[..., part], k[..., part]) / np.sqrt(d)
        P = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)
        heads.append(np.einsum("bnm,bme->bne", P, v[..., part]))
    want = np.concatenate(heads, axis=-1) @ net.o.weight.data + net.o.bias.data
    np.testing.assert_allclose(net(X, X, X).data, want, rtol=1e-10)


def test_heads_are_split_by_size_and_not_by_count(monkeypatch: Patch):
    check_heads()

    def by_count(X: Tensor, heads: int) -> Tensor:  # d/h heads of h features
        *batch, n, d = X.shape
        return X.reshape(*batch, n, d // heads, heads).swapaxes(-2, -3)

    monkeypatch.setattr(minisets.attention, "split_heads", by_count)
    caught(check_heads)


def test_heads_are_several_and_not_one_in_disguise(monkeypatch: Patch):
    check_heads()
    # Split and join that cancel out: attention sees one head of the full width.
    monkeypatch.setattr(minisets.attention, "split_heads", lambda X, heads: X.reshape(X.shape[0], 1, *X.shape[1:]))
    caught(check_heads)


# ---- masks


def test_logits_are_masked_and_not_only_keys_and_values(monkeypatch: Patch):
    sab = SAB(3, 8, 2, rng=generator())
    testing.check_padding(sab, "equivariant")

    def zeroed(q, k, v, mask=None, scale=None):  # a logit of 0 has weight e⁰, not none
        present = 1.0 if mask is None else mask.reshape(len(mask), 1, -1, 1)
        return attention(q, k * present, v * present, scale=scale)

    monkeypatch.setattr(minisets.attention, "attention", zeroed)
    caught(lambda: testing.check_padding(sab, "equivariant"), "padding is counted")


def test_pooling_minds_the_mask(monkeypatch: Patch):
    net = build("rFF + Pooling", d_in=2, d_out=1, rng=generator())
    testing.check_padding(net)
    monkeypatch.setattr(minisets.pooling, "mean_pool", lambda X, axis, mask: mean_pool(X, axis=axis))
    caught(lambda: testing.check_padding(net), "padding is counted")


def check_empty_sets(label: str) -> None:
    testing.check_empty_sets(build(label, d_in=2, d_out=1, d=8, heads=2, rng=generator()), examples=8)


def test_no_nan_on_an_empty_set(monkeypatch: Patch):
    for label in ("SAB + PMA", "ISAB (4) + PMA", "rFF + Pooling", "rFFp-max + Pooling", "rFF + Dotprod"):
        check_empty_sets(label)

    def naive(q, k, v, mask=None, scale=None):  # −∞ − (−∞) is nan
        scores = (q @ k.swapaxes(-1, -2)) * scale
        if mask is not None:
            scores = scores + np.where(mask[:, None, None], 0, -np.inf)
        e = (scores - scores.max(axis=-1, keepdims=True).detach()).exp()
        return (e / e.sum(axis=-1, keepdims=True)) @ v

    monkeypatch.setattr(minisets.attention, "attention", naive)
    caught(lambda: check_empty_sets("SAB + PMA"), "softmax over no keys")


# ---- dropout


def check_dropout_acts() -> None:
    """And at evaluation it does not: a check of anything would say that outputs are random."""
    net = build("ISAB (4) + PMA", task="point_cloud", d_in=3, d_out=4, d=8, heads=2, rng=generator())
    testing.check_parameters(net)


def test_dropout_is_applied_where_the_table_has_it(monkeypatch: Patch):
    check_dropout_acts()
    monkeypatch.setattr(Dropout, "forward", lambda self, X: X)
    caught(check_dropout_acts, "built, but not applied")


# ---- the likelihood


def check_mixture(log_likelihood: Callable) -> None:
    rng = generator()
    x, mu, sigma = rng.normal(size=(5, 2)), rng.normal(size=(3, 2)), rng.uniform(0.5, 2, size=(3, 2))
    pi = rng.dirichlet(np.ones(3))
    density = sum(pi[k] * scipy.stats.multivariate_normal(mu[k], np.diag(sigma[k] ** 2)).pdf(x) for k in range(3))
    np.testing.assert_allclose(log_likelihood(x, np.log(pi), mu, sigma), np.log(density), rtol=1e-10)


def test_the_mixture_adds_densities_and_not_their_logarithms():
    check_mixture(lambda *a: gaussian_mixture_log_likelihood(*a).data)

    def wrong(x, log_pi, mu, sigma):
        parts = [
            gaussian_mixture_log_likelihood(x, log_pi[k : k + 1], mu[k : k + 1], sigma[k : k + 1]) for k in range(3)
        ]
        return sum(part.data for part in parts)

    caught(lambda: check_mixture(wrong))


# ---- a surprise that is no defect


def gradient_norms(module: Module, names: tuple[str, ...]) -> list[float]:
    return [float(np.abs(dict(module.named_parameters())[name].grad).max()) for name in names]


def test_a_softmax_over_a_single_key_carries_no_gradient():
    """Its weight is 1 whatever the score: so it is in a SAB after PMA₁, and in the second half of ISAB₁."""
    rng = generator()
    X = rng.normal(size=(2, 4, 8))
    sab, pma = SAB(8, 8, 2, rng=rng), PMA(8, 2, 1, rng=rng)
    (sab(pma(X)) ** 2).sum().backward()
    names = ("mab.attention.q.weight", "mab.attention.k.weight")
    assert gradient_norms(sab, names) == [0.0, 0.0] and min(gradient_norms(pma, names)) > 0
    isab = ISAB(8, 8, 2, 1, rng=rng)
    (isab(X) ** 2).sum().backward()
    assert gradient_norms(isab, ("mab1.attention.q.weight", "mab1.attention.k.weight")) == [0.0, 0.0]
    assert softmax(np.zeros((2, 1))).data.tolist() == [[1.0], [1.0]]
