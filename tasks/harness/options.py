"""An experiment's configuration: a frozen dataclass whose fields describe themselves.

    @dataclass(frozen=True, kw_only=True)
    class Config(Training):
        steps: int = option(paper=20_000)                               # help and limits come from Training
        points: int = option(100, "points per shape", least=2)

Each field becomes a command-line option that shows its default and the paper's value, checks what is given, and lets a
table say where a run deviates from the paper.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from autograd.backend import to_device
from autograd.cupy_import import DeviceError
from minisets.labels import ROWS, parse
from minisets.optim import drop_at, linear_to_zero, warm_up
from minisets.style import STYLES
from tasks.harness import machine
from tasks.harness.errors import UsageError

NOT_STATED = object()  # the paper does not give a value
AUTO, SYNTHETIC = "auto", "synthetic"  # values of --data, explained in tasks/data/options.py
STAND_IN = "synthetic stand-in"  # what tables and figures call synthetic data
LARGEST = 2**31 - 1  # of any integer: what is counted here has to be computed, or be held in memory
KINDS = {"int": int, "float": float, "str": str, "bool": bool}


def option(
    default: Any = NOT_STATED,
    help: str | None = None,
    *,
    paper: Any = NOT_STATED,
    choices: tuple | None = None,
    least: float | None = None,
    most: float | None = None,
    bookkeeping: bool | None = None,
) -> Any:
    """A field of a configuration.  Without a default it is the paper's value.

    bookkeeping: it does not change what a run computes, so a table never lists it as a deviation.
    What is left out is taken from the field of the same name in a base class, except the default and the paper's value.
    """
    about = {"help": help, "choices": choices, "least": least, "most": most, "bookkeeping": bookkeeping}
    default = paper if default is NOT_STATED else default
    return dataclasses.field(default=default, metadata=about | {"paper": paper})


def _kind(name: str, annotation: Any) -> type:
    kind = KINDS.get(annotation, annotation) if isinstance(annotation, str) else annotation
    if kind not in KINDS.values():
        raise TypeError(f"an option must be an int, a float, a str or a bool; {name} is declared as {annotation}")
    return kind


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The options of every experiment."""

    seed: int = option(
        0, "seed of the weights and of all data but the test sets", least=0, most=2**63 - 1, bookkeeping=True
    )
    device: str = option("cpu", "device to compute on: cpu, cuda (through CuPy) or cuda:1", bookkeeping=True)
    dtype: str = option("float32", "precision", choices=("float32", "float64"))

    def __init_subclass__(cls) -> None:
        """Complete each option that repeats a base class's from the option there."""
        for name, field in vars(cls).items():
            if isinstance(field, dataclasses.Field):
                bases = (base.__dict__.get("__dataclass_fields__", {}) for base in cls.__mro__[1:])
                inherited = next((fields[name].metadata for fields in bases if name in fields), field.metadata)
                field.metadata = inherited | {key: value for key, value in field.metadata.items() if value is not None}
                if not field.metadata.get("help"):
                    raise TypeError(f"the option {name} of {cls.__name__} needs a help text")
                _kind(name, cls.__annotations__.get(name))

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            _check(flag(field.name), getattr(self, field.name), field.metadata)

    def require(self, condition: bool, otherwise: str) -> None:
        if not condition:
            raise UsageError(otherwise)

    def check(self) -> None:
        """Verify, before anything is written, that what the run needs is there: the device, and memory for its data."""
        try:
            to_device(0, self.device)
        except (DeviceError, ValueError) as error:
            raise UsageError(f"--device {self.device}: {error}") from None
        needed, present = self.numbers_in_memory() * np.dtype(self.dtype).itemsize, machine.memory()
        self.require(
            needed <= present,
            f"the sets that are computed with at once need at least {needed / 2**30:,.0f} GiB, and this machine has "
            f"{present / 2**30:,.0f}; choose fewer or smaller ones",
        )

    def numbers_in_memory(self) -> int:
        """How many numbers a run has to hold at once, at the least: one for each element of a batch."""
        largest_set = max(getattr(self, name, 1) for name in ("n_max", "points", "n_sab", "n_isab"))
        return getattr(self, "batch", 1) * largest_set


def _check(name: str, value: Any, about: Mapping[str, Any]) -> None:
    choices, least, most = about["choices"], about["least"], about["most"]
    most = LARGEST if most is None and isinstance(value, int) else most
    if choices and value not in choices:
        raise UsageError(f"{name} must be one of {', '.join(map(str, choices))}; given {value!r}")
    if isinstance(value, float) and (not math.isfinite(value) or (least is None and value <= 0)):
        raise UsageError(f"{name} must be a positive number, given {value}")
    if least is not None and value < least:
        raise UsageError(f"{name} must be at least {least:,}, given {value}")
    if most is not None and value > most:
        raise UsageError(f"{name} must be at most {most:,}, given {value}")


@dataclass(frozen=True, kw_only=True)
class Stepping(Settings):
    """The options of everything that takes training steps."""

    steps: int = option(10_000, "training steps", least=1)
    batch: int = option(10, "sets per step", least=1)
    lr: float = option(1e-3, "learning rate of Adam")
    log_every: int = option(100, "steps between lines of metrics.jsonl", least=1, bookkeeping=True)
    evaluate_every: int = option(1_000, "steps between evaluations", least=1, bookkeeping=True)
    save_every: int = option(500, "steps between checkpoints", least=1, bookkeeping=True)


@dataclass(frozen=True, kw_only=True)
class Training(Stepping):
    """The options of every trainer of set networks.  A table has a row for each value of `arch`."""

    arch: str = option(
        "SAB + PMA", "architecture: a label such as 'ISAB (16) + PMA', or all; may be repeated", bookkeeping=True
    )
    style: str = option(help="variant of the attention blocks", paper="paper", choices=tuple(STYLES))

    def __post_init__(self) -> None:
        super().__post_init__()
        field = next(field for field in dataclasses.fields(self) if field.name == "arch")
        if not field.metadata["choices"]:  # an experiment with labels of its own lists them there
            object.__setattr__(self, "arch", printed_label(self.arch))


@dataclass(frozen=True, kw_only=True)
class SampledSets(Training):
    """Sets that are sampled, to train and to test on."""

    validation_sets: int = option(100, "sets to evaluate on while training", least=1, most=10_000_000, bookkeeping=True)
    test_sets: int = option(1_000, "sets to test on", least=1, most=10_000_000)


@dataclass(frozen=True, kw_only=True)
class LearningRate(Training):
    """A learning rate that drops once or, with --anneal, falls steadily."""

    drop: float = option(1.0, "fraction of the steps after which the learning rate drops to a tenth; 1: never", most=1)
    anneal: bool = option(False, "let the learning rate fall to 0 along a straight line, after --warmup; no --drop")
    warmup: int = option(0, "steps in which the learning rate rises to --lr", least=0)

    def schedule(self) -> Callable[[int], float]:
        """step -> learning rate"""
        if self.anneal:
            falling = linear_to_zero(self.lr, self.steps)
        else:
            falling = drop_at(self.lr, [self.drop] if self.drop < 1 else [], self.steps)
        return warm_up(falling, self.warmup)


@dataclass(frozen=True, kw_only=True)
class SetSizes(Training):
    """Sets of n_min to n_max elements."""

    n_min: int = option(100, "elements in the smallest set", least=1)
    n_max: int = option(500, "elements in the largest set", least=1)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require(self.n_min <= self.n_max, f"--n-min {self.n_min} is more than --n-max {self.n_max}")


# ---- reading and describing configurations --------------------------------------------------------------------------


def kind_of(field: dataclasses.Field) -> type:
    """int, float, str or bool, whether or not the class's annotations are strings."""
    return _kind(field.name, field.type)


def from_json(Config: type[Settings], values: Any, source: str) -> Settings:
    """The configuration in a config.json, or an error that says what is wrong with it; absent options are defaults."""
    kinds = {field.name: kind_of(field) for field in dataclasses.fields(Config)}
    if not isinstance(values, Mapping):
        raise UsageError(f"{source} has no options that this version can read")
    for name, value in values.items():
        accepted = {float: (int, float)}.get(kinds.get(name), (kinds.get(name),))
        if type(value) not in accepted:  # True is an int to isinstance
            raise UsageError(f"{source} has a {name!r} that this version does not know or cannot read")
    try:
        return Config(**values)
    except UsageError as error:
        raise UsageError(f"{source}: {error}") from None


@dataclass(frozen=True)
class Deviation:
    """An option whose value is not the protocol's."""

    name: str
    ours: Any
    protocol: Any
    stated: bool  # whether the protocol's value is printed in the paper, or chosen here because the paper has none

    def __str__(self) -> str:
        origin = "paper" if self.stated else "not in the paper; default"
        return f"{self.name} {readable(self.ours)} ({origin}: {readable(self.protocol)})"


def deviations(config: Settings, also: tuple[str, ...] = ()) -> list[Deviation]:
    """All options, bookkeeping only as named, that are not the protocol's: the paper's value or else the default."""
    found = []
    for field in dataclasses.fields(config):
        about, value = field.metadata, getattr(config, field.name)
        value = data_used(config) if field.name == "data" else value
        stated = about["paper"] is not NOT_STATED
        expected = about["paper"] if stated else field.default
        if value != expected and (not about["bookkeeping"] or field.name in also):
            found.append(Deviation(field.name, value, expected, stated))
    return found


def data_used(config: Settings) -> str | None:
    """The data of a run as people read it: "omniglot" or "synthetic stand-in"; None if the task makes its own."""
    data = getattr(config, "data", None)
    return STAND_IN if data == SYNTHETIC else data


def printed_label(text: str) -> str:
    """A row's label as the paper prints it, however it is written: "isab(16)+pma" -> "ISAB (16) + PMA"."""
    try:
        label = parse(text)
    except ValueError as error:
        raise UsageError(f"--arch: {error}") from None
    return next((row for rows in ROWS.values() for row in rows if parse(row) == label), str(label))


def flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def readable(value: Any) -> str:
    """A value as people read it: 50,000 with its comma."""
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def slug(text: str) -> str:
    """A label as a folder name: "ISAB (16) + PMA" -> "isab16-pma"."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower().replace(" (", "").replace("(", "")).strip("-")
