"""Files: written atomically, and read only if they are regular, of a plausible size, and what they claim to be."""

import io
import os
import zipfile

import numpy as np
import pytest

from minisets.files import DamagedFile, atomic_write, npy_header, open_regular, read_npy, read_npz, read_regular

ARRAYS = {
    "matrix": np.arange(6.0).reshape(2, 3),
    "column major": np.asfortranarray(np.arange(6).reshape(2, 3)),
    "scalar": np.float32(3),
    "empty": np.zeros((0, 4)),
    "text": np.array("naïve"),
}


def test_an_error_while_writing_leaves_the_old_file(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    with pytest.raises(ZeroDivisionError), atomic_write(path) as file:
        file.write(b"new")
        raise ZeroDivisionError
    assert path.read_bytes() == b"old" and list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_arrays_come_back_as_they_were_saved(tmp_path, save):
    save(tmp_path / "arrays.npz", **ARRAYS)
    found = read_npz(tmp_path / "arrays.npz", 10_000)
    assert found.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(found[name], array, strict=True)
        assert found[name].flags.writeable


def test_only_regular_files_of_the_expected_size_are_opened(tmp_path):
    os.mkfifo(tmp_path / "pipe")  # opening one usually waits for a writer
    (tmp_path / "endless").symlink_to("/dev/zero")
    (tmp_path / "large").write_bytes(bytes(101))
    (tmp_path / "link").symlink_to("large")
    for name in ("pipe", "endless", "."):
        with pytest.raises(DamagedFile, match="not a regular file"):
            open_regular(tmp_path / name, 100)
    for name in ("large", "link"):
        with pytest.raises(DamagedFile, match="101 bytes, more than the 100"):
            open_regular(tmp_path / name, 100)
    assert read_regular(tmp_path / "link", 101) == bytes(101)
    with pytest.raises(FileNotFoundError):
        open_regular(tmp_path / "missing", 100)


def test_a_compressed_bomb_is_not_unpacked(tmp_path):
    np.savez_compressed(tmp_path / "bomb.npz", a=np.zeros(10**6))
    assert (tmp_path / "bomb.npz").stat().st_size < 10_000
    with pytest.raises(DamagedFile, match="unpacks to 8,000,"):
        read_npz(tmp_path / "bomb.npz", 10**6)


def _npy(array, **claims):
    """The .npy file of an array, with other claims in its header."""
    file = io.BytesIO()
    header = {"descr": np.lib.format.dtype_to_descr(array.dtype), "fortran_order": False, "shape": array.shape}
    np.lib.format.write_array_header_1_0(file, header | claims)
    return file.getvalue() + array.tobytes()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        _npy(np.arange(3))[:40],
        _npy(np.arange(3))[:-1],
        _npy(np.arange(3)) + b"more",
        _npy(np.arange(3), shape=(10**15,)),
        _npy(np.arange(3), shape=(-3,)),
        _npy(np.arange(3), shape=(-1, -3)),
        _npy(np.arange(3), descr="|O"),
        _npy(np.arange(3)).replace(b"{", b"("),
        _npy(np.arange(3)).replace(b"'descr'", b"'''''''"),
    ],
)  # fmt: skip
def test_a_damaged_array_is_refused(content):
    with pytest.raises(DamagedFile):
        read_npy(io.BytesIO(content), len(content))


def test_the_header_of_an_array():
    content = _npy(np.zeros((2, 3), "<f4"))
    assert npy_header(io.BytesIO(content)) == ((2, 3), False, np.dtype("<f4"), len(content) - 24)


def test_every_flipped_bit_of_an_archive_is_noticed_or_harmless(tmp_path):
    path, rng = tmp_path / "arrays.npz", np.random.default_rng(0)
    np.savez(path, **ARRAYS)
    original = path.read_bytes()
    refused = 0
    for _ in range(300):
        damaged = bytearray(original)
        damaged[rng.integers(len(damaged))] ^= 1 << rng.integers(8)
        path.write_bytes(damaged)
        try:
            found = read_npz(path, 10_000)
        except DamagedFile:
            refused += 1
            continue
        for name in found.keys() & ARRAYS.keys():  # a flipped bit of a name makes it another name
            np.testing.assert_array_equal(found[name], ARRAYS[name])
    assert refused > 100


def test_a_name_that_is_there_twice_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "twice.npz", "w") as archive:
        archive.writestr("a.npy", _npy(np.arange(3)))
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr("a.npy", _npy(np.arange(3)))
    with pytest.raises(DamagedFile, match="two arrays of the same name"):
        read_npz(tmp_path / "twice.npz", 10_000)
