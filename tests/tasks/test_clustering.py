"""Amortized clustering: the loss, the sets, and that it learns."""

from pathlib import Path

import numpy as np
import pytest

from autograd import Tensor
from tasks import clustering
from tasks.clustering import EXPERIMENT, Config
from tasks.harness.run import TEST, TRAINING, Run, rng_for
from tasks.harness.run_folder import RunFolder


@pytest.mark.parametrize("label", ["rFF + Pooling", "ISAB (8) + PMA"])
@pytest.mark.parametrize("ragged", [False, True])
def test_clustering_learns(label: str, ragged: bool, tmp_path: Path):
    config = Config(arch=label, steps=120, batch=5, n_min=20, n_max=40, log_every=10, validation_sets=10,
                    test_sets=20, em_restarts=0, ragged=ragged)  # fmt: skip
    folder = RunFolder(tmp_path / "run", EXPERIMENT)
    folder.begin("quick", config)
    result = clustering.train(config, Run(folder, config, label))
    losses = [line["loss"] for line in folder.metrics() if "loss" in line]
    assert min(losses[-3:]) < losses[0] - 0.7  # −LL, at first above 4.4
    assert result["LL0"] < result["LL1"] < result["oracle"] and "EM" not in result
    assert 0 <= result["ARI0"] <= 1 and 0.5 < result["oracle ARI"] <= 1


def test_the_loss_of_a_ragged_batch_is_the_mean_over_its_sets():
    config = Config(arch="rFF + PMA", n_min=3, n_max=9)
    net = clustering.network(config).astype("float64")
    X, mask, _, _ = clustering.sample(config, np.random.default_rng(0), 4, ragged=True)
    together = clustering.mean_log_likelihood(Tensor(X), mask, net(X, mask)).item()
    single = []
    for x, m in zip(X, mask, strict=True):
        x = x[None, m]
        single.append(clustering.mean_log_likelihood(Tensor(x), None, net(x)).item())
    assert together == pytest.approx(np.mean(single), rel=1e-9)


def test_training_and_test_sets_are_disjoint():
    config = Config()
    test = {x.tobytes() for batch in clustering.eval_batches(config, TEST, 100) for x in batch[0]}
    seen = {
        x.tobytes() for step in range(50) for x in clustering.sample(config, rng_for(0, TRAINING, step), 10, False)[0]
    }
    assert len(test) == 100 and len(seen) == 500 and not test & seen


def test_the_test_sets_are_the_same_for_every_run():
    configs = (Config(), Config(seed=1, batch=3, arch="rFF + PMA"))
    first, second = ([batch[0] for batch in clustering.eval_batches(config, TEST, 25)] for config in configs)
    assert [len(x) for x in first] == [10, 10, 5]
    for a, b in zip(first, second, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("label", ["ISAB (4) + PMA", "rFF + Pooling"])
def test_examples_have_what_the_figures_show(label: str):
    config = Config(arch=label, n_min=5, n_max=9, dtype="float64")
    net = clustering.network(config)
    shown = clustering.examples(config, net)
    assert shown["X"].shape[0] == 10 and shown["found_mu"].shape == shown["true_mu"].shape == (10, 4, 2)
    assert ("attention" in shown) == (label == "ISAB (4) + PMA")
    if "attention" in shown:
        assert shown["attention"].shape == (4, shown["mask"][0].sum())
        np.testing.assert_allclose(shown["attention"].sum(axis=1), 1)
    assert net.training
