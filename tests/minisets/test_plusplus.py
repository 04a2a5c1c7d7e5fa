"""Style plusplus against Set Transformer++ as its authors' code computes it, written again for one set at a time."""

import numpy as np
import pytest

from autograd.forms import plain_forms
from minisets import ISAB, PMA, SAB
from minisets.nn import Sequential

rng = np.random.default_rng(0)
D, H, M, K = 8, 4, 3, 2


def set_norm(X, state, name):
    normalized = (X - X.mean()) / np.sqrt(X.var() + 1e-5)
    return normalized * state[f"{name}.gamma"] + state[f"{name}.beta"]


def fc(X, state, name):
    return X @ state[f"{name}.weight"] + state[f"{name}.bias"]


def mab(X, Y, state, name, *, norm: bool = True, norm_queries: bool = True):
    """H + ReLU(FC(SN(H))),  H = X + the heads of SN(X), SN(Y), SN(Y), side by side"""
    x = set_norm(X, state, f"{name}.norm_x") if norm and norm_queries else X
    y = set_norm(Y, state, f"{name}.norm_y") if norm else Y
    q, k, v = (fc(z, state, f"{name}.attention.{part}") for z, part in ((x, "q"), (y, "k"), (y, "v")))
    heads = []
    for columns in np.split(np.arange(D), H):
        scores = q[:, columns] @ k[:, columns].T / np.sqrt(D)
        weights = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
        heads.append(weights @ v[:, columns])
    out = X + np.concatenate(heads, axis=1)
    inner = set_norm(out, state, f"{name}.norm_rff") if norm else out
    return out + np.maximum(fc(inner, state, f"{name}.rff.layers.0"), 0)


def reference(X, state):
    """ISAB, SAB and PMA in a row."""
    inducing = mab(state["0.I"], X, state, "0.mab0", norm_queries=False)
    X = mab(X, inducing, state, "0.mab1")
    X = mab(X, X, state, "1.mab")
    return mab(state["2.S"], X, state, "2.mab", norm=False)


@pytest.mark.parametrize("forms", ["fast", "plain"])
def test_the_published_blocks(forms: str):
    blocks = ISAB(D, D, H, M, style="plusplus", rng=rng), SAB(D, D, H, style="plusplus", rng=rng)
    net = Sequential(*blocks, PMA(D, H, K, style="plusplus", rng=rng)).astype("float64")
    for p in net.parameters():  # norms begin as 1 and 0, which would hide mistakes
        p.data += 0.3 * rng.normal(size=p.shape)
    state = {name.removeprefix("layers."): value for name, value in net.state_dict().items()}
    sizes = (5, 1, 7)
    X, mask = rng.normal(size=(3, 7, D)), np.arange(7) < np.array(sizes)[:, None]
    want = np.stack([reference(x[:n], state) for x, n in zip(X, sizes, strict=True)])
    if forms == "plain":
        with plain_forms():
            got = net(X, mask).numpy()
    else:
        got = net(X, mask).numpy()
    np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(net(X[2]).numpy(), want[2], rtol=1e-12, atol=1e-13)
    used = {name for name in state if name.startswith("2.")}
    assert not any("norm" in name or "attention.o" in name for name in used)
