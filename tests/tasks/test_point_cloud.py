"""Point clouds: the batches, the networks, training, resuming, and the command on files of the real format."""

import dataclasses
import json
from pathlib import Path

import h5py
import numpy as np
import pytest

from autograd import no_grad
from minisets.nn import Dropout
from tasks import point_cloud
from tasks.data.standins import shapes
from tasks.data.surfaces import Clouds
from tasks.harness.cli import main
from tasks.harness.errors import Interrupted
from tasks.harness.options import deviations
from tasks.harness.run import Run
from tasks.harness.run_folder import RunFolder
from tasks.point_cloud import EXPERIMENT, Config, augment, network, sample, take
from tests.helpers.runs import assert_same_run

TINY = {"data": "synthetic", "style": "authors", "points": 24, "batch": 16, "evaluation_shapes": 20, "log_every": 4}


@pytest.fixture(autouse=True)
def few(monkeypatch):
    """Few shapes of each class, so that the stand-in is made quickly."""
    monkeypatch.setattr(shapes, "PER_CLASS", {"train": 10, "test": 4})


def train_tiny(path: Path, run: type[Run] = Run, **options) -> dict:
    config, folder = Config(**TINY | options), RunFolder(path, EXPERIMENT)
    if not folder.config_path.exists():
        folder.begin("quick", config)
    metrics = point_cloud.train(config, run(folder, config, config.arch))
    folder.write(folder.result_path, {"run": folder.name(), "metrics": metrics, "seconds": 1.0})
    return metrics


# ---- what the network sees ------------------------------------------------------------------------------------------


def some_clouds(N: int = 30, P: int = 50) -> Clouds:
    points = np.random.default_rng(1).normal(3, 5, size=(N, P, 3)).astype("float16")
    return Clouds(points, np.arange(N) % 4, ("a", "b", "c", "d"))


def test_clouds_are_standardized_with_one_mean_and_one_deviation():
    clouds, places = some_clouds(), np.array([4, 9, 0, 30])
    X = take(Config(data="synthetic", dtype="float64"), clouds, np.array([7, 2]), places)
    expected = clouds.points[7, places].astype("float64")
    np.testing.assert_allclose(X[0], (expected - expected.mean()) / expected.std(), rtol=1e-12)
    assert (
        X.shape == (2, 4, 3) and X.mean(axis=(1, 2)) == pytest.approx([0, 0]) and X.std(axis=(1, 2)) == pytest.approx(1)
    )
    flat = Clouds(np.ones((1, 5, 3)), np.zeros(1, int), ("a",))
    assert (take(Config(data="synthetic"), flat, np.array([0]), np.arange(5)) == 0).all()  # not nan


def test_where_y_is_up_shapes_are_set_upright():
    config, which = Config(data="synthetic", dtype="float64"), np.arange(3)
    lying, standing = (take(config, dataclasses.replace(some_clouds(), up=up), which, np.arange(50)) for up in "yz")
    np.testing.assert_array_equal(lying[..., 2], standing[..., 1])
    R = np.linalg.lstsq(standing[0], lying[0], rcond=None)[0]
    np.testing.assert_allclose(np.linalg.det(R), 1)  # rotated, not mirrored


def test_rotations_and_scales_follow_the_protocol():
    """The images of three points give angle and factors: all within their ranges, and covering them."""
    X = np.tile(np.eye(3), (5_000, 1, 1))
    Y = augment(np.random.default_rng(0), X)  # rows: the images of x, y and z
    np.testing.assert_allclose(Y[:, :2, 2], 0)  # the vertical axis is kept
    np.testing.assert_allclose(Y[:, 2, :2], 0)
    factor_x = np.hypot(Y[:, 0, 0], Y[:, 1, 0])  # (cos, −sin) times one factor
    factor_y = np.hypot(Y[:, 0, 1], Y[:, 1, 1])
    angle = np.arctan2(-Y[:, 1, 0], Y[:, 0, 0])
    np.testing.assert_allclose(angle, np.arctan2(Y[:, 0, 1], Y[:, 1, 1]))  # a rotation, the same for both axes
    for values, low, high in (
        (factor_x, 0.8, 1.25), (factor_y, 0.8, 1.25), (Y[:, 2, 2], 0.8, 1.25), (angle, -0.1 * np.pi, 0.1 * np.pi),
    ):  # fmt: skip
        assert low <= values.min() < low + 0.01 and high - 0.01 < values.max() <= high
        assert values.mean() == pytest.approx((low + high) / 2, abs=0.01)
    assert abs(np.corrcoef(factor_x, factor_y)[0, 1]) < 0.05  # independent factors for the axes


def test_a_batch_is_a_function_of_seed_and_step():
    config, clouds = Config(data="synthetic", points=10, batch=8), some_clouds()
    (X, y), (again, _) = sample(config, clouds, 5), sample(config, clouds, 5)
    assert X.shape == (8, 10, 3) and X.dtype == "float32" and y.shape == (8,)
    np.testing.assert_array_equal(X, again)
    assert not np.array_equal(X, sample(config, clouds, 6)[0])
    assert not np.array_equal(X, sample(dataclasses.replace(config, seed=1), clouds, 5)[0])


def test_points_are_resampled_or_always_the_same():
    clouds = Clouds(np.arange(40, dtype="float64").reshape(1, 40, 1) * [1, 0, 0], np.zeros(1, int), ("a",))
    seen = {}
    for resample in (True, False):
        config = Config(data="synthetic", points=5, batch=3, augment=False, resample=resample, dtype="float64")
        batches = [sample(config, clouds, step)[0] for step in range(20)]
        assert all((batch == batch[0]).all() for batch in batches)  # a single shape, so all of the batch is the same
        seen[resample] = {batch[0].tobytes() for batch in batches}
    assert len(seen[True]) == 20 and len(seen[False]) == 1


def test_all_training_shapes_are_sampled_with_their_labels():
    """With all points of a shape, the sorted coordinates identify it."""
    config, clouds, which = Config(data="synthetic", points=50, batch=10, augment=False), some_clouds(), set()
    whole = np.sort(take(config, clouds, np.arange(30), np.arange(50)).reshape(30, -1), axis=1)
    for step in range(40):
        X, y = sample(config, clouds, step)
        distance = np.abs(np.sort(X.reshape(10, -1), axis=1)[:, None] - whole).max(axis=2)  # (10, 30)
        assert (distance.min(axis=1) < 1e-5).all()
        np.testing.assert_array_equal(y, clouds.labels[distance.argmin(axis=1)])
        which |= {*distance.argmin(axis=1)}
    assert which == {*range(30)}


# ---- networks -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("label", EXPERIMENT.rows)
def test_networks_are_invariant_to_order(label: str):
    config = Config(data="synthetic", arch=label, points=30, dtype="float64")
    net, rng = network(config).eval(), np.random.default_rng(0)
    X = rng.normal(size=(3, 30, 3))
    with no_grad():
        np.testing.assert_allclose(net(X[:, rng.permutation(30)]).numpy(), net(X).numpy(), rtol=1e-9, atol=1e-12)
    assert net(X).shape == (3, 16) and sum(isinstance(layer, Dropout) for layer in net.decoder) == 2


def test_the_network_for_5000_points_is_that_of_the_papers_text(monkeypatch, tmp_path: Path):
    small, large = (network(Config(data="modelnet40", points=n)) for n in (4_999, 5_000))
    assert (small.d, len(small.encoder)) == (256, 2) and (large.d, len(large.encoder)) == (512, 1)
    decays, Adam = [], point_cloud.Adam
    monkeypatch.setattr(point_cloud, "Adam", lambda *a, **k: decays.append(k["weight_decay"]) or Adam(*a, **k))
    monkeypatch.setattr(point_cloud, "MANY", 24)
    for points in (23, 24):
        train_tiny(tmp_path / str(points), arch="rFF + Pooling", points=points, steps=1)
    assert decays == [0.0, 1e-7]


# ---- training -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("label", ["rFF + Pooling", "ISAB (16) + PMA"])
def test_it_learns(label: str, tmp_path: Path):
    result = train_tiny(tmp_path / "run", arch=label, steps=300, drop_every=200, evaluate_every=100)
    losses = [line["loss"] for line in RunFolder(tmp_path / "run").metrics() if "loss" in line]
    assert losses[0] > 2.3 and np.mean(losses[-5:]) < losses[0] - 0.4  # from about log 16 = 2.8
    assert result["accuracy"] > 0.25  # four times that of guessing
    counts = result["confusion"]
    assert {name: sum(row.values()) for name, row in counts.items()} == dict.fromkeys(counts, 4) and len(counts) == 16
    assert sum(counts[name].get(name, 0) for name in counts) / 64 == result["accuracy"]
    assert result["shapes"] == {"training": 160, "test": 64, "points": 2048, "up": "z"}


class Stops(Run):
    """A run that is asked to stop in its sixth step."""

    def log(self, loss) -> None:
        super().log(loss)
        self.asked_to_stop = self.done == 5


class Dies(Run):
    """A run that crashes in its ninth step, two after the last checkpoint."""

    def log(self, loss) -> None:
        super().log(loss)
        if self.done == 8:
            raise RuntimeError


def test_a_resumed_run_ends_with_the_same_bits(tmp_path: Path):
    options = {"steps": 12, "save_every": 7, "evaluate_every": 4}
    straight = train_tiny(tmp_path / "straight", **options)
    for kind, error in ((Stops, Interrupted), (Dies, RuntimeError)):
        with pytest.raises(error):
            train_tiny(tmp_path / kind.__name__, run=kind, **options)
        assert train_tiny(tmp_path / kind.__name__, **options) == straight
        assert_same_run(tmp_path / "straight", tmp_path / kind.__name__)


def test_a_step_on_the_device(device: str, tmp_path: Path):
    metrics = train_tiny(tmp_path / "run", arch="ISAB (4) + PMA", device=device, steps=2, points=6, batch=2)
    assert 0 <= metrics["accuracy"] <= 1


def test_the_learning_rate_drops_every_drop_every_steps(monkeypatch, tmp_path: Path):
    rates = []

    class Watched(point_cloud.Adam):
        def step(self) -> None:
            rates.append(self.lr)
            super().step()

    monkeypatch.setattr(point_cloud, "Adam", Watched)
    train_tiny(tmp_path / "run", arch="rFF + Pooling", steps=5, drop_every=2)
    assert rates == pytest.approx([1e-3, 1e-3, 3e-4, 3e-4, 9e-5])


def test_evaluation_is_without_dropout_and_training_continues_with_it(tmp_path: Path):
    config, (_, test) = Config(**TINY), point_cloud.load(Config(**TINY))
    net, all_of_them = network(config), np.arange(64)
    found = [point_cloud.predict(config, net, test, all_of_them) for _ in range(2)]
    np.testing.assert_array_equal(*found)
    assert net.training and net.decoder[0].training
    part = point_cloud.predict(config, net, test, np.array([40, 3]))
    np.testing.assert_array_equal(part, found[0][[40, 3]])  # independent of the rest of the batch


# ---- the command, on files of the real format -----------------------------------------------------------------------


@pytest.fixture
def real(tmp_path: Path, monkeypatch) -> Path:
    folder = tmp_path / "data/modelnet40_ply_hdf5_2048"
    folder.mkdir(parents=True)
    monkeypatch.setenv("MINISETS_DATA", str(tmp_path / "data"))
    rng = np.random.default_rng(0)
    for split, N in (("train", 40), ("test", 10)):
        with h5py.File(folder / f"ply_data_{split}0.h5", "w") as file:
            file["data"], file["label"] = (
                rng.normal(size=(N, 20, 3)).astype("f2"),
                (np.arange(N) % 2)[:, None].astype("u1"),
            )
    (folder / "shape_names.txt").write_text("flower_pot\nsofa\n")
    return folder


WORDS = ["--style", "authors", "--steps", "4", "--batch", "4", "--evaluate-every", "2", "--points"]


def test_the_command_on_real_files(real: Path, tmp_path: Path, capsys):
    out = tmp_path / "run"
    assert main(["train", "point_cloud", "--arch", "isab(4)+pma", "--out", str(out), *WORDS, "12"]) == 0
    printed = capsys.readouterr().out
    assert "data: modelnet40 ->" in printed
    assert "  40 shapes to train on, 10 to test on, 20 points each; z is up\n" in printed
    result = json.loads((out / "result.json").read_text())
    assert result["data"] == "modelnet40" and result["metrics"]["shapes"] == {
        "training": 40, "test": 10, "points": 20, "up": "z",
    }  # fmt: skip
    assert set(result["metrics"]["confusion"]) == {"flower_pot", "sofa"}
    for name in EXPERIMENT.figures:
        assert (out / f"{name}.png").read_bytes()[:4] == b"\x89PNG"


def test_too_many_points_are_refused_before_anything_is_written(real: Path, tmp_path: Path, capsys):
    assert main(["train", "point_cloud", "--out", str(tmp_path / "run"), "--arch", "rFF + PMA", *WORDS, "5000"]) == 2
    message = capsys.readouterr().err
    assert f"--points 5,000 is more than the data has per shape: {real} has 20; minisets data fetch" in message
    assert not (tmp_path / "run").exists()


def test_a_damaged_file_is_named(real: Path, tmp_path: Path, capsys):
    path = real / "ply_data_test0.h5"
    path.write_bytes(path.read_bytes()[:-100])
    assert main(["train", "point_cloud", "--out", str(tmp_path / "run"), "--arch", "rFF + PMA", *WORDS, "8"]) == 2
    message = capsys.readouterr().err
    (sentence,) = (line for line in message.splitlines() if "warning: " not in line)  # of so few shapes
    assert sentence.startswith(f"minisets: {path} is damaged")
    assert not (tmp_path / "run").exists()


def test_the_axis_that_is_up_can_be_given_for_real_data(real: Path, tmp_path: Path, capsys):
    words = ["train", "point_cloud", "--arch", "rFF + PMA", *WORDS, "8", "--up", "y", "--out", str(tmp_path / "run")]
    assert main([*words, "--data", "synthetic"]) == 2
    assert "--up y is for real data; the stand-in has z up" in capsys.readouterr().err
    assert main(words) == 0
    assert "20 points each; y is up" in capsys.readouterr().out


# ---- options and attention -------------------------------------------------------------------------------------------


def test_the_deviations_of_the_quick_preset():
    quick = Config(data="modelnet40", **EXPERIMENT.presets["quick"])
    assert {(one.name, one.ours, one.protocol, one.stated) for one in deviations(quick)} == {
        ("style", "authors", "paper", True), ("drop_every", 700, 20_000, True),
        ("steps", 1_000, 80_000, False), ("batch", 32, 64, False),
    }  # fmt: skip


@pytest.mark.parametrize("label", [*EXPERIMENT.rows, "ISAB (4) + Dotprod", "rFF + Pooling (mean)", "rFF + PMA (2)"])
def test_attention_weights(label: str):
    net = network(Config(data="synthetic", arch=label, dtype="float64")).eval()
    X = np.random.default_rng(0).normal(size=(2, 30, 3))
    weights = point_cloud.attention_weights(net, X)
    assert weights.shape == (2, 30) and (weights >= 0).all()
    np.testing.assert_allclose(weights.sum(axis=1), 1)
    if label == "rFF + Pooling":  # removing points that are nowhere the maximum changes nothing
        seen = weights[0] > 0
        np.testing.assert_allclose(net(X[:1, seen]).numpy(), net(X[:1]).numpy(), rtol=1e-9)
        assert seen.sum() < 30
