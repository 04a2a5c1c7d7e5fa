"""The data sets of the paper's experiments: what shows that one is there, where it comes from, and its checksums."""

from __future__ import annotations

from dataclasses import dataclass

from tasks.data.store import DataError, data_folder, locate


@dataclass(frozen=True)
class DataSet:
    """One data set, its paths relative to the data folder."""

    name: str
    title: str
    needs: tuple[tuple[str, ...], ...]  # each of these, in any one of its forms, in the order of preference

    def is_there(self) -> bool:
        """Whether a trainer would find it; whether it is also complete and right is for `minisets data check`."""
        return all(locate(*forms) for forms in self.needs)

    def require(self) -> None:
        """Refuse, with where it was looked for and what to do, if it is not there."""
        absent = [" or ".join(forms) for forms in self.needs if not locate(*forms)]
        if absent:
            raise DataError(
                f"{self.title} is not in {data_folder()}: there is no {', and no '.join(absent)}; "
                f"minisets data fetch {self.name} gets it, MINISETS_DATA names another folder, "
                "and --data synthetic does without it"
            )


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
        ),
        DataSet(
            "cifar100",
            "CIFAR-100",
            needs=(("cifar-100-binary/train.bin",), ("cifar-100-binary/test.bin",)),
        ),
        DataSet(
            "celeba",
            "CelebA",
            needs=(
                ("celeba/img_align_celeba", "celeba/img_align_celeba.zip"),
                ("celeba/list_attr_celeba.txt",),
                ("celeba/list_eval_partition.txt",),
            ),
        ),
        DataSet(
            "modelnet40",
            "ModelNet40",
            needs=(("modelnet40_ply_hdf5_2048", "modelnet40_normal_resampled", "ModelNet40"),),
        ),
    )
}
