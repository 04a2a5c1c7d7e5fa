"""The command `minisets data`: list, download and verify data sets.

minisets data list                  the data sets, and which of them are present
minisets data fetch omniglot        download, verify and unpack; resumes an interrupted download
minisets data check omniglot        verify that the files are complete and correct

All data sets are in one folder, MINISETS_DATA or ~/.cache/minisets.  Files that you already have can be put there,
under the names that `list` shows; `fetch` unpacks an archive that it finds instead of downloading it.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from tasks.data import checks, download
from tasks.data.catalog import DATA_SETS, DataSet, Published
from tasks.data.locations import DataError, data_folder, locate
from tasks.data.unpack import unpack
from tasks.harness.errors import UsageError, as_usage_error
from tasks.harness.parser import Parser, hint
from tasks.harness.progress import report

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
    if not data.is_present():
        raise DataError(f"{data.title} is incomplete; {_advice(data)}")
    report(f"{data.title} is present; minisets data check {data.name} verifies that it is complete")


def _fetch_file(data: DataSet, source: Published) -> None:
    path = data_folder() / source.path
    problem = source.mismatch(path) if path.exists() else ""
    replace = problem and source.url and not source.checksum[1]  # a web page saved in place of the archive, for example
    if problem and not replace:
        raise DataError(f"{path} is not the published file: {problem}; remove it, then fetch {data.name} again")
    needed = replace or not path.exists()
    if needed and not source.url:
        raise DataError(f"{source.name} cannot be fetched: {_instructions(data)}")
    if needed:
        report(f"{source.url} -> {path}{f', which is replaced: {problem}' if replace else ''}")
        download.download(source, path)
        verified = "the checksum matches" if source.checksum[1] else "no checksum is published"
        report(f"  {path.stat().st_size:,} bytes, {verified}")
    if source.unpacks_to:
        _unpack(path, data_folder() / source.unpacks_to)
        if needed:  # an archive that the user put there is kept
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
    """Report the state of each part and what was verified; DataError if one is missing or wrong."""
    complete, bad = True, []
    for path in {locate(*alternatives) or alternatives[0]: None for alternatives in data.needs}:
        there = isinstance(path, Path)
        text, good = _verify(data, path) if there else (f"{path}: missing from {data_folder()}", False)
        report(f"{'ok ' if good else 'BAD'} {text}")
        complete &= good
        if there and not good:
            bad.append(path)
    if not complete:
        raise DataError(f"{data.title} is missing, incomplete or damaged; {_advice(data, bad)}")


def _verify(data: DataSet, path: Path) -> tuple[str, bool]:
    """The state of a file or folder in words, and whether it is as expected."""
    source = data.published(path)
    problem = source.mismatch(path) if source else ""
    if source and source.checksum[1] and not problem:
        return f"{path}: the published file, its {source.checksum[0]} matches", True
    read = checks.READERS.get(path.relative_to(data_folder()).as_posix())
    if read is None:
        return f"{path}: {problem or 'nothing is known that it could be compared with'}", False
    try:
        found = read(path)
    except DataError as error:
        return str(error), False
    return f"{path}: all of it could be read, {found}{f'; not the published file: {problem}' if problem else ''}", True


# ---- what to do -----------------------------------------------------------------------------------------------------


def _advice(data: DataSet, bad: Iterable[Path] = ()) -> str:
    """What helps if these parts are bad, or if a part is missing: `fetch` leaves alone what is there."""
    folders = {data_folder() / file.unpacks_to for file in data.files if file.unpacks_to}
    remove = {next((folder for folder in folders if folder in path.parents), path): None for path in bad}
    remove |= {folder: None for folder in sorted(folders) if folder.exists() and not data.is_present()}
    paths = " and ".join(map(str, remove))
    if not all(file.url for file in data.files):
        return (f"remove {paths} and get it again: " if remove else "") + _instructions(data)
    return (
        f"remove {paths}, then minisets data fetch {data.name}"
        if remove
        else f"minisets data fetch {data.name} gets it"
    )


def _instructions(data: DataSet) -> str:
    folder = (data_folder() / data.files[0].path).parent
    return f"{data.instructions}, and put {', '.join(file.name for file in data.files)} into the folder {folder}"
