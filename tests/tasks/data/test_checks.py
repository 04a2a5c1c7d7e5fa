"""What `minisets data check` reads of faces and shapes, and what it finds in them."""

from pathlib import Path

import numpy as np
import pytest

from tasks.data import checks, counts
from tasks.data.locations import DataError
from tasks.harness.errors import UsageError
from tests.helpers.archives import zipped
from tests.tasks.data.test_celeba import jpeg
from tests.tasks.data.test_modelnet40 import write_h5


@pytest.fixture
def faces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A CelebA of three images."""
    monkeypatch.setitem(counts.COMPLETE, ("celeba", "all"), {"images": 3, "attributes": 2})
    rng, folder = np.random.default_rng(0), tmp_path / "img_align_celeba"
    folder.mkdir()
    rows = [f"{i:06}.jpg 1 -1" for i in (1, 2, 3)]
    (tmp_path / "list_attr_celeba.txt").write_text("\n".join(["3", "Bald Smiling", *rows]) + "\n")
    for i in (1, 2, 3):
        (folder / f"{i:06}.jpg").write_bytes(jpeg(rng))
    return folder


def test_every_face_is_decoded(faces: Path, monkeypatch):
    archive = faces.with_suffix(".zip")
    archive.write_bytes(zipped(*((f"img_align_celeba/{path.name}", path.read_bytes()) for path in faces.iterdir())))
    assert checks._faces(faces) == checks._faces(archive) == "3 photographs"
    content = (faces / "000002.jpg").read_bytes()
    for damaged in (b"", bytes(len(content)), content[:300]):
        (faces / "000002.jpg").write_bytes(damaged)
        with pytest.raises(DataError, match=r"000002\.jpg"):
            checks._faces(faces)
    (faces / "000002.jpg").unlink()
    with pytest.raises(DataError, match=r"000002\.jpg"):
        checks._faces(faces)
    monkeypatch.setitem(counts.COMPLETE["celeba", "all"], "images", 4)
    with pytest.raises(DataError, match=r"all: 3 images \(4 expected\)"):
        checks._faces(faces)


def test_every_shape_is_read_and_counted(tmp_path: Path, monkeypatch):
    monkeypatch.setenv("MINISETS_DATA", str(tmp_path))
    pytest.importorskip("h5py")
    folder = write_h5(tmp_path / "modelnet40_ply_hdf5_2048")
    with pytest.raises(DataError, match=r"train: 10 shapes \(9,843 expected\) and 3 classes"):
        checks._shapes(folder)
    for split, shapes in (("train", 10), ("test", 6)):
        monkeypatch.setitem(counts.COMPLETE, ("modelnet40", split), {"shapes": shapes, "classes": 3})
    assert checks._shapes(folder) == "10 + 6 shapes of 16 points"
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(UsageError, match="needs h5py, which is not installed") as missing:
        checks._shapes(folder)
    assert not isinstance(missing.value, DataError)  # nothing is wrong with the data
