"""The VGG: its data, its network, that it learns and resumes, and the features that it leaves behind."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import numpy as np
import pytest

from autograd import Tensor, backend, cross_entropy
from tasks import vgg
from tasks.data import cifar100, features
from tasks.data.standins import texture_images
from tasks.harness.cli import main
from tasks.harness.run import TRAINING, rng_for
from tests.helpers.commandline import command
from tests.helpers.runs import assert_same_run
from tests.tasks.data.test_cifar100 import records

SMALL = "--width 2 --depth 11 --per-class 5 --batch 20 --evaluate-every 4 --log-every 2 --save-every 3"
TINY = shlex.split(SMALL)


def test_an_epoch_shows_every_image_once():
    config = vgg.Config(batch=8, data="synthetic")
    epochs = [np.concatenate([vgg.batch_indices(config, 5 * epoch + i, 40) for i in range(5)]) for epoch in range(2)]
    for epoch in epochs:
        np.testing.assert_array_equal(np.sort(epoch), np.arange(40))
    assert not np.array_equal(*epochs)
    assert len(vgg.batch_indices(config, 3, 5)) == 5  # fewer images than a batch has


def test_augmented_images_are_moved_and_mirrored():
    """Each is one of the 9 × 9 × 2 views of its image, zeros coming in; each mirror and most places occur."""
    X = np.random.default_rng(0).uniform(1, 2, size=(300, 2, 6, 6)).astype("float32")
    around = np.pad(X, ((0, 0), (0, 0), (4, 4), (4, 4)))
    seen = set()
    for i, view in enumerate(vgg.augment(X, rng_for(0, TRAINING))):
        found = [
            (r, c, mirror)
            for r in range(9)
            for c in range(9)
            for mirror in (False, True)
            if np.array_equal(view, around[i, :, r : r + 6, c : c + 6][:, :, :: -1 if mirror else 1])
        ]
        assert len(found) == 1
        seen |= set(found)
    assert len(seen) > 100 and {mirror for *_, mirror in seen} == {False, True}


@pytest.mark.parametrize(("depth", "convolutions"), [(11, 8), (13, 10), (16, 13)])
def test_the_network_has_the_layers_of_its_name(depth: int, convolutions: int):
    net = vgg.VGG(depth, 2, 0.5, np.random.default_rng(0))
    weights = [name for name, p in net.named_parameters() if name.endswith("weight")]
    assert len(weights) == convolutions + 2 and sum("conv" in name for name in weights) == convolutions
    X = Tensor(np.random.default_rng(0).normal(size=(3, 3, 32, 32)).astype("float32"))
    assert net.features(X).shape == (3, 512) and (net.features(X).data >= 0).all() and net(X).shape == (3, 100)


def test_it_learns_and_saves_features_that_separate_the_classes(tmp_path: Path, capsys):
    words = ["--width", "4", "--depth", "11", "--per-class", "8", "--batch", "50", "--steps", "130", "--lr", "0.03"]
    assert main(["train", "vgg", *words, "--dropout", "0.1", "--out", str(tmp_path)]) == 0
    message = capsys.readouterr().out
    assert "synthetic stand-in" in message and f"features of all images: {tmp_path / 'features'}" in message
    metrics = json.loads((tmp_path / "result.json").read_text())["metrics"]
    assert metrics["Training accuracy"] > 0.1  # 0.01 by chance
    about, (vectors, labels) = features.read_about(tmp_path / "features"), features.load(tmp_path / "features", "train")
    assert about["data"] == "synthetic" and about["accuracy"] == metrics["Accuracy"] and vectors.shape == (800, 512)
    between = np.stack([vectors[labels == c].mean(axis=0) for c in range(100)]).var(axis=0).sum()
    assert between > 0.3 * vectors.var(axis=0).sum()  # 1/8 of it for random labels


def test_a_resumed_run_ends_with_the_same_bits(tmp_path: Path, monkeypatch):
    """Including batch norm's running statistics and dropout's generator."""

    def begin(name: str, *more: str) -> int:
        return main(["train", "vgg", *TINY, "--steps", "9", "--out", str(tmp_path / name), *more])

    assert begin("straight") == 0
    left, real = iter(range(7)), vgg.cross_entropy

    def dies(*arguments, **settings):
        if next(left, None) is None:
            raise RuntimeError("the lights went out")
        return real(*arguments, **settings)

    with monkeypatch.context() as patched, pytest.raises(RuntimeError, match="the lights went out"):
        patched.setattr(vgg, "cross_entropy", dies)
        begin("stopped")
    assert json.loads((tmp_path / "stopped/progress.json").read_text())["step"] == 6
    assert begin("stopped", "--resume") == 0
    assert_same_run(tmp_path / "stopped", tmp_path / "straight")
    for part in ("features/train.npy", "features/test_labels.npy"):
        assert (tmp_path / "stopped" / part).read_bytes() == (tmp_path / "straight" / part).read_bytes()


@pytest.fixture
def real(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder with a few images in the format of CIFAR-100."""
    monkeypatch.setenv("MINISETS_DATA", str(tmp_path / "data"))
    (tmp_path / "data/cifar-100-binary").mkdir(parents=True)
    for part, labels in (("train", [0, 1, 2, 3] * 5), ("test", [0, 1])):
        (tmp_path / f"data/cifar-100-binary/{part}.bin").write_bytes(records(labels))
    return tmp_path / "data"


def test_features_of_real_images_are_shared_if_none_are_better(real: Path, tmp_path: Path, capsys):
    assert main(["train", "vgg", *TINY, "--steps", "2", "--out", str(tmp_path / "run")]) == 0
    shown = capsys.readouterr()
    assert "data: cifar100" in shown.out and f"{real}, train: 20 images (50,000 expected)" in shown.err
    assert features.load(features.default_folder(), "train").labels.tolist() == [0, 1, 2, 3] * 5
    found = {part: features.load(features.default_folder(), part) for part in features.SPLITS}
    vgg.save_features(tmp_path / "other", vgg.Config(seed=9), found, -1.0)
    assert features.read_about(features.default_folder())["seed"] == 0  # a less accurate network does not replace it
    vgg.save_features(tmp_path / "other", vgg.Config(seed=9), found, 2.0)
    assert features.read_about(features.default_folder())["seed"] == 9


def test_shared_features_that_are_incomplete_are_replaced(real: Path, tmp_path: Path):
    """An interrupted run leaves the folder without about.json, or without an array."""
    shared = features.default_folder()
    shared.mkdir()
    assert main(["train", "vgg", *TINY, "--steps", "2", "--out", str(tmp_path / "run")]) == 0
    assert features.stored_accuracy(shared) is not None
    found = {part: features.load(shared, part) for part in features.SPLITS}
    for name, content in (("about.json", b"{"), ("test.npy", b"\x93NUMPY"), ("train_labels.npy", b"")):
        vgg.save_features(tmp_path / "other", vgg.Config(seed=1), found, 9.0)
        (shared / name).write_bytes(content)
        vgg.save_features(tmp_path / "other", vgg.Config(seed=2), found, 0.0)
        assert features.read_about(shared)["seed"] == 2 and features.stored_accuracy(shared) == 0
        (shared / name).unlink()
        vgg.save_features(tmp_path / "other", vgg.Config(seed=3), found, 0.0)
        assert features.read_about(shared)["seed"] == 3 and features.stored_accuracy(shared) == 0


def test_a_run_ends_where_features_cannot_be_shared(real: Path, tmp_path: Path, capsys):
    features.default_folder().write_bytes(b"a file where the folder should be")
    assert main(["train", "vgg", *TINY, "--steps", "2", "--out", str(tmp_path / "run")]) == 0
    shown = capsys.readouterr().err
    assert "warning: the features were not shared: cannot write" in shown
    assert f"--features {tmp_path / 'run/features'} uses them" in shown
    assert (tmp_path / "run/result.json").exists()


def test_a_damaged_file_is_reported_before_anything_is_written(tmp_path: Path, monkeypatch, capsys):
    monkeypatch.setenv("MINISETS_DATA", str(tmp_path))
    (tmp_path / "cifar-100-binary").mkdir()
    (tmp_path / "cifar-100-binary/train.bin").write_bytes(records([5]))
    (tmp_path / "cifar-100-binary/test.bin").write_bytes(records([5])[1:])
    assert main(["train", "vgg", "--out", str(tmp_path / "run")]) == 2
    assert "test.bin has 3,073 bytes" in capsys.readouterr().err and not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--dropout", "1"], "--dropout must be less than 1, given 1.0"),
        (["--depth", "12"], "--depth must be one of 11, 13, 16; given 12"),
        (["--data", "cifar100"], "CIFAR-100 is not in /nonexistent/minisets"),
    ],
)
def test_bad_requests(words: list[str], message: str, tmp_path: Path):
    done = command("train", "vgg", *words, "--out", tmp_path / "run")
    assert done.returncode == 2 and message in done.stderr and not (tmp_path / "run").exists()


def test_a_step_on_every_device(device: str):
    config = vgg.Config(data="synthetic", width=2, depth=11, device=device)
    net, pixels = vgg.network(config), texture_images.synthesize("train", 1).pixels
    normalize = vgg.ColorNormalization(pixels)
    X, z = (backend.to_device(a, device) for a in (normalize(pixels[:4], "float32"), np.arange(4)))
    loss = cross_entropy(net(Tensor(X)), labels=z)
    loss.backward()
    vgg.SGD(net.parameters(), 0.1, momentum=0.9).step()
    assert all(np.isfinite(p.numpy()).all() for p in net.parameters())
    found = vgg.extract(net, cifar100.Images(pixels[:4], np.arange(4)), normalize)
    assert found.vectors.shape == (4, 512) and 0 <= vgg.accuracy(net, found) <= 1
