"""The JSON files of a run: written with a checksum, and read only if they hold what they should.

A file that was cut off, changed by hand, or is another program's is reported in one sentence that names it; a value of
the wrong kind never gets any further.  Files without a checksum, as earlier versions wrote them, can still be read.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from minisets.files import DamagedFile, atomic_write, read_regular
from tasks.harness.errors import UsageError, as_usage_error

LARGEST_FILE, LARGEST_LOG = 2**24, 2**30  # bytes; more than any run writes


# ---- what the files hold --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Kind:
    """A kind of value: how to recognize it, and how to call it."""

    name: str
    accepts: Callable[[Any], bool]
    optional: bool = False

    def or_absent(self) -> Kind:
        return Kind(self.name, self.accepts, optional=True)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < 2**63


TEXT = Kind("a text", lambda value: isinstance(value, str))
NUMBER = Kind("a finite number", _is_number)
COUNT = Kind("a whole number from 0 on", _is_count)
SECONDS = Kind("a number from 0 on", lambda value: _is_number(value) and value >= 0)
MAPPING = Kind("an object", lambda value: isinstance(value, dict))
COUNTS = Kind("a list of whole numbers", lambda value: isinstance(value, list) and all(map(_is_count, value)))
TEXTS = Kind("a list of texts", lambda value: isinstance(value, list) and all(isinstance(v, str) for v in value))

Schema = Mapping[str, Kind]
MORE = "…"  # in a schema: the kind of every value that it does not name

CONFIG: Schema = {
    "task": TEXT,
    "preset": TEXT,
    "options": MAPPING,
    "run": TEXT.or_absent(),
    "continues": TEXTS.or_absent(),
    "extended_from": COUNTS.or_absent(),
    "devices": TEXTS.or_absent(),
}
RESULT: Schema = {
    "metrics": MAPPING,
    "seconds": SECONDS,
    "run": TEXT.or_absent(),
    "log": TEXT.or_absent(),
    "options": MAPPING.or_absent(),
    "extended_from": COUNTS.or_absent(),
}
PROGRESS: Schema = {
    "run": TEXT,
    "step": COUNT,
    "steps": COUNT,
    "seconds": SECONDS,
    "saved": COUNT.or_absent(),  # the step of the checkpoint
    "loss": NUMBER.or_absent(),
}
LOG_HEAD: Schema = {"run": TEXT}
LOG_LINE: Schema = {"step": COUNT, "block": TEXT.or_absent(), MORE: NUMBER}  # block: what was timed, SAB or ISAB
BEST_NOTES: Schema = {"run": TEXT}  # of best.npz
NOTES: Schema = {  # of checkpoint.npz
    "run": TEXT,
    "log": TEXT,
    "seconds": SECONDS,
    "loss": NUMBER,
    "count": COUNT,
    "best": NUMBER.or_absent(),
    "best_step": COUNT.or_absent(),
}


def mismatch(value: Any, schema: Schema) -> str | None:
    """What is wrong with a value, in words that fit after "it has "; None if it is as the schema says."""
    if not isinstance(value, dict):
        return "no object at the top"
    for name, kind in schema.items():
        if name not in value and not kind.optional and name != MORE:
            return f"no {name!r}"
    for name, given in value.items():
        kind = schema.get(name, schema.get(MORE))
        if kind is not None and not kind.accepts(given):
            text = repr(given)
            return f"{text[:40] + '…' * (len(text) > 40)} as its {name!r}, where {kind.name} is expected"
    return None


# ---- reading and writing --------------------------------------------------------------------------------------------


def write_json(path: Path, value: Mapping[str, Any]) -> None:
    """Write a JSON file that carries the checksum of its content, atomically."""
    value = json.loads(json.dumps(value, allow_nan=False))  # as it will be read: names are texts, not numbers
    text = json.dumps({**value, "checksum": digest(value)}, indent=2, ensure_ascii=False)
    with as_usage_error(f"cannot write {path}"), atomic_write(path) as file:
        file.write((text + "\n").encode())


def read_json(path: Path, schema: Schema | None = None, what: str = "") -> Any:
    """The content of a JSON file, which is `what` ("the result of a run"), without its checksum."""
    try:
        value = parse_json(read_bytes(path))
        stored = value.pop("checksum", None) if isinstance(value, dict) else None
        changed = stored is not None and stored != digest(value)  # which refuses a number beyond all floats
    except ValueError:
        raise UsageError(f"{path} is damaged: it is not JSON") from None
    if changed:
        raise UsageError(f"{path} was changed after it was written: its checksum does not match; restore the original")
    if schema is not None:
        problem = mismatch(value, schema)
        if problem:
            raise UsageError(f"{path} is not {what}: it has {problem}")
        if "run" in value and stored is None:
            raise UsageError(f"{path} was changed after it was written: it has no checksum; restore the original")
    return value


def read_bytes(path: Path, most: int = LARGEST_FILE) -> bytes:
    """The content of a regular file; a UsageError for anything else."""
    with as_usage_error(f"cannot read {path}"):
        try:
            return read_regular(path, most)
        except DamagedFile as error:
            raise UsageError(f"{path} is damaged: {error}") from None


def parse_json(text: bytes) -> Any:
    """Like json.loads, but any text that is not strictly JSON is a ValueError, also one nested too deeply."""
    try:
        return json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_without_duplicates)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a name occurs twice")
    return dict(pairs)


def digest(value: Any) -> str:
    """The first 16 hexadecimal digits of the SHA-256 of a value as JSON, whatever the order of its names."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
