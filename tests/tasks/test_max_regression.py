"""Maximum regression: the sets, the predictions, and that every row learns."""

from pathlib import Path

import numpy as np
import pytest

from tasks import max_regression
from tasks.harness.run import Run
from tasks.harness.run_folder import RunFolder
from tasks.max_regression import EXPERIMENT, Config


def test_sets_are_sampled_as_described():
    X, mask, y = max_regression.sample(np.random.default_rng(0), 5_000, 10)
    assert X.shape == (5_000, 10, 1) and (X[~mask] == 0).all()
    sizes = mask.sum(axis=1)
    assert (np.abs(np.bincount(sizes, minlength=11)[1:] - 500) < 5 * np.sqrt(500)).all()
    assert (mask == (np.arange(10) < sizes[:, None])).all()
    np.testing.assert_array_equal(y[:, 0], [x[m].max() for x, m in zip(X[..., 0], mask, strict=True)])
    assert X.min() >= 0 and 99 < X.max() <= 100 and X[mask].mean() == pytest.approx(50, abs=1)


@pytest.mark.parametrize("label", EXPERIMENT.rows)
def test_maximum_regression_learns(label: str, tmp_path: Path):
    config = Config(arch=label, steps=250, batch=32, log_every=10, validation_sets=100, test_sets=4000)
    folder = RunFolder(tmp_path / "run", EXPERIMENT)
    folder.begin("quick", config)
    result = max_regression.train(config, Run(folder, config, label))
    losses = [line["loss"] for line in folder.metrics() if "loss" in line]
    assert np.mean(losses[-2:]) < losses[0] / 3  # from 50 or more to less than a third
    assert result["MAE"] < result["constant"] and 14 < result["constant"] < 15
    assert result["MAE"] <= result["MAE last"] * 1.2
    assert set(result["MAE of size"]) == set(range(1, 11))


def test_the_scale_divides_inputs_and_multiplies_outputs():
    config = Config(arch="rFF + Pooling (max)", dtype="float64")
    net = max_regression.network(config)
    X, mask, _ = max_regression.sample(np.random.default_rng(0), 3, 4)
    found = max_regression.predict(net, X, mask, 100.0).numpy()
    np.testing.assert_allclose(found, 100 * net(X / 100, mask).numpy(), rtol=1e-12)


def test_errors_do_not_depend_on_how_the_sets_are_batched():
    net = max_regression.network(Config(arch="rFF + Pooling (mean)", dtype="float64"))
    X, mask, y = max_regression.sample(np.random.default_rng(0), 1_500, 4)
    together = max_regression.errors(net, X, mask, y, 100.0)
    assert together.shape == (1_500,) and net.training
    single = np.abs(max_regression.predict(net, X[1_200:1_203], mask[1_200:1_203], 100.0).numpy() - y[1_200:1_203])
    np.testing.assert_allclose(together[1_200:1_203], single[:, 0], rtol=1e-9)
