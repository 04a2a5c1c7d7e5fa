"""Reading what a browser sends: every field is checked, and a bad one gets a sentence that names it."""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn

import numpy as np

MOST_POINTS = 10_000
LARGEST = 1_000.0  # of a coordinate; the networks know numbers of about 4
Message = dict[str, Any]


class BadMessage(Exception):
    """A message that cannot be answered: one sentence."""


def parse(body: bytes) -> Message:
    """The JSON object in a body."""

    def refuse(constant: str) -> NoReturn:
        raise ValueError(f"{constant} is not a number in JSON")

    try:
        found = json.loads(body.decode("utf-8"), parse_constant=refuse)
    except UnicodeDecodeError:
        raise BadMessage("the body is not UTF-8 text; send a JSON object") from None
    except RecursionError:
        raise BadMessage("the body is nested too deeply; send a JSON object as docs/play.md describes it") from None
    except ValueError as error:
        raise BadMessage(f"the body is not JSON ({str(error)[:100]}); send a JSON object") from None
    if not isinstance(found, dict):
        raise BadMessage(f"the body is {_kind(found)}; send a JSON object")
    return found


def _kind(value: Any) -> str:
    names = {list: "a list", dict: "an object", str: "a text", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")


def text(message: Message, name: str, default: str | None = None, choices: tuple[str, ...] = ()) -> str:
    value = message.get(name, default)
    if not isinstance(value, str) or len(value) > 200:
        raise BadMessage(f"{name!r} must be a text of at most 200 characters, given {_shown(value)}")
    if choices and value not in choices:
        raise BadMessage(f"{name!r} must be one of {', '.join(choices)}; given {_shown(value)}")
    return value


def whole(message: Message, name: str, least: int, most: int, default: int | None = None) -> int:
    value = message.get(name, default)
    if type(value) is not int or not least <= value <= most:
        raise BadMessage(f"{name!r} must be a whole number from {least:,} to {most:,}, given {_shown(value)}")
    return value


def flag(message: Message, name: str) -> bool:
    value = message.get(name, False)
    if not isinstance(value, bool):
        raise BadMessage(f"{name!r} must be true or false, given {_shown(value)}")
    return value


def vectors(message: Message, name: str, d: int, most: int = MOST_POINTS, least: int = 1) -> np.ndarray:
    """A list of n lists of d numbers, as an array (n, d)."""
    rows = message.get(name)
    if not isinstance(rows, list):
        raise BadMessage(f"{name!r} must be a list of lists of {d} numbers, given {_kind(rows)}")
    if not least <= len(rows) <= most:
        raise BadMessage(f"{name!r} must have {least:,} to {most:,} elements, given {len(rows):,}")
    for i, row in enumerate(rows):
        if not isinstance(row, list) or len(row) != d or not all(map(_is_number, row)):
            wanted = f"a list of {d} numbers from −{LARGEST:,.0f} to {LARGEST:,.0f}"
            raise BadMessage(f"element {i:,} of {name!r} must be {wanted}, given {_shown(row)}")
    return np.array(rows, dtype="float64").reshape(len(rows), d)


def numbers(message: Message, name: str, most: int) -> np.ndarray:
    """A list of n numbers, as an array (n, 1)."""
    values = message.get(name)
    if not isinstance(values, list):
        raise BadMessage(f"{name!r} must be a list of numbers, given {_kind(values)}")
    return vectors({name: [[value] for value in values]}, name, 1, most)


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and -LARGEST <= value <= LARGEST


def _shown(value: Any) -> str:
    shown = json.dumps(value)
    return shown if len(shown) <= 60 else f"{shown[:59]}…"


def plain(value: Any) -> Any:
    """A value as JSON has it: arrays as lists, six digits, and null for what is not finite."""
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, np.ndarray) and value.dtype.kind == "f" and np.isfinite(value).all():
        return np.round(value.astype("float64"), 6).tolist()
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float):
        return float(f"{value:.6g}") if math.isfinite(value) else None
    return value
