"""Stored runs can be made again: the first hundred steps of three of them, by this version and on this machine."""

from pathlib import Path

import numpy as np
import pytest

from tasks.harness.errors import Interrupted
from tasks.harness.run import Run
from tasks.harness.run_folder import RunFolder
from tests.helpers.commandline import ROOT

RESULTS = ROOT / "docs" / "results"
STEPS = 100  # stored logs have a line for every hundred


class FirstSteps(Run):
    @property
    def stopping(self) -> bool:
        return self.done >= STEPS


@pytest.mark.parametrize(
    "name",
    [
        "clustering/quick/isab16-pma-seed0",
        "max_regression/anneal/sab-pma-seed0",
        "clustering/quick/rff-pooling-seed0",
    ],
)
def test_the_first_steps_of_a_stored_run(name: str, tmp_path: Path):
    stored = RunFolder(RESULTS / name)
    config, experiment = stored.options(), stored.experiment
    again = RunFolder(tmp_path / "run", experiment)
    again.begin(stored.manifest()["preset"], config)
    with pytest.raises(Interrupted), np.errstate(all="ignore"):
        experiment.train(config, FirstSteps(again, config, name))
    lines = [line for line in stored.metrics() if line["step"] <= STEPS]
    assert lines and [line["step"] for line in again.metrics()] == [line["step"] for line in lines]
    for ours, theirs in zip(again.metrics(), lines, strict=True):
        assert ours == pytest.approx(theirs, rel=1e-5)
