"""Recording attention weights while a network runs."""

import numpy as np
import pytest

from minisets import ISAB, Multihead, record_attention

rng = np.random.default_rng(0)
X = rng.normal(size=(2, 5, 3))


def test_attention_weights_can_be_recorded():
    isab, mask = ISAB(3, 8, 2, 4, rng=rng), np.arange(5) < np.array([[3], [5]])
    with record_attention(isab) as seen:
        isab(X, mask)
    assert {name: [w.shape for w in ws] for name, ws in seen.items()} == {
        "mab0.attention": [(2, 2, 4, 5)],
        "mab1.attention": [(2, 2, 5, 4)],
    }
    weights = seen["mab0.attention"][0]
    np.testing.assert_allclose(weights.sum(-1), 1, rtol=1e-6)
    assert (weights[0, :, :, 3:] == 0).all()
    isab(X, mask)
    assert len(seen["mab0.attention"]) == 1  # nothing is recorded outside


def test_recordings_can_be_nested_and_end_with_an_exception():
    isab = ISAB(3, 8, 2, 4, rng=rng)
    with record_attention(isab) as outer:
        with record_attention(isab.mab0) as inner:
            isab(X)
        with pytest.raises(ZeroDivisionError), record_attention(isab):
            raise ZeroDivisionError
        isab(X[0])
    assert [len(w) for w in outer.values()] == [2, 2] and len(inner["attention"]) == 1
    assert outer["mab1.attention"][1].shape == (2, 5, 4)  # a single set has no batch axis


def test_recorded_weights_are_the_ones_used():
    heads = Multihead(3, 3, 8, 2, rng=rng).astype("float64")
    with record_attention(heads) as seen:
        Y = heads(X, X, X).data
    v = _linear(heads.v, X).reshape(2, 5, 2, 4).swapaxes(1, 2)
    joined = (seen[""][0] @ v).swapaxes(1, 2).reshape(2, 5, 8)
    np.testing.assert_allclose(_linear(heads.o, joined), Y, rtol=1e-10)


def _linear(layer, x):
    return x @ layer.weight.data + layer.bias.data
