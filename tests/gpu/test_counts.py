"""Rung 4: how much is launched, how many bytes are touched, and what travels back to the host.

Counts do not depend on the machine, so they are asserted.  "Plain" is the same computation in CuPy's own operations.
"""

from __future__ import annotations

import contextlib
import math
from pathlib import Path

import numpy as np
import pytest

from autograd import Tensor, attention, backend, forms, layer_norm
from autograd.kernels import products
from minisets import ISAB, MAB, PMA, SAB
from minisets.nn import Module
from minisets.optim import Adam
from tests.gpu import emulation
from tests.gpu.test_execution import TRAINERS, few_shapes, on_device, train  # noqa: F401  (a fixture)

pytestmark = pytest.mark.needs("emulation")

RNG = np.random.default_rng(0)
TABLES = 3  # small copies to the GPU with which CuPy's concatenate tells it where the gradients are, how many, how long


def tensor(*shape: int) -> Tensor:
    return Tensor(on_device(RNG.normal(size=shape).astype("float32")), requires_grad=True)


def counted(function, *inputs: Tensor, plain: bool = False) -> emulation.Counts:
    """What forward and backward of a function of Tensors take."""
    seed = on_device(np.ones(function(*inputs).shape, "float32"))
    for x in inputs:
        x.grad = None
    if isinstance(function, Module):
        Adam(function.parameters()).zero_grad()
    with forms.plain_forms() if plain else contextlib.nullcontext(), emulation.counting() as seen:
        function(*inputs).backward(seed)
    return seen.counts


# ---- launches -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("masked", [False, True])
def test_a_mab_takes_a_third_of_the_launches(masked: bool):
    """Products counted: cuBLAS does them in both forms."""
    mab = MAB(16, 16, 16, 2, rng=RNG).to("cuda")
    mask = on_device(np.arange(20) < np.array([[13], [20]])) if masked else None
    X, Y = tensor(2, 20, 16), tensor(2, 20, 16)
    fused, plain = (counted(lambda x, y: mab(x, y, mask), X, Y, plain=form) for form in (False, True))
    assert 3 * (fused.launches + fused.products) <= plain.launches + plain.products
    assert 4 * fused.launches <= plain.launches


@pytest.mark.parametrize(
    "block", [SAB(16, 16, 2, rng=RNG), ISAB(16, 16, 2, 4, rng=RNG), PMA(16, 2, 3, rng=RNG)], ids=["SAB", "ISAB", "PMA"]
)
def test_so_do_the_blocks_made_of_it(block: Module):
    X = tensor(2, 20, 16)
    fused, plain = (counted(block.to("cuda"), X, plain=form) for form in (False, True))
    assert 3 * fused.launches <= plain.launches


def test_adam_takes_one_launch_and_one_to_gather_the_gradients():
    net = SAB(16, 16, 2, rng=RNG).to("cuda")
    optimizer = Adam(net.parameters())
    for p in net.parameters():
        p.grad = on_device(np.ones(p.shape, "float32"))
    optimizer.step()  # the first step lays parameters and memories end to end
    with emulation.counting() as seen:
        optimizer.step()
    assert seen.launches == 2 and seen.names[-1] == "adam"
    assert seen.to_host == seen.waits == 0 and seen.to_device == TABLES


def test_products_of_batches_copy_nothing():
    """CuPy's own matmul copies a transposed operand; the kernel tells cuBLAS that it is transposed."""
    a, b = (on_device(RNG.normal(size=shape)) for shape in ((2, 3, 20, 8), (2, 3, 30, 8)))
    for product, copies in ((products.matmul, 0), (backend.gpu().matmul, 1)):
        with emulation.counting() as seen:
            product(a, b.swapaxes(-1, -2))
        assert seen.products == 1 and seen.launches == copies


# ---- bytes ----------------------------------------------------------------------------------------------------------


def test_attention_needs_memory_in_proportion_to_n():
    """Bytes of the arrays that each kernel is given: they double with n, those of the plain form quadruple."""
    for plain, low, high in ((False, 1.99, 2.01), (True, 3.8, 4.0)):
        handed = []
        for n in (128, 256, 512):
            counts = counted(attention, *(tensor(1, 2, n, 8) for _ in range(3)), plain=plain)
            handed.append((counts.bytes_handed, counts.bytes_allocated))
        growth = np.array(handed[1:]) / np.array(handed[:-1])
        assert (low <= growth).all() and (growth <= high).all()


def test_bytes_of_attention():
    """Forward reads q, k, v and writes O, L; backward reads them and g and writes δ, and gq, gk, gv: nothing else."""
    n, e = 96, 8
    counts = counted(attention, *(tensor(1, 1, n, e) for _ in range(3)))
    rows, numbers = 4 * n, 4 * n * e
    seed = 2 * numbers  # a copy of what backward begins with
    forward = 4 * numbers + rows
    queries, keys = 6 * numbers + 2 * rows, 6 * numbers + 2 * rows
    assert counts.bytes_handed == forward + queries + keys + seed


def test_bytes_of_layer_norm():
    """Forward reads x, γ, β and writes y, ŝ and 1/√var; backward reads g, ŝ, 1/√var, γ and writes gx and three sums."""
    rows, d = 64, 32
    counts = counted(layer_norm, tensor(rows, d), tensor(d), tensor(d))
    array, row, vector = 4 * rows * d, 4 * rows, 4 * d
    blocks = rows // 8  # of eight warps, a row each
    forward, backward = 3 * array + row + 2 * vector, 3 * array + row + vector + 3 * blocks * vector
    last_sum, seed = 3 * blocks * vector + 3 * vector, 2 * array
    assert counts.bytes_handed == forward + backward + last_sum + seed


# ---- what travels ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("task", "more"), [*((task, []) for task in TRAINERS), ("clustering", ["--ragged"])])
def test_a_training_step_sends_nothing_back(
    task: str, more: list[str], tmp_path: Path, capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
):
    """Two steps more cost no copy to the host and no wait.  The samples go to the GPU in a few copies.

    Those are sets, masks and targets, or the places of images that are there already, and dropout's random values.
    """
    monkeypatch.setattr("tasks.harness.run.SHOW_EVERY", math.inf)  # every two seconds, progress.json gets the loss

    def run(steps: int) -> emulation.Counts:
        seldom = ["--log-every", 100, "--evaluate-every", 100, "--save-every", 100]  # and after the last step
        with emulation.counting() as seen:
            train(
                task, "SAB + PMA", *seldom, "--steps", steps, "--device", "cuda", *more, "--out", tmp_path / str(steps)
            )
        return seen.counts

    two, four = run(2), run(4)
    assert four.launches > two.launches
    assert four.to_host == two.to_host and four.waits == two.waits
    assert four.to_device - two.to_device <= (8 + TABLES) * 2
