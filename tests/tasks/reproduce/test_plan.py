"""The plan, what it costs, and starting a part of it."""

import shlex
from pathlib import Path

import pytest

from tasks.harness.cli import main
from tasks.reproduce import command, costs, plan, report
from tasks.reproduce.plan import Part, planned
from tasks.reproduce.rows import paper_rows
from tasks.sweep.store import Store
from tests.helpers.runs import assert_same_run

TINY = {"steps": 6, "batch": 4, "validation_sets": 10, "test_sets": 20, "evaluate_every": 3}


def test_every_run_of_the_plan_has_a_folder_of_its_own():
    paths = [one.folder.path for one in planned(Path("out"))]
    assert len(paths) == len(set(paths))


def test_the_plan_has_every_row_at_the_papers_protocol():
    there = {(one.folder.experiment.name, getattr(one.config, "arch", None), getattr(one.config, "points", None))
             for one in planned(Path("out")) if "paper" in one.folder.path.parent.name}  # fmt: skip
    assert there >= {(row.task, row.label, row.value) for row in paper_rows()}


def test_every_run_of_the_plan_has_a_cost():
    """If not: python -m tasks.reproduce.measure"""
    for one in planned(Path("out")):
        found = costs.cost(one)
        assert found is not None and 0 < found.hours < 10_000 and 0 < found.gigabytes < 1_000, one.folder.path


def test_twice_as_slow_takes_twice_as_long():
    one = next(planned(Path("out")))
    assert costs.cost(one, 2.0).hours == pytest.approx(2 * costs.cost(one).hours)
    assert 0.01 < costs.slowness() < 100


def test_what_fits_is_taken_in_the_order_of_the_plan(tmp_path: Path, monkeypatch, capsys):
    monkeypatch.setattr(costs, "slowness", lambda: 1.0)
    monkeypatch.setenv("MINISETS_DATA", str(tmp_path))
    plans = list(planned(tmp_path))
    first = costs.cost(plans[0]).hours
    chosen = command.fitting(plans, first * 1.01, 1, Store(tmp_path))
    assert chosen[0] is plans[0]
    assert sum(costs.cost(one).hours for one in chosen) <= first * 1.01
    none = command.fitting(plans, first * 0.99, 1, Store(tmp_path))
    assert plans[0] not in none  # but shorter ones that come later
    assert "left out, omniglot is not here: unique_characters, SAB + PMA (1), seed 0" in capsys.readouterr().out
    monkeypatch.setattr("tasks.harness.machine.memory", lambda: 1e6)
    assert command.fitting(plans, 1e9, 1, Store(tmp_path)) == []


@pytest.fixture
def tiny(monkeypatch) -> None:
    parts = (
        Part("max_regression", "tiny", ("SAB + PMA", "rFF + Pooling (max)"), TINY),
        Part("max_regression", "more", ("SAB + PMA",), TINY, seeds=2),
    )
    monkeypatch.setattr(plan, "parts", lambda: iter(parts))
    monkeypatch.setattr(costs, "slowness", lambda: 1.0)
    monkeypatch.setattr(costs, "cost", lambda one, slowness=1.0: costs.Cost(0.1, 0.1))
    monkeypatch.setattr(report, "cost", costs.cost)


def test_a_part_is_started_and_nothing_is_run_twice(tiny, tmp_path: Path, capsys):
    out = tmp_path / "out"
    assert main(["reproduce", "--hours", "0.25", "--jobs", "1", "--out", str(out)]) == 0
    assert "2 of 2 cells are finished" in capsys.readouterr().out
    assert {path.parent.relative_to(out).as_posix() for path in out.rglob("result.json")} == {
        "max_regression/tiny/sab-pma-seed0", "max_regression/tiny/rff-poolingmax-seed0"
    }  # fmt: skip
    assert main(["reproduce", "--out", str(out)]) == 0
    shown = capsys.readouterr().out
    assert "2 reduced, 0 on a synthetic stand-in, 62 not run" in shown
    missing = shown[shown.index("Missing") :].splitlines()[1:]  # seed 0 is there: the other part asks for it again
    assert len(missing) == 1 and missing[0].startswith("  0.1 h, 0.1 GB")
    assert '--arch "SAB + PMA"' in missing[0] and missing[0].endswith("--seed 1")
    assert main(["reproduce", "--hours", "1", "--jobs", "2", "--out", str(out)]) == 0
    again = out / "max_regression" / "more" / "sab-pma-seed1"
    assert (again / "result.json").exists()
    capsys.readouterr()
    assert main(["reproduce", "--out", str(out)]) == 0 and capsys.readouterr().out.endswith("nothing\n")
    by_hand = shlex.split(missing[0].partition("minisets ")[2])
    assert main([*by_hand, "--out", str(tmp_path / "by-hand")]) == 0
    assert_same_run(again, tmp_path / "by-hand")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--hours", "0"], "--hours must be a positive number, given 0"),
        (["--hours", "nan"], "--hours must be a positive number, given nan"),
        (["--hours", "1e-9"], "no run that is missing fits into 1e-09 hours"),
        (["--jobs", "0"], "--jobs must be at least 1, given 0"),
        (["--runs", "nowhere"], "there is no folder nowhere"),
        (["--hour", "1"], "there is no option --hour; did you mean --hours?"),
    ],
)
def test_bad_requests(words: list[str], said: str, tmp_path: Path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["reproduce", *words]) == 2
    assert said in capsys.readouterr().err and not list(tmp_path.iterdir())


def test_without_runs_everything_is_missing(tmp_path: Path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["reproduce"]) == 0
    shown = capsys.readouterr().out
    assert "64 not run" in shown and "(needs celeba: see minisets data list)" in shown
    assert shown.count("minisets train") >= 15 and "not measured" not in shown
