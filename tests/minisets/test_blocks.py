"""Blocks: their equations, error messages, and the number of their operations."""

import numpy as np
import pytest

from autograd import Tensor
from minisets import ISAB, MAB, PMA, SAB, STYLES, Dotprod, Multihead, Style, pad, record_attention, rFF, rFFp, unpad
from minisets.nn import Identity, LayerNorm, Linear, SetNorm
from minisets.pooling import Pooling
from tests.helpers import flops

rng = np.random.default_rng(0)
X = rng.normal(size=(2, 5, 3))


def fc(layer, x):
    return x @ layer.weight.data + (0 if layer.bias is None else layer.bias.data)


def layer_norm(x):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)


def set_norm(x):
    return (x - x.mean((-2, -1), keepdims=True)) / np.sqrt(x.var((-2, -1), keepdims=True) + 1e-5)


@pytest.mark.parametrize("style", ["paper", "vaswani", "plusplus", "authors"])
def test_a_mab_is_its_equation(style: str):
    """Written once more in NumPy, line by line, for each style."""
    mab = MAB(3, 3, 8, 2, style=style, rng=rng).astype("float64")
    Y = rng.normal(size=(2, 4, 3))
    a, relu = mab.attention, lambda x: np.maximum(x, 0)
    x, y = (set_norm(X), set_norm(Y)) if style == "plusplus" else (X, Y)
    q, k, v = fc(a.q, x), fc(a.k, y), fc(a.v, y)
    heads = []
    for part in (slice(0, 4), slice(4, 8)):
        scores = q[..., part] @ k[..., part].swapaxes(1, 2) / np.sqrt(4 if style == "vaswani" else 8)
        P = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)
        heads.append(P @ v[..., part])
    joined = np.concatenate(heads, -1)
    if style == "authors":
        H = q + joined
        want = H + relu(fc(mab.rff.layers[0], H))
    elif style == "plusplus":
        H = fc(mab.skip, X) + joined
        want = H + relu(fc(mab.rff.layers[0], set_norm(H)))
    else:
        H = layer_norm(fc(mab.skip, X) + fc(a.o, joined))
        want = layer_norm(H + relu(fc(mab.rff.layers[0], H)))
    np.testing.assert_allclose(mab(X, Y).data, want, rtol=1e-9, atol=1e-12)


def test_the_residual_is_x_itself_where_widths_agree():
    assert isinstance(MAB(8, 3, 8, 2, rng=rng).skip, Identity)
    assert isinstance(MAB(3, 8, 8, 2, rng=rng).skip, Linear)
    mab = SAB(3, 8, 2, style="authors", rng=rng).mab
    assert mab.skip is mab.attention.q


def test_single_choices_replace_those_of_a_style():
    style = SAB(3, 8, 2, style="authors", ln=True, bias=False, rng=rng).mab.style
    assert style == Style(residual="query", output=False, norm_position="post", bias=False)
    assert SAB(3, 8, 2, style=style, rng=rng).mab.style == style
    assert SAB(3, 8, 2, bias=False, rng=rng).mab.attention.q.bias is None
    assert PMA(8, 2, 1, rff_before_pma=True, rng=rng).rff.layers
    assert isinstance(SAB(3, 8, 2, style="plusplus", rng=rng).mab.norm_x, SetNorm)
    assert isinstance(SAB(3, 8, 2, rng=rng).mab.norm_h, LayerNorm)
    assert ISAB(3, 8, 2, 4, style="plusplus", rng=rng).mab0.norm_x.parameters() == []  # inducing points are not data
    norms = {"norm_x", "norm_y", "norm_rff", "norm_h", "norm_out"}
    kinds = {in_pma: PMA(8, 2, 1, style="plusplus", norm_in_pma=in_pma, rng=rng).mab for in_pma in (False, True)}
    assert {name for name in norms if isinstance(getattr(kinds[False], name), SetNorm)} == set()
    assert {name for name in norms if isinstance(getattr(kinds[True], name), SetNorm)} == {"norm_y", "norm_rff"}
    assert isinstance(PMA(8, 2, 1, norm_in_pma=False, rng=rng).mab.norm_h, Identity)


def test_inducing_points_and_seeds_begin_within_the_authors_bound():
    values = np.abs(ISAB(3, 64, 4, 32, rng=rng).I.data)
    assert 0.95 * np.sqrt(6 / (64 * 33)) < values.max() <= np.sqrt(6 / (64 * 33))


def test_set_norm_uses_only_valid_elements():
    norm, mask = SetNorm(3).astype("float64"), np.arange(5) < np.array([[3], [5]])
    norm.gamma.data[...], norm.beta.data[...] = [1.0, 2.0, 3.0], [0.5, -0.5, 1.0]

    def want(x):
        return set_norm(x) * norm.gamma.data + norm.beta.data

    Y = norm(Tensor(X), mask).data
    np.testing.assert_allclose(Y[0, :3], want(X[0, :3]), rtol=1e-9)
    np.testing.assert_allclose(Y[1], want(X[1]), rtol=1e-9)
    np.testing.assert_allclose(norm(Tensor(X)).data, want(X), rtol=1e-9)


def test_the_scalar_form_of_rffp_is_the_papers_formula():
    layer = rFFp(3, 3, pooling="max", coefficients="scalar", rng=rng).astype("float64")
    layer.own[0].weight.data[...], layer.own[0].bias.data[...] = np.eye(3), 0
    layer.lambdas[0].data[...], layer.gammas[0].data[...] = 0.7, -1.3
    want = np.maximum(0.7 * X - 1.3 * X.max(axis=1, keepdims=True), 0)
    np.testing.assert_allclose(layer(X).data, want, rtol=1e-12)


def test_multihead_takes_keys_and_values_apart():
    heads = Multihead(3, 3, 8, 1, rng=rng).astype("float64")
    K, V = rng.normal(size=(2, 4, 3)), rng.normal(size=(2, 4, 3))
    scores = fc(heads.q, X) @ fc(heads.k, K).swapaxes(1, 2) / np.sqrt(8)
    P = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)
    np.testing.assert_allclose(heads(X, K, V).data, fc(heads.o, P @ fc(heads.v, V)), rtol=1e-10)


@pytest.mark.parametrize(
    ("omega", "f"),
    [
        ("1+identity", lambda s: s),
        ("1+relu", lambda s: np.maximum(s, 0)),
        ("1+sigmoid", lambda s: 1 / (1 + np.exp(-s))),
    ],
)
def test_one_plus_f_at_scores_that_are_not_zero(omega, f):
    heads = Multihead(3, 3, 8, 1, omega=omega, rng=rng).astype("float64")
    scores = fc(heads.q, X) @ fc(heads.k, X).swapaxes(1, 2) / np.sqrt(8)
    assert scores.min() < 0 < scores.max()
    with record_attention(heads) as seen:
        Y = heads(X, X, X).data
    np.testing.assert_allclose(seen[""][0][:, 0], 1 + f(scores), rtol=1e-10)
    np.testing.assert_allclose(Y, fc(heads.o, (1 + f(scores)) @ fc(heads.v, X)), rtol=1e-10)


def test_dotprod_is_its_equation():
    layer = Dotprod(3, rng=rng).astype("float64")
    assert np.abs(layer.s.data).min() > 0  # a seed of zeros would be the mean, and begin without a direction
    scores = X @ layer.s.data[0] / np.sqrt(3)  # (B, n)
    a = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
    np.testing.assert_allclose(layer(X).data[:, 0], (a[..., None] * X).sum(1), rtol=1e-10)
    with record_attention(layer) as seen:
        layer(X)
    np.testing.assert_allclose(seen[""][0][:, 0], a, rtol=1e-10)


@pytest.mark.parametrize(("kind", "reduce"), [("mean", np.mean), ("sum", np.sum), ("max", np.max)])
def test_pooling_and_the_matrix_form_of_rffp_are_their_equations(kind, reduce):
    summary = reduce(X, axis=1, keepdims=True)
    np.testing.assert_allclose(Pooling(3, kind)(X).data, summary, rtol=1e-12)
    layer = rFFp(3, 4, pooling=kind, last=None, rng=rng).astype("float64")
    assert layer.others[0].bias is None
    want = fc(layer.own[0], X) + summary @ layer.others[0].weight.data
    np.testing.assert_allclose(layer(X).data, want, rtol=1e-10)
    assert (want < 0).any()  # so that a ReLU would show
    layer = rFFp(3, 4, pooling=kind, rng=rng).astype("float64")
    want = fc(layer.own[0], X) + summary @ layer.others[0].weight.data
    np.testing.assert_allclose(layer(X).data, np.maximum(want, 0), rtol=1e-10)


def test_the_scalar_form_begins_as_a_row_wise_layer():
    layer = rFFp(3, 4, 4, coefficients="scalar", rng=rng)
    assert [p.item() for p in layer.lambdas] == [1.0, 1.0] and [p.item() for p in layer.gammas] == [0.0, 0.0]


def test_rff_before_pma_is_the_papers_equation():
    pma = PMA(3, 1, 2, rff_before_pma=True, rng=rng).astype("float64")
    np.testing.assert_allclose(pma(X).data, pma.mab(pma.S, pma.rff(X)).data, rtol=1e-12)
    assert not np.allclose(pma(X).data, pma.mab(pma.S, X).data)


def test_notation():
    assert rFF(3, 16, 8, rng=rng).notation == "FC(16, ReLU), FC(8, ReLU)"
    assert rFF(3, 8, last=None, rng=rng).notation == "FC(8, –)"
    assert rFFp(3, 8, 8, 8, last=None, rng=rng).notation == "rFFp-mean(8, ReLU) × 2, rFFp-mean(8, –)"


def test_numpys_integers_are_integers():
    two = np.int64(2)
    assert ISAB(3, 8, two, two, rng=rng)(X).shape == (2, 5, 8) and PMA(8, two, two, rng=rng).S.shape == (2, 8)


def test_a_mask_may_be_a_tensor():
    mask = np.arange(5) < np.array([[3], [5]])
    for style in STYLES:
        block = SAB(3, 8, 2, style=style, rng=rng)
        np.testing.assert_array_equal(block(X, Tensor(mask)).data, block(X, mask).data)
    assert [len(s) for s in unpad(X, Tensor(mask))] == [3, 5]


def test_without_bias_there_is_none_in_attention():
    attention = SAB(3, 8, 2, bias=False, rng=rng).mab.attention
    assert {layer.bias for layer in (attention.q, attention.k, attention.v, attention.o)} == {None}


def test_float64_arrays_meet_float32_parameters():
    assert SAB(3, 8, 2, rng=rng)(X).dtype == "float32"
    assert SAB(3, 8, 2, rng=rng)(X, np.ones((2, 5), dtype=bool)).dtype == "float32"


# ---- errors


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: SAB(3, 8, 3, rng=rng), ValueError, "the number of heads must divide the width d = 8, given 3"),
        (lambda: SAB(3, 8, 0, rng=rng), ValueError, "number of heads must be a positive integer, given 0"),
        (lambda: SAB(3, 0, 2, rng=rng), ValueError, "the width d must be a positive integer, given 0"),
        (lambda: SAB(3, 8, 2, style=None, rng=rng), ValueError, "there is no style None"),
        (
            lambda: SAB(3, 8, 2, ln=True, norm_position="pre", rng=rng),
            ValueError,
            "ln must be True or False and cannot be combined with norm_position",
        ),
        (lambda: SAB(3, 8, 2, ln="no", rng=rng), ValueError, "ln must be True or False"),
        (lambda: SAB(3, 8, 2, rng=rng)(Tensor(X)), TypeError, "SAB computes in float32, given a Tensor of float64"),
        (
            lambda: SAB(3, 8, 2, rng=rng)([[1.0], [1.0, 2.0]]),
            TypeError,
            r"use pad\(\) to combine sets of different sizes",
        ),
        (lambda: MAB(3, 3, 8, 2, rng=rng)(X, X[:1]), ValueError, "different batch sizes, .* omit B"),
        (lambda: Multihead(3, 3, 8, 2, rng=rng)(X, X, X, np.ones((5, 5), bool)), ValueError, r"given \(5, 5\)"),
        (lambda: Multihead(3, 3, 8, 2, rng=rng)(X[0, 0], X, X), ValueError, "Multihead expected"),
        (lambda: record_attention(rFF(3, 8, rng=rng)).__enter__(), ValueError, "this rFF has no attention blocks"),
        (
            lambda: ISAB(3, 8, 2, 0, rng=rng),
            ValueError,
            "inducing points or seeds must be a positive integer, given 0",
        ),
        (lambda: SAB(3, 8, 2, style="fancy", rng=rng), ValueError, "no style 'fancy'; the styles are paper, authors"),
        (
            lambda: SAB(3, 8, 2, norm_position="maybe", rng=rng),
            ValueError,
            "norm_position must be one of 'post', 'pre', 'none'",
        ),
        (lambda: SAB(3, 8, 2, colour="red", rng=rng), TypeError, "unknown choice 'colour'; a style has residual"),
        (lambda: SAB(3, 8, 2, rng=rng)(X[..., :2]), ValueError, r"SAB expected .*\(B, n, 3\).*given \(2, 5, 2\)"),
        (lambda: SAB(3, 8, 2, rng=rng)(X[0, 0]), ValueError, r"SAB expected .* single set \(n, 3\), given \(3,\)"),
        (lambda: ISAB(3, 8, 2, 2, rng=rng)(X[None]), ValueError, "ISAB expected a batch of sets"),
        (lambda: PMA(8, 2, 2, rng=rng)(X), ValueError, r"PMA expected a batch of sets \(B, n, 8\)"),
        (lambda: MAB(8, 3, 8, 2, rng=rng)(X, X), ValueError, r"MAB expected a batch of sets \(B, n, 8\)"),
        (lambda: SAB(3, 8, 2, rng=rng)(X, np.ones((2, 4), bool)), ValueError, r"shape \(2, 5\), given \(2, 4\)"),
        (lambda: SAB(3, 8, 2, rng=rng)(X, np.ones((2, 5))), TypeError, "SAB on sets.*boolean array.*float64"),
        (lambda: SAB(3, 8, 2, rng=rng)(X, [[True] * 5] * 2), TypeError, "boolean array.*given list"),
        (lambda: rFF(3, rng=rng), ValueError, "at least one width"),
        (lambda: rFFp(3, rng=rng), ValueError, "at least one width"),
        (lambda: rFFp(3, 8, coefficients="vector", rng=rng), ValueError, "coefficients must be 'matrix' or 'scalar'"),
        (lambda: rFFp(3, 8, pooling="median", rng=rng), ValueError, "pooling must be 'mean', 'sum' or 'max'"),
        (lambda: Pooling(3, "median"), ValueError, "pooling must be 'mean', 'sum' or 'max', given 'median'"),
        (lambda: pad([]), ValueError, "at least one set"),
        (
            lambda: pad([np.ones((2, 3)), np.ones((2, 4))]),
            ValueError,
            r"set 1 has shape \(2, 4\); expected \(n, 3\)",
        ),
        (lambda: pad([np.ones(3)]), ValueError, r"set 0 has shape \(3,\)"),
        (lambda: unpad(X, np.ones((2, 4), bool)), ValueError, r"expected a mask of shape \(2, 5\)"),
    ],
)
def test_wrong_input_is_one_sentence(call, error, message):
    with pytest.raises(error, match=message):
        call()


# ---- cost


@pytest.mark.parametrize("style", STYLES)
def test_isab_is_linear_and_sab_quadratic_in_n(style: str):
    """Second differences of the exact count: 0 for ISAB, and 2 · 4 d for SAB, whose n² term is 4 d n² FLOPs."""

    def count(block, n: int) -> int:
        with flops.counted() as found:
            block(np.zeros((1, n, 3)))
        return sum(forward for forward, _ in found)

    d = 8
    for block, second in ((ISAB(3, d, 2, 4, style=style, rng=rng), 0), (SAB(3, d, 2, style=style, rng=rng), 8 * d)):
        assert set(np.diff([count(block, n) for n in range(10, 16)], 2)) == {second}
