"""A stand-in for CIFAR-100: synthetic images, with a texture and a patch for each class."""

from __future__ import annotations

import numpy as np

from tasks.data.cifar100 import CLASSES, COARSE_CLASSES, SHAPE, Images


def synthesize(split: str, per_class: int, seed: int = 0) -> Images:
    """`per_class` images of each class, a function of the seed: each class has a texture and a patch, varied per image.

    The texture is a two-color wave with the class's direction and wavelength; the patch is an ellipse with the class's
    aspect ratio, size and colors.  The 5 classes of each of 20 groups share their colors, so that color alone does not
    determine the class.  Phase, position, rotation, brightness, two blots of other colors and noise vary per image.
    """
    class_rng, rng = np.random.default_rng([seed, 0]), np.random.default_rng([seed, 1 + ("train", "test").index(split)])
    palette = class_rng.uniform(
        0, 1, size=(COARSE_CLASSES, 4, 3)
    )  # colors of crest and trough, of the patch and of its rim
    direction, wavelength = class_rng.uniform(0, np.pi, CLASSES), class_rng.uniform(3, 12, CLASSES)
    aspect, size, rim = (
        class_rng.uniform(0.4, 1, CLASSES),
        class_rng.uniform(4, 10, CLASSES),
        class_rng.uniform(0.4, 0.9, CLASSES),
    )

    N = CLASSES * per_class
    labels = np.repeat(np.arange(CLASSES), per_class)
    pixels = np.empty((N, *SHAPE), np.uint8)
    coordinates = np.arange(32) - 15.5
    for start in range(0, N, 500):  # in chunks, to limit the memory of the float32 intermediates
        z = labels[start : start + 500]
        B = len(z)

        def around(center: np.ndarray, spread: float, B: int = B) -> np.ndarray:
            return (center + spread * rng.standard_normal(B)).astype("float32")[:, None, None]

        row, column = (coordinates.astype("float32") - around(0, 4) for _ in range(2))
        row = row.swapaxes(1, 2)  # (B, 32, 1) and (B, 1, 32)
        angle, rotation = around(direction[z], 0.15), around(0, 0.4)
        phase = (np.cos(angle) * row + np.sin(angle) * column) * (2 * np.pi / around(wavelength[z], 0.3).clip(2))
        wave = 0.5 + 0.5 * np.sin(phase + around(0, 3))
        cos, sin = np.cos(rotation), np.sin(rotation)
        u, v = cos * row + sin * column, cos * column - sin * row
        radius = np.sqrt(u**2 + (v / aspect[z, None, None]) ** 2) / around(size[z], 0.6).clip(2)

        colors = (palette[z // 5] + 0.12 * rng.standard_normal((B, 4, 3))).astype("float32")[..., None, None]
        image = colors[:, 0] + (colors[:, 1] - colors[:, 0]) * wave[:, None]
        image = np.where((radius < 1)[:, None], colors[:, 3], image)
        image = np.where((radius < rim[z, None, None])[:, None], colors[:, 2], image)
        for _ in range(2):
            blot = (row - around(0, 9)) ** 2 + (column - around(0, 9)) ** 2 < around(2.5, 0.8) ** 2
            image = np.where(blot[:, None], rng.random((B, 3, 1, 1), dtype="float32"), image)
        image = image * around(1, 0.15)[:, None] + 0.06 * rng.standard_normal(image.shape, dtype="float32")
        pixels[start : start + B] = (255 * image.clip(0, 1)).astype(np.uint8)
    return Images(pixels, labels.astype(np.int64))
