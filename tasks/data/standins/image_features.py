"""A stand-in for the features of CIFAR-100's training images: random vectors in classes and families of classes."""

from __future__ import annotations

import numpy as np

from tasks.data.cifar100 import CLASSES, COARSE_CLASSES, PER_CLASS
from tasks.data.features import D, Features

FAMILY, CLASS, WITHIN, NOISE = 1.0, 0.7, 0.5, 0.5  # standard deviations


def labels(per_class: int = PER_CLASS["train"]) -> np.ndarray:
    return np.repeat(np.arange(CLASSES), per_class)


def synthesize(per_class: int = PER_CLASS["train"], seed: int = 0) -> Features:
    """Vectors structured like a network's features: 100 classes in 20 families of 5.

    x = max(A (family + class + within) + noise, 0): the differences between classes, and most of the variation within a
    class, lie in the 24 directions A of the 512, and each class has its own variances along them.
    """
    rng, r = np.random.default_rng([seed, 0]), 24
    A = rng.standard_normal((r, D)) / np.sqrt(r)
    family = np.repeat(rng.standard_normal((COARSE_CLASSES, r)), CLASSES // COARSE_CLASSES, axis=0)
    center = FAMILY * family + CLASS * rng.standard_normal((CLASSES, r))  # (classes, r)
    spread = WITHIN * rng.uniform(0.5, 1.5, size=(CLASSES, r))
    classes = labels(per_class)
    hidden = center[classes] + spread[classes] * rng.standard_normal((len(classes), r))
    vectors = hidden.astype("float32") @ A.astype("float32")
    vectors += NOISE * rng.standard_normal(vectors.shape, dtype="float32")
    return Features(np.maximum(vectors, 0), classes)
