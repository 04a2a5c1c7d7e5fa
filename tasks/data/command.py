"""The command `minisets data`: list, download and verify data sets.

minisets data list                  the data sets, and which of them are present
minisets data fetch omniglot        download, verify and unpack; resumes an interrupted download
minisets data check omniglot        verify that the files are complete and correct

All data sets are in one folder, MINISETS_DATA or ~/.cache/minisets.  Files that you already have can be put there,
under the names that `list` shows; `fetch` unpacks an archive that it finds instead of downloading it.
"""

from __future__ import annotations

import zipfile
from pathlib import Path, PurePosixPath

from tasks.data import catalog, download
from tasks.data.catalog import DATA_SETS, DataSet, Published
from tasks.data.locations import LIMIT_BYTES, DataError, data_folder, locate
from tasks.data.unpack import as_data_error, unpack
from tasks.harness.errors import UsageError, as_usage_error
from tasks.harness.parser import Parser, hint
from tasks.harness.run import report

COMMANDS = {
    "list": "the data sets, and which of them are present",
    "fetch": "download, verify and unpack",
    "check": "verify that the files are complete and correct",
}


def main(argv: list[str]) -> int:
    parser = Parser(prog="minisets data", description=__doc__)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for command, text in COMMANDS.items():
        subparser = commands.add_parser(command, help=text, description=text)
        if command != "list":
            subparser.add_argument("name", metavar="NAME", help=", ".join(DATA_SETS))
    if argv and not argv[0].startswith("-") and argv[0] not in COMMANDS:
        others = f"the commands are {', '.join(COMMANDS)}"
        raise UsageError(f"there is no command 'data {argv[0]}'; {hint(argv[0], COMMANDS, others)}")
    given = parser.parse_args(argv)
    match given.command:
        case "list":
            list_data_sets()
        case "fetch":
            fetch(find(given.name))
        case "check":
            check(find(given.name))
    return 0


def find(name: str) -> DataSet:
    """The data set of this name; an error suggests the nearest name."""
    known = name.lower().replace("-", "_")
    if known not in DATA_SETS:
        others = f"the data sets are {', '.join(DATA_SETS)}"
        raise DataError(f"there is no data set {name!r}; {hint(known, DATA_SETS, others)}")
    return DATA_SETS[known]


def list_data_sets() -> None:
    report(f"in {data_folder()}:")
    for data in DATA_SETS.values():
        report(f"{data.name}: {data.title}, {'present' if data.is_present() else 'not present'}")
        for alternatives in data.needs:
            found = locate(*alternatives)
            report(f"    {' or '.join(alternatives)}{f'   -> {found}' if found else ''}")


# ---- fetch ----------------------------------------------------------------------------------------------------------


def fetch(data: DataSet) -> None:
    """Download and unpack what is missing."""
    for source in data.files:
        if _is_present(data, source):
            report(f"{source.unpacks_to or source.path} is already in {data_folder()}")
        else:
            _fetch_file(data, source)
    report(f"{data.title} is present; minisets data check {data.name} verifies that it is complete")


def _fetch_file(data: DataSet, source: Published) -> None:
    path = data_folder() / source.path
    downloaded = not path.exists()
    if downloaded and not source.url:
        names = ", ".join(file.name for file in data.files)
        raise DataError(
            f"{source.name} cannot be fetched: {data.instructions}, and put {names} into the folder {path.parent}"
        )
    if downloaded:
        report(f"{source.url} -> {path}")
        download.download(source, path)
        verified = "the checksum matches" if source.sha256 or source.md5 else "no checksum is published"
        report(f"  {path.stat().st_size:,} bytes, {verified}")
    elif problem := source.mismatch(path):
        raise DataError(f"{path} is not the published file: {problem}; remove it, then fetch {data.name} again")
    if source.unpacks_to:
        _unpack(path, data_folder() / source.unpacks_to)
        if downloaded:  # an archive that the user put there is kept
            path.unlink()


def _is_present(data: DataSet, source: Published) -> bool:
    """Whether the content of this file is present, under any of its alternative paths."""
    if source.unpacks_to:
        return (data_folder() / source.unpacks_to).exists()
    alternatives = next((paths for paths in data.needs if source.path in paths), (source.path,))
    return locate(*alternatives) is not None


def _unpack(archive: Path, into: Path) -> None:
    with as_usage_error(f"cannot unpack {archive}"), download.progress_bar(f"unpacking {archive.name}", None) as bar:
        unpack(archive, into, progress=bar.update)
    report(f"  unpacked to {into}")


# ---- check ----------------------------------------------------------------------------------------------------------


def check(data: DataSet) -> None:
    """Report the state of each part; DataError if one is missing or wrong."""
    complete = True
    for alternatives in data.needs:
        path = locate(*alternatives)
        text, good = _verify(data, path) if path else (f"{alternatives[0]}: missing from {data_folder()}", False)
        report(f"{'ok ' if good else 'BAD'} {text}")
        complete &= good
    if not complete:
        archives = [file.name for file in data.files if file.unpacks_to and (data_folder() / file.path).exists()]
        more = f" ({', '.join(archives)} is present but not unpacked)" if archives else ""
        raise DataError(
            f"{data.title} is missing, incomplete or damaged; minisets data fetch {data.name} downloads it{more}"
        )


def _verify(data: DataSet, path: Path) -> tuple[str, bool]:
    """The state of a file or folder in words, and whether it is as expected."""
    name = path.relative_to(data_folder()).as_posix()
    source = next((file for file in data.files if file.path == name), None)
    problem = source.mismatch(path) if source and path.is_file() else "it has no published checksum"
    if not problem:
        return f"{path}: the published file, its checksum matches", True
    if name in catalog.SIZES:
        size, expected = path.stat().st_size, catalog.SIZES[name]
        return f"{path}: {size:,} bytes, {expected:,} expected", size == expected
    if name not in catalog.COUNTS:
        return f"{path}: {f'not the published file: {problem}' if source else problem}", source is None
    pattern, expected = catalog.COUNTS[name]
    if path.is_dir():
        count = sum(1 for file in path.glob(pattern) if file.is_file())
        return f"{path}: a folder with {count:,} files {pattern}, {expected:,} expected", count == expected
    try:
        count = _count_files(path, pattern)
    except DataError as error:
        return str(error), False
    text = f"{path}: {count:,} files {pattern}, {expected:,} expected, all readable; not the published file itself"
    return text, count == expected


def _count_files(path: Path, pattern: str) -> int:
    """The number of files in a zip archive that match, after reading each to verify its checksum."""
    with as_data_error(path), zipfile.ZipFile(path) as archive:
        if sum(info.file_size for info in archive.infolist()) > LIMIT_BYTES:
            raise DataError(f"{path} unpacks to more than {LIMIT_BYTES:,} bytes; it is not the data set")
        damaged = archive.testzip()
        if damaged:
            raise DataError(f"{path} is damaged: {damaged} cannot be read")
        return sum(PurePosixPath(name).match(pattern) for name in archive.namelist())
