"""minisets.testing: what it says, what it leaves as it was, what it refuses, and which functions it understands."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograd import Tensor, mean_pool
from minisets import PMA, SAB, build, testing
from minisets.nn import Dropout, Linear, Module, Sequential
from minisets.testing import CannotCheck, PropertyError, SetFunctionError
from minisets.testing.tolerance import allowed

rng = np.random.default_rng(0)


def first(X):
    return X[:, 0] * 1.0


# ---- what it says


def test_a_counterexample_is_as_small_as_can_be_and_says_all():
    with pytest.raises(PropertyError) as caught:
        testing.check_invariant(first, d_in=2)
    assert str(caught.value).splitlines() == [
        "first fails check_invariant: the output changed when elements were permuted",
        "  X     = [[[ 0.13 -0.13]",
        "            [ 0.64  0.1 ]]]",
        "  π     = [[1 0]]",
        "  f(X)  = [[ 0.13 -0.13]]",
        "  f(πX) = [[0.64 0.1 ]]",
        "  first difference at [0, 0]: 0.13 and 0.64, 0.51 apart; rounding explains 6.7e-14",
        "  looks like: the first element is special. "
        "The others may be permuted freely: a CLS token, or an index [:,0].",
    ]
    assert caught.value.check == "invariant" and caught.value.cause.name == "the first element is special"
    assert caught.value.violation.X.shape == (1, 2, 2)


def test_all_checks_at_once_give_a_table_and_every_counterexample():
    with pytest.raises(SetFunctionError) as caught:
        testing.check_set_function(lambda X: X.cumsum(axis=1), "equivariant")  # a function of arrays
    text = str(caught.value)
    assert re.search(r"^equivariant +FAILED  causal mask$", text, flags=re.M)
    assert re.search(r"^gradients +skipped: a function of arrays has no gradients$", text, flags=re.M)
    assert "fails check_equivariant" in text and "check_duplicates" in text
    results = {result.check: result for result in caught.value.results}
    assert results["batch_independence"].error is None and results["padding"].skipped == "it takes no mask"


def test_what_several_checks_find_is_told_once():
    with pytest.raises(SetFunctionError) as caught:
        testing.check_set_function(lambda X: np.squeeze(X.sum(axis=1)), "invariant", examples=5)
    text = str(caught.value)
    assert text.count("looks like: wrong shape") == 1
    assert "the same is found by check_batch_independence, check_duplicates, check_dtype" in text


def test_a_right_network_passes_all_that_applies():
    results = testing.check_set_function(
        build("SAB + PMA", d_in=2, d_out=1, d=8, heads=2, rng=rng), "invariant", examples=3
    )
    assert [result.check for result in results] == [
        "invariant", "padding", "batch_independence", "empty_sets", "duplicates", "dtype", "gradients", "parameters"
    ]  # fmt: skip
    assert not any(result.skipped or result.error for result in results)


def test_the_same_seed_finds_the_same_example():
    def found(seed: int) -> str:
        with pytest.raises(PropertyError) as caught:
            testing.check_invariant(lambda X: X[:, -1] * (X.shape[1] > 2), d_in=2, seed=seed)
        return str(caught.value)

    assert found(3) == found(3)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda X: X.sum(axis=(0, 1)), r"the output for 1 sets of shape .* has shape \(3,\)|wrong shape"),
        (lambda X: 1 / 0 if X.shape[1] == 4 else X.sum(axis=1), "raised ZeroDivisionError"),
        (lambda X: X.sum(axis=1) if X.shape[1] > 1 else X.sum(axis=1) + np.nan, r"f\(X\) is nan"),
    ],
)
def test_trouble_with_a_valid_set_is_a_failure(function, message):
    with pytest.raises(PropertyError, match=message):
        testing.check_invariant(function)


def test_a_pooled_output_is_not_equivariant():
    with pytest.raises(PropertyError, match=r"sets \(1, 1, 3\) gave \(1, 3\)(.|\n)*kind='invariant' may be meant"):
        testing.check_equivariant(lambda X: X.sum(axis=1))


def test_against_a_reference():
    """Heads that cancel out are as symmetric as heads that do not: only a reference tells."""
    W = rng.normal(size=(3, 4))
    testing.check_against(lambda X: (X @ W).mean(axis=1), lambda X: X.mean(axis=1) @ W)
    with pytest.raises(PropertyError, match=r"reference(.|\n)*Its symmetries may be right"):
        testing.check_against(lambda X: (X @ W).sum(axis=1), lambda X: (X @ W).mean(axis=1))
    with pytest.raises(PropertyError, match="the gradient is not that of the reference"):
        testing.check_against(
            lambda X: (X.detach() @ W).sum(axis=1) + 0 * X.sum(axis=1)[:, :1], lambda X: (X @ W).sum(axis=1)
        )


# ---- what it leaves as it was


class Net(Module):
    def __init__(self) -> None:
        self.sab, self.dropout, self.pma = SAB(3, 8, 2, rng=rng), Dropout(0.5, rng=rng), PMA(8, 2, 1, rng=rng)

    def forward(self, X, mask=None):
        return self.pma(self.dropout(self.sab(X, mask)), mask)


@pytest.mark.parametrize("wrong", [False, True])
def test_a_network_is_left_as_it_was(wrong: bool):
    net = Net()
    net.dropout.eval()
    net.pma.S.grad = grad = np.ones(net.pma.S.shape)
    before, modes = net.state_dict(), [module.training for module in net.modules()]
    if wrong:
        with pytest.raises(SetFunctionError):
            testing.check_set_function(net, "equivariant", examples=3, sizes=(2, 3))
    else:
        testing.check_set_function(net, "invariant", examples=3)
    assert [module.training for module in net.modules()] == modes
    for name, array in net.state_dict().items():
        assert array.dtype == "float32"
        np.testing.assert_array_equal(array, before[name])
    assert net.pma.S.grad is grad and (grad == 1).all() and net.sab.mab.attention.q.weight.grad is None


def test_training_mode_is_checked_if_asked_for():
    with pytest.raises(PropertyError, match="random outputs"):
        testing.check_invariant(Net(), training=True)


# ---- masks


def masked_mean(X, mask):
    return mean_pool(X, axis=1, mask=mask)


def by_padding_mask(X, key_padding_mask=None):
    return mean_pool(X, axis=1, mask=None if key_padding_mask is None else ~key_padding_mask)


def by_lengths(X, lengths=None):
    return mean_pool(X, axis=1, mask=None if lengths is None else np.arange(X.shape[1]) < lengths[:, None])


@pytest.mark.parametrize(
    ("function", "settings"),
    [
        (masked_mean, {}),
        (by_padding_mask, {}),
        (lambda X, mask=None: by_padding_mask(X, mask), {"mask": "padding"}),
        (lambda X, m: masked_mean(X, m), {}),
        (by_lengths, {}),
        (lambda X, mask=None: by_lengths(X, mask), {"mask": "lengths"}),
        (lambda X, mask: by_lengths(X, mask.sum(axis=1)), {"at_end": True}),
    ],
)
def test_conventions_of_masks(function, settings):
    testing.check_set_function(function, "invariant", examples=8, **settings)


def test_a_wrong_convention_is_recognized():
    with pytest.raises(PropertyError, match=r"the mask is inverted(.|\n)*Pass mask='padding'"):
        testing.check_padding(lambda X, mask=None: by_padding_mask(X, mask))
    with pytest.raises(PropertyError, match="what masked elements hold changes the output"):
        testing.check_padding(lambda X, mask: by_lengths(X, mask.sum(axis=1)))  # needs its padding at the end
    with pytest.raises(CannotCheck, match=r"check_padding cannot be applied to .*: it takes no mask"):
        testing.check_padding(first)
    with pytest.raises(CannotCheck, match="it takes no mask"):
        testing.check_padding(masked_mean_of_nothing, mask=None)


def masked_mean_of_nothing(X, mask=None):
    return mean_pool(X, axis=1, mask=mask)


def test_padding_may_be_promised_to_be_finite():
    def product(X, mask):
        return (X * mask[..., None]).sum(axis=1)

    testing.check_padding(product, finite=True)
    with pytest.raises(PropertyError, match="nan passes through"):
        testing.check_padding(product)


def test_exact_padding_is_stricter():
    def nearly(X, mask):
        return X * 1.0

    testing.check_padding(nearly, "equivariant", finite=True)
    with pytest.raises(PropertyError, match="masked elements have outputs other than 0"):
        testing.check_padding(nearly, "equivariant", finite=True, exact=True)


# ---- what it refuses


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: testing.check_set_function(first, "symmetric"),
            ValueError,
            "kind must be 'invariant' or 'equivariant'",
        ),
        (lambda: testing.check_invariant(SAB), CannotCheck, "a class has to be called first"),
        (lambda: testing.check_invariant(3), CannotCheck, "expected a network or a function on sets, given 3"),
        (
            lambda: testing.check_invariant(SAB(4, 8, 2, rng=rng), d_in=3),
            CannotCheck,
            r"sets of shape \(2, 3, 3\).*d_in",
        ),
        (lambda: testing.check_invariant(lambda X: "text"), CannotCheck, "it returned str"),
        (lambda: testing.check_invariant(first, sizes=(3, 2)), ValueError, "sizes must be a pair"),
        (lambda: testing.check_invariant(first, examples=0), ValueError, "examples must be at least 1, given 0"),
        (lambda: testing.check_invariant(first, mask="inverted"), ValueError, "mask must be 'auto', 'present'"),
        (lambda: testing.check_invariant(first, mask="padding"), CannotCheck, "no parameter with 'mask' in its name"),
        (lambda: testing.check_gradients(np.sort), CannotCheck, "a function of arrays has no gradients"),
        (lambda: testing.check_parameters(first), CannotCheck, "it has no parameters"),
    ],
)
def test_what_cannot_be_checked_is_said(call, error, message):
    with pytest.raises(error, match=message):
        call()


# ---- settings


def test_the_width_is_found_in_the_first_layer():
    testing.check_equivariant(SAB(5, 8, 2, rng=rng), examples=2)
    testing.check_equivariant(Sequential(Linear(7, 4, rng=rng)), examples=2)


def test_elements_of_ones_own():
    def entropy(X):
        return -(X * X.log()).sum(axis=1)

    testing.check_set_function(entropy, "invariant", sample=lambda rng, shape: rng.uniform(0.1, 1, shape), magnitude=1)
    embeddings = rng.normal(size=(10, 4))
    testing.check_invariant(
        lambda X: embeddings[X[..., 0].astype(int)].sum(axis=1),
        d_in=1,
        sample=lambda rng, shape: rng.integers(0, 10, shape),
    )


def test_sets_of_a_size_that_a_function_takes():
    def at_most_four(X):
        assert X.shape[1] <= 4, "four elements at most"
        return X.sum(axis=1)

    with pytest.raises(PropertyError, match=r"raised AssertionError: four elements at most(.|\n)*restrict sizes"):
        testing.check_invariant(at_most_four)
    testing.check_invariant(at_most_four, sizes=(1, 4))
    with pytest.raises(CannotCheck, match=r"cannot be called on sets of shape \(2, 5, 3\): AssertionError: four"):
        testing.check_invariant(at_most_four, sizes=(5, 6))


# ---- strategies and tolerances


@given(testing.sets(3, batch=(2, 4), sizes=(0, 5)))
def test_sets(X):
    assert 2 <= X.shape[0] <= 4 and X.shape[1] <= 5 and X.shape[2] == 3 and X.dtype == "float64"
    assert all(len(np.unique(x[:, j])) == len(x) for x in X for j in range(3))  # no ties


@given(testing.ragged_sets(2), testing.ragged_sets(2, empty=True))
def test_ragged_sets(ragged, with_empty):
    X, mask = ragged
    assert mask.shape == X.shape[:2] and mask.dtype == bool and mask.any(axis=1).all()
    assert not with_empty[1].any(axis=1).all()


@given(st.data(), st.integers(1, 4), st.integers(0, 6))
def test_masks_and_permutations(data, B, n):
    assert data.draw(testing.masks(B, n)).shape == (B, n)
    order = data.draw(testing.permutations(B, n))
    assert (np.sort(order, axis=1) == np.arange(n)).all() and order.shape == (B, n)


def test_tolerances_follow_dtype_and_size():
    y = np.array([[1.0, -4.0], [0.0, 0.5]])
    assert allowed(y, 8, np.dtype("float64"))[:, 0] == pytest.approx(
        [64 * 24 * 2.2e-16 * 4, 64 * 24 * 2.2e-16 * 0.5], rel=0.02
    )
    assert (allowed(y, 8, np.dtype("float32")) > 1e8 * allowed(y, 8, np.dtype("float64"))).all()
    # An ill-conditioned network: differences of 1e-9 are rounding here, and are found where they are not.
    steep = lambda X: (1e6 * (X.sum(axis=1) - 0.3)).tanh()  # noqa: E731
    testing.check_invariant(steep)
    with pytest.raises(PropertyError):
        testing.check_invariant(lambda X: X.sum(axis=1) + 1e-9 * X[:, 0])


def test_a_function_of_tensors_and_of_arrays_are_told_apart():
    assert testing.Subject(lambda X: X.exp().sum(axis=1)).differentiable
    assert not testing.Subject(lambda X: np.exp(X).sum(axis=1)).differentiable
    seen = set()
    testing.check_invariant(lambda X: seen.add(type(X)) or X.mean(axis=1), examples=2)
    assert seen == {Tensor}
