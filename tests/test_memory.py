"""Memory of fast forms: peaks, and how often arrays of rows are allocated."""

import subprocess
import sys
from unittest import mock

import numpy as np
from commandline import ENVIRONMENT

import autograd
from autograd import Tensor, forms, threads
from autograd.backend import peak_memory
from autograd.forms import plain_forms
from minisets import SAB


def test_memory_of_attention_grows_with_n_not_with_its_square():
    def step(n: int):
        q = Tensor(np.ones((1, 1, n, 4), "float32"), requires_grad=True)
        return lambda: autograd.attention(q, q, q).sum().backward()

    with threads.use(2):
        small, large = peak_memory(step(3000), "cpu"), peak_memory(step(6000), "cpu")
    assert large < 2.2 * small and large < 6000 * 6000  # bytes: a quarter of one matrix of scores


def test_a_sab_of_20000_elements_fits_in_a_gibibyte():
    """Peak memory of the whole process, forward and backward; the scores alone would take 12.8 GB."""
    code = """
import resource
import numpy as np
from autograd import Tensor
from minisets import SAB
rng = np.random.default_rng(0)
net = SAB(64, 64, 8, rng=rng)
X = Tensor(rng.standard_normal((1, 20_000, 64), dtype="float32"), requires_grad=True)
(net(X) ** 2).mean().backward()
assert np.isfinite(X.grad).all()
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
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
    assert fast < 3 * images.nbytes + 2 * 4 * (4 * forms.PIECE)


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
    assert fast < 24 * X.nbytes + 4 * (4 * forms.BLOCK)


def test_how_often_a_step_of_a_sab_allocates():
    """Every array of rows (n, d) that the fast forms allocate, counted: a copy that slips in shows here.

    Forward makes q, k, v, the answers, ŝ and y of two residual norms, and zeros for a ReLU to compare with; backward
    makes the gradients of attention's three arguments, of x and z in each norm, and of X thrice, from q, k and v.
    """
    n, d = 64, 16
    net = SAB(d, d, 2, rng=np.random.default_rng(0))
    X = Tensor(np.ones((3, n, d), "float32"), requires_grad=True)
    made = []

    class Watched:
        def __getattr__(self, name):
            function = getattr(np, name)
            if name not in (
                "empty",
                "empty_like",
                "zeros",
                "zeros_like",
                "ascontiguousarray",
                "where",
                "array",
                "copy",
            ):
                return function

            def watch(*arguments, **keywords):
                array = function(*arguments, **keywords)
                if array.size == X.size and array.dtype != bool and not any(array is x for x in arguments):
                    made.append(name)
                return array

            return watch

    with mock.patch("autograd.fast.rows.np", Watched()), mock.patch("autograd.fast.attention.np", Watched()):
        Y = net(X)
        forward = len(made)
        (Y**2).mean().backward()
    assert forward == 3 + 1 + 4 + 1 + made[:forward].count("ascontiguousarray")
    assert len(made) - forward == 3 + 4 + 3 + made[forward:].count("ascontiguousarray")
    assert made.count("ascontiguousarray") == 7  # Q, K and V, head by head, and in backward again with g
