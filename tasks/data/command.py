"""The command `minisets data`: what there is, get it, look whether it is right.

minisets data list                  the data sets, and which of them are here
minisets data fetch omniglot        download, verify, unpack; a broken download goes on where it was
minisets data check omniglot        whether the files that are here are complete and right

Everything lies in one folder, MINISETS_DATA or ~/.cache/minisets.  Files that you have already can be put there, under
the names that `list` shows: `fetch` unpacks an archive that it finds instead of downloading it.
"""

from __future__ import annotations

import argparse
import difflib
import zipfile
from pathlib import Path, PurePosixPath

from tasks.data import catalogue, download
from tasks.data.catalogue import DATA_SETS, DataSet, Published
from tasks.data.locations import DataError, data_folder, locate
from tasks.data.unpack import LIMIT_BYTES, damage, unpack
from tasks.harness.errors import as_usage_error
from tasks.harness.parser import Parser
from tasks.harness.run import report


def main(argv: list[str]) -> int:
    parser = Parser(prog="minisets data", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    commands.add_parser("list", help="the data sets, and which of them are here")
    fetch_ = commands.add_parser("fetch", help="download, verify, unpack")
    check_ = commands.add_parser("check", help="whether what is here is complete and right")
    for sub in (fetch_, check_):
        sub.add_argument("name", metavar="NAME", help=", ".join(DATA_SETS))
    arguments = parser.parse_args(argv)
    if arguments.command == "list":
        listing()
    else:
        {"fetch": fetch, "check": check}[arguments.command](find(arguments.name))
    return 0


def find(name: str) -> DataSet:
    """The data set of a name, or a sentence with the nearest one."""
    plain = name.lower().replace("-", "_")
    if plain in DATA_SETS:
        return DATA_SETS[plain]
    near = difflib.get_close_matches(plain, DATA_SETS, n=1)
    hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(DATA_SETS)}"
    raise DataError(f"there is no data set {name!r}; {hint}")


def listing() -> None:
    report(f"in {data_folder()}:")
    for data in DATA_SETS.values():
        report(f"{data.name}: {data.title}, {'here' if data.is_there() else 'not here'}")
        for forms in data.needs:
            found = locate(*forms)
            report(f"    {' or '.join(forms)}{f'   -> {found}' if found else ''}")


# ---- fetch ----------------------------------------------------------------------------------------------------------


def fetch(data: DataSet) -> None:
    """Get all that is absent; what is there stays as it is."""
    for source in data.files:
        if _have(data, source):
            report(f"{source.unpacks_to or source.path} is in {data_folder()} already")
            continue
        path = data_folder() / source.path
        if not path.exists() and not source.url:
            names = ", ".join(one.name for one in data.files)
            raise DataError(f"{source.name} cannot be fetched: {data.how}, and put {names} into {path.parent}")
        given = path.exists()
        if not given:
            report(f"{source.url} -> {path}")
            download.download(source, path)
            known = source.sha256 or source.md5
            report(
                f"  {path.stat().st_size:,} bytes, {'the checksum is right' if known else 'no checksum is published'}"
            )
        elif wrong := download.mistake(source, path):
            raise DataError(f"{path} is not the published file: {wrong}; remove it, and fetch {data.name} again")
        if source.unpacks_to:
            _unpack(path, data_folder() / source.unpacks_to)
            if not given:  # it is no longer needed; what a person put there is theirs
                path.unlink()
    report(f"{data.title} is here; minisets data check {data.name} looks whether all of it is")


def _have(data: DataSet, source: Published) -> bool:
    """Whether what this file would bring is there, in any of its forms."""
    if source.unpacks_to:
        return (data_folder() / source.unpacks_to).exists()
    forms = next((forms for forms in data.needs if source.path in forms), (source.path,))
    return locate(*forms) is not None


def _unpack(archive: Path, into: Path) -> None:
    with as_usage_error(f"cannot unpack {archive}"), download.bar(f"unpacking {archive.name}", None) as shown:
        unpack(archive, into, progress=shown.update)
    report(f"  unpacked to {into}")


# ---- check ----------------------------------------------------------------------------------------------------------


def check(data: DataSet) -> None:
    """Say what is there of each part and what is wrong with it; a DataError if anything is."""
    bad = 0
    for forms in data.needs:
        path = locate(*forms)
        if path is None:
            said, good = f"{forms[0]}: absent from {data_folder()}", False
        else:
            said, good = _state(data, path)
        report(f"{'ok ' if good else 'BAD'} {said}")
        bad += not good
    if bad:
        waiting = [one.name for one in data.files if one.unpacks_to and (data_folder() / one.path).exists()]
        more = f" ({', '.join(waiting)} is here, to be unpacked)" if waiting else ""
        raise DataError(f"{data.title} is not complete and right here; minisets data fetch {data.name} gets it{more}")


def _state(data: DataSet, path: Path) -> tuple[str, bool]:
    """One sentence on a file or folder, and whether it is good."""
    name = path.relative_to(data_folder()).as_posix()
    source = next((one for one in data.files if one.path == name), None)
    wrong = download.mistake(source, path) if source and path.is_file() else "no checksum of it is published"
    if not wrong:
        return f"{path}: the published file, checksum and all", True
    if name in catalogue.SIZES:
        size, expected = path.stat().st_size, catalogue.SIZES[name]
        return f"{path}: {size:,} bytes, {expected:,} expected", size == expected
    if name not in catalogue.COUNTS:
        return f"{path}: {f'not the published file: {wrong}' if source else wrong}", source is None
    pattern, expected = catalogue.COUNTS[name]
    if path.is_dir():
        count = sum(1 for one in path.glob(pattern) if one.is_file())
        return f"{path}: a folder with {count:,} files {pattern}, {expected:,} expected", count == expected
    try:
        count = _count(path, pattern)
    except DataError as error:
        return str(error), False
    said = f"{path}: {count:,} files {pattern}, {expected:,} expected, all of them whole; not the published file itself"
    return said, count == expected


def _count(path: Path, pattern: str) -> int:
    """The files in a zip archive that match, after each was read once to see that it is whole."""
    with damage(path), zipfile.ZipFile(path) as archive:
        if sum(one.file_size for one in archive.infolist()) > LIMIT_BYTES:
            raise DataError(f"{path} unpacks to more than {LIMIT_BYTES:,} bytes; that is not the data set")
        broken = archive.testzip()
        if broken:
            raise DataError(f"{path} is damaged: {broken} in it cannot be read")
        return sum(PurePosixPath(name).match(pattern) for name in archive.namelist())
