"""A stand-in for CIFAR-100: synthetic images with a texture and a patch for each class."""

from __future__ import annotations

import numpy as np

from tasks.data.cifar100 import CLASSES, COARSE, SHAPE, Images


def synthesize(part: str, per_class: int, seed: int = 0) -> Images:
    """Images made up from a seed: in every class a texture and a patch of its own, in every image another view of them.

    The texture is a wave in two colors with the class's direction and length, the patch an ellipse with the class's
    form, size and colors.  Classes come in twenties of five that share their colors, so that these alone do not tell
    them apart.  An image draws its phase, place, turn, brightness, a few blots of other colors, and noise.
    """
    style, rng = np.random.default_rng([seed, 0]), np.random.default_rng([seed, 1 + ("train", "test").index(part)])
    palette = style.uniform(0, 1, size=(COARSE, 4, 3))  # colors of two crests of the wave, of the patch and of its rim
    direction, length = style.uniform(0, np.pi, CLASSES), style.uniform(3, 12, CLASSES)
    form, size, rim = style.uniform(0.4, 1, CLASSES), style.uniform(4, 10, CLASSES), style.uniform(0.4, 0.9, CLASSES)

    N = CLASSES * per_class
    labels = np.repeat(np.arange(CLASSES), per_class)
    pixels = np.empty((N, *SHAPE), np.uint8)
    places = np.arange(32) - 15.5
    for start in range(0, N, 500):  # some at a time: the formulas work in float32
        z = labels[start : start + 500]
        B = len(z)

        def around(middle: np.ndarray, spread: float, B: int = B) -> np.ndarray:
            return (middle + spread * rng.standard_normal(B)).astype("float32")[:, None, None]

        row, column = (places.astype("float32") - around(0, 4) for _ in range(2))
        row = row.swapaxes(1, 2)  # (B, 32, 1) and (B, 1, 32)
        angle, turn = around(direction[z], 0.15), around(0, 0.4)
        phase = (np.cos(angle) * row + np.sin(angle) * column) * (2 * np.pi / around(length[z], 0.3).clip(2))
        wave = 0.5 + 0.5 * np.sin(phase + around(0, 3))
        u, v = np.cos(turn) * row + np.sin(turn) * column, np.cos(turn) * column - np.sin(turn) * row
        radius = np.sqrt(u**2 + (v / form[z, None, None]) ** 2) / around(size[z], 0.6).clip(2)

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
