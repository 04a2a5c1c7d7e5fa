"""Threads: the same bits with any number of them, peace with BLAS, and refusals."""

import contextlib
import subprocess
import sys

import pytest

from autograd import OPS, Tensor, op, threads
from autograd.forms import plain_forms
from tasks.bench import networks
from tests.helpers.commandline import ENVIRONMENT, command


def test_results_do_not_depend_on_the_number_of_threads():
    """Losses and weights after some steps of every network, to the bit, in processes with 1, 2 and 5 threads."""
    code = """
import hashlib
from tasks.bench import networks, worker
from dataclasses import replace
for name, shape in networks.SHAPES.items():
    ours = worker.TrainingStep(replace(shape, sets=min(shape.sets, 8), n=min(shape.n, 600)))
    losses = [ours.step() for _ in range(2)]
    print(name, losses, hashlib.sha256(b"".join(x.tobytes() for x in ours.net.state_dict().values())).hexdigest())
"""
    message = set()
    for mine, blas in ((1, 1), (2, 1), (2, 2), (5, 2)):
        environment = ENVIRONMENT | {"MINISETS_THREADS": str(mine), "OPENBLAS_NUM_THREADS": str(blas)}
        run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
        message.add(run.stdout)
    assert len(message) == 1 and len(message.pop().splitlines()) == len(networks.SHAPES)


def test_parallel_map_keeps_order_and_raises():
    with threads.use(4):
        assert threads.parallel_map(lambda x: x * x, range(50)) == [x * x for x in range(50)]
        # A piece that is divided into pieces.
        inner = threads.parallel_map(lambda x: threads.parallel_map(lambda y: x + y, range(3)), range(5))
        assert inner == [[x, x + 1, x + 2] for x in range(5)]
        with pytest.raises(ZeroDivisionError):
            threads.parallel_map(lambda x: 1 / x, [1, 2, 0, 4])
        assert threads.parallel_map(lambda x: -x, [1, 2]) == [-1, -2]  # and continues to work


def test_a_forked_child_has_threads_too():
    code = """
import os, sys
from autograd import threads
with threads.use(2):
    threads.parallel_map(abs, [1, 2, 3])
    child = os.fork()
    result = threads.parallel_map(abs, [-1, -2, -3])
    if child == 0:
        os._exit(0 if result == [1, 2, 3] else 1)
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    assert subprocess.run([sys.executable, "-c", code], env=ENVIRONMENT, timeout=60).returncode == 0


@pytest.mark.skipif(threads._blas is None, reason="the number of threads of this BLAS cannot be set")
def test_blas_gets_its_threads_back():
    get, put = threads._blas
    before = get()
    try:
        put(2)
        with threads.single_threaded_blas:
            assert get() == 1
            with threads.single_threaded_blas:
                assert get() == 1
            assert get() == 1
        assert get() == 2
        seen = []

        @op
        def look(x):
            seen.append(get())
            return x, lambda g: seen.append(get()) or g

        del OPS["look"]
        for form in (contextlib.nullcontext(), plain_forms()):
            with form:
                look(Tensor(1.0, requires_grad=True)).backward()
        assert seen == [2, 1, 2, 2]  # backward keeps BLAS to one thread, but in its plain form
    finally:
        put(before)


def test_with_a_blas_that_cannot_be_controlled_there_is_one_thread(monkeypatch):
    monkeypatch.setattr(threads, "_blas", None)
    monkeypatch.setattr(threads, "_count", None)
    monkeypatch.delenv("MINISETS_THREADS", raising=False)
    assert threads.count() == 1
    with threads.single_threaded_blas:  # nothing to do
        assert threads.parallel_map(abs, [-1, -2]) == [1, 2]


def test_a_bad_number_of_threads_is_refused(tmp_path):
    done = command("list", env=ENVIRONMENT | {"MINISETS_THREADS": "many"}, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr == "minisets: MINISETS_THREADS must be an integer of at least 1, given 'many'\n"


def test_plain_forms_for_a_process():
    message = {}
    for value in ("1", "0"):
        environment = ENVIRONMENT | {"MINISETS_PLAIN": value}
        code = "import autograd.forms; from minisets import MAB; print(MAB.forward.__code__.co_filename)"
        run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
        message[value] = run.stdout.strip().replace("\\", "/").split("/")[-1]
    assert message == {"1": "blocks.py", "0": "forms.py"}
