"""Figures of counting characters: titles, line styles, and what is not plotted without checkpoint or data."""

from pathlib import Path

import pytest

from tasks import unique_characters as task
from tasks.harness import paper
from tasks.harness.cli import main
from tasks.harness.options import slug
from tasks.harness.run_folder import RunFolder
from tasks.plots.curves import line_style
from tests.helpers.runs import change_json

LABELS = (*task.EXPERIMENT.rows, "ISAB (1) + PMA", "ISAB (4) + PMA")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("characters")
    words = ["--batch", "2", "--steps", "2", "--evaluate-every", "1", "--validation-sets", "4", "--test-sets", "30"]
    labels = ["--arch", "SAB + PMA (1)", "--arch", "isab(4)+pma"]
    assert main(["train", "unique_characters", *labels, *words, "--out", str(out)]) == 0
    return out


def test_all_figures_are_plotted_with_their_protocol(runs: Path, capsys):
    assert {path.stem for path in runs.glob("*.png")} == set(task.EXPERIMENT.figures)
    found = [RunFolder(path.parent) for path in sorted(runs.glob("*/result.json"))]
    for plot in task.EXPERIMENT.figures.values():
        figure = plot(found)
        titles = [figure.get_suptitle(), *(axes.get_title() for axes in figure.axes)]
        assert any("synthetic stand-in" in title for title in titles)
    assert task.EXPERIMENT.figures["inducing_points"](found[-1:]) is None  # no ISAB among them
    assert main(["table", "unique_characters", "--runs", str(runs)]) == 0
    text = capsys.readouterr().out
    lines = {line.split("  ")[0]: line for line in text.splitlines() if line}
    ours = lines["SAB + PMA (1), synthetic stand-in"]
    assert "0.6037 ± 0.0072" in ours and " quick [2] " in ours
    assert "ISAB (4) + PMA, synthetic stand-in" in lines and " quick [1]" in lines["Best constant, synthetic stand-in"]


def test_no_figure_of_sets_without_checkpoint_or_data(runs: Path, tmp_path: Path):
    folder = RunFolder(tmp_path)
    folder.config_path.write_bytes((runs / "sab-pma1-seed0/config.json").read_bytes())
    assert task.EXPERIMENT.figures["characters"]([folder]) is None
    folder.checkpoint_path.write_bytes((runs / "sab-pma1-seed0/checkpoint.npz").read_bytes())
    assert task.EXPERIMENT.figures["characters"]([folder]) is not None
    folder.examples_path.unlink()
    change_json(folder.config_path, lambda about: about["options"].update(data="omniglot"))
    assert task.EXPERIMENT.figures["characters"]([folder]) is None  # the data is not here


def test_rows_have_the_papers_numbers_and_distinct_styles():
    assert set(task.EXPERIMENT.rows) == paper.TABLES["unique_characters"].keys()
    looks = [line_style(label) for label in LABELS]
    assert len({(style["color"], style["linestyle"]) for style in looks}) == len(LABELS)
    assert len({slug(label) for label in LABELS}) == len(LABELS)
    assert set(task.EXPERIMENT.quick_rows) <= set(task.EXPERIMENT.rows)
