"""The option --data of a trainer: the real data set, or a synthetic stand-in for it.

    @dataclass(frozen=True, kw_only=True)
    class Config(OnData):
        data: str = data_option("omniglot")

"auto", the default, becomes "omniglot" if the files are present and "synthetic" otherwise, as soon as a Config is
created, so config.json records what was used.  A Config that names the real data can be created without the files (a
table of stored results needs no data); only `check`, before a run starts, requires them.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from tasks.data.catalog import DATA_SETS
from tasks.harness.options import AUTO, SYNTHETIC, Settings, Training, option


def data_option(real: str) -> Any:
    """The field `data` of a Config whose experiment uses this data set in the paper."""
    text = f"{real}: the real data, under MINISETS_DATA; synthetic: a stand-in for it; auto: the real data if present"
    return option(AUTO, text, paper=real, choices=(AUTO, SYNTHETIC, real))


@dataclass(frozen=True, kw_only=True)
class Data(Settings):
    """The choice of data.  A Config redeclares `data` with data_option."""

    data: str = option(AUTO, "redeclared by every experiment")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.data == AUTO:
            object.__setattr__(self, "data", self.real if self.real_data_is_present() else SYNTHETIC)

    @property
    def real(self) -> str:
        """The name of the data set that the paper uses."""
        return next(field.metadata["paper"] for field in dataclasses.fields(self) if field.name == "data")

    def real_data_is_present(self) -> bool:
        return DATA_SETS[self.real].is_present()

    def data_is_present(self) -> bool:
        """Whether the run's data can be loaded, to plot a figure for example."""
        return self.data == SYNTHETIC or self.real_data_is_present()

    def check(self) -> None:
        super().check()
        if self.data != SYNTHETIC:
            self.require_data()

    def require_data(self) -> None:
        """DataError if the real data is missing."""
        DATA_SETS[self.data].require()


@dataclass(frozen=True, kw_only=True)
class OnData(Data, Training):
    """The options of a trainer of set networks on a public data set."""
