"""Threads: the same bits with any number of them, peace with BLAS, and refusals."""

import contextlib
import subprocess
import sys
import threading

import pytest

from autograd import OPS, Tensor, gradcheck, op, threads
from autograd.forms import plain_forms
from tasks.bench import networks
from tasks.harness import cli
from tests.helpers.commandline import ENVIRONMENT, command

needs_blas = pytest.mark.skipif(threads._blas is None, reason="the number of threads of this BLAS cannot be set")


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


@needs_blas
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


@pytest.mark.parametrize("value", ["many", "0", "-1", "1e3", "2.5", "1025", "100000", "9" * 5000, "٣٣٣٣٣"])
def test_a_bad_number_of_threads_is_refused(value, monkeypatch, capsys):
    monkeypatch.setenv("MINISETS_THREADS", value)
    shown = repr(value) if len(value) < 20 else "'9999"
    for main, name in ((cli.main, "minisets"), (gradcheck.main, "python -m autograd.gradcheck")):
        monkeypatch.setattr(threads, "_count", None)
        try:
            code = main(["list"] if name == "minisets" else [])
        except SystemExit as stop:
            code = stop.code
        out, error = capsys.readouterr()
        assert (code, out) == (2, "") and len(error) < 300
        assert f"{name}: " in error and f"MINISETS_THREADS must be an integer from 1 to 1024, given {shown}" in error


@pytest.mark.parametrize(("value", "number"), [("", 3), (" ", 3), (" 7 ", 7), ("1024", 1024)])
def test_a_good_number_of_threads(value, number, monkeypatch):
    monkeypatch.setenv("MINISETS_THREADS", value)
    monkeypatch.setattr(threads, "_blas", (lambda: 3, lambda n: None))
    monkeypatch.setattr(threads, "_count", None)
    assert threads.count() == number


def test_a_bad_number_of_threads_from_the_command_line(tmp_path):
    done = command("list", env=ENVIRONMENT | {"MINISETS_THREADS": "100000"}, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "minisets: MINISETS_THREADS must be an integer from 1 to 1024, given '100000'\n"


def test_threads_that_the_system_refuses_are_done_without(monkeypatch):
    class Refused(threading.Thread):
        def start(self):
            raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threads, "_workers", 0)
    monkeypatch.setattr(threading, "Thread", Refused)
    with threads.use(4):
        assert threads.parallel_map(abs, [-1, -2, -3]) == [1, 2, 3]
    assert threads._workers == 0


def test_plain_forms_for_a_process():
    message = {}
    for value in ("1", "0"):
        environment = ENVIRONMENT | {"MINISETS_PLAIN": value}
        code = "import autograd.forms; from minisets import MAB; print(MAB.forward.__code__.co_filename)"
        run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
        message[value] = run.stdout.strip().replace("\\", "/").split("/")[-1]
    assert message == {"1": "blocks.py", "0": "forms.py"}
