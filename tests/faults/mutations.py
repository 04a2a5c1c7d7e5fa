"""Damage to files of any kind: bytes, JSON, and things that are not files.  Each function says what it did."""

from __future__ import annotations

import io
import json
import os
import random
import shutil
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

PAGE = b"<!DOCTYPE html>\n<html><head><title>404 Not Found</title></head><body>Not Found</body></html>\n"


# ---- bytes ----------------------------------------------------------------------------------------------------------


def damage_bytes(rng: random.Random, content: bytes) -> tuple[bytes, str]:
    """The content with one random damage, and its description."""
    at = rng.randrange(len(content)) if content else 0
    if content and rng.random() < 0.2:  # where formats have their headers and directories
        at = rng.choice((at % 64, len(content) - 1 - at % 64)) % len(content)
    length = rng.choice((1, 2, 8, 100, 4096))
    match rng.choice(("flip", "flip", "flip", "overwrite", "cut off", "cut off", "remove", "repeat", "insert", "all")):
        case "flip" if content:
            bit = rng.randrange(8)
            changed = bytearray(content)
            changed[at] ^= 1 << bit
            return bytes(changed), f"bit {bit} of byte {at:,} flipped"
        case "overwrite" if content:
            fill = rng.choice((b"\0", b"\xff", rng.randbytes(1))) * min(length, len(content) - at)
            return content[:at] + fill + content[at + len(fill) :], f"{len(fill)} bytes from {at:,} on overwritten"
        case "cut off":
            return content[:at], f"cut off after {at:,} bytes"
        case "remove":
            return content[:at] + content[at + length :], f"{length} bytes removed at {at:,}"
        case "repeat":
            return content[: at + length] + content[at:], f"{length} bytes repeated at {at:,}"
        case "insert":
            return content[:at] + rng.randbytes(length) + content[at:], f"{length} random bytes inserted at {at:,}"
    return rng.choice(
        (
            (b"", "emptied"),
            (bytes(len(content)), "zeros of the same length"),
            (content + content, "written twice"),
            (content + b"\0" * 512, "zeros appended"),
            (PAGE, "a web page instead"),
            (content.replace(b"\n", b"\r\n"), "line ends of another system"),
        )
    )


# ---- not a file -----------------------------------------------------------------------------------------------------


def replace_file(rng: random.Random, path: Path) -> str:
    """Something else where a regular file should be."""
    shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    match rng.choice(("removed", "a folder", "a pipe", "an endless device", "a link to nothing", "a link to itself")):
        case "a folder":
            path.mkdir()
            return "a folder instead"
        case "a pipe":
            os.mkfifo(path)
            return "a pipe instead"
        case "an endless device":
            path.symlink_to("/dev/zero")
            return "a link to /dev/zero instead"
        case "a link to nothing":
            path.symlink_to("nowhere")
            return "a link to nothing instead"
        case "a link to itself":
            path.symlink_to(path.name)
            return "a link to itself instead"
    return "removed"


# ---- JSON -----------------------------------------------------------------------------------------------------------

JUNK: tuple[Any, ...] = (
    None, True, False, float("nan"), float("inf"), -float("inf"), -1, 0, -0.0, 1, 7, 0.5, 1e308, -1e308, 1e-320, 2**63,
    10**30, -(10**400), "", "six", "5", "NaN", "\x1b[31m", "../..", "x" * 100_000, "\ud800", "é", [], [1], [[[]]], {},
    {"a": 1},
)  # fmt: skip


def damage_json(rng: random.Random, text: bytes) -> tuple[bytes, str]:
    """A JSON text with one value, key, or the form of the whole changed."""
    value = json.loads(text)
    places = list(_places(value))
    holder, key = rng.choice(places)
    name = repr(key)
    match rng.choice(("value", "value", "value", "value", "number", "delete", "rename", "add", "form", "form")):
        case "value":
            holder[key] = rng.choice(JUNK)
            return _dump(value), f"{name} = {repr(holder[key])[:40]}"
        case "number":
            numbers = [(h, k) for h, k in places if isinstance(h[k], int | float) and not isinstance(h[k], bool)]
            if numbers:
                holder, key = rng.choice(numbers)
                old = holder[key]
                holder[key] = rng.choice((-old, old + 1, old - 1, old * 2, old / 2, float(old), old // 2, 10 * old))
                return _dump(value), f"{key!r}: {old} = {holder[key]}"
        case "delete":
            del holder[key]
            return _dump(value), f"{name} deleted"
        case "rename" if isinstance(holder, dict):
            holder[f"{key}s"] = holder.pop(key)
            return _dump(value), f"{name} renamed"
        case "add" if isinstance(holder, dict):
            holder["another"] = rng.choice(JUNK)
            return _dump(value), f"'another' added, {repr(holder['another'])[:40]}"
    deep = rng.choice((1_000, 100_000))
    return rng.choice(
        (
            (b"[" * deep + b"]" * deep, f"{deep:,} nested lists"),
            (b'{"a":' * deep + b"1" + b"}" * deep, f"{deep:,} nested objects"),
            (text.strip().removesuffix(b"}") + b', "task": "poetry", "step": 1}', "two keys of the same name"),
            (text.replace(b": ", b": 9" + b"9" * 5_000, 1), "a number of 5,000 digits in front of the first value"),
            (json.dumps(value).encode("utf-16"), "UTF-16"),
            (json.dumps(value).encode("utf-32-le"), "UTF-32"),
            (b"\xef\xbb\xbf" + text, "a byte order mark in front"),
            (b"\xff\xfe" + text, "half a byte order mark in front"),
            (json.dumps(value, indent=7).encode() + b" \n", "other white space"),
            (json.dumps(list(value.items()) if isinstance(value, dict) else value).encode(), "a list of pairs"),
            (b"null", "null"),
            (b"NaN", "NaN"),
            (b'"' + b"a" * 10**7 + b'"', "a string of ten million letters"),
        )
    )


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Every (holder, key) in a JSON value."""
    found = []
    for key in list(value) if isinstance(value, dict) else range(len(value)):
        found.append((value, key))
        if isinstance(value[key], dict | list) and value[key]:
            found += _places(value[key])
    return found


def _dump(value: Any) -> bytes:
    return json.dumps(value, indent=2).encode()


# ---- archives of arrays ----------------------------------------------------------------------------------------------


def damage_npz(rng: random.Random, content: bytes) -> tuple[bytes, str]:
    """An archive of arrays that is whole, but of which one array, or the form, is not as it was."""
    with np.load(io.BytesIO(content), allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    name = rng.choice([rng.choice(list(arrays)), *(name for name in arrays if arrays[name].size < 40)])
    old = arrays[name]
    what, new = rng.choice(
        (
            ("nan", np.full(old.shape, np.nan, old.dtype if old.dtype.kind == "f" else "f4")),
            ("infinite", np.full(old.shape, np.inf, old.dtype if old.dtype.kind == "f" else "f4")),
            ("negative", np.full(old.shape, -5, old.dtype if old.dtype.kind in "if" else "i8")),
            ("huge", np.full(old.shape, 10**18, old.dtype if old.dtype.kind == "f" else "i8")),
            ("another dtype", old.astype("f8") if old.dtype.kind in "iufb" else np.zeros(3)),
            ("another shape", old[None]),
            ("empty", np.zeros(0, old.dtype)),
            ("text", np.array("nonsense")),
            (
                "other notes",
                np.array(rng.choice(('{"loss": "x"}', '{"loss": NaN, "count": true}', "[]", "{}", "[" * 10**5))),
            ),
            ("records", np.zeros(2, [("a", "f4"), ("b", "i4")])),
            ("dates", np.zeros(old.shape, "M8[s]")),
            ("removed", None),
            ("named otherwise", None),
            ("a bomb", None),
            ("a damaged header", None),
            ("compressed", old),
        )
    )
    made = io.BytesIO()
    with zipfile.ZipFile(
        made, "w", zipfile.ZIP_DEFLATED if what in ("compressed", "a bomb") else zipfile.ZIP_STORED
    ) as file:
        for each, array in arrays.items():
            array = new if each == name and new is not None else array
            if each == name and what == "removed":
                continue
            entry = io.BytesIO()
            np.lib.format.write_array(entry, np.asarray(array), allow_pickle=False)
            data = entry.getvalue()
            if each == name and what == "a damaged header":
                head, description = damage_bytes(rng, data[:128])
                data, what = head + data[128:], f"a damaged header ({description})"
            if each == name and what == "a bomb":
                shape = np.lib.format.header_data_from_array_1_0(np.zeros(0, "u1")) | {"shape": (200 * 2**20,)}
                head = io.BytesIO()
                np.lib.format.write_array_header_1_0(head, shape)
                data = head.getvalue() + bytes(200 * 2**20)
            file.writestr(
                f"{each}{'x' if each == name and what == 'named otherwise' else ''}.npy", data, compresslevel=1
            )
    return made.getvalue(), f"{name}: {what}"
