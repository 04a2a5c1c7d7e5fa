"""The paper's rows: their number, their states, their distances, and the commands that make them again."""

import shlex
import shutil
from pathlib import Path

import pytest

from tasks.harness import train
from tasks.harness.options import STAND_IN
from tasks.harness.planning import configurations
from tasks.reproduce import readme, report, rows
from tasks.reproduce.plan import same_run
from tasks.reproduce.rows import NOT_RUN, PROTOCOL, REDUCED, PaperRow, RowState
from tests.helpers.commandline import ROOT

RESULTS = ROOT / "docs" / "results"


@pytest.fixture(scope="module")
def stored() -> list[RowState]:
    return rows.states([RESULTS])


def test_the_paper_has_64_rows():
    found = rows.paper_rows()
    assert len(found) == len(set(map(str, ((row.task, str(row)) for row in found)))) == 64
    assert all(row.printed for row in found)
    assert {row.value for row in found if row.task == "point_cloud"} == {100, 1_000, 5_000}


def test_the_page_of_stored_rows_is_up_to_date(stored):
    """If not: make tables."""
    assert (RESULTS / "rows.md").read_text(encoding="utf-8") == report.markdown(stored) + "\n"


def test_the_table_in_the_readme_is_up_to_date(stored):
    """If not: make tables."""
    (block,) = readme.BLOCK.findall(readme.README.read_text(encoding="utf-8"))
    assert block == readme.table(stored)
    assert block.count("\n") >= 12 and STAND_IN not in block


def test_every_stored_row_is_made_again_by_its_command(stored):
    for one in stored:
        if one.run is None:
            continue
        _, _, *words = shlex.split(one.run["command"])
        experiment, given = train.parse(words)
        preset, seeds = given["preset"] or experiment.default_preset, given["seeds"]
        given = {key: value for key, value in given.items() if key in experiment.config.__dataclass_fields__}
        asked = configurations(experiment, preset, given, seeds)
        assert [config.seed for config in asked] == one.run["seeds"], one.row
        runs = [run for run in rows.find_runs([RESULTS / one.row.task], experiment) if run.finished()]
        for config in asked:
            assert any(same_run(config, run.options()) for run in runs), f"{one.row}: {one.run['command']}"


def row(ours: float, *, steps: int = 10, deviations: tuple = (), data: str | None = None) -> dict:
    about = {"ours": {"MAE": {"mean": ours}}, "steps": steps, "seeds": [0], "deviations": list(deviations)}
    return about | ({"data": data} if data else {})


def test_the_run_nearest_to_the_protocol_counts():
    protocol, few, many = row(1), row(1, deviations=("a",)), row(1, steps=20, deviations=("a", "b"))
    stand_in = row(1, steps=99, data=STAND_IN)
    assert sorted([stand_in, few, many, protocol], key=rows._nearness) == [protocol, many, few, stand_in]
    assert [rows.state_of(run) for run in (protocol, few, stand_in)] == [PROTOCOL, REDUCED, STAND_IN]


def test_distances_are_in_the_papers_standard_deviations():
    printed = {"MAE": "0.2 ± 0.05"}
    lower = RowState(PaperRow("max_regression", "SAB + PMA", None, printed), PROTOCOL, row(0.3))
    assert lower.distances() == {"MAE": pytest.approx(-2)}  # a larger error is worse
    higher = RowState(PaperRow("unique_characters", "SAB + PMA (1)", None, printed), PROTOCOL, row(0.3))
    assert higher.distances() == {"MAE": pytest.approx(2)}
    assert RowState(higher.row, STAND_IN, row(0.3, data=STAND_IN)).distances() == {}  # of other data
    assert RowState(higher.row, NOT_RUN, None).distances() == {}
    assert "2.0 σ better" in report.text([higher]) and "2.0 σ worse" in report.text([lower])
    assert "not run" in report.text([RowState(higher.row, NOT_RUN, None)])


def test_how_a_row_is_reduced_is_said_in_few_words():
    notes = ["steps 10 (paper: 200)", "lr 0.1 (not in the paper; default: 0.2)", "data synthetic stand-in (paper: x)",
             "half of the images"]  # fmt: skip
    assert rows.how_reduced({"deviations": notes}) == "steps 10 of 200; lr 0.1 instead of 0.2; half of the images"


def test_a_note_beside_a_run_is_a_deviation(runs: Path, tmp_path: Path):
    """What people know and the options do not say, such as that a part of the images was missing."""
    shutil.copytree(runs / "max", tmp_path / "max")
    (tmp_path / "max" / "note.txt").write_text("half of\nthe numbers\n", encoding="utf-8")
    state = next(one for one in rows.states([tmp_path]) if str(one.row) == "SAB + PMA")
    assert state.run["deviations"][-1] == "half of the numbers" and state.state == REDUCED
    assert "half of the numbers" in report.text([state])
