"""Counting unique characters: the paper's sets, a network invariant to padding and order, and training."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from autograd import no_grad
from minisets.nn import BatchNorm
from tasks import unique_characters as task
from tasks.harness.cli import main
from tasks.harness.errors import UsageError
from tasks.harness.run import TEST, TRAINING, VALIDATION, Run, rng_for
from tasks.harness.run_folder import RunFolder
from tasks.unique_characters import Config, Sets
from tests.helpers.runs import state
from tests.tasks.data.test_omniglot import tiny, unpack  # noqa: F401  a tiny Omniglot, as a fixture

LABELS = (*task.EXPERIMENT.rows, "ISAB (1) + PMA", "ISAB (4) + PMA")
SMALL = {"data": "synthetic", "batch": 4, "n_min": 3, "n_max": 5, "validation_sets": 10, "test_sets": 20}


def sampled(B: int = 4_000, **options) -> Sets:
    return task.sample(Config(data="synthetic", **options), np.random.default_rng(0), B, 50)


def one_by_one(sets: Sets) -> list[np.ndarray]:
    """The images (n, 2) of each set."""
    return np.split(sets.images, np.cumsum(sets.mask.sum(axis=1))[:-1])


# ---- the sets -------------------------------------------------------------------------------------------------------


def test_sets_are_sampled_by_the_papers_procedure():
    sets = sampled()
    sizes, counts = sets.mask.sum(axis=1), sets.counts
    assert sets.images.shape == (sizes.sum(), 2) and sets.mask.shape == (4_000, 10)
    for n in range(6, 11):  # n uniform, and c uniform given n; five standard deviations
        of_n = counts[sizes == n]
        assert abs(len(of_n) - 800) < 5 * np.sqrt(4_000 * 0.2 * 0.8)
        share = len(of_n) / n
        assert (np.abs(np.bincount(of_n, minlength=n + 1)[1:] - share) < 5 * np.sqrt(share)).all()
    assert set(sizes) == set(range(6, 11)) and set(counts) == set(range(1, 11))
    for images, count in zip(one_by_one(sets), counts, strict=True):
        assert len(set(images[:, 0])) == count  # different characters
        assert len({tuple(image) for image in images}) == len(images)  # and no image twice


def test_characters_and_drawings_are_equally_likely():
    sets = sampled()
    for column, kinds in ((0, 50), (1, 20)):
        seen = np.bincount(sets.images[:, column], minlength=kinds)
        assert len(seen) == kinds and (np.abs(seen / seen.mean() - 1) < 0.2).all()
    sets = sampled(20_000, n_min=6, n_max=6)
    triples = [np.bincount(np.unique(images[:, 0], return_inverse=True)[1])
               for images, count in zip(one_by_one(sets), sets.counts, strict=True) if count == 2]  # fmt: skip
    first = np.bincount([sizes[0] for sizes in triples], minlength=6)[1:] / len(triples)
    np.testing.assert_allclose(first, np.array([1, 4, 6, 4, 1]) / 16, atol=0.03)  # the other four at random


def test_training_validation_and_test_are_disjoint():
    config = Config(data="synthetic")
    parts = task.images_of("synthetic")
    assert len({id(images) for images in parts.values()}) == 3
    assert not {x.tobytes() for x in parts["train"][:, 0]} & {x.tobytes() for x in parts["test"][:, 0]}
    test, other = (
        [sets.images for sets in task.eval_batches(c, TEST, 250, 659)] for c in (config, Config(seed=5, lr=1.0))
    )
    assert [len(list(task.eval_batches(config, purpose, 250, 96))) for purpose in (TEST, VALIDATION)] == [3, 3]
    for a, b in zip(test, other, strict=True):
        np.testing.assert_array_equal(a, b)  # the same test sets for every run
    first = task.sample(config, rng_for(0, TRAINING, 7), 32, 868)
    np.testing.assert_array_equal(first.images, task.sample(config, rng_for(0, TRAINING, 7), 32, 868).images)


@pytest.mark.parametrize(
    "wrong, message",
    [
        ({"n_min": 4, "n_max": 3}, "--n-min 4 is more than --n-max 3"),
        ({"n_max": 21}, "--n-max 21: each character has only 20 drawings"),
        ({"drop": 1.5}, "--drop must be at most 1, given 1.5"),
    ],
)
def test_impossible_sets_are_refused(wrong: dict, message: str):
    with pytest.raises(UsageError, match=message):
        Config(**wrong)


def test_counting_starts_at_the_mean_count():
    config = Config(data="synthetic", n_min=6, n_max=10)
    net = task.network(config)
    counts = task.sample(config, np.random.default_rng(0), 20_000, 100).counts
    assert math.log1p(math.exp(net.network.head.bias.data[0])) == pytest.approx(counts.mean(), abs=0.05) == 4.5


# ---- the network ----------------------------------------------------------------------------------------------------


def some(config: Config, B: int = 6) -> tuple[np.ndarray, Sets]:
    """Images of the stand-in (N, 1, 28, 28), and their sets."""
    images = task.images_of("synthetic")["train"]
    sets = task.sample(config, np.random.default_rng(3), B, len(images))
    return task.pixels(images.astype("float64"), sets), sets


@pytest.mark.parametrize("label", LABELS)
def test_the_network_is_invariant_to_order_and_padding(label: str):
    config = Config(data="synthetic", arch=label, dtype="float64", n_max=8)
    net, (X, sets) = task.network(config), some(config)
    with no_grad():
        for _ in range(3):
            together = net(X, sets.mask).numpy()  # in training: batch norm sees the batch
        assert together.shape == (6,) and (together > 0).all()
        edges = np.cumsum(sets.mask.sum(axis=1))[:-1]
        rng = np.random.default_rng(0)
        shuffled = np.concatenate([rng.permutation(part) for part in np.split(X, edges)])
        np.testing.assert_allclose(net(shuffled, sets.mask).numpy(), together, rtol=1e-9)
        wider = np.pad(sets.mask, ((0, 0), (0, 3)))  # more padding
        np.testing.assert_allclose(net(X, wider).numpy(), together, rtol=1e-9)
        net.eval()
        together = net(X, sets.mask).numpy()
        single = [net(part, np.ones((1, len(part)), bool)).item() for part in np.split(X, edges)]
    np.testing.assert_allclose(together, single, rtol=1e-9)
    assert np.ptp(together) > 0  # it is not constant


def test_batch_norm_sees_only_real_images():
    config = Config(data="synthetic", dtype="float64")
    net, (X, sets) = task.network(config), some(config)
    norm = next(module for module in net.modules() if isinstance(module, BatchNorm))
    before = net.convolutions.layers[0].conv(X).numpy()  # (N, 64, 14, 14)
    with no_grad():
        net(X, sets.mask)
    np.testing.assert_allclose(norm.running_mean.numpy(), 0.1 * before.mean(axis=(0, 2, 3)), atol=1e-9)


def test_every_parameter_is_trained_and_gradients_are_those_of_single_sets():
    config = Config(data="synthetic", dtype="float64", arch="SAB + PMA (2)", n_max=7)
    net, (X, sets) = task.network(config), some(config, 3)
    net.eval()  # otherwise batch norm couples the sets
    task.poisson_negative_log_likelihood(net(X, sets.mask), count=sets.counts).backward()
    together = {name: p.grad.copy() for name, p in net.named_parameters()}
    assert all(np.abs(g).max() > 0 for g in together.values())
    for p in net.parameters():
        p.grad = None
    edges = np.cumsum(sets.mask.sum(axis=1))[:-1]
    for part, count in zip(np.split(X, edges), sets.counts, strict=True):
        rate = net(part, np.ones((1, len(part)), bool))
        (task.poisson_negative_log_likelihood(rate, count=np.array([count])) / 3).backward()
    for name, p in net.named_parameters():
        np.testing.assert_allclose(p.grad, together[name], rtol=1e-6, atol=1e-10, err_msg=name)


def test_the_network_is_that_of_the_papers_table():
    text = str(task.network(Config(data="synthetic", arch="SAB + PMA (1)")).network)
    assert "SAB(64, 4)" in text and "(B, n, 256)" in text
    net = task.network(Config(data="synthetic", arch="rFF + Pooling"))
    assert [p.shape for name, p in net.named_parameters() if name.endswith("conv.weight")] == [
        (64, 1, 3, 3), (64, 64, 3, 3), (64, 64, 3, 3), (64, 64, 3, 3)]  # fmt: skip


# ---- training -------------------------------------------------------------------------------------------------------


def train(folder: Path, run: type[Run] = Run, **options) -> dict:
    config, folder = Config(**SMALL | options), RunFolder(folder, task.EXPERIMENT)
    if not folder.config_path.exists():
        folder.make()
        folder.begin("quick", config)
    return task.train(config, run(folder, config, "test"))


def test_it_learns(tmp_path: Path):
    result = train(tmp_path / "run", steps=120, batch=16, lr=2e-3, log_every=20, test_sets=200)
    losses = [line["loss"] for line in RunFolder(tmp_path / "run").metrics() if "loss" in line]
    assert losses[-1] < 0.93 * losses[0]
    assert result["Accuracy"] > 1.2 * result["constant"] and result["MAE"] < 1.0
    assert set(result["Accuracy of count"]) == {1, 2, 3, 4, 5}


class Killed(Run):
    """A run that ends in the middle of its seventh step."""

    def steps(self, *parts):
        for step in super().steps(*parts):
            if step == 7:
                raise KeyboardInterrupt
            yield step


def test_a_resumed_run_ends_with_the_same_bits(tmp_path: Path):
    options = {"steps": 11, "save_every": 4, "log_every": 3, "evaluate_every": 5}
    straight = train(tmp_path / "a", **options)
    with pytest.raises(KeyboardInterrupt):
        train(tmp_path / "b", Killed, **options)
    assert train(tmp_path / "b", **options) == straight
    assert RunFolder(tmp_path / "a").metrics() == RunFolder(tmp_path / "b").metrics()
    a, b = (state(tmp_path / name / "checkpoint.npz") for name in "ab")
    assert a == b and any("running_variance" in name for name in a[0])


def test_evaluation_changes_nothing(tmp_path: Path):
    config = Config(**SMALL)
    net, images = task.network(config), task.images_of("synthetic")["test"]
    before = net.state_dict()
    scores = [task.evaluate(config, net, images, TEST, 20) for _ in range(2)]
    assert scores[0] == scores[1] and all(module.training for module in net.modules())
    assert all((before[name] == value).all() for name, value in net.state_dict().items())


def test_the_metrics_follow_their_definitions(monkeypatch):
    config = Config(**SMALL | {"n_min": 5})
    monkeypatch.setattr(task, "rates", lambda net, images, sets: sets.counts + np.array([0.2, -0.2] * 5))
    scores = task.evaluate(config, None, np.zeros((50, 20, 28, 28)), TEST, 10)
    assert scores["Accuracy"] == 0.5 and scores["Nearest"] == 1 and scores["MAE"] == pytest.approx(0.2)


def test_on_a_device(device: str, tmp_path: Path):
    """The same results on the CPU and on the strict double of a GPU."""
    there = train(tmp_path / "there", steps=3, device=device, dtype="float64", batch=2, evaluate_every=3)
    here = train(tmp_path / "here", steps=3, dtype="float64", batch=2, evaluate_every=3)
    assert there["MAE"] == pytest.approx(here["MAE"], rel=1e-6)


# ---- the command ---------------------------------------------------------------------------------------------------


def test_it_trains_on_omniglot_if_present(tiny: dict, tmp_path: Path, capsys):  # noqa: F811
    words = [
        "--batch",
        "2",
        "--steps",
        "2",
        "--n-min",
        "1",
        "--n-max",
        "2",
        "--validation-sets",
        "4",
        "--test-sets",
        "6",
    ]
    assert main(["train", "unique_characters", "--arch", "rFF + PMA", *words, "--out", str(tmp_path / "run")]) == 0
    assert "data: omniglot" in capsys.readouterr().out
    result = json.loads((tmp_path / "run/result.json").read_text())
    assert result["data"] == result["options"]["data"] == "omniglot" and "data" not in result["deviations"]


def test_a_damaged_drawing_is_reported_before_anything_is_written(tiny: dict, tmp_path: Path, capsys):  # noqa: F811
    unpack(tmp_path)
    path = next((tmp_path / "omniglot/images_evaluation").rglob("*_07.png"))
    content = bytearray(path.read_bytes())
    content[-20] ^= 1  # in the last bytes of its pixels
    path.write_bytes(content)
    assert main(["train", "unique_characters", "--arch", "rFF + PMA", "--out", str(tmp_path / "run")]) == 2
    assert f"{path.name} is damaged or not a drawing of Omniglot: a checksum" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()
