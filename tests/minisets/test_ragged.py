"""Sets of different sizes as one padded array, and back."""

import numpy as np

from autograd import Tensor
from minisets import pad, unpad

rng = np.random.default_rng(0)


def test_pad_and_unpad():
    sets = [rng.normal(size=(n, 3)).astype("float32") for n in (2, 0, 5)]
    padded, mask = pad(sets)
    assert padded.shape == (3, 5, 3) and padded.dtype == "float32" and mask.sum(1).tolist() == [2, 0, 5]
    assert (padded[~mask] == 0).all()
    for a, b in zip(unpad(Tensor(padded), mask), sets, strict=True):
        np.testing.assert_array_equal(a, b)
    assert pad([np.zeros((0, 3))])[0].shape == (1, 0, 3)
    assert np.isnan(pad(sets, value=np.nan)[0][1]).all()
    assert np.isnan(pad([[[1]], [[1], [2]]], value=np.nan)[0][0, 1]).all()  # integers make room for a value
