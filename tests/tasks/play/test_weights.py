"""The shipped weights, the command that makes them, and the networks of the user's runs."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

from minisets import checkpoint
from tasks import point_cloud, unique_characters
from tasks.data.standins import shapes
from tasks.harness.cli import main
from tasks.harness.errors import UsageError
from tasks.harness.experiment import Experiment
from tasks.harness.run_folder import RunFolder
from tasks.play import results, stored, train
from tasks.play.api import handlers
from tasks.play.library import Library
from tasks.play.messages import BadMessage, plain
from tasks.play.networks import SHIPPED
from tests.helpers.commandline import SHORT

POINTS = np.random.default_rng(0).normal(size=(60, 2)).round(3)


def test_the_shipped_weights_are_small():
    files = sorted(stored.WEIGHTS.glob("*.npz"))
    assert [path.stem for path in files] == sorted(SHIPPED)
    assert sum(path.stat().st_size for path in files) <= 2_000_000


def test_the_results_on_the_page_are_those_of_the_weights():
    """Measured again; the slowest ones are left to python -m tasks.play.train --measure."""
    for name in ("maximum-sab", "maximum-sum", "clouds-isab"):
        measured = results.measure(SHIPPED[name])
        for metric, value in stored.read(name).about["results"].items():
            assert measured[metric] == pytest.approx(value, rel=0.02, abs=0.005), (name, metric)


@pytest.mark.parametrize("damage", ["cut", "flipped", "empty", "missing", "text"])
def test_damaged_weights_are_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: str):
    content = bytearray((stored.WEIGHTS / "maximum-max.npz").read_bytes())
    monkeypatch.setattr(stored, "WEIGHTS", tmp_path)
    content[len(content) // 2] ^= 1 if damage == "flipped" else 0
    kept = {"cut": content[:3_000], "flipped": content, "empty": b"", "text": b"weights"}.get(damage)
    if kept is not None:
        (tmp_path / "maximum-max.npz").write_bytes(kept)
    with pytest.raises(UsageError, match=r"maximum-max\.npz.*python -m tasks\.play\.train"):
        stored.read("maximum-max")


def test_runs_come_first(runs: Path, tmp_path: Path):
    """A clustering run and two of the maximum, as minisets train leaves them."""
    library = Library([runs])
    described = library.describe()
    own = [model for model in described if model["own"]]
    assert described[: len(own)] == own and {model["page"] for model in own} == {"clustering", "maximum"}
    functions = handlers(library)
    for model in own:
        fields = {"points": POINTS.tolist(), "numbers": [1.0, 50.0]}
        answer = plain(functions[model["page"]]({"model": model["name"], **fields}))
        assert json.dumps(answer)
        for layer in functions["layers"]({"model": model["name"], "page": model["page"]})["layers"]:
            functions[model["page"]]({"model": model["name"], **fields, "layer": layer["name"]})
        tape = functions["tape"]({"page": model["page"], "model": model["name"], **fields})
        assert tape["nodes"]
    name = next(model["name"] for model in own if model["page"] == "clustering")
    with pytest.raises(BadMessage, match="there is no checkpoint of step 3; there are none, since runs keep only"):
        functions["clustering"]({"model": name, "points": [[0, 0]], "step": 3})


def test_a_damaged_run_is_a_sentence(tmp_path: Path):
    out = tmp_path / "run"
    assert main(["train", "max_regression", "--arch", "SAB + PMA", "--out", str(out), *SHORT]) == 0
    (out / "checkpoint.npz").write_bytes(b"damaged")
    library = Library([tmp_path])
    with pytest.raises(BadMessage, match=r"this run cannot be used: .*checkpoint\.npz is damaged"):
        handlers(library)["maximum"]({"model": f"run:{out}", "numbers": [1.0]})


def test_a_run_of_another_version_is_left_out(
    runs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
):
    def unreadable(self) -> None:
        raise UsageError("this version cannot read it")

    monkeypatch.setattr("tasks.harness.run_folder.RunFolder.options", unreadable)
    assert not any(model["own"] for model in Library([runs]).describe())
    assert "a run is left out: this version cannot read it" in capsys.readouterr().err


def stored_run(folder: Path, experiment: Experiment, **options: object) -> str:
    """A run folder with untrained weights; returns the name of its network."""
    run, config = RunFolder(folder, experiment), experiment.config(data="synthetic", arch="rFF + Pooling", **options)
    run.begin("paper", config)
    notes = {"run": run.name(), "log": "", "seconds": 0.0, "loss": 0.0, "count": 0}
    checkpoint.save(run.checkpoint_path, model=experiment.model(config), notes=notes)
    return f"run:{folder}"


def test_runs_on_characters_and_shapes(tmp_path: Path):
    characters = stored_run(tmp_path / "characters", unique_characters.EXPERIMENT)
    clouds = stored_run(tmp_path / "clouds", point_cloud.EXPERIMENT, points=10)
    functions = handlers(Library([tmp_path]))
    answer = functions["characters"]({"model": characters, "drawings": [{"strokes": [[[0.2, 0.2], [0.8, 0.8]]]}]})
    assert answer["rate"] > 0 and answer["attention"] is None
    shape = functions["clouds/sample"]({"model": clouds, "n": 50})
    answer = functions["clouds"]({"model": clouds, "points": shape["points"].tolist()})
    assert len(answer["probabilities"]) == len(shape["names"]) == 16
    assert functions["layers"]({"page": "clouds", "model": clouds}) == {"layers": []}


# ---- python -m tasks.play.train


def test_training_writes_what_the_page_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys):
    monkeypatch.setattr(stored, "WEIGHTS", tmp_path)
    name = "maximum-position"
    monkeypatch.setitem(SHIPPED, name, dataclasses.replace(SHIPPED[name], steps=4, kept=(0, 2)))
    assert train.main([name]) == 0
    printed = capsys.readouterr().out
    assert train.main(["--measure", name]) == 0
    found = stored.read(name)
    sentence = results.sentence("maximum", found.about["results"])
    assert sentence in printed and capsys.readouterr().out == f"{name}: {sentence}\n"
    assert list(found.states) == [0, 2, 4] and found.about["machine"]["processor"]
    first, last = (next(iter(found.states[step].values())) for step in (0, 4))
    assert first.dtype == np.float16 and not np.array_equal(first, last)


@pytest.mark.parametrize("name", ["clustering-position", "characters-sab", "clouds-isab"])
def test_losses(name: str, monkeypatch: pytest.MonkeyPatch):
    """Of an untrained network they are as large as without any knowledge, and every parameter has a gradient."""
    monkeypatch.setitem(shapes.PER_CLASS, "train", 2)
    shipped = SHIPPED[name]
    net, loss = shipped.network(), train.LOSSES[shipped.page](shipped)
    value = loss(net, np.random.default_rng(0))
    value.backward()
    assert 1 < value.item() < 20 and all(p.grad is not None for p in net.parameters())


def test_unknown_networks_are_said(capsys: pytest.CaptureFixture):
    with pytest.raises(SystemExit):
        train.main(["nobody"])
    assert "there is no network 'nobody'; they are clustering-isab" in capsys.readouterr().err
