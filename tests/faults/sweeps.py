"""Damaged records of a sweep: the same command ends as before, and --status says what it can, changing nothing."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path

from tasks.harness.cli import main
from tasks.sweep.store import Request, Store
from tests.faults.mutations import damage_bytes, damage_json, replace_file
from tests.faults.outcomes import Outcome, attempt, changes, sentence_problem, snapshot
from tests.faults.run_content import COMPARED, content, with_checksum
from tests.faults.run_folders import RunFolders

WORDS = (
    "sweep", "max_regression", "--arch", "rFF + Pooling (max)", "--set", "lr=0.001,1e30", "--set", "steps=12", "--set",
    "batch=4", "--set", "validation_sets=10", "--set", "test_sets=20",
)  # fmt: skip
PATIENCE = 60.0  # seconds: a cell may have to be run again


class Sweeps(RunFolders):
    """One cell is finished and one has diverged: there is a request, a note, and a list of costs."""

    name, full, short = "records of a sweep", 400, 12

    def prepare(self, work: Path) -> None:
        self.warm_up()
        self.work = work / "out"
        done = attempt(self.sweep(self.work), PATIENCE)
        assert done.code == 1 and "1 of 2 cells are finished" in done.out, done.err
        (request,) = Store(self.work).requests()
        kinds = {cell.kind: 0.5 for cell in Request.read(request).cells}
        Store(self.work).write_costs(kinds | {"another": 2.0})

    def sweep(self, out: Path) -> Callable[[], int]:
        return lambda: main([*WORDS, "--out", str(out)])

    def trial(self, number: int, folder: Path) -> Outcome:
        rng, out = random.Random(f"{self.name} {number}"), folder / "out"
        shutil.copytree(self.work, out)
        what = self.damage_one(rng, out)
        before = snapshot(out)
        looked = attempt(lambda: main(["sweep", "--status", "--out", str(out)]))
        problem = looked.problem or (changes(before, snapshot(out)) and "--status changed a file")
        if not problem and looked.err:
            problem = sentence_problem(looked.err, ("request.json", "no sweep in"))
        if problem:
            return Outcome("wrong", what, f"--status: {problem}")
        done = attempt(self.sweep(out), PATIENCE)
        if done.problem:
            return Outcome("wrong", what, done.problem)
        if done.code == 2:
            problem = sentence_problem(done.err, ("sweeps",))
            return Outcome("wrong", what, problem) if problem else Outcome("refused", what, done.err.strip())
        same = all(
            content(path.parent / file) == content(out / path.parent.relative_to(self.work) / file)
            for path in self.work.rglob("config.json")
            for file in COMPARED
        )
        listed = "1 of 2 cells failed:" in done.out and "1 of 2 cells are finished" in done.out
        if done.code == 1 and listed and same:
            return Outcome("right", what)
        return Outcome("wrong", what, f"exit code {done.code}: {done.out[-300:]} {done.err[-300:]}")

    def damage_one(self, rng: random.Random, out: Path) -> str:
        """Damage a record; what was done to it."""
        path = rng.choice(sorted((out / "sweeps").rglob("*.json")))
        kind = rng.choice(("bytes", "inside", "inside", "inside", "not a file"))
        if kind == "not a file":
            return f"{path.name}: {replace_file(rng, path)}"
        text, what = (damage_bytes if kind == "bytes" else damage_json)(rng, path.read_bytes())
        if rng.random() < 0.5:
            text, what = with_checksum(text), f"{what}; its checksum as it would be"
        path.write_bytes(text)
        return f"{path.name}: {what}"
