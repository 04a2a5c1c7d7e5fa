"""Sweeps of tiny runs, and looking at them from outside."""

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.helpers.commandline import TINY
from tests.helpers.runs import assert_same_run, last_step


def settings(name: str = "max_regression", **more: object) -> list[str]:
    """--set words that make the runs of an experiment tiny."""
    words = TINY[name].split()
    values = {key[2:].replace("-", "_"): value for key, value in zip(words[::2], words[1::2], strict=True)} | more
    return [word for key, value in values.items() for word in ("--set", f"{key}={value}")]


def sweep(out: Path, seeds: int) -> list[object]:
    """Two architectures with so many seeds, 130 steps each."""
    archs = ["--arch", "rFF + Pooling (max)", "--arch", "SAB + PMA"]
    return ["sweep", "max_regression", *archs, "--seeds", seeds, *settings(steps=130), "--out", out]


def cells(out: Path) -> dict[str, Path]:
    """The run folders below a folder, by their names."""
    return {path.parent.name: path.parent for path in sorted(out.rglob("config.json"))}


def assert_same_sweep(a: Path, b: Path) -> None:
    """The cells of b have the files of those in a, and in them the same bits; nothing is left of a killed process."""
    assert cells(b)
    for name, other in cells(b).items():
        folder = cells(a)[name]
        assert_same_run(folder, other)
        assert sorted(path.name for path in folder.iterdir()) == sorted(path.name for path in other.iterdir())
        for figure in folder.glob("*.svg"):
            assert figure.read_bytes() == (other / figure.name).read_bytes()
    assert not list((b / "sweeps" / "cells").rglob("*.json"))


def wait_until(condition: Callable[[], object], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.005)


def training(out: Path, step: int = 14) -> list[Path]:
    """The cells that have logged this step and are not finished."""
    return [path for path in cells(out).values() if last_step(path) >= step and not (path / "result.json").exists()]


def processes() -> Iterator[tuple[int, int, bytes]]:
    """All processes of a Linux machine: number, parent, command line."""
    for path in Path("/proc").iterdir():
        with contextlib.suppress(OSError, IndexError):  # it has ended
            if path.name.isdigit():
                parent = int((path / "stat").read_text().rpartition(")")[2].split()[1])
                yield int(path.name), parent, (path / "cmdline").read_bytes()


def children(*parents: int) -> list[int]:
    """The processes that train the cells of these processes."""
    return [number for number, parent, line in processes() if parent in parents and b"tasks.sweep.child" in line]


def ranks(mpiexec: int) -> list[int]:
    """The ranks that mpiexec has started."""
    return [number for number, parent, line in processes() if parent == mpiexec and b"tasks.harness.cli" in line]


def alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def kill(process: int) -> None:
    os.kill(process, signal.SIGKILL)
