"""Runs that are killed, interrupted, or run out of disk: resumed, they end with the bits of the undisturbed run."""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from tests.faults.outcomes import Attempt, Outcome, attempt, sentence_problem
from tests.faults.run_content import COMPARED, content
from tests.faults.run_folders import RunFolders, train

LONG = ("--steps", "120", "--save-every", "5")
TRACED = "openat,write,pwrite64,fsync,fdatasync,rename,renameat,renameat2,unlink,unlinkat,ftruncate,mkdir,mkdirat"


class RandomKills(RunFolders):
    """kill -9 at random moments, several in a row."""

    name, full, short = "kill -9 at a random moment", 30, 3
    options: tuple[str, ...] = LONG

    def prepare(self, work: Path) -> None:
        self.warm_up()
        self.straight = work / "straight"
        start = time.monotonic()
        self.run_undisturbed(train(self.straight, *self.options))
        self.seconds = time.monotonic() - start

    def trial(self, number: int, folder: Path) -> Outcome:
        rng, run, moments = random.Random(f"{self.name} {number}"), folder / "run", []
        while True:
            moments.append(rng.uniform(0, 1.1 * self.seconds))
            done = attempt(self.train_or_resume(run), meanwhile=lambda child: _kill(child, moments[-1], signal.SIGKILL))
            if done.code != -signal.SIGKILL or len(moments) == 3:
                break
        what = "killed after " + ", ".join(f"{moment:.3f}" for moment in moments) + " s"
        return self.finish(run, what)

    def train_or_resume(self, run: Path) -> Callable[[], int]:
        """The command that a user would give: it continues the run if there is one."""
        return train(run, *self.options, "--resume")

    def finish(self, run: Path, what: str) -> Outcome:
        """Resume the run and compare it with the undisturbed one."""
        done = attempt(self.train_or_resume(run))
        if done.problem or done.code:
            return Outcome("wrong", what, f"when resumed: {done.problem or done.err}")
        different = [file for file in COMPARED if content(self.straight / file) != content(run / file)]
        left = [path.name for path in run.iterdir() if path.name.endswith(".unfinished")]
        if different or left:
            return Outcome("wrong", what, f"when resumed: {', '.join(different)} differ; left behind: {left}")
        return Outcome("right", what)


class Signals(RandomKills):
    """Ctrl-C, SIGTERM, SIGHUP while it trains: all is saved, and the message says how to continue."""

    name, full, short = "SIGINT, SIGTERM, SIGHUP", 30, 3

    def trial(self, number: int, folder: Path) -> Outcome:
        rng, run = random.Random(f"{self.name} {number}"), folder / "run"
        kind = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)[number % 3]
        moment = rng.uniform(0, 0.6 * self.seconds)

        def interrupt(child: int) -> None:
            _wait_for(run / "metrics.jsonl")
            _kill(child, moment, kind)

        done, what = attempt(self.train_or_resume(run), meanwhile=interrupt), f"{kind.name} after {moment:.3f} s"
        if done.problem:
            return Outcome("wrong", what, done.problem)
        if done.code and (done.code != 130 or "to continue: minisets train" not in done.err):
            return Outcome("wrong", what, f"exit code {done.code}: {done.err}")
        return self.finish(run, what)


def _kill(child: int, seconds: float, kind: signal.Signals) -> None:
    time.sleep(seconds)
    os.kill(child, kind)  # a child that has ended is still there until it is waited for


def _wait_for(path: Path) -> None:
    deadline = time.monotonic() + 5
    while not path.exists() and time.monotonic() < deadline:
        time.sleep(0.001)


class KillsAtWrites(RandomKills):
    """kill -9 at each system call that changes the run folder, one after the other (strace)."""

    name, full, short = "kill -9 at every write", 0, 3  # as many as strace counts
    options = ("--steps", "6", "--save-every", "3")
    fault = "signal=KILL"

    def prepare(self, work: Path) -> None:
        self.warm_up()
        self.straight, log = work / "straight", work / "log"
        done = self.traced(train(self.straight, *self.options, "--resume"), log)
        assert done.code == 0, done.err
        self.points = self.writes(log, self.straight)
        self.full = len(self.points)
        shutil.rmtree(self.straight)
        self.run_undisturbed(train(self.straight, *self.options))

    def writes(self, log: Path, run: Path) -> list[tuple[str, int, str]]:
        """Each system call that changes the folder: its name, the how manieth of this name it is, and its text."""
        counts: Counter[str] = Counter()
        found = []
        for line in log.read_text(errors="replace").splitlines():
            call = line.split("(")[0]
            counts[call] += 1
            if str(run) in line and not (call == "openat" and "O_CREAT" not in line):
                found.append((call, counts[call], re.sub(r'"[^"/][^"]*"\.*', "…", line).replace(f"{run}/", "")[:100]))
        return found

    def trial(self, number: int, folder: Path) -> Outcome:
        call, count, text = self.points[number]
        run, what = folder / "run", f"{self.fault} at {call} number {count}: {text}"
        done = self.traced(self.train_or_resume(run), folder / "log", f"inject={call}:{self.fault}:when={count}")
        problem = self.problem(done)
        return Outcome("wrong", what, problem) if problem else self.finish(run, what)

    def problem(self, done: Attempt) -> str:
        return "" if done.code == -signal.SIGKILL else f"it was not killed, but ended with {done.code}: {done.err}"

    @staticmethod
    def traced(function: Callable[[], int], log: Path, *inject: str) -> Attempt:
        """An attempt under strace, which is attached before the function begins."""
        reading, writing = os.pipe()
        tracers = []

        def attach(child: int) -> None:
            words = ["strace", "-y", "-s", "16", "-p", str(child), "-o", str(log), "-e", f"trace={TRACED}"]
            tracers.append(
                subprocess.Popen([*words, *(x for text in inject for x in ("-e", text))], stderr=subprocess.PIPE)
            )
            tracers[0].stderr.readline()  # "Process … attached"
            os.write(writing, b"x")

        def wait_and_run() -> int:
            os.read(reading, 1)
            return function()

        try:
            return attempt(wait_and_run, meanwhile=attach)
        finally:
            tracers[0].communicate()
            os.close(reading)
            os.close(writing)


class FullDisk(KillsAtWrites):
    """No space left on the device, at each of these system calls: one sentence, and the run can be resumed."""

    name = "a full disk at every write"
    fault = "error=ENOSPC"

    def problem(self, done: Attempt) -> str:
        if done.problem:
            return done.problem
        return sentence_problem(done.err, ("run",)) if done.code else ""
