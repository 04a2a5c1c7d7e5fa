"""The option --data of a trainer: the real data set, or a synthetic stand-in for it.

    @dataclass(frozen=True, kw_only=True)
    class Config(OnData):
        data: str = data_option("omniglot")

"auto", the default, becomes "omniglot" if the files are there and "synthetic" otherwise, as soon as a Config is made;
so config.json has what was used.  A Config that names the real data can always be made (a table of stored results needs
no data); it is `check`, before a run begins, that asks for the files.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from tasks.data.catalogue import DATA_SETS
from tasks.harness.options import AUTO, SYNTHETIC, Settings, Training, option


def data_option(real: str) -> Any:
    """The field `data` of a Config whose experiment is on this data set in the paper."""
    text = (
        f"{real}: the real data, under MINISETS_DATA; synthetic: a stand-in for it; auto: the real data if it is there"
    )
    return option(AUTO, text, paper=real, choices=(AUTO, SYNTHETIC, real))


@dataclass(frozen=True, kw_only=True)
class Data(Settings):
    """The choice of data.  A Config declares `data` by data_option."""

    data: str = option(AUTO, "replaced in every trainer")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.data == AUTO:
            object.__setattr__(self, "data", self.real if self.is_there() else SYNTHETIC)

    @property
    def real(self) -> str:
        """The name of the data set that the paper has."""
        return next(field.metadata["paper"] for field in dataclasses.fields(self) if field.name == "data")

    def is_there(self) -> bool:
        """Whether the real data is there."""
        return DATA_SETS[self.real].is_there()

    def data_is_there(self) -> bool:
        """Whether a figure, for example, can be drawn with the data of the run."""
        return self.data == SYNTHETIC or self.is_there()

    def check(self) -> None:
        super().check()
        if self.data != SYNTHETIC:
            self.require_data()

    def require_data(self) -> None:
        """Refuse if the real data is not there."""
        DATA_SETS[self.data].require()


@dataclass(frozen=True, kw_only=True)
class OnData(Data, Training):
    """What a trainer of networks on sets can be told, on a public data set."""
