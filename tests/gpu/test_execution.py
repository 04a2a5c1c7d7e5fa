"""Rung 3: every kernel, op, block and trainer runs through the real CuPy, and is right against float64 NumPy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from autograd import Tensor, backend, forms
from autograd.cases import CASES as OP_CASES
from autograd.cases import Case as OpCase
from autograd.kernels.registry import DTYPES, KERNELS
from tasks import runtime
from tasks.data.standins import shapes
from tasks.harness.cli import main
from tasks.harness.experiment import NAMES
from tasks.harness.run_folder import RunFolder
from tasks.selftest import kernel_cases as cases
from tasks.selftest.checks import block_error, op_error
from tasks.selftest.network_cases import NETWORK_CASES, NetworkCase
from tests.gpu import emulation
from tests.gpu.huge import HUGE
from tests.helpers.commandline import TINY

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

every_dtype = pytest.mark.parametrize("dtype", DTYPES)
SCHEDULES = ("forward", "reverse", 7)  # the last one at random, some warps stalling
WITH_KERNELS = {"softmax", "layer_norm", "residual_norm", "linear", "matmul", "attention", "max_pool"}
WITH_KERNELS |= {"gaussian_mixture_log_likelihood"}
TRAINERS = TINY | {
    "clustering_large": TINY["clustering"],
    "unique_characters": "--data synthetic --batch 2 --validation-sets 2 --test-sets 2",
    "set_anomaly": "--data synthetic --batch 2 --size 16 --train-sets 4 --validation-sets 2 --test-sets 2",
    "image_clustering": "--data synthetic --batch 2 --n-min 10 --n-max 20 --validation-sets 2 --test-sets 2 "
    "--em-restarts 1",
    "point_cloud": "--data synthetic --batch 2 --points 20 --evaluation-shapes 4",
    "vgg": "--data synthetic --batch 4 --depth 11 --width 2 --per-class 1 --validation-images 4",
}
LONGEST_SUM = 4 * 32 * 32  # terms: over the pixels of a batch of images, for the gradients of a convolution
WITH_DROPOUT = {"set_anomaly", "point_cloud", "vgg"}  # which draws other numbers in another dtype


def on_device(x: np.ndarray) -> backend.Array:
    return backend.to_device(x, "cuda")


@pytest.mark.parametrize("case", cases.CASES, ids=str)
def test_arrays_lie_on_the_device_as_they_do_here(case: cases.Case):
    """Transposed and broadcast, where the case has them so; the axes of an array with a single row may lie anyhow."""
    for here, there in zip(case.arguments, case.on_device("float64", on_device), strict=True):
        if isinstance(here, np.ndarray) and min(here.shape, default=0) > 1:
            assert here.strides == there.strides


@every_dtype
@pytest.mark.parametrize("case", cases.CASES, ids=str)
def test_kernel(case: cases.Case, dtype: str):
    assert case.error(dtype, on_device) <= cases.TOLERANCES[dtype]


@pytest.mark.needs("emulation")
@every_dtype
@pytest.mark.parametrize("case", cases.CASES, ids=str)
def test_the_order_of_threads_does_not_matter(case: cases.Case, dtype: str):
    """None of the kernels uses atomics: the same bits in whatever order threads and blocks take their turns."""
    found = []
    for schedule in SCHEDULES:
        arguments = case.on_device(dtype, on_device)
        with emulation.schedule(schedule):
            results = cases.results(KERNELS[case.kernel].launch(*arguments))
        found.append([backend.to_host(y).tobytes() for y in results])
    emulation.check()
    assert found[0] == found[1] == found[2]


@pytest.mark.needs("emulation")
@pytest.mark.parametrize("name", HUGE)
def test_more_than_2_to_the_31_elements(name: str):
    assert HUGE[name]() <= cases.TOLERANCES["float32"]


@every_dtype
@pytest.mark.parametrize("case", OP_CASES, ids=str)
def test_op(case: OpCase, dtype: str):
    assert op_error(case, dtype, "cuda") <= cases.TOLERANCES[dtype]


@every_dtype
@pytest.mark.parametrize("case", [case for case in OP_CASES if case.op in WITH_KERNELS], ids=str)
def test_op_without_kernels(case: OpCase, dtype: str):
    with forms.plain_forms():
        assert op_error(case, dtype, "cuda") <= cases.TOLERANCES[dtype]


@every_dtype
@pytest.mark.parametrize("subject", NETWORK_CASES, ids=str)
def test_block(subject: NetworkCase, dtype: str):
    assert block_error(subject, dtype, "cuda") <= cases.TOLERANCES[dtype]


# ---- training -------------------------------------------------------------------------------------------------------


def train(task: str, arch: str, *options: object) -> None:
    """A short run of a trainer, by the command line."""
    networks = [] if task == "vgg" else ["--arch", arch]
    assert main(["train", task, *networks, *TRAINERS[task].split(), *map(str, options)]) == 0


@pytest.fixture(autouse=True)
def few_shapes(monkeypatch: pytest.MonkeyPatch):
    """The whole test set is evaluated at the end of a run."""
    monkeypatch.setattr(shapes, "PER_CLASS", {"train": 2, "test": 1})


def trained(task: str, folder: Path, *options: str) -> tuple[list[float], dict[str, np.ndarray]]:
    """The losses of three steps, and the optimizer's running means of the gradients after them."""
    train(task, "ISAB (4) + PMA", "--steps", 3, "--log-every", 1, "--out", folder, *options)
    losses = [line["loss"] for line in RunFolder(folder).metrics()]
    with np.load(RunFolder(folder).checkpoint_path) as stored:
        kept = [name for name in stored.files if name.startswith(("optimizer/m.", "optimizer/u."))]  # Adam's, SGD's
        return losses, {name: stored[name] for name in kept}


@every_dtype
@pytest.mark.parametrize("task", TRAINERS)
def test_training(task: str, dtype: str, tmp_path: Path, capsys: pytest.CaptureFixture):
    """Three steps of each trainer begin with the same weights and see the same data as on the CPU.

    Weights are not compared: where a gradient is 0 but for rounding, Adam's step goes either way.
    """
    with forms.plain_forms():
        beside = dtype if task in WITH_DROPOUT else "float64"
        right, right_means = trained(task, tmp_path / "cpu", "--dtype", beside)
    losses, means = trained(task, tmp_path / "gpu", "--dtype", dtype, "--device", "cuda")
    tolerance = cases.TOLERANCES[dtype]
    if beside == "float32":
        tolerance = 5 * tolerance if emulation.installed() else 2 * LONGEST_SUM * 2.0**-24  # both sides round
    np.testing.assert_allclose(losses, right, rtol=tolerance)
    assert means and means.keys() == right_means.keys()
    largest = max(np.abs(mean).max() for mean in right_means.values())
    for name, mean in means.items():
        np.testing.assert_allclose(mean, right_means[name], rtol=0, atol=tolerance * largest, err_msg=name)


@pytest.mark.needs("emulation")
@pytest.mark.parametrize("task", ["clustering", "unique_characters", "vgg"])
def test_training_with_another_order_of_sums(task: str, tmp_path: Path, capsys: pytest.CaptureFixture):
    """A GPU sums in an order of its own.  Sums of the same N numbers in two orders differ by 2 N u at most.

    (u = 2⁻⁵³, relative to the sum of magnitudes.)  The tolerance must allow for that, and does.
    """
    assert 2 * LONGEST_SUM * 2.0**-53 <= cases.TOLERANCES["float64"] <= 4 * LONGEST_SUM * 2.0**-53
    with emulation.reversed_sums():
        test_training(task, "float64", tmp_path, capsys)


@pytest.mark.parametrize("name", ["SAB", "ISAB"])
def test_runtime(name: str):
    """That task trains nothing: it times forward and backward, and asks for the memory of the device."""
    config = runtime.Config(device="cuda", seconds=0.01)
    found = runtime.measure(runtime.block(name, config), 33, config)
    assert found["both"] > 0 and found["forward"] > 0 and found["memory"] >= 0


def test_every_trainer_is_tried():
    assert set(NAMES) == {*TRAINERS, "runtime"}


def test_arrays_on_the_left_of_a_tensor():
    """CuPy asks the Tensor, as NumPy does."""
    a, b = np.random.default_rng(0).uniform(0.5, 2.0, size=(2, 3, 3))
    x = Tensor(on_device(b), requires_grad=True)
    left = on_device(a)
    for got, want in (
        (left + x, a + b),
        (left - x, a - b),
        (left * x, a * b),
        (left / x, a / b),
        (left**x, a**b),
        (left @ x, a @ b),
    ):
        assert isinstance(got, Tensor) and got.device == "cuda:0"
        np.testing.assert_allclose(got.numpy(), want, rtol=1e-12)
    for got, want in ((left < x, a < b), (left >= x, a >= b)):
        np.testing.assert_array_equal(backend.to_host(got), want)
