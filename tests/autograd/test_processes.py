"""Child processes, started while other threads of the parent compute: no deadlock, the same results, all threads."""

import multiprocessing
import subprocess
import sys

import pytest

from autograd import threads
from tests.helpers.commandline import ENVIRONMENT

needs_fork = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no fork")
needs_blas = pytest.mark.skipif(threads._blas is None, reason="the number of threads of this BLAS cannot be set")

SETUP = """
import multiprocessing, os, signal, sys, threading
import numpy as np
from autograd import Tensor, forms, threads
from minisets import SAB
from minisets.optim import Adam

blas = threads.single_threaded_blas

def in_a_child(function):
    # The exit code of a forked child that runs the function: 0 if it returns True, negative if it hangs.
    pid = os.fork()
    if pid == 0:
        signal.alarm(20)
        try:
            os._exit(0 if function() else 1)
        finally:
            os._exit(2)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

def train(steps=2):
    rng = np.random.default_rng(0)
    net = SAB(3, 16, 2, rng=rng)
    X, optimizer = rng.normal(size=(4, 50, 3)).astype("float32"), Adam(net.parameters())
    for _ in range(steps):
        optimizer.zero_grad()
        (net(X) ** 2).mean().backward()
        optimizer.step()
    return b"".join(x.tobytes() for x in net.state_dict().values())

def repeat(function):
    # Call the function over and over, in another thread.
    def loop():
        while True:
            function()
    threading.Thread(target=loop, daemon=True).start()

def enter_and_stay(context):
    # Enter the context in another thread, which stays inside until the process ends.
    inside = threading.Event()
    def stay():
        with context:
            inside.set()
            threading.Event().wait()
    threading.Thread(target=stay, daemon=True).start()
    inside.wait()
"""


def run(tmp_path, code: str, *arguments: str) -> str:
    script = tmp_path / "script.py"
    script.write_text(SETUP + code)
    # Coverage has a lock of its own, which a forked child may find taken for good.
    environment = {name: value for name, value in ENVIRONMENT.items() if not name.startswith("COVERAGE")}
    environment |= {"OPENBLAS_NUM_THREADS": "2"}
    words = [sys.executable, str(script), *arguments]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


@needs_fork
def test_a_forked_child_has_workers(tmp_path):
    code = """
with threads.use(3):
    threads.parallel_map(abs, [1, 2, 3])
    print(in_a_child(lambda: threads.parallel_map(abs, [-1, -2, -3]) == [1, 2, 3] and threads._workers == 2))
    print(threads.parallel_map(abs, [-1, -2, -3]))
"""
    assert run(tmp_path, code) == "0\n[1, 2, 3]\n"


@needs_fork
@needs_blas
def test_a_forked_child_does_not_inherit_what_other_threads_hold(tmp_path):
    """It would otherwise have one BLAS thread for good, since nobody is left to give the others back."""
    code = """
get, _ = threads._blas
enter_and_stay(blas)
def child():
    found = get()
    with blas:
        inside = get()
    return (found, inside, get(), blas.depth) == (2, 1, 2, 0)
print(in_a_child(child), get(), blas.depth)
"""
    assert run(tmp_path, code) == "0 1 1\n"


@needs_fork
@needs_blas
def test_a_forked_child_is_still_inside_what_its_own_thread_entered(tmp_path):
    code = """
get, _ = threads._blas
enter_and_stay(blas)
blas.__enter__()
def child():
    found = get()
    blas.__exit__()
    return (found, get(), blas.depth) == (1, 2, 0)
print(in_a_child(child), get(), blas.depth)
"""
    assert run(tmp_path, code) == "0 1 2\n"


@needs_fork
@pytest.mark.parametrize("lock", ["threads.single_threaded_blas.lock", "forms._lock"])
def test_a_fork_waits_until_a_lock_is_free(tmp_path, lock):
    code = f"""
import time
def hold():
    with {lock}:
        held.set()
        time.sleep(0.3)
        changed.append(True)
held, changed = threading.Event(), []
threading.Thread(target=hold).start()
held.wait()
def child():
    with {lock}:
        return changed == [True]
print(in_a_child(child))
with {lock}:
    print(in_a_child(child))  # as a signal handler may do in a thread that holds it
"""
    assert run(tmp_path, code) == "0\n0\n"


@needs_fork
@pytest.mark.parametrize("busy", ["with blas: pass", "with forms.plain_forms(): pass", "train(1)"])
def test_forks_while_another_thread_computes(tmp_path, busy):
    code = f"""
def compute():
    {busy}
expected = train()
repeat(compute)
def child():
    with forms.plain_forms():
        pass
    return forms._plain_count or train() == expected  # plain forms round differently
print(any(in_a_child(child) for _ in range(25)))
os._exit(sys.stdout.flush() or 0)
"""
    assert run(tmp_path, code) == "False\n"


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_every_start_method_computes_the_same(tmp_path, method):
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip("this system does not have it")
    code = """
if __name__ == "__main__":
    expected = train()
    repeat(lambda: train(1))
    with multiprocessing.get_context(sys.argv[1]).Pool(2) as pool:
        results = [pool.apply_async(train) for _ in range(4)]
        print([result.get(timeout=120) == expected for result in results])
    os._exit(sys.stdout.flush() or 0)
"""
    assert run(tmp_path, code, method) == "[True, True, True, True]\n"
