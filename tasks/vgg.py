"""A VGG network that classifies the images of CIFAR-100, trained for the 512 features it computes on the way.

The clustering of CIFAR-100 (tasks/image_clustering.py) does not see images but the 512 features just before the last
layer of this network.  After training, those of all images are written to the folder `features` of the run; those of
the real CIFAR-100 also to MINISETS_DATA, if the network is the most accurate so far.

    python -m tasks.vgg --preset quick
    python -m tasks.vgg --preset paper --width 32
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from autograd import Tensor, backend, cross_entropy, relu
from minisets.nn import ConvNorm, Dropout, Linear, Module, evaluating
from minisets.optim import SGD, cosine
from tasks.data import cifar100, features
from tasks.data.cifar100 import CLASSES, PER_CLASS, Images
from tasks.data.counts import warn_unless_complete
from tasks.data.features import Features
from tasks.data.locations import data_folder
from tasks.data.options import Data, data_option
from tasks.data.standins import texture_images
from tasks.harness import paper
from tasks.harness.errors import UsageError, warn
from tasks.harness.experiment import Experiment, Table
from tasks.harness.options import SYNTHETIC, Stepping, option
from tasks.harness.progress import report
from tasks.harness.run import TEST, TRAINING, WEIGHTS, Run, rng_for
from tasks.plots.curves import learning_curves

BLOCKS = {11: (1, 1, 2, 2, 2), 13: (2, 2, 2, 2, 2), 16: (2, 2, 3, 3, 3)}  # depth -> convolutions at each resolution
EPOCH = 4  # a purpose of random numbers beside those of tasks/harness/run.py: the order of the images
SHIFT = 4  # augmentation: the largest shift in pixels


@dataclass(frozen=True, kw_only=True)
class Config(Data, Stepping):
    data: str = data_option("cifar100")
    depth: int = option(16, "layers with weights, as VGG networks are named", choices=tuple(BLOCKS))
    width: int = option(64, "channels of the first convolutions; the last have eight times as many", least=1)
    dropout: float = option(0.5, "dropout rate of the 512 features in training", least=0)
    steps: int = option(78_000)
    batch: int = option(128, "images per step")
    lr: float = option(0.05, "initial learning rate of SGD; it decays to 0 along a cosine")
    momentum: float = option(0.9, "momentum of SGD", least=0)
    weight_decay: float = option(5e-4, "weight decay", least=0)
    per_class: int = option(500, "training images per class of the stand-in", least=1)
    validation_images: int = option(1_000, "test images to evaluate on while training", least=1, bookkeeping=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("dropout", "momentum"):
            self.require(getattr(self, name) < 1, f"--{name} must be less than 1, given {getattr(self, name)}")

    def require_data(self) -> None:
        super().require_data()
        for part in features.SPLITS:  # report a damaged or incomplete file now rather than after the run has started
            labels = cifar100.load(part).labels
            source = f"CIFAR-100 in {data_folder()}"
            warn_unless_complete("cifar100", part, source, images=len(labels), classes=len(np.unique(labels)))


# ---- data ---------------------------------------------------------------------------------------------------------


def images(config: Config, part: str) -> Images:
    if config.data != SYNTHETIC:
        return cifar100.load(part)
    count = config.per_class if part == "train" else max(config.per_class * PER_CLASS["test"] // PER_CLASS["train"], 1)
    return texture_images.synthesize(part, count)


class ColorNormalization:
    """(pixel − mean) / standard deviation, for each of the three colors."""

    def __init__(self, pixels: np.ndarray) -> None:
        some = pixels[:: max(len(pixels) // 5_000, 1)]
        self.mean = some.mean(axis=(0, 2, 3), keepdims=True)
        self.std = some.std(axis=(0, 2, 3), keepdims=True) + 1e-6

    def __call__(self, pixels: np.ndarray, dtype: str) -> np.ndarray:
        return ((pixels - self.mean) / self.std).astype(dtype)


def batch_indices(config: Config, step: int, N: int) -> np.ndarray:
    """The images of a step: each occurs once per epoch, in a new order."""
    batch = min(config.batch, N)
    epoch, i = divmod(step, N // batch)
    return rng_for(config.seed, EPOCH, epoch).permutation(N)[i * batch : (i + 1) * batch]


def augment(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Images (B, 3, H, W) shifted by up to SHIFT pixels, padded with zeros, and mirrored with probability ½."""
    B, _, H, W = X.shape
    X = np.pad(X, ((0, 0), (0, 0), (SHIFT, SHIFT), (SHIFT, SHIFT)))
    down, right = rng.integers(0, 2 * SHIFT, size=(2, B, 1), endpoint=True)
    mirror = rng.random((B, 1)) < 0.5
    rows = down + np.arange(H)
    columns = right + np.where(mirror, np.arange(W)[::-1], np.arange(W))
    return X[np.arange(B)[:, None, None], :, rows[:, :, None], columns[:, None, :]].transpose(0, 3, 1, 2)


# ---- model --------------------------------------------------------------------------------------------------------


class VGG(Module):
    """3 × 3 convolutions with batch norm; each block ends with 2 × 2 max pooling; then FC(512, ReLU), FC(100).

    Simonyan and Zisserman (2014), for images of 32 × 32 pixels, which five blocks reduce to one.
    """

    def __init__(self, depth: int, width: int, dropout: float, rng: np.random.Generator) -> None:
        self.blocks, c = [], 3
        for times, count in zip((1, 2, 4, 8, 8), BLOCKS[depth], strict=True):
            block = []
            for _ in range(count):
                block.append(ConvNorm(c, times * width, rng=rng))
                c = times * width
            self.blocks.append(block)
        self.hidden, self.head = Linear(c, features.D, gain=2, rng=rng), Linear(features.D, CLASSES, rng=rng)
        self.dropout = Dropout(dropout, rng=rng)

    def features(self, X: Any) -> Tensor:
        """(N, 3, 32, 32) -> (N, 512): the layer before the last."""
        for block in self.blocks:
            for layer in block:
                X = layer(X)
            N, c, H, W = X.shape
            X = X.reshape(N, c, H // 2, 2, W // 2, 2).max(axis=(3, 5))
        return relu(self.hidden(X.reshape(N, c)))

    def forward(self, X: Any) -> Tensor:
        return self.head(self.dropout(self.features(X)))


def network(config: Config) -> VGG:
    net = VGG(config.depth, config.width, config.dropout, rng_for(config.seed, WEIGHTS))
    return net.astype(config.dtype).to(config.device)


# ---- training -----------------------------------------------------------------------------------------------------


def train(config: Config, run: Run) -> dict[str, float]:
    net, data = network(config), {part: images(config, part) for part in features.SPLITS}
    (pixels, labels), test = data["train"], data["test"]
    normalize = ColorNormalization(pixels)
    optimizer = SGD(net.parameters(), config.lr, momentum=config.momentum, weight_decay=config.weight_decay)
    schedule = cosine(config.lr, config.steps)
    some = rng_for(0, TEST).permutation(len(test.labels))[: config.validation_images]
    for step in run.steps(net, optimizer):
        optimizer.lr = schedule(step)
        which = batch_indices(config, step, len(labels))
        X = augment(normalize(pixels[which], config.dtype), rng_for(config.seed, TRAINING, step))
        X, z = (backend.to_device(a, config.device) for a in run.share(X, labels[which]))
        loss = cross_entropy(net(Tensor(X)), labels=z)
        optimizer.zero_grad()
        loss.backward()
        loss = run.average(loss, optimizer)
        optimizer.step()
        run.log(loss)
        if run.due(config.evaluate_every):
            run.record(Accuracy=accuracy(net, extract(net, Images(test.pixels[some], test.labels[some]), normalize)))

    parts = {part: extract(net, data[part], normalize) for part in features.SPLITS}
    scores = {part: accuracy(net, parts[part]) for part in features.SPLITS}
    save_features(run.folder.path / "features", config, parts, scores["test"])
    return {"Accuracy": scores["test"], "Training accuracy": scores["train"]}


def extract(net: VGG, images: Images, normalize: ColorNormalization) -> Features:
    """The 512 features of each image, in evaluation mode."""
    weight, vectors = net.head.weight, np.empty((len(images.labels), features.D), "float32")
    with evaluating(net):
        for i in range(0, len(vectors), 250):
            X = backend.to_device(normalize(images.pixels[i : i + 250], weight.dtype.name), weight.device)
            vectors[i : i + 250] = net.features(Tensor(X)).numpy()
    return Features(vectors, images.labels)


def accuracy(net: VGG, found: Features) -> float:
    """The fraction of images whose largest output is that of the true class."""
    scores = found.vectors @ net.head.weight.numpy() + net.head.bias.numpy()
    return float((scores.argmax(axis=1) == found.labels).mean())


def save_features(folder: Path, config: Config, parts: dict[str, Features], score: float) -> None:
    """Write the features to the run's folder and, for real images and if none are better, to the data folder."""
    about = {"data": config.data, "accuracy": score, "depth": config.depth, "width": config.width, "seed": config.seed}
    features.save(folder, parts, about)
    report(f"  features of all images: {folder}")
    if config.data == SYNTHETIC:
        return
    shared = features.default_folder()
    best = features.stored_accuracy(shared)
    if best is None or best < score:
        try:
            features.save(shared, parts, about)
            report(f"  the most accurate so far; copied to {shared}")
        except UsageError as error:  # the run itself is complete
            warn(f"the features were not shared: {error}; --features {folder} uses them where they are")


EXPERIMENT = Experiment(
    name="vgg",
    title="A VGG network on CIFAR-100",
    description=__doc__,
    config=Config,
    presets={
        "quick": {
            "depth": 11,
            "width": 12,
            "steps": 900,
            "batch": 64,
            "per_class": 100,
            "evaluate_every": 100,
            "save_every": 100,
            "log_every": 20,
        },
        "paper": {},
    },
    model=network,
    train=train,
    table=Table(
        columns={"Accuracy": "test accuracy", "Training accuracy": "training accuracy"},
        printed=paper.TABLES["vgg"],
        notes=(
            "The paper names a VGG network and its accuracy, and nothing else: its depth, width and training are our "
            "choice. Training accuracy: without flips and shifts."
        ),
    ),
    figures={
        "learning_curves": learning_curves(
            {"loss": ("training loss", 1), "Accuracy": ("accuracy on some test images", 1)}
        )
    },
)


if __name__ == "__main__":
    from tasks.harness.cli import main

    sys.exit(main(["train", "vgg", *sys.argv[1:]]))
