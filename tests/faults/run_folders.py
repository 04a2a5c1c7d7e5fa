"""Damaged run folders: resumed, they end with the bits of the undisturbed run, or are refused as they are."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from tasks import max_regression
from tasks.harness.cli import main
from tasks.harness.experiment import NAMES, find_experiment
from tests.faults.mutations import damage_bytes, damage_json, damage_npz, replace_file
from tests.faults.outcomes import Attempt, Outcome, attempt, changes, sentence_problem, snapshot
from tests.faults.run_content import COMPARED, FILES, content, plausible, with_checksum

OPTIONS = (
    "--arch", "rFF + Pooling (max)", "--steps", "12", "--batch", "4", "--validation-sets", "10", "--test-sets", "20",
    "--log-every", "2", "--evaluate-every", "4", "--save-every", "3",
)  # fmt: skip
OTHERS = {
    "another seed": ("--seed", "1"),
    "another learning rate": ("--lr", "0.01"),
    "a longer run": ("--steps", "20"),
    "the same command, run again": (),
}
KILLED_AT = 8  # the step at which the interrupted run was killed; its checkpoint is of step 6


def train(folder: Path, *more: str) -> Callable[[], int]:
    return lambda: main(["train", "max_regression", *OPTIONS, "--out", str(folder), *more])


def resume(folder: Path, *more: str) -> Callable[[], int]:
    return lambda: main(["train", "max_regression", "--out", str(folder), "--resume", *more])


def killed(function: Callable[[], int], step: int = KILLED_AT) -> Callable[[], int]:
    """The same training, killed in the middle of a step."""

    def run() -> int:
        left, real = iter(range(step)), max_regression.absolute_error

        def loss(*arguments: Any) -> Any:
            if next(left, None) is None:
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*arguments)

        max_regression.absolute_error = loss
        return function()

    return run


class RunFolders:
    name, full, short = "run folders", 2_000, 80

    def numbers(self, short: bool) -> list[int]:
        """The faults to try: all of them, or a few that lie far apart."""
        return [i * self.full // self.short for i in range(self.short)] if short else list(range(self.full))

    def prepare(self, work: Path) -> None:
        """The runs to damage: killed in the middle, finished, to be extended; and runs to take files from."""
        self.warm_up()
        self.work = work
        self.run_undisturbed(killed(train(work / "stopped")), -signal.SIGKILL)
        for name, more in OTHERS.items():
            self.run_undisturbed(killed(train(work / name, *more)), -signal.SIGKILL)
            shutil.copytree(work / name, work / f"{name}, finished")
            self.run_undisturbed(resume(work / f"{name}, finished"))
        shutil.copytree(work / "stopped", work / "finished")
        self.run_undisturbed(resume(work / "finished"))
        shutil.copytree(work / "finished", work / "extended")
        self.run_undisturbed(resume(work / "extended", "--steps", "16"))
        self.expected = {
            "stopped": (work / "finished", ()),
            "finished": (work / "finished", ()),
            "finished, to be extended": (work / "extended", ("--steps", "16")),
        }

    @staticmethod
    def warm_up() -> None:
        for name in NAMES:
            find_experiment(name)  # imported once, before any fork
        Figure.savefig = lambda self, file, **_: file.write(b"a figure")  # they would take most of the time

    @staticmethod
    def run_undisturbed(function: Callable[[], int], code: int = 0) -> None:
        done = attempt(function)
        assert done.code == code, f"a run that nobody disturbed ended with {done.code}: {done.err}"

    def trial(self, number: int, folder: Path) -> Outcome:
        rng = random.Random(f"{self.name} {number}")
        state = rng.choice(("stopped", "stopped", *self.expected))
        run = folder / "run"
        shutil.copytree(self.work / ("stopped" if state == "stopped" else "finished"), run)
        name, what = self._damage(rng, run)
        what = f"{state}: {name}: {what}"
        pristine = self.work / ("stopped" if state == "stopped" else "finished") / name
        undetectable = plausible(name, pristine, run / name)
        before = snapshot(run)
        for words in (
            ["list"],
            ["table", "max_regression"],
            ["figure", "max_regression", "--out", str(folder / "new")],
        ):
            looked = attempt(lambda words=words: main([*words, "--runs", str(run)]))
            problem = looked.problem or self._look_problem(looked, words[0], before, run)
            if problem:
                return Outcome("wrong", what, f"minisets {words[0]}: {problem}")
        expected, more = self.expected[state]
        done = attempt(resume(run, *more))
        if done.problem:
            return Outcome("wrong", what, done.problem)
        if done.code:
            changed = changes(before, snapshot(run))
            if changed and undetectable:  # it began with other weights, and what came of them was noticed
                return Outcome("undetectable", what, done.err)
            said = "\n".join(line for line in done.err.splitlines() if not line.startswith("  "))  # of other versions
            problem = sentence_problem(said, (*FILES, "a run of an earlier version")) or (
                changed and f"refused, but it changed {changed}"
            )
            return Outcome("wrong", what, problem) if problem else Outcome("refused", what, done.err.strip())
        if state == "finished":  # nothing is left to do: the result stands, and no file is touched
            compared = ("result.json",)
            changed = changes(before, snapshot(run))
            if changed and name not in changed:
                return Outcome("wrong", what, f"nothing was left to do, but it changed {changed}")
        else:
            compared = COMPARED
        different = [file for file in compared if content(expected / file) != content(run / file)]
        if not different:
            return Outcome("right", what)
        verdict = "undetectable" if undetectable else "wrong"
        return Outcome(verdict, what, f"exit code 0, but {', '.join(different)} differ from the undisturbed run")

    @staticmethod
    def _look_problem(looked: Attempt, command: str, before: dict[str, str], run: Path) -> str:
        """What is wrong with looking at the folder: it may fail in a sentence, but changes nothing."""
        changed = changes(before, snapshot(run))
        if changed and changed != "examples.npz":
            return f"it changed {changed}"
        if looked.code in (0, 1):
            return ""
        return sentence_problem(
            looked.err.strip().splitlines()[-1] if looked.err.strip() else "", (*FILES, "no finished run")
        )

    # ---- damage ----------------------------------------------------------------------------------------------------

    def _damage(self, rng: random.Random, run: Path) -> tuple[str, str]:
        """Damage one file of the run; its name, and what was done to it."""
        path = rng.choice([run / name for name in FILES if (run / name).exists()])
        kind = rng.choice(("bytes", "inside", "inside", "inside", "foreign", "not a file"))
        if kind == "foreign":
            other = rng.choice(list(OTHERS))
            source = self.work / (other if rng.random() < 0.5 else f"{other}, finished")
            path = rng.choice([run / name for name in FILES if (source / name).exists()])
            shutil.copy(source / path.name, path)
            return path.name, f"of {source.name}"
        if kind == "not a file":
            return path.name, replace_file(rng, path)
        content = path.read_bytes()
        if kind == "bytes":
            content, what = damage_bytes(rng, content)
        elif path.suffix == ".npz":
            content, what = damage_npz(rng, content)
        elif path.suffix == ".jsonl":
            lines = content.splitlines()
            at = rng.randrange(len(lines))
            match rng.choice(("one", "one", "one", "without", "twice", "order")):
                case "without":
                    del lines[at]
                    what = f"line {at + 1} removed"
                case "twice":
                    lines.insert(at, lines[at])
                    what = f"line {at + 1} twice"
                case "order":
                    lines.reverse()
                    what = "lines in reverse"
                case _:
                    changed, what = damage_json(rng, lines[at])
                    try:
                        lines[at] = json.dumps(json.loads(changed)).encode()
                    except (ValueError, RecursionError):
                        lines[at] = changed.replace(b"\n", b" ")
                    what = f"line {at + 1}: {what}"
            content = b"\n".join(lines) + b"\n"
        else:
            content, what = damage_json(rng, content)
            if rng.random() < 0.5:
                content, what = with_checksum(content), f"{what}; its checksum as it would be"
        path.write_bytes(content)
        return path.name, what
