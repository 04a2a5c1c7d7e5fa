"""Configurations that describe themselves: inherited help and limits, deviations, and the command line made of them."""

import dataclasses
from dataclasses import dataclass
from pathlib import Path

import pytest

from tasks.clustering import Config as Clustering
from tasks.harness.cli import main
from tasks.harness.errors import UsageError
from tasks.harness.experiment import NAMES, find_experiment
from tasks.harness.options import (
    Deviation,
    LearningRate,
    Settings,
    Stepping,
    Training,
    deviations,
    kind_of,
    option,
    readable,
    slug,
)
from tasks.harness.parser import hint
from tasks.harness.run_folder import RunFolder
from tasks.max_regression import Config as Maximum

# ---- declaring options ----------------------------------------------------------------------------------------------


def test_help_limits_and_bookkeeping_are_inherited():
    @dataclass(frozen=True, kw_only=True)
    class Config(Stepping):
        steps: int = option(paper=300)
        log_every: int = option(7)
        batch: int = option(5, "circles per step", least=3)

    about = {field.name: field.metadata for field in dataclasses.fields(Config)}
    assert about["steps"]["help"] == "training steps" and about["steps"]["least"] == 1
    assert about["steps"]["paper"] == 300 and Config().steps == 300
    assert about["log_every"]["bookkeeping"] is True and about["log_every"]["paper"] is not None
    assert about["batch"]["help"] == "circles per step"
    with pytest.raises(UsageError, match="--steps must be at least 1, given 0"):
        Config(steps=0)
    with pytest.raises(UsageError, match="--batch must be at least 3, given 2"):
        Config(batch=2)
    assert Stepping(batch=2).batch == 2  # the limit of the base class did not change


def test_inherited_limits_reach_through_a_class_that_does_not_repeat_the_option():
    @dataclass(frozen=True, kw_only=True)
    class Between(LearningRate):
        points: int = option(5, "points")

    @dataclass(frozen=True, kw_only=True)
    class Config(Between):
        drop: float = option(paper=0.5)

    assert Config().drop == 0.5
    with pytest.raises(UsageError, match=r"--drop must be at most 1, given 1\.5"):
        Config(drop=1.5)


@pytest.mark.parametrize("name", ["max_regression", "clustering", "unique_characters", "image_clustering"])
def test_annealing_and_warming_up(name: str):
    Config = find_experiment(name).config
    rate = Config(steps=10, lr=0.5, drop=0.5, anneal=True, warmup=2).schedule()
    assert [rate(step) for step in (0, 1, 2, 6, 9)] == pytest.approx([0.25, 0.45, 0.4, 0.2, 0.05])
    rate = Config(steps=10, lr=0.5, drop=0.5, warmup=2).schedule()
    assert [rate(step) for step in (0, 1, 4, 5)] == pytest.approx([0.25, 0.5, 0.5, 0.05])


def test_the_default_and_the_papers_value_are_not_inherited():
    @dataclass(frozen=True, kw_only=True)
    class Config(Maximum):
        batch: int = option(9)

    assert deviations(Config()) == [] and deviations(Maximum(batch=9)) == [Deviation("batch", 9, 128, stated=True)]


def test_an_option_without_help_is_a_type_error():
    with pytest.raises(TypeError, match="the option radius of Config needs a help text"):

        class Config(Training):
            radius: float = option(1.0)


@pytest.mark.parametrize("kind", ["list", "int | None", "tuple", dict])
def test_an_option_of_another_type_is_a_type_error(kind: object):
    made = {"__annotations__": {"sizes": kind}, "sizes": option(3, "sizes")}
    with pytest.raises(TypeError, match=r"must be an int, a float, a str or a bool; sizes is declared as "):
        type("Config", (Training,), made)


@pytest.mark.parametrize("kind", [int, float, str, bool])
def test_types_may_be_annotated_as_strings_or_not(kind: type):
    for annotation in (kind, kind.__name__):
        made = dataclasses.make_dataclass("Config", [("it", annotation, option(kind(), "it"))], bases=(), frozen=True)
        assert kind_of(dataclasses.fields(made)[0]) is kind


def test_a_configuration_cannot_be_changed():
    with pytest.raises(AttributeError):
        Clustering().steps = 3
    with pytest.raises(UsageError):
        Settings(seed=-1)


# ---- learning rates -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["max_regression", "clustering", "unique_characters", "image_clustering"])
def test_a_drop_of_1_means_never(name: str):
    Config = find_experiment(name).config
    rates = {drop: Config(steps=10, lr=0.5, drop=drop).schedule() for drop in (0.7, 1.0)}
    assert [rates[0.7](step) for step in (0, 6, 7, 9)] == pytest.approx([0.5, 0.5, 0.05, 0.05])
    assert {rates[1.0](step) for step in range(10)} == {0.5}
    with pytest.raises(UsageError, match=r"--drop must be at most 1, given 1\.5"):
        Config(drop=1.5)


# ---- deviations -----------------------------------------------------------------------------------------------------


def test_the_paper_presets_are_the_papers_protocol():
    for name in NAMES:
        experiment = find_experiment(name)
        real = {"data": experiment.config().real} if hasattr(experiment.config, "real") else {}
        assert deviations(experiment.config(**experiment.presets["paper"] | real)) == []
        assert deviations(experiment.config(**experiment.presets["quick"])) != []


def test_deviations_name_our_value_and_the_papers():
    found = deviations(Maximum(batch=64, lr=1e-4))
    assert found == [Deviation("batch", 64, 128, stated=True), Deviation("lr", 1e-4, 1e-3, stated=True)]
    assert [str(one) for one in found] == ["batch 64 (paper: 128)", "lr 0.0001 (paper: 0.001)"]


def test_deviations_include_values_that_the_paper_leaves_open():
    (found,) = deviations(find_experiment("point_cloud").config(data="modelnet40", batch=32))
    assert found == Deviation("batch", 32, 64, stated=False)
    assert str(found) == "batch 32 (not in the paper; default: 64)"


def test_bookkeeping_is_a_deviation_only_where_it_is_named():
    config = Clustering(em_restarts=1, seed=3, log_every=1)
    assert deviations(config) == []
    assert [one.name for one in deviations(config, also=("em_restarts",))] == ["em_restarts"]


# ---- the command line -----------------------------------------------------------------------------------------------


def help_text(capsys, *words: str) -> str:
    with pytest.raises(SystemExit) as ended:
        main(["train", *words, "--help"])
    assert ended.value.code == 0
    return " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("name", NAMES)
def test_every_option_has_help_with_the_papers_value(name: str, capsys):
    experiment = find_experiment(name)
    text = help_text(capsys, name, "--preset", "paper")
    assert "--preset {quick,paper}" in text and "--resume" in text and "--out DIR" in text
    if name != "runtime":
        for flag in ("--steps", "--batch", "--lr", "--seed ", "--seeds", "--device", "--dtype"):
            assert flag in text
    if experiment.rows:
        assert "--arch" in text and "--style" in text
        steps = readable(experiment.config.steps)
        stated = "" if name == "point_cloud" else f"; paper: {steps}"  # the paper does not state the steps there
        assert f"training steps (default: {steps}{stated})" in text


def test_help_shows_the_values_of_the_preset_that_would_run(capsys):
    for words in (["max_regression"], ["max_regression", "--preset", "quick"], ["--preset=quick", "max_regression"]):
        text = help_text(capsys, *words)
        assert "training steps (default: 4,000; paper: 20,000)" in text
        assert "the values below are those of quick" in text
    for words in (["max_regression", "--preset", "paper"], ["--preset", "paper", "max_regression"]):
        text = help_text(capsys, *words)
        assert "training steps (default: 20,000; paper: 20,000)" in text
        assert "the values below are those of paper" in text


def test_numbers_with_commas_and_exponents(tmp_path: Path):
    words = ["--steps", "1e1", "--test-sets", "1,000", "--lr", "1e-3", "--arch", "sab+pma", "--batch", "4"]
    assert main(["train", "max_regression", *words, "--validation-sets", "5", "--out", str(tmp_path / "a")]) == 0
    options = RunFolder(tmp_path / "a").options()
    assert (options.steps, options.test_sets, options.lr) == (10, 1000, 1e-3)


def test_labels_may_be_written_in_other_spellings():
    assert Maximum(arch="sab+pma").arch == "SAB + PMA" and Clustering(arch=" isab(16) +PMA").arch == "ISAB (16) + PMA"
    assert Clustering(arch="isab(5)+pma").arch == "ISAB (5) + PMA"  # a label that no table has


def test_slugs_are_distinct():
    for name in NAMES:
        rows = find_experiment(name).rows
        assert len({slug(label) for label in rows}) == len(rows)
    assert slug("ISAB (16) + PMA") == "isab16-pma"


def test_hints():
    assert hint("tabel", ["table", "train"]) == "did you mean table?"
    assert hint("xyz", ["table", "train"], "there are two") == "there are two" and hint("xyz", ["table"]) == ""
