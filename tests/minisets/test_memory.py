"""Memory of fast forms: peaks, and how often arrays of rows are allocated."""

import contextlib
import subprocess
import sys
from unittest import mock

import numpy as np
import pytest

import autograd
from autograd import Tensor, threads
from autograd.fast import pieces
from autograd.forms import plain_forms
from minisets import SAB
from tasks.harness.machine import peak_memory
from tests.helpers.commandline import ENVIRONMENT


def test_memory_of_attention_grows_with_n_not_with_its_square():
    def step(n: int):
        q = Tensor(np.ones((1, 1, n, 4), "float32"), requires_grad=True)
        return lambda: autograd.attention(q, q, q).sum().backward()

    with threads.use(2):
        small, large = peak_memory(step(3000), "cpu"), peak_memory(step(6000), "cpu")
    assert large < 2.2 * small and large < 6000 * 6000  # bytes: a quarter of one matrix of scores


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="asks Linux for the peak, which getrusage inherits")
def test_a_sab_of_20000_elements_fits_in_a_gibibyte():
    """Peak memory of the whole process, forward and backward; the scores alone would take 12.8 GB."""
    code = """
import re
from pathlib import Path
import numpy as np
from autograd import Tensor
from minisets import SAB
rng = np.random.default_rng(0)
net = SAB(64, 64, 8, rng=rng)
X = Tensor(rng.standard_normal((1, 20_000, 64), dtype="float32"), requires_grad=True)
(net(X) ** 2).mean().backward()
assert np.isfinite(X.grad).all()
print(int(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1]) / 1024)
"""
    run = subprocess.run([sys.executable, "-c", code], env=ENVIRONMENT, capture_output=True, text=True, check=True)
    assert float(run.stdout) < 1024


def test_the_windows_of_a_convolution_are_never_in_memory_all_at_once():
    """Forward and backward: the images, their gradients, and for each of two threads some windows."""
    weight = Tensor(np.ones((8, 8, 3, 3), "float32"), requires_grad=True)
    images = np.ones((512, 16, 16, 8), "float32").transpose(0, 3, 1, 2)

    def step():
        X = Tensor(images, requires_grad=True)
        autograd.conv2d(X, weight, padding=1).backward(images)

    with threads.use(2):
        fast = peak_memory(step, "cpu")
        with plain_forms():
            plain = peak_memory(step, "cpu")
    assert plain > 9 * images.nbytes  # all windows, nine times the images
    assert fast < 3 * images.nbytes + 2 * 4 * (4 * pieces.PIECE)


def test_a_step_of_a_sab_keeps_a_few_arrays_of_rows_and_a_block_of_scores():
    n, d = 4096, 32
    net, X = SAB(d, d, 4, rng=np.random.default_rng(0)), np.ones((1, n, d), "float32")

    def step():
        (net(X) ** 2).mean().backward()

    with threads.use(1):
        fast = peak_memory(step, "cpu")
        with plain_forms():
            plain = peak_memory(step, "cpu")
    scores = 4 * n * n * 4  # bytes
    assert plain > 3 * scores
    assert fast < 24 * X.nbytes + 4 * (4 * pieces.BLOCK)


def test_how_often_a_step_of_a_sab_allocates():
    """Every array of rows (n, d) that the fast forms allocate, counted: a copy that slips in shows here.

    Forward makes q, k and v in one, the answers, ŝ and y of two residual norms, and zeros for a ReLU to compare with.
    Backward makes the gradients of q, k and v, lays them side by side, and makes those of x and z in each norm, and
    of X.
    Besides, attention copies K and V head by head, and Q as it scales it (which is not seen here), and in backward g.
    """
    n, d = 64, 16
    net = SAB(d, d, 2, rng=np.random.default_rng(0))
    X = Tensor(np.ones((3, n, d), "float32"), requires_grad=True)
    made: list[str] = []
    makers = "empty", "empty_like", "zeros", "zeros_like", "ascontiguousarray", "where", "array", "concatenate"

    class Watched:
        def __getattr__(self, name):
            function = getattr(np, name)
            if name not in makers:
                return function

            def watch(*arguments, **keywords):
                array = function(*arguments, **keywords)
                new = array.dtype != bool and not any(array is x for x in arguments)
                if new and array.size % X.size == 0:
                    made.extend([name] * (array.size // X.size))
                return array

            return watch

    places = ("autograd.fast.rows", "autograd.fast.attention", "minisets.fast.product_orders")
    with contextlib.ExitStack() as patches:
        for place in places:
            patches.enter_context(mock.patch(f"{place}.np", Watched()))
        Y = net(X)
        forward = len(made)
        (Y**2).mean().backward()
    heads = made[:forward].count("ascontiguousarray")
    assert forward == 3 + 1 + 4 + 1 + heads
    assert len(made) - forward == 3 + 3 + 4 + 1 + made[forward:].count("ascontiguousarray")
    assert heads == 2 and made.count("ascontiguousarray") == 3
