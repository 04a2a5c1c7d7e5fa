"""The command line: argparse with one-sentence errors and hints, and options made from a configuration."""

from __future__ import annotations

import argparse
import dataclasses
import difflib
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NoReturn

from tasks.harness.errors import UsageError
from tasks.harness.options import NOT_STATED, Settings, flag, kind_of, readable


class Parser(argparse.ArgumentParser):
    """argparse whose errors are one sentence, without a page of usage, and name the nearest option."""

    def __init__(self, **keywords: Any) -> None:
        look = {"formatter_class": argparse.RawDescriptionHelpFormatter, "allow_abbrev": False}
        super().__init__(**look | keywords)

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message} (see {self.prog} --help)")

    def parse_args(self, arguments: Any = None, namespace: Any = None) -> argparse.Namespace:
        given, unknown = self.parse_known_args(arguments, namespace)
        if unknown:
            options = [word.split("=")[0] for word in unknown if word.startswith("-")]
            if options:
                self.error(
                    f"there is no option {options[0]}; {hint(options[0], self._option_string_actions)}".rstrip("; ")
                )
            self.error(f"unexpected arguments: {' '.join(unknown)}")
        return given


def hint(text: str, known: Iterable[str], otherwise: str = "") -> str:
    """'did you mean ...?' with the nearest known word, if one is near."""
    near = difflib.get_close_matches(text, list(known), n=1)
    return f"did you mean {near[0]}?" if near else otherwise


def add_options(
    parser: argparse.ArgumentParser, Config: type[Settings], preset: Mapping[str, Any], *, in_paper: bool
) -> None:
    """One option for each field, with the value that the preset gives it, and for experiments of the paper its value.

    What is not given stays absent from the result, so that a preset or a resumed run can supply it.
    """
    for field in dataclasses.fields(Config):
        about, kind = field.metadata, kind_of(field)
        default = readable(preset.get(field.name, field.default)) or "none"
        paper = "" if about["paper"] is NOT_STATED or not in_paper else f"; paper: {readable(about['paper'])}"
        text = f"{about['help']} (default: {default}{paper})"
        settings: dict[str, Any] = {"default": argparse.SUPPRESS, "help": text.replace("%", "%%")}
        if field.name == "arch":
            settings |= {"action": "append", "metavar": "LABEL"}
        elif kind is bool:
            settings["action"] = argparse.BooleanOptionalAction
        else:
            settings |= {"type": reader(kind), "metavar": "|".join(map(str, about["choices"] or ())) or "VALUE"}
        parser.add_argument(flag(field.name), **settings)


def folder_name(text: str) -> Path:
    if not text:
        raise argparse.ArgumentTypeError("expected the name of a folder, given an empty one")
    return Path(text)


def reader(kind: type) -> Callable[[str], Any]:
    """A function that reads a value of this kind from the command line; 50,000 and 5e4 are integers too."""
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
        expected = "an integer" if kind is int else "a number"
        raise argparse.ArgumentTypeError(f"expected {expected}, given {text!r}")

    return read
