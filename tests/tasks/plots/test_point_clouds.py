"""Figures of point clouds, with and without the checkpoint."""

from pathlib import Path

import numpy as np

from tasks.harness.run_folder import RunFolder
from tasks.point_cloud import EXPERIMENT
from tests.tasks.test_point_cloud import few, train_tiny  # noqa: F401  few is a fixture


def test_figures_without_checkpoints(tmp_path: Path):
    train_tiny(tmp_path / "run", arch="rFF + Pooling", steps=2)
    run = RunFolder(tmp_path / "run")
    assert len(EXPERIMENT.figures["clouds"]([run]).axes) == 9 + 1  # nine shapes and the color bar
    run.checkpoint_path.unlink()
    assert len(EXPERIMENT.figures["clouds"]([run]).axes) == 9 + 1  # from examples.npz
    run.examples_path.unlink()
    assert EXPERIMENT.figures["clouds"]([run]) is None
    panel = EXPERIMENT.figures["confusion"]([run]).axes[0]
    shares = panel.images[0].get_array()
    assert shares.shape == (16, 16)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    assert [text.get_text() for text in panel.get_yticklabels()][:2] == ["ball", "bottle"]
