"""Tiny data sets in the public formats, written here without the code that reads them, and damage peculiar to each."""

from __future__ import annotations

import io
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
from PIL import Image

BOMB = bytes(200 * 2**20)  # compresses to a thousandth of this
CHARACTERS = (10, 1)  # of Omniglot's two halves
FACES = 9
POINTS = 12
CUBE = "8 12 0\n" + "\n".join(f"{x} {y} {z}" for x in (0.5, 1.25) for y in (0, 1) for z in (-1, 1)) + "".join(
    f"\n3 {a} {b} {c}"
    for a, b, c in ((0, 1, 3), (0, 3, 2), (4, 6, 7), (4, 7, 5), (0, 4, 5), (0, 5, 1),
                    (2, 3, 7), (2, 7, 6), (0, 2, 6), (0, 6, 4), (1, 5, 7), (1, 7, 3))
)  # fmt: skip


def write_zip(path: Path, files: dict[str, bytes], method: int = zipfile.ZIP_STORED) -> None:
    with zipfile.ZipFile(path, "w", method, compresslevel=1) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name), content, method, 1)


def read_zip(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def zip_bomb(pattern: str) -> Callable[[Path], Path]:
    """One file in an archive grows to 200 MB."""

    def grow(root: Path) -> Path:
        (path,) = root.glob(pattern)
        files = read_zip(path)
        write_zip(path, files | {sorted(files)[3]: BOMB}, zipfile.ZIP_DEFLATED)
        return path

    return grow


# ---- Omniglot -------------------------------------------------------------------------------------------------------


def omniglot_files() -> dict[str, dict[str, bytes]]:
    rng, halves = np.random.default_rng(0), {}
    for half, count in zip(("background", "evaluation"), CHARACTERS, strict=True):
        halves[half] = {}
        for i in range(20 * count):
            out = io.BytesIO()
            Image.fromarray(rng.random((105, 105)) < 0.9).save(out, format="PNG")
            name = f"{('Alpha', 'Beta')[i // 20 % 2]}/character{i // 40 + 1:02}/{i // 20 + 1:04}_{i % 20 + 1:02}.png"
            halves[half][f"images_{half}/{name}"] = out.getvalue()
    return halves


def omniglot_zip(root: Path) -> None:
    (root / "omniglot").mkdir()
    for half, files in omniglot_files().items():
        write_zip(root / f"omniglot/images_{half}.zip", files)


def omniglot_folder(root: Path) -> None:
    for files in omniglot_files().values():
        for name, content in files.items():
            path = root / "omniglot" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)


# ---- CIFAR-100 ------------------------------------------------------------------------------------------------------


def cifar_records(count: int, seed: int) -> bytes:
    records = np.random.default_rng(seed).integers(0, 256, size=(count, 3_074), dtype=np.uint8)
    records[:, 1] %= 100
    records[:, 0] = records[:, 1] // 5
    return records.tobytes()


def cifar_files(root: Path) -> None:
    (root / "cifar-100-binary").mkdir()
    for split, count in (("train", 5), ("test", 2)):
        (root / f"cifar-100-binary/{split}.bin").write_bytes(cifar_records(count, count))


def cifar_archive(root: Path, **other: bytes) -> Path:
    path = root / "cifar-100-binary.tar.gz"
    with tarfile.open(path, "w:gz", compresslevel=1) as archive:
        for split, count in (("train", 5), ("test", 2)):
            content = other.get(split, cifar_records(count, count))
            about = tarfile.TarInfo(f"cifar-100-binary/{split}.bin")
            about.size = len(content)
            archive.addfile(about, io.BytesIO(content))
    return path


def cifar_bomb(root: Path) -> Path:
    return cifar_archive(root, train=BOMB)


# ---- ModelNet40 -----------------------------------------------------------------------------------------------------


def clouds(count: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-1, 1, size=(count, POINTS, 3)).astype("f4")


def modelnet_h5(root: Path) -> None:
    folder = root / "modelnet40_ply_hdf5_2048"
    folder.mkdir()
    for seed, (name, count) in enumerate((("train0", 6), ("train1", 4), ("test0", 5))):
        with h5py.File(folder / f"ply_data_{name}.h5", "w") as file:
            file.create_dataset("data", data=clouds(count, seed), compression="gzip")
            file["label"] = (np.arange(count, dtype="u1") % 3)[:, None]
        (folder / f"{name[:-1]}_files.txt").open("a").write(f"data/ply_data_{name}.h5\n")
    (folder / "shape_names.txt").write_text("bed\nchair\nsofa\n")


def h5_value(value: float, whole: bool) -> Callable[[Path], Path]:
    """One coordinate, or all of a shape, has a value that no shape has."""

    def change(root: Path) -> Path:
        path = root / "modelnet40_ply_hdf5_2048/ply_data_train1.h5"
        with h5py.File(path, "a") as file:
            data = file["data"][:]
            data[2, slice(None) if whole else 4, slice(None) if whole else 1] = value
            file["data"][:] = data
        return path

    return change


def h5_listed_often(root: Path) -> Path:
    path = root / "modelnet40_ply_hdf5_2048/train_files.txt"
    with h5py.File(path.with_name("ply_data_train0.h5"), "w") as file:
        file.create_dataset("data", (9_000, POINTS, 3), "f4", compression="gzip", chunks=(64, POINTS, 3), fillvalue=0.5)
        file.create_dataset("label", (9_000, 1), "u1")
    path.write_text("ply_data_train0.h5\n" * 400)
    return path


def h5_claims_much(root: Path) -> Path:
    path = root / "modelnet40_ply_hdf5_2048/ply_data_train1.h5"
    with h5py.File(path, "a") as file:
        del file["data"]
        file.create_dataset("data", (10**6, 10**4, 3), "f4", chunks=(1, 64, 3))
    return path


def modelnet_text(root: Path) -> None:
    folder = root / "modelnet40_normal_resampled"
    for split, shapes in (("train", ("bed_0001", "night_stand_0001", "bed_0002")), ("test", ("bed_0003",))):
        for seed, name in enumerate(shapes, len(split)):
            path = folder / name.rpartition("_")[0] / f"{name}.txt"
            path.parent.mkdir(parents=True, exist_ok=True)
            rows = np.concatenate([clouds(1, seed)[0], np.ones((POINTS, 3))], axis=1)
            path.write_text("".join(",".join(f"{x:.6f}" for x in row) + "\n" for row in rows))
        (folder / f"modelnet40_{split}.txt").write_text("\n".join(shapes) + "\n")


def modelnet_meshes(root: Path) -> None:
    for split, name in (("train", "bed_0001"), ("train", "sofa_0001"), ("test", "sofa_0002")):
        path = root / "ModelNet40" / name.split("_")[0] / split / f"{name}.off"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"OFF\n{CUBE}\n" if split == "train" else f"OFF{CUBE}\n")


# ---- CelebA ---------------------------------------------------------------------------------------------------------


def celeba_lists(root: Path) -> None:
    (root / "celeba").mkdir()
    has, names = np.random.default_rng(1).random((FACES, 5)) < 0.5, "Bald Bangs Eyeglasses Male Smiling"
    rows = [f"{i + 1:06}.jpg {' '.join(f'{2 * int(x) - 1:2}' for x in row)}\n" for i, row in enumerate(has)]
    (root / "celeba/list_attr_celeba.txt").write_text(f"{FACES}\n{names} \n{''.join(rows)}")
    splits = "".join(f"{i + 1:06}.jpg {i % 3}\n" for i in range(FACES))
    (root / "celeba/list_eval_partition.txt").write_text(splits)


def celeba_images() -> dict[str, bytes]:
    rng, files = np.random.default_rng(0), {}
    for i in range(FACES):
        small, out = Image.fromarray(rng.integers(256, size=(4, 4, 3), dtype=np.uint8)), io.BytesIO()
        small.resize((178, 218), Image.Resampling.BICUBIC).save(out, format="JPEG", quality=80)
        files[f"img_align_celeba/{i + 1:06}.jpg"] = out.getvalue()
    return files


def celeba_zip(root: Path) -> None:
    celeba_lists(root)
    write_zip(root / "celeba/img_align_celeba.zip", celeba_images())


def celeba_folder(root: Path) -> None:
    celeba_lists(root)
    (root / "celeba/img_align_celeba").mkdir()
    for name, content in celeba_images().items():
        (root / "celeba" / name).write_bytes(content)


def many_attributes(root: Path) -> Path:
    path = root / "celeba/list_attr_celeba.txt"
    rows = "".join(f"{i + 1:06}.jpg{' 1' * 20_000}\n" for i in range(FACES))
    path.write_text(f"{FACES}\n{' '.join(f'a{i}' for i in range(20_000))}\n{rows}")
    return path


# ---- what the project itself writes ---------------------------------------------------------------------------------


def vgg_features(root: Path) -> None:
    from tasks.data import features

    rng, splits = np.random.default_rng(0), {}
    for split, count in (("train", 7), ("test", 3)):
        vectors = rng.normal(size=(count, features.D)).astype("f4")
        splits[split] = features.Features(vectors, rng.integers(0, 100, count))
    features.save(root / "cifar-100-features", splits, {"data": "cifar100", "accuracy": 0.5})


def features_with(value: float) -> Callable[[Path], Path]:
    def change(root: Path) -> Path:
        path = root / "cifar-100-features/train.npy"
        vectors = np.load(path)
        vectors[2, 3] = value
        np.save(path, vectors)
        return path

    return change


def safetensors_network():
    from minisets import SAB

    return SAB(3, 8, 2, style="authors", rng=np.random.default_rng(0))


def safetensors_file(root: Path) -> None:
    from minisets.interop import authors_state, save_safetensors

    save_safetensors(root / "net.safetensors", authors_state(safetensors_network()))
