"""A mask reaches every layer that can use it, in a Network and in a Sequential; and no layer that must not see it."""

import numpy as np
import pytest

import minisets
from autograd import Tensor, max_pool, relu
from minisets import ISAB, PMA, SAB, Pooling, build, pad, rFF
from minisets.architectures import Network
from minisets.masks import SetModule
from minisets.nn import Dropout, Linear, Module, Sequential
from minisets.nn.sequential import takes_mask
from minisets.testing import check_padding
from tasks.selftest.network_cases import NETWORK_CASES

rng = np.random.default_rng(0)
SMALL, LARGE = rng.normal(size=(2, 3)), rng.normal(size=(5, 3))
X, MASK = pad([SMALL, LARGE])


class Range(Module):
    """A pooling of a user's own, which minds the mask: max − min of each feature."""

    def forward(self, Z, mask=None):
        y = max_pool(Z, axis=-2, mask=mask) + max_pool(-Z, axis=-2, mask=mask)
        return y.reshape(*y.shape[:-1], 1, y.shape[-1])


class Centre(Module):
    """An equivariant layer of a user's own, which minds the mask."""

    def forward(self, Z, mask=None):
        present = np.ones(Z.shape[:-1], bool) if mask is None else mask
        n = present.sum(axis=-1, keepdims=True)[..., None]
        return Z - (Z * present[..., None]).sum(axis=-2, keepdims=True) / n


def same_alone_and_padded(net, kind: str = "invariant") -> None:
    check_padding(net, kind, finite=True, d_in=3, examples=8)  # of layers of a user's own, which do not zero nan


@pytest.mark.parametrize("pooling", [Range(), Pooling(8), PMA(8, 2, 2, rng=rng)], ids=lambda p: type(p).__name__)
def test_a_users_pooling_gets_the_mask_in_a_network(pooling: Module):
    k = getattr(pooling, "k", 1)
    decoder = [Dropout(0.5, rng=rng), pooling, SAB(8, 8, 2, rng=rng)]
    head = Linear(k * 8, 2, rng=rng)
    encoder = [rFF(3, 8, rng=rng), ISAB(8, 8, 2, 4, rng=rng)]
    net = Network("mine", encoder, decoder, head, widths=(3, 8, 2), outputs=1, per_seed=False).astype("float64").eval()
    same_alone_and_padded(net)
    repr(net)


def test_a_sequence_passes_masks_until_the_set_is_pooled():
    layers = [rFF(3, 8, rng=rng), relu, Centre(), SAB(8, 8, 2, rng=rng), Range(), SAB(8, 8, 2, rng=rng)]
    same_alone_and_padded(Sequential(*layers).astype("float64"))
    same_alone_and_padded(Sequential(*layers[:4]).astype("float64"), "equivariant")
    inner = Sequential(Centre(), SAB(8, 8, 2, rng=rng))
    same_alone_and_padded(
        Sequential(rFF(3, 8, rng=rng), inner, PMA(8, 2, 5, rng=rng), SAB(8, 8, 2, rng=rng)).astype("float64")
    )


def test_as_many_seeds_as_elements_are_still_no_set_to_mask():
    """PMA says that it pools: though it returns 5 vectors for sets of 5, the SAB after it sees all of them."""
    net = Sequential(rFF(3, 8, rng=rng), PMA(8, 2, 5, rng=rng), SAB(8, 8, 2, rng=rng)).astype("float64")
    parts = net.layers[2](net.layers[1](net.layers[0](X, MASK), MASK))
    np.testing.assert_array_equal(net(X, MASK).data, parts.data)


def test_which_blocks_take_a_mask():
    assert all(takes_mask(layer) for layer in (SAB(3, 8, 2, rng=rng), Pooling(3), Centre(), Sequential(relu)))
    assert not any(takes_mask(layer) for layer in (Linear(3, 3, rng=rng), Dropout(0.1, rng=rng), relu, np.exp, len))


def test_every_exported_block_has_property_tests():
    """test_set_properties.py runs over NETWORK_CASES: each block that minisets exports occurs in one of them."""
    exported = [getattr(minisets, name) for name in minisets.__all__]
    blocks = {block for block in exported if isinstance(block, type) and issubclass(block, Module)}
    tested = {type(module) for subject in NETWORK_CASES for module in subject.net().modules()}
    assert blocks and blocks <= tested
    assert {block for block in blocks if issubclass(block, SetModule)} <= {
        type(subject.net()) for subject in NETWORK_CASES
    } | {PMA}  # which keeps its width, and stands behind an rFF there


def test_the_door_checks_once():
    """Inside a block nothing is checked again: forward of the blocks within is called directly."""
    calls = []
    real = minisets.masks.check_sets

    def counted(*arguments):
        calls.append(arguments[0])
        return real(*arguments)

    isab = ISAB(3, 8, 2, 4, rng=rng)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(minisets.masks, "check_sets", counted)
        patch.setattr(minisets.blocks, "check_sets", counted)
        patch.setattr(minisets.attention, "check_sets", counted)
        isab(X, MASK)
    assert calls == ["ISAB"]


def test_masked_elements_come_out_as_zeros():
    wild = np.where(MASK[..., None], X, np.nan)
    for block in (SAB(3, 8, 2, rng=rng), ISAB(3, 8, 2, 4, rng=rng), rFF(3, 8, rng=rng)):
        leaf = Tensor(wild.astype("float32"), requires_grad=True)
        Y = block(leaf, MASK)
        Y.backward(np.ones(Y.shape))
        assert (Y.data[~MASK] == 0).all() and (leaf.grad[~MASK] == 0).all() and np.isfinite(leaf.grad).all()
    assert build("SAB + PMA", d_in=3, d_out=1, rng=rng)(wild, MASK).shape == (2, 4, 1)
