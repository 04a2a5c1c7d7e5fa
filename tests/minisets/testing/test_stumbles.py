"""minisets.testing: what somebody stumbled over who had a PyTorch network and the chapter, and nothing else."""

import numpy as np
import pytest

from autograd import Tensor, mean_pool, where
from minisets import SAB, testing
from minisets.testing import PropertyError

rng = np.random.default_rng(0)


def test_one_number_for_each_set():
    """Outputs of shape (B,), and (B, n) for an equivariant function."""

    def score(X, mask=None):
        return mean_pool(X, axis=1, mask=mask).sum(axis=-1)

    def scores(X, mask=None):
        return X.sum(axis=-1) if mask is None else where(mask, where(mask[..., None], X, 0).sum(axis=-1), 0)

    testing.check_set_function(score, "invariant", examples=5)
    testing.check_set_function(scores, "equivariant", examples=5)


def test_a_message_says_how_the_function_is_told_the_mask():
    def sums(X, padding_mask):
        return X.sum(axis=1)

    with pytest.raises(PropertyError) as caught:
        testing.check_padding(sums, finite=True)
    note = "the mask is shown as True where an element is present; f gets padding_mask, True where there is none"
    assert note in str(caught.value)


def test_sets_may_be_promised_not_to_be_empty():
    def unforgiving(X, mask=None):
        if mask is not None and not mask.any(axis=1).all():
            raise ValueError("an empty set")
        return mean_pool(X, axis=1, mask=mask)

    results = testing.check_set_function(unforgiving, "invariant", examples=5, empty=False)
    assert {r.check: r.skipped for r in results}["empty_sets"] == "there are no empty sets"
    with pytest.raises(PropertyError, match="raised ValueError: an empty set"):
        testing.check_empty_sets(unforgiving)


def test_wrong_outputs_are_not_blamed_on_the_derivative():
    def counts_padding(X, mask=None):
        return X.sum(axis=1) / X.shape[1] if mask is None else where(mask[..., None], X, 0).sum(axis=1) / X.shape[1]

    with pytest.raises(PropertyError) as caught:
        testing.check_gradients(counts_padding)
    assert caught.value.cause.name == "wrong outputs"


def test_nan_in_the_gradients_of_an_empty_set_is_shown_as_a_gradient():
    def mean(X, mask=None):
        if mask is None:
            return X.mean(axis=1)
        count = Tensor(mask.sum(axis=1, keepdims=True).astype(X.dtype))
        average = (X * mask[..., None].astype(X.dtype)).sum(axis=1) / count
        return where(mask.any(axis=1, keepdims=True), average, 0)

    with pytest.raises(PropertyError) as caught:
        testing.check_empty_sets(mean)
    assert "gradient of X" in str(caught.value) and caught.value.cause.name == "nan in the backward pass"


def test_a_reference_around_the_same_network_is_compared_in_a_dtype_of_both():
    net = SAB(2, 4, 2, rng=rng)

    def in_float32(X):
        return net(X.astype("float32")).numpy()

    testing.check_against(net, in_float32, "equivariant", mask=None, dtype="float32", examples=3)


def test_a_mistyped_setting_is_said():
    with pytest.raises(TypeError, match="the checks have no setting 'exmaples'; did you mean examples"):
        testing.check_invariant(np.sort, exmaples=3)
    with pytest.raises(TypeError, match="no setting 'zzz'; the settings are d_in, mask"):
        testing.check_invariant(np.sort, zzz=3)
