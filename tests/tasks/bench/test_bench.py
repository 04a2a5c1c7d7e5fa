"""The benchmark: its networks, its count of products, and its table; no test asserts a time."""

import dataclasses
import json
from pathlib import Path

import pytest

from tasks.bench import command as bench
from tasks.bench import networks, products, worker
from tasks.bench import trainers as overhead
from tests.helpers import flops
from tests.helpers.commandline import command


@pytest.mark.parametrize("name", networks.SHAPES)
def test_the_count_of_products_is_that_of_a_step(name: str):
    """Counted from the shapes, and by looking at what every product of a real step is given."""
    shape = dataclasses.replace(networks.SHAPES[name], n=7, sets=2)
    with flops.counted() as found:  # in the order of the equations
        worker.TrainingStep(shape).step()
    assert found and sum(forward + backward for forward, backward in found) == sum(
        2 * batch * a * b * c for batch, a, b, c in products.product_sizes(shape)
    )


def test_a_race_on_small_sets(tmp_path: Path):
    done = command("bench", "runtime_isab", "--n", 3, 5, 9, "--steps", 2, "--no-torch", "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    rows = json.loads((tmp_path / "growth.json").read_text())["rows"]
    assert [(row["name"], row["n"]) for row in rows] == [("runtime_isab", n) for n in (3, 5, 9)]
    for row in rows:
        assert row["ours"]["ms"] > 0 and row["products"]["ms"] > 0 and row["ours"]["peak_mib"] > 1
        assert row["ratio"] is None  # no other contestant
    assert "runtime_isab: time grows as n^" in done.stdout and (tmp_path / "growth.svg").exists()


def test_the_time_of_a_trainer_outside_its_steps():
    row = overhead.measure("max_regression", "rFF + Pooling (max)", 5)
    assert row["ms"] > 0 and all(0 <= row[part] < 1 for part in ("data", "logging", "saving")) and row["data"] > 0


def test_the_ablation_table(tmp_path: Path):
    """Every variant of ours computes the same losses, or there would be no table."""
    done = command("bench", "runtime_isab", "--n", 9, "--steps", 1, "--ablate", "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    (row,) = json.loads((tmp_path / "ablation.json").read_text())["rows"]
    assert {"ours", "one thread", "textbook order", "default malloc", "plain forms"} <= row.keys()
    assert "plain forms" in done.stdout.splitlines()[0] and "×" in done.stdout.splitlines()[1]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["poetry"], "there is no network 'poetry'; the networks are max_regression"),
        (["--steps", "0"], "--steps and --n must be at least 1"),
        (["--n", "x"], "expected an integer, given 'x'"),
    ],
)
def test_bad_requests(words: list[str], message: str, tmp_path: Path):
    done = command("bench", *words, cwd=tmp_path)
    assert done.returncode == 2 and message in done.stderr and not list(tmp_path.iterdir())


def test_contestants_with_different_losses_are_not_compared(monkeypatch):
    """Contestants whose losses differ are not compared."""

    class Other:
        def __init__(self, kind, name, n, weights):
            self.kind, self.turns = kind, []

        def take_turn(self):
            step = {"ms": 1.0, "loss": 2.0 if self.kind == "ours" else 2.1, "peak": 1, "more": 1}
            self.turns.append([step] * bench.STEPS_PER_TURN)

        def close(self):
            pass

    monkeypatch.setattr(bench, "Worker", Other)
    with pytest.raises(bench.UsageError, match="the losses of ours and torch sdpa differ"):
        bench.compare("max_regression", networks.SHAPES["max_regression"], 2, ["ours", "torch sdpa"])
