"""--data: the real data if present, otherwise a stand-in, named as such in every table, figure and result."""

from __future__ import annotations

import dataclasses
import json
import re
import sys
import types
from dataclasses import dataclass
from pathlib import Path

import pytest

from tasks.data import DataError, OnData, data_folder, data_option, locate
from tasks.data.catalog import DATA_SETS
from tasks.harness import experiment as registry
from tasks.harness import tables
from tasks.harness.cli import main
from tasks.harness.errors import UsageError
from tasks.harness.experiment import Experiment, Table
from tasks.harness.options import Deviation, deviations, from_json, option
from tasks.harness.run_folder import RunFolder
from tasks.plots import curves as figures


@dataclass(frozen=True, kw_only=True)
class Config(OnData):
    data: str = data_option("omniglot")
    steps: int = option(4, "training steps")


@pytest.fixture
def real(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder that seems to contain Omniglot, one part as a zip and one unpacked."""
    monkeypatch.setenv("MINISETS_DATA", str(tmp_path / "data"))
    (tmp_path / "data/omniglot/images_background").mkdir(parents=True)
    (tmp_path / "data/omniglot/images_evaluation.zip").touch()
    return tmp_path / "data"


def test_the_data_folder_is_named_by_the_environment(monkeypatch, tmp_path: Path):
    assert str(data_folder()) == "/nonexistent/minisets"  # by conftest.py
    monkeypatch.delenv("MINISETS_DATA")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert data_folder() == tmp_path / ".cache/minisets"
    monkeypatch.setenv("MINISETS_DATA", "~/here")
    assert data_folder() == tmp_path / "here"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("", r"MINISETS_DATA is set but empty; set it to a folder, or unset it to use ~/\.cache/minisets"),
        ("~nosuchuser/data", "MINISETS_DATA is ~nosuchuser/data, but there is no such user; set it to a folder"),
        (__file__, "test_options.py, which is not a folder; set it to one"),
        ("\x1b[2J" + "x" * 300, r"MINISETS_DATA is .x1b\[2Jx*…, but File name too long; set it to a folder"),
    ],
)
def test_a_data_folder_that_cannot_be_one_is_a_sentence(given: str, message: str, monkeypatch, capsys):
    monkeypatch.setenv("MINISETS_DATA", given)
    for words in (["data", "list"], ["train", "vgg"]):
        assert main(words) == 2
        assert re.search(message, shown := capsys.readouterr().err) and shown.count("\n") == 1


def test_a_data_folder_that_may_not_be_read_is_a_sentence(tmp_path: Path, monkeypatch):
    monkeypatch.setenv("MINISETS_DATA", str(tmp_path))
    monkeypatch.setattr("os.access", lambda path, mode: False)  # root may read everything
    with pytest.raises(DataError, match="a folder that may not be read; change that, or set another"):
        data_folder()


def test_the_first_form_that_exists_is_taken(real: Path):
    assert locate("omniglot/images_background.zip", "omniglot/images_background") == real / "omniglot/images_background"
    assert locate("omniglot/images_background", "omniglot/images_evaluation.zip").name == "images_background"
    assert locate("omniglot/none", "none") is None


def test_auto_is_the_real_data_if_present(real: Path):
    assert Config().data == Config(data="auto").data == "omniglot" and deviations(Config()) == []
    (real / "omniglot/images_evaluation.zip").unlink()  # half of it is not enough
    config = Config()
    assert config.data == "synthetic"
    assert deviations(config) == [Deviation("data", "synthetic stand-in", "omniglot", stated=True)]
    assert dataclasses.replace(config, seed=3).data == "synthetic"


def test_the_data_used_is_stored_and_read_without_the_data(real: Path, monkeypatch):
    stored = [dataclasses.asdict(Config(data=data)) for data in ("auto", "synthetic")]
    monkeypatch.setenv("MINISETS_DATA", "/nonexistent")  # another machine: a table needs no data
    assert [from_json(Config, values, "config.json").data for values in stored] == ["omniglot", "synthetic"]
    with pytest.raises(UsageError, match="--data must be one of auto, synthetic, omniglot; given 'celeba'"):
        from_json(Config, {"data": "celeba"}, "config.json")


@pytest.mark.parametrize("name", DATA_SETS)
def test_missing_data_is_refused_before_a_run_starts(name: str):
    with pytest.raises(DataError) as refused:
        DATA_SETS[name].require()
    sentence = str(refused.value)
    assert (
        "is not in /nonexistent/minisets: there is no " in sentence
        and f"minisets data fetch {name} downloads" in sentence
    )
    assert DATA_SETS[name].needs[0][0] in sentence and DATA_SETS[name].needs[-1][-1] in sentence
    Config(data="synthetic").check()
    with pytest.raises(DataError):
        Config(data="omniglot").check()


TINY = Experiment(
    name="tiny", title="A tiny experiment", config=Config, presets={"quick": {}, "paper": {}}, rows=("SAB + PMA",),
    train=lambda config, run: {"score": 0.5, "chance": 0.1},
    table=Table(
        columns={"score": "score"}, references={"Chance": {"score": "chance"}}, printed={"SAB + PMA": {"score": "0.7"}},
    ),
)  # fmt: skip


@pytest.fixture
def task(monkeypatch: pytest.MonkeyPatch) -> None:
    """An experiment on data whose training ends at once."""
    module = types.ModuleType("tasks.tiny")
    module.EXPERIMENT = TINY
    monkeypatch.setitem(sys.modules, "tasks.tiny", module)
    for user in ("tasks.harness.experiment", "tasks.harness.run_folder", "tasks.harness.train", "tasks.harness.cli"):
        monkeypatch.setattr(f"{user}.NAMES", (*registry.NAMES[:4], "tiny"))


def test_results_tables_and_titles_name_the_stand_in(task, real: Path, tmp_path: Path, capsys):
    for data in ("auto", "synthetic"):
        assert main(["train", "tiny", "--data", data, "--out", str(tmp_path / "runs" / data)]) == 0
    message = capsys.readouterr().out
    assert "data: omniglot ->" in message and "data: synthetic stand-in ->" in message
    results = {data: json.loads((tmp_path / f"runs/{data}/result.json").read_text()) for data in ("auto", "synthetic")}
    assert [result["data"] for result in results.values()] == ["omniglot", "synthetic stand-in"]
    assert [result["options"]["data"] for result in results.values()] == ["omniglot", "synthetic"]
    folders = [RunFolder(tmp_path / "runs" / data) for data in results]
    assert figures.protocol(folders[:1]) == "preset quick, 4 steps, style paper, omniglot"
    assert figures.protocol(folders[1:]) == "preset quick, 4 steps, style paper, synthetic stand-in"
    lines = {line.split("  ")[0]: line for line in tables.text(TINY, folders).splitlines()}
    for label in ("Chance", "SAB + PMA"):
        assert " quick [1]" in lines[f"{label}, synthetic stand-in"]
        assert " quick" in lines[label] and "[1]" not in lines[label]
    assert "[1] not the paper's protocol: data synthetic stand-in (paper: omniglot)" in tables.markdown(TINY, folders)
    assert [row["data"] for row in tables.rows(TINY, folders)] == ["omniglot", "synthetic stand-in"] * 2


def test_a_run_resumes_with_the_data_it_started_with(task, real: Path, tmp_path: Path, monkeypatch, capsys):
    out = ["train", "tiny", "--out", str(tmp_path / "run")]
    assert main([*out, "--data", "synthetic"]) == 0
    for more in ([], ["--data", "auto"], ["--preset", "quick"]):
        assert main([*out, "--resume", *more]) == 0
    assert main([*out, "--resume", "--data", "omniglot"]) == 2
    assert "--data synthetic there, omniglot here" in capsys.readouterr().err
    monkeypatch.setenv("MINISETS_DATA", "/nonexistent")
    assert main(["train", "tiny", "--out", str(tmp_path / "other"), "--data", "omniglot"]) == 2
    assert "Omniglot is not in /nonexistent" in capsys.readouterr().err
    assert not (tmp_path / "other").exists()
