"""Checkpoints: a resumed run has the bits of an uninterrupted one; a bad file is one sentence and changes nothing."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from autograd import relu, squared_error
from minisets.checkpoint import CheckpointError, load, save
from minisets.nn import BatchNorm, Dropout, Linear, Sequential
from minisets.optim import SGD, Adam


class Run:
    """A small training run with every kind of state: batch statistics, dropout, momentum, random data."""

    def __init__(self, seed: int = 0, width: int = 4) -> None:
        rng = np.random.default_rng(seed)
        self.net = Sequential(Linear(3, width, rng=rng), BatchNorm(width), relu, Dropout(0.2, rng=rng))
        self.optimizer = Adam(self.net.parameters(), lr=0.01)
        self.data = np.random.Generator(np.random.MT19937(seed))  # a generator with an array in its state
        self.everything = {"model": self.net, "optimizer": self.optimizer, "generators": {"data": self.data}}

    def train(self, steps: int) -> list[float]:
        losses = []
        for _ in range(steps):
            X = self.data.normal(size=(8, 3))
            self.optimizer.zero_grad()
            loss = squared_error(self.net(X), np.repeat(X[:, :1], self.net(X).shape[1], axis=1))
            loss.backward()
            self.optimizer.step()
            losses.append(loss.item())
        return losses

    def state(self) -> dict[str, np.ndarray]:
        return self.net.state_dict() | self.optimizer.state_dict()


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    run = Run()
    run.train(3)
    save(tmp_path / "checkpoint.npz", **run.everything, step=3)
    return tmp_path / "checkpoint.npz"


def test_a_resumed_run_is_the_uninterrupted_one(saved: Path):
    straight, resumed = Run(), Run(seed=1)
    straight.train(3)
    assert load(saved, **resumed.everything) == 3
    assert straight.train(5) == resumed.train(5)
    for name, array in straight.state().items():
        np.testing.assert_array_equal(array, resumed.state()[name])


def test_a_model_alone_can_be_saved_and_loaded(tmp_path: Path):
    net = Linear(2, 3, rng=np.random.default_rng(0))
    save(tmp_path / "model.npz", model=net)
    other = Linear(2, 3, rng=np.random.default_rng(1))
    assert load(tmp_path / "model.npz", model=other) == 0
    np.testing.assert_array_equal(net.weight.data, other.weight.data)


@pytest.mark.parametrize("kind", ["PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64"])
def test_every_generator_continues_where_it_was(tmp_path: Path, kind: str):
    """Several seeds, since a state of 64-bit numbers is spoiled or not by their size."""
    net = Linear(1, 1, rng=np.random.default_rng(0))
    for seed in range(20):
        rng, other = (np.random.Generator(getattr(np.random, kind)(s)) for s in (seed, seed + 1))
        rng.integers(5, size=3, dtype="uint8")  # leaves half-used numbers behind
        save(tmp_path / "c.npz", model=net, generators={"rng": rng})
        load(tmp_path / "c.npz", model=net, generators={"rng": other})
        np.testing.assert_array_equal(rng.integers(2**60, size=9), other.integers(2**60, size=9))


def test_the_model_alone_can_be_loaded_from_a_whole_run(saved: Path):
    run = Run(seed=1)
    assert load(saved, model=run.net) == 3


def test_the_file_holds_plain_arrays_and_no_other_is_left(saved: Path):
    assert os.listdir(saved.parent) == ["checkpoint.npz"]
    with np.load(saved, allow_pickle=False) as archive:
        assert "model/layers.0.weight" in archive.files and "optimizer/m.0" in archive.files


def refused(path: Path, run: Run | None = None, **arguments) -> str:
    """The error message of load; nothing may have changed."""
    run = run or Run()
    before, generator = run.state(), repr(run.data.bit_generator.state)
    with pytest.raises(CheckpointError) as error:
        load(path, **{**run.everything, **arguments})
    for name, array in run.state().items():
        np.testing.assert_array_equal(array, before[name])
    assert repr(run.data.bit_generator.state) == generator
    return str(error.value)


def test_files_that_are_no_checkpoints(saved: Path, tmp_path: Path):
    whole, bad = saved.read_bytes(), tmp_path / "bad.npz"
    assert "there is no checkpoint" in refused(tmp_path / "absent.npz")
    for content in (b"", b"PK", b"hello", whole[: len(whole) // 2], whole[:-1], os.urandom(1000)):
        bad.write_bytes(content)
        assert "is damaged, or not a checkpoint" in refused(bad)
    np.savez(bad, x=np.ones(3))
    assert "an .npz file but not a minisets checkpoint" in refused(bad)
    ours = '{"format": "minisets checkpoint 1", "optimizer": null'
    incomplete = (ours + "}", ours + ', "step": 1}', ours + ', "step": 1, "generators": []}')
    for about in ("[]", "{}", "no json", '{"format": "another"}', *incomplete):
        np.savez(bad, about=np.array(about))
        assert "not a minisets checkpoint" in refused(bad)
    with open(bad, "wb") as file:
        np.save(file, np.ones(3))
    assert "is damaged, or not a checkpoint" in refused(bad)
    assert "is damaged, or not a checkpoint" in refused(tmp_path)  # a folder


def test_nothing_is_ever_unpickled(tmp_path: Path):
    class Trap:
        def __reduce__(self):
            return (pytest.fail, ("a pickle was opened",))

    np.savez(tmp_path / "trap.npz", about=np.array([Trap()], dtype=object))
    assert "is damaged, or not a checkpoint" in refused(tmp_path / "trap.npz")


def test_a_checkpoint_of_another_run(saved: Path):
    assert "'layers.0.weight' has shape (3, 4) instead of (3, 5)" in refused(saved, Run(width=5))
    run = Run()
    assert "saved with the optimizer Adam, not SGD" in refused(saved, optimizer=SGD(run.net.parameters(), lr=1.0))
    assert "expected ['model.layers.3.rng', 'other']" in refused(saved, generators={"other": np.random.default_rng()})
    assert "does not belong to this run" in refused(saved, generators={"data": np.random.default_rng()})  # PCG64
    smaller = SGD([run.net.layers[0].weight], lr=1.0)
    save(saved, model=run.net, optimizer=smaller, generators={"data": run.data})
    assert "'u.1'" in refused(saved, optimizer=SGD(run.net.parameters(), lr=1.0))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=200)
@given(data=st.data())
def test_a_damaged_byte_is_noticed_or_harmless(saved: Path, data):
    """Flip any byte: either the file is refused with one sentence, or what is loaded is what was saved."""
    content = bytearray(saved.read_bytes())
    place = data.draw(st.integers(0, len(content) - 1))
    content[place] ^= data.draw(st.integers(1, 255))
    bad, run = saved.with_name("bad.npz"), Run()
    bad.write_bytes(content)
    try:
        load(bad, **run.everything)
    except CheckpointError:
        return
    good = Run()
    load(saved, **good.everything)
    for name, array in good.state().items():
        np.testing.assert_array_equal(array, run.state()[name])


def test_an_unwritable_place_is_one_sentence_and_leaves_nothing(saved: Path, tmp_path: Path, monkeypatch):
    with pytest.raises(CheckpointError, match=r"cannot write the checkpoint .*No such file or directory"):
        save(tmp_path / "absent" / "checkpoint.npz", **Run().everything)

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    before = saved.read_bytes()
    monkeypatch.setattr(np, "savez", full)
    with pytest.raises(CheckpointError, match=r"cannot write the checkpoint .*No space left on device"):
        save(saved, **Run().everything)
    assert saved.read_bytes() == before and os.listdir(tmp_path) == ["checkpoint.npz"]
    monkeypatch.setattr(np, "savez", lambda *_, **__: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        save(saved, **Run().everything)
    assert os.listdir(tmp_path) == ["checkpoint.npz"]
    with pytest.raises(CheckpointError, match="not a valid file name"):
        save("", model=Run().net)


def test_the_old_file_is_complete_until_the_new_one_is(saved: Path, monkeypatch: pytest.MonkeyPatch):
    before, replace, seen = saved.read_bytes(), os.replace, []

    def watched(new: Path, old: Path) -> None:
        seen.append(old.read_bytes() == before)
        load(new, model=Run().net)  # the new one is complete before it takes the name
        replace(new, old)

    monkeypatch.setattr(os, "replace", watched)
    run = Run(seed=5)
    save(saved, **run.everything, step=9)
    assert seen == [True] and load(saved, **run.everything) == 9


def test_kill_minus_nine_at_any_moment_leaves_a_complete_checkpoint(tmp_path: Path):
    """A child saves without end and is killed, several times; each time the file must load."""
    code = (
        "import sys\n"
        "from tests.minisets.test_checkpoint import Run, save\n"
        "run = Run(width=300)\n"
        "for step in range(10**6):\n"
        "    save(sys.argv[1], **run.everything, step=step)\n"
        "    print(step, flush=True)\n"
    )
    path = tmp_path / "checkpoint.npz"
    for wait in (1, 7, 20):
        command = [sys.executable, "-c", code, str(path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
            for _ in range(wait):
                child.stdout.readline()
            child.kill()
        assert load(path, **Run(seed=1, width=300).everything) >= wait - 1
        assert zipfile.ZipFile(path).testzip() is None
