"""The data sets of the paper's experiments: which files they need, where these are published, and their checksums."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tasks.data.checksums import checksum
from tasks.data.locations import LIMIT_BYTES, DataError, data_folder, locate
from tasks.harness.errors import as_usage_error, printable, warn

FIRST_BYTES = {".zip": ("a zip archive", b"PK"), ".gz": ("a gzip archive", b"\x1f\x8b")}  # by the end of the name


@dataclass(frozen=True)
class Published:
    """A file as its authors published it.  All paths in this module are relative to the data folder."""

    path: str
    url: str  # "" if it cannot be downloaded automatically: then `DataSet.instructions` says how to get it
    size: int | None = None
    most: int = LIMIT_BYTES  # bytes that are accepted where the size is not known
    md5: str = ""
    sha256: str = ""
    unpacks_to: str = ""  # the folder in the archive; "" if trainers read the file as it is

    @property
    def name(self) -> str:
        return self.path.rsplit("/", 1)[-1]

    @property
    def checksum(self) -> tuple[str, str]:
        """The kind and value of the strongest checksum; the value is "" if none is published."""
        return ("sha256", self.sha256) if self.sha256 else ("md5", self.md5)

    def mismatch(self, path: Path) -> str:
        """How a file differs from the published one: in its first bytes, size or checksum; "" if it does not.

        The checksum is computed once, as long as the size and the time of the file stay the same.
        """
        with as_usage_error(f"cannot read {path}"):
            if not path.is_file():
                return "it is not a file"
            size = path.stat().st_size
            with open(path, "rb") as file:
                start = file.read(40)
        archive, first = FIRST_BYTES.get(Path(self.path).suffix, ("", b""))
        if not start.startswith(first):
            return f"it is not {archive}, but begins with '{printable(start.decode('latin-1'))}'"
        if self.size is not None and size != self.size:
            return f"it has {size:,} bytes instead of {self.size:,}"
        kind, expected = self.checksum
        found = checksum(path, kind) if expected else ""
        return f"its {kind} is {found} instead of {expected}" if found != expected else ""


@dataclass(frozen=True)
class DataSet:
    """One data set, or one of its public versions."""

    name: str
    title: str
    needs: tuple[tuple[str, ...], ...]  # for each part, alternative paths in order of preference
    files: tuple[Published, ...] = ()  # what `minisets data fetch` downloads
    instructions: str = ""  # how to get files that cannot be downloaded automatically

    def is_present(self) -> bool:
        """Whether every part exists; `minisets data check` also verifies the contents."""
        return all(locate(*alternatives) for alternatives in self.needs)

    def published(self, path: Path) -> Published | None:
        """What was published under the name of this file; None for what has no published form, such as a folder."""
        return next((file for file in self.files if data_folder() / file.path == path), None)

    def require(self) -> None:
        """DataError if a part is missing: where it should be, and what to do.

        A file with a known checksum is verified.  Another file may be an archive packed again, which is as good: it is
        used, and a warning says so.
        """
        missing = [" or ".join(alternatives) for alternatives in self.needs if not locate(*alternatives)]
        if missing:
            raise DataError(
                f"{self.title} is not in {data_folder()}: there is no {', and no '.join(missing)}; "
                f"minisets data fetch {self.name} downloads it or explains how to get it, MINISETS_DATA sets another "
                "folder, and --data synthetic uses a stand-in"
            )
        for path in {locate(*alternatives): None for alternatives in self.needs}:
            source = self.published(path)
            if source and (problem := source.mismatch(path)):
                warn(f"{path} is not the published file: {problem}; minisets data check {self.name} reads all of it")


_OMNIGLOT = "https://raw.githubusercontent.com/brendenlake/omniglot/master/python"
_SHAPENET = "https://shapenet.cs.stanford.edu/media"

DATA_SETS = {
    data.name: data
    for data in (
        DataSet(
            "omniglot",
            "Omniglot",
            needs=(
                ("omniglot/images_background.zip", "omniglot/images_background"),
                ("omniglot/images_evaluation.zip", "omniglot/images_evaluation"),
            ),
            files=(
                Published(
                    "omniglot/images_background.zip",
                    f"{_OMNIGLOT}/images_background.zip",
                    most=2**26,
                    md5="68d2efa1b9178cc56df9314c21c6e718",
                    sha256="ad41ab679c8b5d90b271ef46be6987cc81211774a695c29dcc5367b2b26ee640",
                ),
                Published(
                    "omniglot/images_evaluation.zip",
                    f"{_OMNIGLOT}/images_evaluation.zip",
                    most=2**26,
                    md5="6b91aef0f799c5bb55b94e3f2daec811",
                    sha256="1f61a8f3366785b057fc117d9228e78a16e3d976c8953b2a10fcc74cf0609cee",
                ),
            ),
        ),
        DataSet(
            "cifar100",
            "CIFAR-100",
            needs=(
                ("cifar-100-binary/train.bin", "cifar-100-binary.tar.gz"),
                ("cifar-100-binary/test.bin", "cifar-100-binary.tar.gz"),
            ),
            files=(
                Published(
                    "cifar-100-binary.tar.gz",
                    "https://www.cs.toronto.edu/~kriz/cifar-100-binary.tar.gz",
                    size=168_513_733,
                    sha256="58a81ae192c23a4be8b1804d68e518ed807d710a4eb253b1f2a199162a40d8ec",
                    unpacks_to="cifar-100-binary",
                ),
            ),
        ),
        DataSet(
            "celeba",
            "CelebA",
            needs=(
                ("celeba/img_align_celeba", "celeba/img_align_celeba.zip"),
                ("celeba/list_attr_celeba.txt",),
                ("celeba/list_eval_partition.txt",),
            ),
            files=(
                Published(
                    "celeba/img_align_celeba.zip", "", size=1_443_490_838, md5="00d2c5bc6d35e252742224ab0c1e8fcb"
                ),
                Published("celeba/list_attr_celeba.txt", "", md5="75e246fa4810816ffd6ee81facbd244c"),
                Published("celeba/list_eval_partition.txt", "", md5="d32c9cbf5e040fd4025c592c306e6668"),
            ),
            instructions="its authors do not allow redistribution: download the files from "
            "https://mmlab.ie.cuhk.edu.hk/projects/CelebA.html (aligned and cropped images, attributes, partitions)",
        ),
        DataSet(
            "modelnet40",
            "ModelNet40",
            needs=(("modelnet40_ply_hdf5_2048", "modelnet40_normal_resampled", "ModelNet40", "ModelNet40_cloud.h5"),),
            files=(
                Published(
                    "modelnet40_ply_hdf5_2048.zip",
                    f"{_SHAPENET}/modelnet40_ply_hdf5_2048.zip",
                    most=2**30,
                    md5="c9ab8e6dfb16f67afdab25e155c79e59",
                    unpacks_to="modelnet40_ply_hdf5_2048",
                ),
            ),
        ),
        DataSet(
            "modelnet40_normal_resampled",
            "ModelNet40, 10,000 points per shape",
            needs=(("modelnet40_normal_resampled",),),
            files=(
                Published(
                    "modelnet40_normal_resampled.zip",
                    f"{_SHAPENET}/modelnet40_normal_resampled.zip",
                    most=2**32,
                    unpacks_to="modelnet40_normal_resampled",
                ),
            ),
        ),
        DataSet(
            "modelnet40_meshes",
            "ModelNet40, the meshes",
            needs=(("ModelNet40",),),
            files=(
                Published(
                    "ModelNet40.zip",
                    "http://modelnet.cs.princeton.edu/ModelNet40.zip",
                    most=2**32,
                    md5="79bcee68fdf02f581938ba15f4cdca51",
                    unpacks_to="ModelNet40",
                ),
            ),
        ),
    )
}
