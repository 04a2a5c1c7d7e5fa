"""Prepared arrays: made once, whole or not there, made again when the files they come from change."""

import errno
import multiprocessing
import os
import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tasks.data.array_cache import cached_array
from tasks.data.locations import DataError

ROWS = np.arange(12, dtype="float16").reshape(3, 2, 2)


@pytest.fixture
def source(tmp_path: Path, monkeypatch) -> Path:
    monkeypatch.setenv("MINISETS_DATA", str(tmp_path / "data"))
    (tmp_path / "source").write_text("here")
    return tmp_path / "source"


def make(source: Path, log: list | None = None, rows=ROWS) -> np.ndarray:
    def items():
        for row in rows:
            if log is not None:
                log.append(1)
            yield row

    return cached_array("test", [source], (3, 2, 2), "float16", items())


def files(source: Path) -> list[Path]:
    return list((source.parent / "data" / "prepared").iterdir())


def test_it_is_made_once_and_mapped(source: Path):
    log: list[int] = []
    for _ in range(3):
        array = make(source, log)
        np.testing.assert_array_equal(array, ROWS)
        assert isinstance(array, np.memmap) and not array.flags.writeable
    assert len(log) == 3 and len(files(source)) == 1


def test_other_sources_make_another_array(source: Path):
    make(source)
    source.write_text("changed")
    np.testing.assert_array_equal(make(source, rows=ROWS + 1), ROWS + 1)
    assert len(files(source)) == 2


def test_a_damaged_array_is_made_again(source: Path):
    make(source)
    (path,) = files(source)
    for damage in (b"", b"\x93NUMPY", path.read_bytes()[:-1], path.read_bytes().replace(b"f2", b"|O")):
        path.write_bytes(damage)
        np.testing.assert_array_equal(make(source), ROWS)


def test_every_damaged_byte_is_found(source: Path):
    """In the header, which NumPy reads as a Python literal, in the array, and in the checksum after it."""
    make(source)
    (path,) = files(source)
    good, rng = path.read_bytes(), random.Random(0)
    for place in range(len(good)):
        for byte in (good[place] ^ 1 << rng.randrange(8), rng.choice(b"([{'\"\\\n#L9-\0\xff")):
            path.write_bytes(good[:place] + bytes([byte]) + good[place + 1 :])
            np.testing.assert_array_equal(make(source), ROWS)
    for length in range(0, len(good), 7):
        path.write_bytes(good[:length])
        np.testing.assert_array_equal(make(source), ROWS)
    np.testing.assert_array_equal(np.load(path), ROWS)  # it is a .npy file like any other


def test_what_is_not_a_file_is_replaced(source: Path):
    make(source)
    (path,) = files(source)
    path.unlink()
    os.mkfifo(path)  # opening it would wait forever
    np.testing.assert_array_equal(make(source), ROWS)


def test_a_source_that_cannot_be_read_is_not_the_fault_of_the_cache(source: Path):
    def broken() -> Iterator[np.ndarray]:
        yield ROWS[0]
        raise OSError(errno.EIO, "Input/output error", "a.png")

    with pytest.raises(DataError, match=r"^cannot read a.png: Input/output error$"):
        cached_array("test", [source], (3, 2, 2), "float16", broken())


def test_a_cache_that_cannot_be_read_back_is_one_sentence(source: Path, monkeypatch):
    monkeypatch.setattr("tasks.data.array_cache._open", lambda *_: None)
    with pytest.raises(DataError, match=r"prepared/test-.*npy was written but cannot be read back"):
        make(source)


def test_a_file_system_without_locks_will_do(source: Path, monkeypatch):
    def flock(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("tasks.data.array_cache.fcntl.flock", flock)
    np.testing.assert_array_equal(make(source), ROWS)


def test_items_that_fail_leave_nothing(source: Path):
    def broken():
        yield ROWS[0]
        raise DataError("b.txt is damaged")

    for items, error in ((broken(), DataError), (iter(ROWS.reshape(3, 4)), ValueError), (iter(ROWS[:2]), ValueError)):
        with pytest.raises(error):
            cached_array("test", [source], (3, 2, 2), "float16", items)
        assert files(source) == []


def test_an_unwritable_folder_is_one_sentence(source: Path):
    (source.parent / "data").mkdir()
    (source.parent / "data/prepared").write_text("a file where the folder should be")
    with pytest.raises(DataError, match=r"cannot write .*prepared.*test-.*npy: "):
        make(source)


def _child(source: Path, queue) -> None:
    log: list[int] = []
    array = make(source, log)
    queue.put((len(log), array.sum()))


def test_two_processes_make_it_once(source: Path):
    (source.parent / "data" / "prepared").mkdir(parents=True)
    (source.parent / "data" / "prepared" / ".old.npy.unfinished").write_text("of a process that was killed")
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    children = [context.Process(target=_child, args=(source, queue)) for _ in range(4)]
    for child in children:
        child.start()
    results = [queue.get(timeout=30) for _ in children]
    for child in children:
        child.join()
    assert sorted(count for count, _ in results) == [0, 0, 0, 3]
    assert {total for _, total in results} == {ROWS.sum()} and len(files(source)) == 1
    assert os.path.basename(files(source)[0]).endswith(".npy")
