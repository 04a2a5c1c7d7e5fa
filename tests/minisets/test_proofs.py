"""The supplement's lemmas, run as constructions: each builds the network that the proof describes and compares.

The proofs do not mention LayerNorm.  Sum pooling as printed fails with it, so the universality test leaves it out.
"""

import numpy as np
import pytest

from autograd import Tensor, attention
from minisets import ISAB, PMA, SAB, Multihead, rFF
from minisets.nn import Linear, Module

rng = np.random.default_rng(0)


def set_to(layer: Linear, weight: np.ndarray | float) -> None:
    """W = a matrix, or a multiple of the identity; b = 0."""
    d_in, d_out = layer.weight.shape
    layer.weight.data[...] = weight if np.ndim(weight) else weight * np.eye(d_in, d_out)
    if layer.bias is not None:
        layer.bias.data[...] = 0


def identity_attention(multihead: Multihead) -> None:
    """Each head a projection onto its own features, W^O the identity."""
    for layer in (multihead.q, multihead.k, multihead.v, multihead.o):
        set_to(layer, 1.0)


def test_the_mean_is_attention_by_a_zero_seed():
    X = rng.normal(size=(3, 7, 4))
    np.testing.assert_allclose(attention(np.zeros((1, 4)), X, X).data[:, 0], X.mean(axis=1), rtol=1e-12)


@pytest.mark.parametrize("p", [1, 2, 3, 0.5, -1, 8])
def test_power_means(p: float):
    """(1/n Σ zᵢᵖ)^(1/p): h = d one-dimensional heads and W^O = 1, between the functions z ↦ zᵖ and z ↦ z^(1/p)."""
    d = 4
    heads = Multihead(d, d, d, heads=d, rng=rng).astype("float64")
    identity_attention(heads)
    Z = rng.uniform(0.5, 2.0, size=(2, 6, d))
    powers = Tensor(Z) ** p
    H = heads(np.zeros((2, 1, d)), powers, powers) ** (1 / p)
    np.testing.assert_allclose(H.data[:, 0], (Z**p).mean(axis=1) ** (1 / p), rtol=1e-12)


@pytest.mark.parametrize(("omega", "value"), [("1+identity", 1.0), ("1+relu", 1.0), ("1+sigmoid", 1.5)])
def test_sum_pooling(omega: str, value: float):
    """ω(0) = 1 + f(0) is the weight of every element.  With f = sigmoid it is 3/2, not 1: f(0) = 0 fails, and W^V
    has to make up for it."""
    d = 4
    heads = Multihead(d, d, d, heads=2, omega=omega, rng=rng).astype("float64")
    identity_attention(heads)
    Z = rng.normal(size=(2, 6, d))
    pooled = heads(np.zeros((1, d)), Z, Z).data[:, 0]
    np.testing.assert_allclose(pooled, value * Z.sum(axis=1), rtol=1e-12)
    set_to(heads.v, 1 / value)
    np.testing.assert_allclose(heads(np.zeros((1, d)), Z, Z).data[:, 0], Z.sum(axis=1), rtol=1e-12)


def summing_pma(norm_position: str) -> PMA:
    """The lemma's sum pooling as a whole block: zero seed, ω = 1 + relu, identity projections."""
    pma = PMA(4, 2, 1, omega="1+relu", norm_position=norm_position, rng=np.random.default_rng(0)).astype("float64")
    pma.S.data[...] = 0
    identity_attention(pma.mab.attention)
    return pma


def change_when_doubled(pma: PMA) -> float:
    """The largest difference between the outputs for a set Z and for Z ∪ Z, whose sum is twice as large."""
    Z = np.random.default_rng(1).normal(size=(6, 4))
    return np.abs(pma(np.concatenate([Z, Z])).data - pma(Z).data).max()


def test_layer_norm_hides_the_sum():
    """LN(2 Σ z) = LN(Σ z) up to LayerNorm's ε = 1e-5: the post-norm block cannot tell Z from Z ∪ Z."""
    assert change_when_doubled(summing_pma("none")) > 0.1
    assert change_when_doubled(summing_pma("post")) < 1e-4


def test_a_nonzero_seed_keeps_the_scale_through_layer_norm():
    """With W^Q = 0 every weight is ω(0) = 1 for any seed s, and LN(s + Σ z) depends on the scale of the sum."""
    pma = summing_pma("post")
    set_to(pma.mab.attention.q, 0.0)
    pma.S.data[...] = [3.0, -3.0, 0.0, 0.0]
    assert change_when_doubled(pma) > 0.1


class Encoder(Module):
    """Two attention blocks whose W^O is zero."""

    def __init__(self, kind: str, d_in: int, d: int, **choices) -> None:
        def make(a: int) -> Module:
            return SAB(a, d, 2, rng=rng, **choices) if kind == "SAB" else ISAB(a, d, 2, 3, rng=rng, **choices)

        self.blocks = [make(d_in), make(d)]
        self.astype("float64")
        for module in self.modules():
            if isinstance(module, Multihead):
                set_to(module.o, 0.0)

    def forward(self, X, mask=None):
        for block in self.blocks:
            X = block(X, mask)
        return X


@pytest.mark.parametrize("kind", ["SAB", "ISAB"])
def test_without_w_o_an_encoder_is_row_wise(kind: str):
    """Each output row is a function of its own input row: the same alone, and with no gradient to the others."""
    encoder, X = Encoder(kind, 3, 8), rng.normal(size=(1, 5, 3))
    Z = encoder(X).data
    for i in range(5):
        np.testing.assert_allclose(encoder(X[:, i : i + 1]).data[0, 0], Z[0, i], rtol=1e-12)
    leaf = Tensor(X, requires_grad=True)
    encoder(leaf)[0, 2].backward(rng.normal(size=8))
    assert (np.delete(leaf.grad, 2, axis=1) == 0).all() and (leaf.grad[0, 2] != 0).any()


@pytest.mark.parametrize("kind", ["SAB", "ISAB"])
def test_universality_step_by_step(kind: str):
    """An encoder with W^O = 0 is φ, a PMA with a zero seed and ω = 1 + relu sums, an rFF follows: ρ(Σ φ(x)), exactly.

    Without LayerNorm, which would hide the sum (see above).  φ and ρ are written here once more in plain NumPy from
    the same (random) weights.
    """
    d = 6
    encoder = Encoder(kind, 3, d, norm_position="none")
    pma = PMA(d, 2, 1, omega="1+relu", norm_position="none", rng=rng).astype("float64")
    pma.S.data[...] = 0
    identity_attention(pma.mab.attention)
    last = rFF(d, 10, 2, last=None, rng=rng).astype("float64")

    def fc(layer: Linear, x: np.ndarray) -> np.ndarray:
        return x @ layer.weight.data + layer.bias.data

    def residual(layer: Linear, h: np.ndarray) -> np.ndarray:
        return h + np.maximum(fc(layer, h), 0)

    def phi(x: np.ndarray) -> np.ndarray:
        for block in encoder.blocks:
            mab = block.mab if kind == "SAB" else block.mab1
            x = residual(mab.rff.layers[0], fc(mab.skip, x) if isinstance(mab.skip, Linear) else x)
        return x

    def rho(z: np.ndarray) -> np.ndarray:
        first, second = last.layers
        return fc(second, np.maximum(fc(first, residual(pma.mab.rff.layers[0], z)), 0))

    sets = [rng.normal(size=(n, 3)) for n in (1, 2, 5, 9)]
    for X in sets:
        network = last(pma(encoder(X))).data[0]
        np.testing.assert_allclose(network, rho(sum(phi(x) for x in X)), rtol=1e-10)
