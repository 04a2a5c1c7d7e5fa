"""ModelNet40 in its four public formats: tiny files of the real formats are read exactly, or refused by name."""

import random
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tasks.data import modelnet40
from tasks.data.locations import DataError
from tasks.data.surfaces import measured_up, read_off, sample_points, unit_ball
from tests.tasks.data.test_surfaces import TETRAHEDRON

h5py = pytest.importorskip("h5py")


@pytest.fixture
def data(tmp_path: Path, monkeypatch) -> Path:
    monkeypatch.setenv("MINISETS_DATA", str(tmp_path))
    return tmp_path


def clouds(N: int, P: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(N, P, 3))


def write_h5(folder: Path, P: int = 16, dtype: str = "f2", N: int = 6, **more) -> Path:
    """Two files to train on, of which the second is shorter, and one to test on."""
    folder.mkdir(parents=True, exist_ok=True)
    for i, (name, count) in enumerate((("train0", N), ("train1", N - 2), ("test0", N))):
        with h5py.File(folder / f"ply_data_{name}.h5", "w") as file:
            file.create_dataset("data", data=clouds(count, P, i).astype(dtype), compression="gzip", **more)
            file["label"] = (np.arange(count, dtype="u1") % 3)[:, None]
    (folder / "shape_names.txt").write_text("bed\nchair\nsofa\n")
    return folder


def write_text(folder: Path, P: int = 20) -> Path:
    shapes = {"train": ("bed_0001", "chair_0001", "night_stand_0001", "bed_0002"), "test": ("chair_0002", "bed_0003")}
    for split, names in shapes.items():
        for i, name in enumerate(names):
            path = folder / name.rsplit("_", 1)[0] / f"{name}.txt"
            path.parent.mkdir(parents=True, exist_ok=True)
            rows = np.concatenate([clouds(1, P, i)[0], np.ones((P, 3))], axis=1)
            path.write_text("\n".join(",".join(f"{x:.6f}" for x in row) for row in rows) + "\n")
        (folder / f"modelnet40_{split}.txt").write_text("\n".join(names) + "\n")
    return folder


def write_meshes(folder: Path) -> Path:
    for split, name in (("train", "bed_0001"), ("train", "sofa_0001"), ("test", "sofa_0002")):
        path = folder / name.split("_")[0] / split / f"{name}.off"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(("OFF" if name == "bed_0001" else "OFF\n") + TETRAHEDRON)  # one of them without the new line
    (folder / "bed/train/._bed_0001.off").write_text("what macOS leaves in a zip")
    return folder


# ---- the formats ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", ">f4"])
@pytest.mark.parametrize("P", [7, 16])
def test_h5(data: Path, dtype: str, P: int):
    folder = write_h5(data / "modelnet40_ply_hdf5_2048", P, dtype)
    form = modelnet40.find(P)
    assert (form.path, form.points) == (folder, P)
    train, test = form.load("train"), form.load("test")
    expected = np.concatenate([clouds(6, P, 0), clouds(4, P, 1)])
    np.testing.assert_allclose(train.points.astype("f8"), expected, rtol=1e-3 if dtype == "f2" else 1e-6, atol=1e-6)
    assert train.labels.tolist() == [0, 1, 2, 0, 1, 2, 0, 1, 2, 0] and train.names == ("bed", "chair", "sofa")
    assert test.points.shape == (6, P, 3) and test.labels.tolist() == [0, 1, 2, 0, 1, 2]


def test_h5_files_are_those_listed_and_come_in_order(data: Path):
    folder = write_h5(data / "modelnet40_ply_hdf5_2048")
    for i in (2, 10):
        (folder / f"ply_data_train{i}.h5").write_bytes((folder / f"ply_data_train{i % 2}.h5").read_bytes())
    assert [path.name[14:-3] for path in modelnet40._h5_files(folder, "train")] == ["0", "1", "2", "10"]
    (folder / "train_files.txt").write_text("data/modelnet40_ply_hdf5_2048/ply_data_train1.h5\n")
    assert len(modelnet40.find(5).load("train").points) == 4
    (folder / "train_files.txt").write_text("data/modelnet40_ply_hdf5_2048/ply_data_train1.h5\nply_data_train7.h5")
    with pytest.raises(DataError, match=r"cannot read .*ply_data_train7.h5: No such file"):
        modelnet40.find(5).load("train")


def test_without_names_classes_have_numbers(data: Path):
    folder = write_h5(data / "modelnet40_ply_hdf5_2048")
    (folder / "shape_names.txt").write_text("bed\nchair\n")
    with pytest.raises(DataError, match=r"has shapes of class 2, but shape_names.txt has only 2 names"):
        modelnet40.find(5).load("train")
    for text, message in (
        ("bed\nbed\nsofa\n", "lists bed 2 times"),
        ("bed\nch\x1b[2Jair\nsofa\n", r"has 'ch\\x1b\[2Jair'"),
    ):
        (folder / "shape_names.txt").write_text(text)
        with pytest.raises(DataError, match=f"shape_names.txt .*{message}"):
            modelnet40.find(5).load("train")
    (folder / "shape_names.txt").unlink()
    assert modelnet40.find(5).load("train").names == ("class 0", "class 1", "class 2")


def test_text(data: Path):
    folder = write_text(data / "modelnet40_normal_resampled")
    form = modelnet40.find(20)
    train, test = form.load("train"), form.load("test")
    assert (form.path, form.points) == (folder, 20) and train.names == test.names == ("bed", "chair", "night_stand")
    assert train.labels.tolist() == [0, 1, 2, 0] and test.labels.tolist() == [1, 0]
    assert isinstance(train.points, np.memmap) and train.points.dtype == "float16"
    np.testing.assert_allclose(train.points[1].astype("f8"), unit_ball(clouds(1, 20, 1)[0]), atol=1e-3)


def test_meshes(data: Path, monkeypatch):
    monkeypatch.setattr(modelnet40, "MESH_POINTS", 4000)
    write_meshes(data / "ModelNet40")
    form = modelnet40.find(4000)
    train, test = form.load("train"), form.load("test")
    assert train.names == test.names == ("bed", "sofa") and train.labels.tolist() == [0, 1]
    assert test.labels.tolist() == [1] and test.points.shape == (1, 4000, 3)
    assert not np.array_equal(train.points[0], train.points[1])  # one mesh under two names: two draws of points
    radii = np.linalg.norm(train.points.astype("f8"), axis=2)
    np.testing.assert_allclose(radii.max(axis=1), 1, atol=1e-3)
    np.testing.assert_allclose(train.points.astype("f8").mean(axis=1), 0, atol=1e-3)


def test_the_file_of_deep_sets(data: Path):
    with h5py.File(data / "ModelNet40_cloud.h5", "w") as file:
        for split, N in (("tr", 130), ("test", 5)):
            file[f"{split}_cloud"] = 40 * clouds(N, 12).astype("f4") + 7
            file["tr_labels" if split == "tr" else "test_label"] = np.arange(N) % 4
    form = modelnet40.find(12)
    train, test = form.load("train"), form.load("test")
    assert train.points.shape == (130, 12, 3) and test.points.shape == (5, 12, 3) and len(train.names) == 4
    np.testing.assert_allclose(train.points[129].astype("f8"), unit_ball(clouds(130, 12)[129]), atol=1e-3)


def test_the_first_format_with_enough_points_is_used(data: Path):
    with pytest.raises(DataError, match=r"ModelNet40 is not in .*: there is no modelnet40_ply_hdf5_2048, no "):
        modelnet40.find(1)
    h5, text = write_h5(data / "modelnet40_ply_hdf5_2048", 16), write_text(data / "modelnet40_normal_resampled", 20)
    assert [modelnet40.find(n).path for n in (1, 16, 17, 20)] == [h5, h5, text, text]
    with pytest.raises(DataError) as refused:
        modelnet40.find(5_000)
    sentence = f"--points 5,000 is more than the data has per shape: {h5} has 16 and {text} has 20"
    assert sentence in str(refused.value)
    (text / "modelnet40_train.txt").unlink()  # what is not needed may be damaged
    assert modelnet40.find(16).path == h5


def test_h5py_is_required_only_where_it_is_needed(data: Path, monkeypatch):
    write_text(data / "modelnet40_normal_resampled")
    monkeypatch.setitem(sys.modules, "h5py", None)
    assert modelnet40.find(20).load("test").points.shape == (2, 20, 3)
    (data / "modelnet40_ply_hdf5_2048").mkdir()
    (data / "modelnet40_ply_hdf5_2048/ply_data_train0.h5").touch()
    with pytest.raises(DataError, match=r"ply_data_train0.h5 needs h5py, which is not installed: pip install h5py"):
        modelnet40.find(5)


# ---- damaged files --------------------------------------------------------------------------------------------------


def test_damaged_text_is_refused_by_name(data: Path):
    folder = write_text(data / "modelnet40_normal_resampled", P=3)
    path, row = folder / "chair/chair_0001.txt", "0,0,0,0,0,0\n"
    for text in ("", "\n\n", "0,0,0,0,0\n" * 3, row * 2 + "0,0,0\n", row + "0,0,x,0,0,0\n", row + "nan" + row[1:], "é"):
        path.write_text(text, encoding="latin-1")
        with pytest.raises(DataError, match=r"chair_0001.txt is damaged: it (should have rows of six|is not text)"):
            modelnet40.find(3).load("train")
    path.write_text(row * 3)
    with pytest.raises(
        DataError, match=r"chair_0001.txt is damaged: it is not a shape, since all its points are in one"
    ):
        modelnet40.find(3).load("train")
    path.write_text(row * 4)
    with pytest.raises(DataError, match=r"chair_0001.txt has 4 rows, the first file 3"):
        modelnet40.find(3).load("train")
    path.unlink()
    with pytest.raises(DataError, match=r"cannot read .*chair_0001.txt: No such file"):
        modelnet40.find(3).load("train")
    (folder / "modelnet40_train.txt").write_text("../../etc/passwd_0001\n")
    with pytest.raises(DataError, match=r"should list shapes such as chair_0001, but has '../../etc"):
        modelnet40.find(3)
    assert not list((data / "prepared").iterdir())


def change_h5(path: Path, change: Callable) -> None:
    with h5py.File(path, "a") as file:
        change(file)


def replace(key: str, value: object) -> Callable:
    def change(file) -> None:
        del file[key]
        file[key] = value

    return change


def set_points(shape: int, where: tuple[int, ...], value: float) -> Callable:
    def change(file) -> None:
        points = file["data"][:].astype("f4")
        points[(shape, *where)] = value
        replace("data", points)(file)

    return change


def zeros(file) -> None:
    """What a few bytes of gzip can claim."""
    del file["data"]
    file.create_dataset("data", data=np.zeros((2048, 16, 3), "f4"), compression="gzip")


def huge(file) -> None:
    del file["data"]
    file.create_dataset("data", shape=(10**9, 10**6, 3), dtype="f4", chunks=(1, 64, 3))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda file: file.pop("data"), "ply_data_train1.h5 has no array data"),
        (lambda file: file.pop("label"), "ply_data_train1.h5 has no array label"),
        (replace("data", clouds(4, 16).astype("i4")), "should have the shape (shapes, points, 3) and a floating type"),
        (replace("data", clouds(4, 16)[..., :2]), "but is (4, 16, 2) of float64"),
        (replace("data", clouds(4, 9)), "has 9 points per shape, the first file 16"),
        (replace("data", clouds(4, 16) * np.inf), "shape 0, counted from 0, is not a shape, since it has points"),
        (set_points(2, (3, 1), 1e25), "shape 2, counted from 0, is not a shape, since it has coordinates of up to"),
        (set_points(1, (3, 1), -9e4), "shape 1, counted from 0, is not a shape, since one point is 9e+04 from"),
        (set_points(3, (), 0.0), "shape 3, counted from 0, is not a shape, since all its points are in one place"),
        (set_points(3, (), 0.5), "shape 3, counted from 0, is not a shape, since all its points are in one place"),
        (replace("data", clouds(4, 16) * 1e-6), "shape 0, counted from 0, is not a shape, since all its points are in"),
        (replace("data", np.zeros((1, 10_001, 3), "f2")), "claims 1 shapes of 10,001 points each"),
        (replace("data", np.zeros((12_312, 1, 3), "f2")), "claims 12,312 shapes of 1 points each"),
        (replace("data", h5py.SoftLink("/label")), "has no array data"),
        (replace("data", h5py.ExternalLink("ply_data_train0.h5", "/data")), "has no array data"),
        (replace("label", np.zeros(3, "u1")), "should have 4 integers, but is (3,) of uint8"),
        (replace("label", np.zeros(4)), "should have 4 integers, but is (4,) of float64"),
        (replace("label", np.array([0, 1, -1, 0])), "its labels range from -1 to 1"),
        (zeros, "its array /data claims to have 393,216 bytes"),
        (huge, "claims to have 12,000,000,000,000,000 bytes"),
    ],
)
def test_bad_h5_files_are_refused_by_name(change: Callable, message: str, data: Path):
    folder = write_h5(data / "modelnet40_ply_hdf5_2048")
    change_h5(folder / "ply_data_train1.h5", change)
    with pytest.raises(DataError) as refused:
        modelnet40.find(5).load("train")
    assert str(folder / "ply_data_train1.h5") in str(refused.value) and message in str(refused.value)


def test_lists_name_each_file_once(data: Path):
    folder = write_h5(data / "modelnet40_ply_hdf5_2048")
    for text, message in (
        ("data/ply_data_train0.h5\n" * 40, "train_files.txt lists ply_data_train0.h5 40 times"),
        ("data/ply_data_train0.h5\n/etc/passwd\n", "should list files such as ply_data_train0.h5, but has '/"),
        ("x" * 100_000 + ".h5\n", "but has 'xxxxxxxxx"),
        ("a.h5\0\n", "but has 'a.h5"),
    ):  # fmt: skip
        (folder / "train_files.txt").write_text(text)
        with pytest.raises(DataError) as refused:
            modelnet40.find(5)
        assert message in str(refused.value) and len(str(refused.value)) < 300
    (data / "modelnet40_ply_hdf5_2048").rename(data / "other")
    folder = write_text(data / "modelnet40_normal_resampled")
    (folder / "modelnet40_train.txt").write_text("bed_0001\nchair_0001\nbed_0001\n")
    with pytest.raises(DataError, match=r"modelnet40_train.txt lists bed_0001 2 times"):
        modelnet40.find(5)


def test_no_more_shapes_than_modelnet40_has(data: Path, monkeypatch):
    monkeypatch.setattr(modelnet40, "MAX_SHAPES", 9)
    write_h5(data / "modelnet40_ply_hdf5_2048")
    with pytest.raises(DataError, match=r"up to .*ply_data_train1.h5 there are more shapes in one split than the 9 of"):
        modelnet40.find(5).load("train")
    assert len(modelnet40.find(5).load("test").labels) == 6
    monkeypatch.setattr(modelnet40, "MAX_SHAPES", 3)
    (data / "modelnet40_ply_hdf5_2048").rename(data / "other")
    write_text(data / "modelnet40_normal_resampled")
    with pytest.raises(DataError, match=r"there are 4 shapes to train with, more than the 3 of ModelNet40"):
        modelnet40.find(17).load("train")


def test_a_file_of_deep_sets_that_breaks_off_is_to_blame_itself(data: Path):
    """Not the cache that is made from it, which reported that it could not be written."""
    path = data / "ModelNet40_cloud.h5"
    with h5py.File(path, "w") as file:
        for split in ("tr", "test"):
            file.create_dataset(f"{split}_cloud", data=clouds(130, 12), chunks=(10, 12, 3), compression="gzip")
            file[f"{split}_labels"] = np.arange(130) % 4
        offset = file["tr_cloud"].id.get_chunk_info(5).byte_offset
    content = bytearray(path.read_bytes())
    content[offset + 20 : offset + 60] = bytes(40)
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"^.*ModelNet40_cloud.h5 is damaged: /tr_cloud cannot be read; get it again$"):
        modelnet40.find(12).load("train")


# ---- what is missing, and what is up --------------------------------------------------------------------------------


def test_missing_shapes_and_classes_are_reported(data: Path, capsys):
    folder = write_h5(data / "modelnet40_ply_hdf5_2048")
    modelnet40.load(5)
    printed = capsys.readouterr().err
    assert f"warning: {folder}, train: 10 shapes (9,843 expected) and 3 classes (40 expected);" in printed
    assert f"warning: {folder}, test: 6 shapes (2,468 expected) and 3 classes (40 expected);" in printed


def standing_shapes(N: int) -> np.ndarray:
    """Cones and boxes without a bottom: symmetric but for up and down, which is z."""
    rng = np.random.default_rng(0)
    xy, z = rng.uniform(-1, 1, size=(N, 100, 2)), rng.uniform(0, 1, size=(N, 100, 1)) ** 2
    return np.concatenate([xy * rng.uniform(0.5, 2, size=(N, 1, 2)) * (1 - z), z], axis=2).astype("f2")


@pytest.mark.parametrize("up", ["y", "z"])
def test_up_is_measured(up: str, data: Path):
    folder = write_h5(data / "modelnet40_ply_hdf5_2048", P=100)
    turned = standing_shapes(50)[..., [1, 2, 0] if up == "y" else [0, 1, 2]]
    for name, part in (("train0", turned[:40]), ("train1", turned[40:])):
        change_h5(folder / f"ply_data_{name}.h5", replace("data", part))
        change_h5(folder / f"ply_data_{name}.h5", replace("label", np.zeros((len(part), 1), "u1")))
    assert [clouds.up for clouds in modelnet40.load(5)] == [up, up]
    assert [clouds.up for clouds in modelnet40.load(5, "y")] == ["y", "y"]  # unless it is given
    assert measured_up(clouds(500, 100)) == "z"  # where nothing is up, z


def mutate(rng: random.Random, whole: bytes) -> bytes:
    """Some bytes changed, cut off, put in or written twice."""
    text = bytearray(whole)
    for _ in range(rng.choice((1, 1, 2, 5))):
        place, kind = rng.randrange(len(text) + 1), rng.randrange(6)
        if kind == 0:
            text[place : place + 1] = bytes([rng.randrange(256)])
        elif kind == 1:
            text[place : place + 8] = rng.choice((b"\xff" * 8, b"\0" * 8, rng.randbytes(8)))
        elif kind == 2:
            del text[place:]
        elif kind == 3:
            del text[place : place + rng.choice((1, 3, 9))]
        elif kind == 4:
            text[place:place] = rng.choice((b"9" * 9, b"-", b"nan", b"1e400", b"#", b"\n", b",", b" 3 ", b"OFF"))
        else:
            text[place:place] = text[max(place - rng.choice((4, 30)), 0) : place]
    return bytes(text)


def test_mutated_files_are_read_or_refused(data: Path):
    """Thousands of them: points, finite and of the right shape, or a sentence with the name of the file."""
    h5 = write_h5(data / "modelnet40_ply_hdf5_2048", P=8, N=4)
    mesh, text = data / "mesh.off", data / "rows.txt"
    mesh.write_text("OFF" + TETRAHEDRON)
    text.write_text("\n".join("0.1234,-0.25,1e-3,0,0,1" for _ in range(5)))
    readers = {
        mesh: (1500, lambda: sample_points(np.random.default_rng(0), read_off(mesh), 10)),
        text: (1500, lambda: modelnet40.read_rows(text)),
        h5 / "ply_data_train0.h5": (1000, lambda: modelnet40.h5_folder(h5).load("train").points),
    }
    rng = random.Random(7)
    for path, (count, read) in readers.items():
        whole, refused = path.read_bytes(), 0
        for _ in range(count):
            path.write_bytes(mutate(rng, whole))
            try:
                points = read()
            except DataError as error:
                assert str(path.parent) in str(error) and "\n" not in str(error)
                refused += 1
            else:
                assert points.shape[-1] == 3 and np.isfinite(points).all()
        assert 0.2 * count < refused < count  # neither everything goes through, nor nothing


def test_empty_folders_and_files_too_large_are_refused(data: Path, monkeypatch):
    for name, message in (
        ("modelnet40_ply_hdf5_2048", "has no ply_data_train0.h5"),
        ("modelnet40_normal_resampled", "cannot read .*modelnet40_train.txt: No such file"),
        ("ModelNet40", "has no meshes such as chair/train/chair_0001.off"),
    ):
        (data / name).mkdir()
        with pytest.raises(DataError, match=message):
            modelnet40.find(1).load("train")
        (data / name).rmdir()
    text, mesh = write_text(data / "modelnet40_normal_resampled"), write_meshes(data / "ModelNet40")
    monkeypatch.setattr("tasks.data.surfaces.MAX_BYTES", 20)
    monkeypatch.setattr("tasks.data.modelnet40.TEXT_BYTES", 60)
    for name, read in (("bed/bed_0001.txt", modelnet40.read_rows), ("bed/train/bed_0001.off", read_off)):
        path = (mesh if name.endswith("off") else text) / name
        with pytest.raises(DataError, match=r"cannot read .*bed_0001.\w+: it has [\d,]+ bytes, more than the"):
            read(path)
        path.unlink()
        with pytest.raises(DataError, match=r"cannot read .*bed_0001.\w+: No such file"):
            read(path)
    (text / "modelnet40_train.txt").write_text("\n")
    with pytest.raises(DataError, match=r"modelnet40_train.txt is empty"):
        modelnet40.find(1)
