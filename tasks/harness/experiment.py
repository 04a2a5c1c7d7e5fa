"""An experiment as one object, and how to find it: by its name, or outside of this project as module:ATTRIBUTE."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from autograd.locate import NotFound, import_named
from minisets.nn import Module
from tasks.harness.errors import UsageError
from tasks.harness.options import Settings
from tasks.harness.parser import hint

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tasks.harness.run import Run
    from tasks.harness.run_folder import RunFolder


@dataclass(frozen=True)
class Table:
    """What the table of an experiment shows."""

    columns: Mapping[str, str]  # metric -> heading
    references: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  # row without a network: column -> metric
    reference_options: tuple[str, ...] = ()  # the options on which the references depend
    by: str | None = None  # the option whose values are the columns of the paper's table; ours has rows for each value
    printed: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  # the paper's cells: label -> column -> text
    notes: str = ""  # the text below the table
    lower_is_better: bool = False  # of the columns that the paper prints


@dataclass(frozen=True)
class Experiment:
    """Everything the command line needs to train, resume, tabulate and plot."""

    name: str
    title: str
    config: type[Settings]
    train: Callable[[Any, Run], dict[str, Any]]  # (config, run) -> metrics on the test sets
    table: Table
    presets: Mapping[str, Mapping[str, Any]] = field(default_factory=lambda: {"default": {}})  # the first: the default
    rows: tuple[str, ...] = ()  # the values of --arch that make the rows of the table
    quick_rows: tuple[str, ...] = ()  # those that every preset but "paper" trains, if not all
    figures: Mapping[str, Callable[[list[RunFolder]], Figure | None]] = field(default_factory=dict)
    model: Callable[[Any], Module] | None = None  # config -> untrained network, so that a run's weights can be loaded
    description: str = ""  # shown by --help

    @property
    def default_preset(self) -> str:
        return next(iter(self.presets))

    def rows_of(self, preset: str) -> tuple[str, ...]:
        """The rows that a preset trains unless --arch names others."""
        return self.rows if preset == "paper" or not self.quick_rows else self.quick_rows


NAMES = (  # the paper's experiments; tasks/NAME.py has each as EXPERIMENT
    "max_regression",
    "clustering",
    "clustering_large",
    "unique_characters",
    "vgg",
    "image_clustering",
    "set_anomaly",
    "point_cloud",
    "runtime",
)


def find_experiment(text: str) -> Experiment:
    """The experiment of this name, or the one at module:ATTRIBUTE; an error names the nearest."""
    if ":" in text:
        return _foreign(text)
    name = text.replace("-", "_").lower()
    if name not in NAMES:
        others = f"the experiments are {', '.join(NAMES)}; one of your own is named as module:ATTRIBUTE"
        raise UsageError(f"there is no experiment {text!r}; {hint(name, NAMES, others)}")
    return importlib.import_module(f"tasks.{name}").EXPERIMENT


def _foreign(text: str) -> Experiment:
    try:
        module, attribute = import_named(text, "EXPERIMENT")
    except NotFound as error:
        raise UsageError(str(error)) from error.__cause__
    module_name = module.__name__
    found = getattr(module, attribute, None)
    if not isinstance(found, Experiment):
        known = [name for name, value in vars(module).items() if isinstance(value, Experiment)]
        others = f"it has {', '.join(known)}" if known else "it has no Experiment at all"
        raise UsageError(f"{module_name} has no Experiment called {attribute!r}; {hint(attribute, known, others)}")
    if found.name in NAMES and not module_name.startswith("tasks."):
        raise UsageError(f"{text} is named {found.name!r}, as one of the paper's experiments is; give it another name")
    return found
