"""How much code a reader passes through in one tiny MAB: its files, lines, Python calls and switches between files.

    python -m tests.helpers.walk

Every Python function of autograd/ and minisets/ that is called during one forward of MAB(8, 8, 8, 2) on two sets of
three elements is counted; lines are those of the files in which they are.
"""

import contextlib
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np

from autograd.forms import plain_forms
from minisets import MAB

ROOT = Path(__file__).resolve().parents[2]


class Walk(NamedTuple):
    files: dict[str, int]  # calls, by file
    switches: int

    @property
    def lines(self) -> int:
        return sum(len((ROOT / file).read_text(encoding="utf-8").splitlines()) for file in self.files)

    @property
    def calls(self) -> int:
        return sum(self.files.values())


def walk(plain: bool) -> Walk:
    rng = np.random.default_rng(0)
    mab, X = MAB(8, 8, 8, 2, rng=rng), rng.normal(size=(2, 3, 8)).astype("float32")
    files: dict[str, int] = {}
    switches, last = 0, ""

    def profile(frame, event, argument):
        nonlocal switches, last
        path = Path(frame.f_code.co_filename)
        if (
            event == "call"
            and path.is_relative_to(ROOT)
            and path.relative_to(ROOT).parts[0] in ("autograd", "minisets")
        ):
            file = str(path.relative_to(ROOT))
            files[file] = files.get(file, 0) + 1
            switches += file != last
            last = file

    before = sys.getprofile()
    with plain_forms() if plain else contextlib.nullcontext():
        mab(X, X)
        sys.setprofile(profile)
        try:
            mab(X, X)
        finally:
            sys.setprofile(before)
    return Walk(files, switches)


def main() -> None:
    print("forms   files   lines   calls   switches")
    walks = {"plain": walk(True), "fast": walk(False)}
    for name, w in walks.items():
        print(f"{name:5}{len(w.files):8}{w.lines:8,}{w.calls:8}{w.switches:11}")
    print("\ncalls in plain forms, by file")
    for file, calls in sorted(walks["plain"].files.items(), key=lambda pair: -pair[1]):
        print(f"{calls:5}   {file}")


if __name__ == "__main__":
    main()
