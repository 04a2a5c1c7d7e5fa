"""What makes a network a network on sets, for every block, baseline and architecture, outputs and gradients alike.

The properties are those of minisets.testing, at their strictest: what padding holds changes not a bit of any output or
gradient, masked elements have outputs of 0, and sets without elements are valid.
"""

import numpy as np
import pytest

from autograd import stack
from autograd.gradcheck import gradcheck
from minisets import testing
from minisets.nn import Module
from tasks.selftest.checks import block_error
from tasks.selftest.network_cases import BLOCKS, D_IN, NETWORK_CASES, NetworkCase
from tests.helpers import double

every_subject = pytest.mark.parametrize("subject", NETWORK_CASES, ids=str)
FEW = {"examples": 3, "sizes": (1, 5), "d_in": D_IN, "exact": True}  # of each subject, and there are a hundred


def kind(subject: NetworkCase) -> str:
    return "equivariant" if subject.equivariant else "invariant"


@every_subject
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_permuting_the_elements(subject: NetworkCase, dtype: str):
    check = testing.check_equivariant if subject.equivariant else testing.check_invariant
    check(subject.net(), dtype=dtype, **FEW)


@every_subject
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_gradients_are_permuted_and_none_reach_padding(subject: NetworkCase, dtype: str):
    examples = 3 if dtype == "float64" else 1
    testing.check_gradients(subject.net(), kind(subject), dtype=dtype, **FEW | {"examples": examples})


@every_subject
def test_padding_has_no_influence(subject: NetworkCase):
    testing.check_padding(subject.net(), kind(subject), **FEW)


@every_subject
def test_sets_of_a_batch_do_not_know_each_other(subject: NetworkCase):
    testing.check_batch_independence(subject.net(), kind(subject), **FEW)


@every_subject
def test_a_single_set_needs_no_batch(subject: NetworkCase):
    """(n, d) gives what (1, n, d) does, gradients included."""
    net = subject.net()
    one_by_one = lambda X: stack([net(X[i]) for i in range(len(X))])  # noqa: E731
    testing.check_against(net, one_by_one, kind(subject), mask=None, **FEW)


@every_subject
def test_equal_elements_are_treated_alike(subject: NetworkCase):
    # BLAS may compute equal rows with other last bits, and then one of them alone is the maximum: no exact gradients.
    testing.check_duplicates(subject.net(), kind(subject), **FEW | {"exact": "Pooling" not in subject.name})


@every_subject
def test_empty_sets(subject: NetworkCase):
    testing.check_empty_sets(subject.net(), kind(subject), **FEW)


@every_subject
def test_both_dtypes_and_any_magnitude(subject: NetworkCase):
    testing.check_dtype(subject.net(), kind(subject), magnitude=1e6, **FEW | {"examples": 1})


@pytest.mark.parametrize("subject", BLOCKS, ids=str)
@pytest.mark.parametrize("masked", [False, True])
def test_gradients_of_every_block_and_style(subject: NetworkCase, masked: bool):
    rng = np.random.default_rng(1)
    mask = np.array([[True, True, False, True], [True, False, False, False], [False] * 4]) if masked else None
    net, X = subject.net(), rng.normal(size=(3, 4, D_IN))
    errors = gradcheck(net, X, mask, directions=1)
    assert set(errors) >= {name for name, _ in net.named_parameters()}
    assert_all_learn(net, X, mask)


def assert_all_learn(net: Module, X: np.ndarray, mask: np.ndarray | None) -> None:
    """A key's bias moves all scores of a query alike, which a softmax does not see; all else must learn."""
    y = net(X, mask)
    if y.requires_grad:
        y.backward(np.random.default_rng(7).normal(size=y.shape))
    for name, p in net.named_parameters():
        assert name.endswith("k.bias") or np.abs(p.grad).max() > 0, name


@pytest.mark.parametrize("subject", BLOCKS, ids=str)
def test_on_the_double_of_a_gpu(subject: NetworkCase):
    """Values and gradients, also with a mask that leaves a set empty: no block touches the host behind CuPy's back."""
    with double.installed():
        assert block_error(subject, "float64", "cuda") < 1e-10
