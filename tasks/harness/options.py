"""A configuration that explains itself: a frozen dataclass of options, and the command line made from it.

    @dataclass(frozen=True, kw_only=True)
    class Config(Training):
        lr: float = option(1e-3, "learning rate of Adam", paper=1e-3)

becomes --lr with its help text, its default and the paper's value, checks what is given, and lets a table say where a
run departs from the paper.
"""

from __future__ import annotations

import argparse
import dataclasses
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from autograd.backend import DeviceError, to_device
from minisets.architectures import ROWS, parse
from minisets.style import STYLES

UNSAID = object()  # the paper has no word on it, or it cannot matter
AUTO, SYNTHETIC = "auto", "synthetic"  # values of --data, which tasks/data/options.py explains
STAND_IN = "synthetic stand-in"  # what synthetic data is called wherever people read of it


class UsageError(Exception):
    """Something a person asked for that cannot be done: one sentence, and exit code 2."""


def option(default: Any, help: str, *, paper: Any = UNSAID, choices: tuple = (), least: float | None = None) -> Any:
    """A field of a configuration: its default, its meaning, the paper's value, and what may be given."""
    metadata = {"help": help, "paper": paper, "choices": choices, "least": least}
    return dataclasses.field(default=default, metadata=metadata)


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What every experiment can be told."""

    seed: int = option(0, "seed of the weights and of all data but the test sets", least=0)
    device: str = option("cpu", "where to compute: cpu, cuda (through CuPy) or cuda:1")
    dtype: str = option("float32", "precision", choices=("float32", "float64"))

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            value, least = getattr(self, field.name), field.metadata["least"]
            name, choices = flag(field.name), field.metadata["choices"]
            if choices and value not in choices:
                raise UsageError(f"{name} must be one of {', '.join(map(str, choices))}; given {value!r}")
            if least is not None and value < least:
                raise UsageError(f"{name} must be at least {least:,}, given {value}")
            if isinstance(value, float) and not (math.isfinite(value) and value > 0):
                raise UsageError(f"{name} must be a positive number, given {value}")

    def require(self, condition: bool, otherwise: str) -> None:
        if not condition:
            raise UsageError(otherwise)

    def check(self) -> None:
        """Find out whether what is asked for is there, before anything is written: the device."""
        try:
            to_device(0, self.device)
        except (DeviceError, ValueError) as error:
            raise UsageError(f"--device {self.device}: {error}") from None


@dataclass(frozen=True, kw_only=True)
class Labelled(Settings):
    """The choice of a network on sets."""

    arch: str = option("SAB + PMA", "architecture: a label of the paper's table, or all; may be repeated")
    style: str = option("paper", "details of the attention blocks", paper="paper", choices=tuple(STYLES))

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "arch", printed_label(self.arch))


@dataclass(frozen=True, kw_only=True)
class Stepping(Settings):
    """What everything that takes training steps can be told."""

    steps: int = option(10_000, "training steps", least=1)
    batch: int = option(10, "sets in a step", least=1)
    lr: float = option(1e-3, "learning rate of Adam")
    log_every: int = option(100, "steps between two lines of the loss in metrics.jsonl", least=1)
    evaluate_every: int = option(1_000, "steps between two evaluations", least=1)
    save_every: int = option(500, "steps between two checkpoints", least=1)


@dataclass(frozen=True, kw_only=True)
class Training(Stepping, Labelled):
    """What every trainer of networks on sets can be told."""


def printed_label(text: str) -> str:
    """A label as the paper's tables print it, however it is written: "isab(16)+pma" -> "ISAB (16) + PMA"."""
    try:
        label = parse(text)
    except ValueError as error:
        raise UsageError(f"--arch: {error}") from None
    return next((row for rows in ROWS.values() for row in rows if parse(row) == label), text.strip())


def flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def data_used(config: Settings) -> str | None:
    """The data of a run for people to read: "omniglot", or "synthetic stand-in"; None for a task that makes its own."""
    data = getattr(config, "data", None)
    return STAND_IN if data == SYNTHETIC else data


def departures(config: Settings) -> dict[str, tuple[Any, Any]]:
    """The options that are not the paper's: name -> (ours, the paper's)."""
    ours = {field.name: getattr(config, field.name) for field in dataclasses.fields(config)}
    ours |= {"data": data_used(config)} if "data" in ours else {}
    return {
        field.name: (ours[field.name], field.metadata["paper"])
        for field in dataclasses.fields(config)
        if field.metadata["paper"] is not UNSAID and ours[field.name] != field.metadata["paper"]
    }


class Parser(argparse.ArgumentParser):
    """argparse whose errors are one sentence, without the page of usage before it."""

    def error(self, message: str) -> None:
        raise UsageError(f"{message} (see {self.prog} --help)")


def add_options(parser: argparse.ArgumentParser, Config: type[Settings]) -> None:
    """One option for each field.  What is not given stays absent, so that a preset or a resumed run can fill it in."""
    for field in dataclasses.fields(Config):
        about, kind = field.metadata, {"int": int, "float": float, "str": str, "bool": bool}[field.type]
        paper = "" if about["paper"] is UNSAID else f"; the paper: {plain(about['paper'])}"
        text = f"{about['help']} (default: {plain(field.default)}{paper})"
        if field.name == "arch":
            text = f"{about['help']} (default: preset quick trains some rows of the table, preset paper all)"
        settings: dict[str, Any] = {"default": argparse.SUPPRESS, "help": text.replace("%", "%%")}
        if kind is bool:
            settings["action"] = argparse.BooleanOptionalAction
        else:
            settings |= {"type": reader(kind), "metavar": "|".join(map(str, about["choices"])) or "VALUE"}
        if field.name == "arch":
            settings |= {"action": "append", "metavar": "LABEL"}
        parser.add_argument(flag(field.name), **settings)


def reader(kind: type) -> Any:
    """What reads a value of this kind from the command line; 50,000 and 5e4 are whole numbers as well."""
    if kind is str:
        return str

    def read(text: str) -> float:
        thousands = kind is int and re.fullmatch(r"[1-9]\d{0,2}(,\d{3})+", text)
        digits = text.replace(",", "") if thousands else text
        try:
            return kind(digits)
        except ValueError:
            pass
        try:
            if kind is int and float(digits) == int(float(digits)):
                return int(float(digits))
        except (ValueError, OverflowError):
            pass
        expected = "a whole number" if kind is int else "a number"
        raise argparse.ArgumentTypeError(f"expected {expected}, given {text!r}")

    return read


def plain(value: Any) -> str:
    """A value for people: 50,000 with its comma."""
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def from_json(Config: type[Settings], values: Mapping[str, Any], source: str) -> Settings:
    """The configuration in a config.json, or a sentence about what is wrong with it; what is absent is the default."""
    types = {field.name: {"int": int, "float": (int, float), "str": str, "bool": bool}[field.type]
             for field in dataclasses.fields(Config)}  # fmt: skip
    if not isinstance(values, Mapping):
        raise UsageError(f"{source} has no options that this version can read")
    wrong = [name for name, value in values.items() if name not in types or not isinstance(value, types[name])]
    if wrong:
        raise UsageError(f"{source} has a {wrong[0]!r} that this version does not know or cannot read")
    return Config(**values)


def slug(text: str) -> str:
    """A label as the name of a folder: "ISAB (16) + PMA" -> "isab16-pma"."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower().replace(" (", "").replace("(", "")).strip("-")
