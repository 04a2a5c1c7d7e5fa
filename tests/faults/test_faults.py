"""Nothing is wrong: each kind of fault, tried in a process of its own; FAULTS=full tries them all."""

import json
import os
import shlex
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator

import pytest

from tests.faults.kinds import KINDS
from tests.faults.table import FULL, PROPERTY
from tests.helpers.commandline import ROOT

TRACED = ("kill -9 at every write", "a full disk at every write")
PARTS = {"run folders": 16, "servers": 4, **dict.fromkeys(TRACED, 4)}  # so that several cores share the work


def cases() -> Iterator:
    for kind in KINDS:
        parts = PARTS.get(kind, 2) if FULL else 1
        marks = [pytest.mark.needs("strace")] if kind in TRACED else []
        yield from (
            pytest.param(kind, f"{i}/{parts}", id=f"{kind}, {i} of {parts}", marks=marks) for i in range(1, parts + 1)
        )


@pytest.mark.faults
@pytest.mark.parametrize(("kind", "part"), list(cases()))
def test_nothing_is_wrong(kind: str, part: str, record_property):
    words = [sys.executable, "-m", "tests.faults", kind, "--part", part, "--json", *([] if FULL else ["--short"])]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE")}
    done = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True)
    outcomes = [json.loads(line) for line in done.stdout.splitlines()]
    record_property(PROPERTY, (kind, dict(Counter(outcome["verdict"] for outcome in outcomes))))
    wrong = [outcome for outcome in outcomes if outcome["verdict"] == "wrong"]
    again = "".join(
        f"\n  {outcome['what']}: {outcome['why']}\n    again: {shlex.join(words[:4])} {outcome['number']}"
        for outcome in wrong
    )
    assert not wrong, f"{len(wrong)} of {len(outcomes)} faults came out wrong:{again}"
    assert done.returncode == 0 and outcomes, done.stderr
