"""Clustering of images: the sets are the paper's, the numbers stay finite in 512 dimensions, and it learns."""

from __future__ import annotations

import functools
import json
import math
from pathlib import Path

import numpy as np
import pytest

from autograd import Tensor, backend
from tasks import clustering, image_clustering
from tasks.data import DataError, features
from tasks.data.features import Features
from tasks.data.standins import image_features
from tasks.harness.cli import main
from tasks.harness.errors import UsageError
from tasks.harness.run import TEST, TRAINING, rng_for
from tasks.harness.run_folder import RunFolder
from tasks.image_clustering import SIGMA_FLOOR, Config, Pool, network
from tasks.metrics import mixtures
from tasks.metrics.mixtures import Mixture
from tests.helpers.runs import assert_same_run
from tests.tasks.data.test_cifar100 import some

TINY = ["--n-min", "10", "--n-max", "20", "--batch", "2", "--validation-sets", "2", "--test-sets", "4"]
TINY += ["--em-restarts", "1", "--evaluate-every", "4", "--log-every", "2", "--save-every", "3"]


@pytest.fixture(autouse=True)
def few_images(monkeypatch: pytest.MonkeyPatch) -> None:
    """A smaller and faster stand-in: 20 images of each class."""
    few = functools.partial(image_features.synthesize, per_class=20)
    monkeypatch.setattr(image_features, "synthesize", few)


def config(**options) -> Config:
    return Config(**{"data": "synthetic", "n_min": 10, "n_max": 40} | options)


# ---- the sets -------------------------------------------------------------------------------------------------------


def test_sets_are_sampled_as_in_the_paper():
    """n ~ Unif, four different classes, n different images of them, each labelled by its class."""
    pool, labels = Pool(config()), image_features.synthesize().labels
    sizes, classes, shares = [], [], []
    for step in range(60):
        which, mask, kind = pool.sample(config(), rng_for(0, TRAINING, step), 10, ragged=True)
        for images, present, z in zip(which, mask, kind, strict=True):
            images, z = images[present], z[present]
            assert len(set(images)) == len(images) and set(z) <= {0, 1, 2, 3}
            of = [set(labels[images[z == j]]) for j in range(4)]
            assert all(len(one) <= 1 for one in of) and len(set.union(*of)) == sum(map(len, of))
            sizes.append(len(images))
            classes += list(set.union(*of))
            shares.append((z == 0).mean())
    assert min(sizes) == 10 and max(sizes) == 40 and abs(np.mean(sizes) - 25) < 1
    assert len(set(classes)) == 100 and np.bincount(classes).max() < 50  # 24 on average
    assert abs(np.mean(shares) - 1 / 4) < 0.02  # uniformly among the images of all four


def test_a_batch_has_one_size_and_depends_on_seed_and_step_alone():
    pool = Pool(config())
    which, mask, _ = pool.sample(config(), rng_for(3, TRAINING, 7), 5, ragged=False)
    assert mask.all()
    np.testing.assert_array_equal(which, pool.sample(config(), rng_for(3, TRAINING, 7), 5, ragged=False)[0])
    assert not np.array_equal(which[0, :10], pool.sample(config(), rng_for(3, TRAINING, 8), 5, ragged=False)[0][0, :10])
    first, second = (next(pool.eval_batches(config(seed=seed), TEST, 3)) for seed in (0, 1))
    for a, b in zip(first, second, strict=True):  # test sets do not depend on the seed
        np.testing.assert_array_equal(a, b)
    assert first[0].shape[0] == 3 and (first[0][~first[1]] == 0).all()


def test_too_few_images_are_refused(tmp_path: Path):
    with pytest.raises(UsageError, match=r"some 4 have only 2,000 images: too few for sets of --k 4 .* --n-max 2,001"):
        config(n_max=2_001).check()
    with pytest.raises(UsageError, match="there are 100 classes, of which some 101 have"):
        config(k=101).check()
    assert main(["train", "image_clustering", "--k", "101", "--out", str(tmp_path / "run")]) == 2
    assert not (tmp_path / "run").exists()


# ---- 512 dimensions -------------------------------------------------------------------------------------------------


def test_constant_features_and_outliers_are_harmless():
    """In half of the features a class has no variance at all, as after a ReLU; one image is far from all others."""
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1], 30)
    X = rng.normal(size=(1, 60, 512)) + 0.5 * labels[:, None]
    X[:, :, :256] = labels[:, None]
    X[0, 0] = 1e3
    mask = np.ones((1, 60), bool)
    start = Mixture(np.log(np.full((1, 2), 0.5)), rng.normal(size=(1, 2, 512)), np.ones((1, 2, 512)))
    for _ in range(5):
        start = mixtures.em_step(X, mask, start, SIGMA_FLOOR)
        assert start.sigma.min() >= SIGMA_FLOOR and np.isfinite(mixtures.log_likelihood(X, mask, start)).all()
    values, found = mixtures.em_from_points(rng, X, mask, 3, restarts=3, floor=SIGMA_FLOOR)
    assert np.isfinite(values).all() and np.isfinite(found.mu).all()
    parts = mixtures.assign(X, found)[0, 1:]
    assert mixtures.adjusted_rand_index(parts, labels[1:]) == 1


@pytest.mark.parametrize("arch", ["rFF + Pooling", "ISAB (4) + PMA"])
def test_the_loss_is_the_likelihood_and_finite_on_any_features(arch: str):
    net = network(config(arch=arch))
    X = np.random.default_rng(0).normal(size=(2, 12, 512)).astype("float32")
    Y = net(X)
    log_pi, mu, sigma = (p.numpy().astype("float64") for p in clustering.parameters(Y, SIGMA_FLOOR))
    assert mu.shape == sigma.shape == (2, 4, 512) and sigma.min() > SIGMA_FLOOR
    direct = log_pi[:, None] - 0.5 * (((X[:, :, None] - mu[:, None]) / sigma[:, None]) ** 2).sum(-1)
    direct -= np.log(sigma).sum(-1)[:, None] + 256 * math.log(2 * math.pi)
    want = np.logaddexp.reduce(direct, axis=-1).mean()
    assert image_clustering.mean_log_likelihood(Tensor(X), None, Y, SIGMA_FLOOR).item() == pytest.approx(want, rel=1e-4)
    X *= 1e3  # features that far out do not occur; were they to, nothing overflows
    loss = -image_clustering.mean_log_likelihood(Tensor(X), None, net(X), SIGMA_FLOOR)
    loss.backward()
    assert np.isfinite(loss.item()) and all(np.isfinite(p.grad).all() for p in net.parameters() if p.grad is not None)


@pytest.mark.parametrize("arch", image_clustering.EXPERIMENT.rows)
def test_the_order_of_the_images_does_not_matter(arch: str):
    net = network(config(arch=arch, dtype="float64"))
    X = np.random.default_rng(0).normal(size=(2, 9, 512))
    np.testing.assert_allclose(net(X[:, ::-1]).data, net(X).data, rtol=1e-8, atol=1e-10)


def test_a_step_on_every_device(device: str):
    mine = config(device=device, arch="ISAB (4) + PMA")
    net, pool = network(mine), Pool(mine)
    which, *_ = pool.sample(mine, rng_for(0, TRAINING), 2, ragged=False)
    X = Tensor(pool.on_device[backend.to_device(which, device)])
    loss = -clustering.mean_log_likelihood(X, None, net(X), SIGMA_FLOOR)
    loss.backward()
    assert X.device == net.head.weight.device and np.isfinite(backend.to_host(net.head.weight.grad)).all()
    scores = clustering.evaluate(net, pool.eval_batches(mine, TEST, 2), SIGMA_FLOOR)
    assert all(map(math.isfinite, scores.values()))


# ---- runs -----------------------------------------------------------------------------------------------------------


def test_it_learns_and_plots(tmp_path: Path, capsys):
    words = ["--n-min", "30", "--n-max", "40", "--steps", "45", "--evaluate-every", "15", "--validation-sets", "10"]
    words += ["--test-sets", "10", "--em-restarts", "1", "--batch", "5", "--lr", "1e-3", "--arch", "ISAB (4) + PMA"]
    assert main(["train", "image_clustering", *words, "--out", str(tmp_path)]) == 0
    message = capsys.readouterr().out
    assert "synthetic stand-in" in message and (tmp_path / "clusters.png").exists()
    curve = [line for line in RunFolder(tmp_path).metrics() if "ARI0" in line]
    assert curve[-1]["LL0"] > curve[0]["LL0"] + 20 and curve[-1]["ARI0"] > curve[0]["ARI0"] + 0.05
    metrics = json.loads((tmp_path / "result.json").read_text())["metrics"]
    assert metrics["LL1"] > metrics["LL0"] and metrics["oracle LL"] > metrics["LL0"] and metrics["oracle"] > 0.4


def test_a_resumed_run_ends_with_the_same_bits(tmp_path: Path, monkeypatch):
    def begin(name: str, *more: str) -> int:
        return main(["train", "image_clustering", *TINY, "--arch", "rFF + PMA", "--steps", "9", *more, "--out", name])

    monkeypatch.chdir(tmp_path)
    assert begin("straight") == 0
    left, real = iter(range(7)), image_clustering.mean_log_likelihood

    def dies(*arguments):
        if next(left, None) is None:
            raise RuntimeError("the lights went out")
        return real(*arguments)

    with monkeypatch.context() as patched, pytest.raises(RuntimeError, match="the lights went out"):
        patched.setattr(image_clustering, "mean_log_likelihood", dies)
        begin("stopped")
    assert json.loads((tmp_path / "stopped/progress.json").read_text())["step"] == 6
    assert begin("stopped", "--resume") == 0
    assert_same_run(tmp_path / "stopped", tmp_path / "straight")
    assert (tmp_path / "stopped/clusters.svg").read_bytes() == (tmp_path / "straight/clusters.svg").read_bytes()


def test_which_features_are_used(tmp_path: Path, monkeypatch, capsys):
    """Those of the real images if they are there, those of a folder that is named, or made-up ones."""
    monkeypatch.setenv("MINISETS_DATA", str(tmp_path))
    assert Config().data == "synthetic" and Config().folder() is None
    with pytest.raises(DataError, match=r"contains no image features: .*python -m tasks.vgg extracts them"):
        Config(data="cifar100").check()
    features.save(features.default_folder(), {"train": some(4_000)}, {"data": "cifar100", "accuracy": 0.7})
    assert Config().data == "cifar100" and Config().folder() == features.default_folder()
    with pytest.raises(UsageError, match="there are 100 classes, of which some 4 have only"):
        Config().check()
    Config(n_min=50, n_max=60).check()
    warning = f"warning: {features.default_folder()}, train: 4,000 images (50,000 expected); "
    assert capsys.readouterr().err.count(warning) == 1
    assert Config(data="synthetic").folder() is None
    other = tmp_path / "other"
    features.save(other, {"train": Features(*some(400))}, {"data": "synthetic", "accuracy": 0.7})
    mine = Config(features=str(other))
    assert mine.data == "synthetic" and mine.folder() == other
    with pytest.raises(UsageError, match="other are of the data synthetic, not of cifar100"):
        Config(features=str(other), data="cifar100").check()
    pool = Pool(Config(features=str(other), n_min=1, n_max=2, k=2))
    np.testing.assert_allclose(pool.vectors.mean(axis=0), 0, atol=1e-5)
