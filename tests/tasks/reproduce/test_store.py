"""Copying finished runs into docs/results, and measuring costs."""

import json
from pathlib import Path

from tasks.harness.run_folder import RunFolder
from tasks.reproduce import costs, measure, store
from tasks.reproduce.plan import Part, planned


def test_finished_runs_are_copied_once_without_weights(runs: Path, tmp_path: Path, monkeypatch, capsys):
    monkeypatch.setattr(store, "RESULTS", tmp_path)
    assert store.main([str(runs)]) == 0
    copied = tmp_path / "max" / "sab-pma-seed0"
    assert "max/sab-pma-seed0" in capsys.readouterr().out.splitlines()
    assert sorted(path.name for path in copied.iterdir()) == ["config.json", "metrics.jsonl", "result.json"]
    assert (tmp_path / "one" / "examples.npz").exists()
    assert RunFolder(copied).finished() and RunFolder(copied).metrics()
    assert store.main([str(runs)]) == 0 and not capsys.readouterr().out


def test_photographs_of_people_are_not_copied(runs: Path, tmp_path: Path, monkeypatch):
    run = RunFolder(runs / "one")
    monkeypatch.setattr(run, "options", lambda: type("Options", (), {"data": "celeba"}))
    store.store(run, tmp_path / "faces")
    assert not (tmp_path / "faces" / "examples.npz").exists() and (tmp_path / "faces" / "result.json").exists()


def test_costs_are_measured_in_seconds_of_a_core(tmp_path: Path, monkeypatch, capsys):
    parts = (Part("max_regression", "tiny", ("rFF + Pooling (max)",), {"batch": 8}),)
    monkeypatch.setattr("tasks.reproduce.plan.parts", lambda: iter(parts))
    monkeypatch.setattr(costs, "FILE", tmp_path / "costs.json")
    assert measure.main() == 0 and "rFF + Pooling (max)" in capsys.readouterr().out
    found = json.loads(costs.FILE.read_text(encoding="utf-8"))
    (one,) = planned(tmp_path)
    cost = found["kinds"][costs.kind("max_regression", one.config)]
    assert 0 < cost["seconds"] < 1 and 0.01 < cost["gigabytes"] < 10 and 0 < found["yardstick"] < 1
