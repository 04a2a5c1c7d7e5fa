"""A stand-in for Omniglot: invented characters of a few random strokes, each drawn by 20 simulated people.

A character is one to four strokes, each a Bézier curve with four control points.  A drawing jitters every control
point, then rotates, slants, scales and shifts the whole character.  Everything is a function of a seed, and the result
has the same layout as that of tasks/data/omniglot.py.
"""

from __future__ import annotations

import functools

import numpy as np

from tasks.data.omniglot import DRAWERS, SMALL, Split

CHARACTERS = {"train": 868, "validation": 96, "test": 659}  # the same numbers as Omniglot's
STROKES, POINTS, STEPS = 4, 4, 24  # at most 4 strokes of 4 control points, each rendered in 24 steps
JITTER = 0.03  # the standard deviation of a control point, as a fraction of the image width
INK = 1.4  # per pixel of length, so that one straight line across a pixel blackens it


@functools.cache
def synthesize(seed: int = 0) -> Split:
    """{"train", "validation", "test"}: images (characters, 20, 28, 28) of float32 from 0 (paper) to 1 (ink)."""
    rng = np.random.default_rng([seed, 1623])
    return {split: synthesize_drawings(rng, sample_characters(rng, count)) for split, count in CHARACTERS.items()}


def sample_characters(rng: np.random.Generator, count: int) -> np.ndarray:
    """Control points (count, strokes, points, 2) in the unit square; unused strokes are nan.

    The control points of a stroke are a random walk: a random start, then steps of random length whose direction
    changes by a random angle each time.
    """
    start = rng.uniform(0.15, 0.85, size=(count, STROKES, 1, 2))
    angle = rng.uniform(0, 2 * np.pi, size=(count, STROKES, 1)) + np.cumsum(
        rng.normal(0, 0.9, size=(count, STROKES, POINTS - 1)), axis=-1
    )
    length = rng.uniform(0.12, 0.4, size=(count, STROKES, POINTS - 1))
    steps = length[..., None] * np.stack([np.cos(angle), np.sin(angle)], axis=-1)
    points = np.concatenate([start, start + np.cumsum(steps, axis=-2)], axis=-2)
    points = _reflect(points, 0.05, 0.95)
    used = rng.integers(1, STROKES, size=(count, 1), endpoint=True) > np.arange(STROKES)
    return np.where(used[..., None, None], points, np.nan)


def synthesize_drawings(rng: np.random.Generator, points: np.ndarray, drawers: int = DRAWERS) -> np.ndarray:
    """Drawings (C, drawers, 28, 28) of the characters with control points (C, strokes, points, 2)."""
    C = len(points)
    jitter = rng.normal(0, JITTER, size=(C, drawers, *points.shape[1:]))
    angle, slant = rng.normal(0, 0.12, size=(2, C, drawers))
    width, height = rng.uniform(0.75, 1.1, size=(2, C, drawers))
    shift = rng.normal(0, 0.03, size=(C, drawers, 1, 1, 2))
    cos, sin = np.cos(angle), np.sin(angle)
    transform = np.array([[width * cos, height * (slant - sin)], [width * sin, height * cos]])
    transform = np.moveaxis(transform, (0, 1), (-2, -1))[:, :, None]  # (C, drawers, 1, 2, 2)
    moved = (points[:, None] + jitter - 0.5) @ np.swapaxes(transform, -1, -2) + 0.5 + shift
    return np.concatenate([_render(chunk) for chunk in np.array_split(moved, max(1, C // 100))])


def _reflect(x: np.ndarray, low: float, high: float) -> np.ndarray:
    """x reflected at low and high until it is between them."""
    width = high - low
    return low + width - np.abs((x - low) % (2 * width) - width)


@functools.cache
def _bezier_weights() -> np.ndarray:
    """(STEPS, POINTS): the weights of the four control points at each step along a Bézier curve."""
    t = np.linspace(0, 1, STEPS)[:, None]
    return np.concatenate([(1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t**2 * (1 - t), t**3], axis=1)


def _render(points: np.ndarray) -> np.ndarray:
    """Control points (C, drawers, strokes, 4, 2) to images (C, drawers, 28, 28)."""
    C, drawers = points.shape[:2]
    curve = _bezier_weights() @ points  # (C, drawers, strokes, steps, 2)
    return ink(curve.reshape(C * drawers, *curve.shape[2:])).reshape(C, drawers, SMALL, SMALL)


def ink(curve: np.ndarray) -> np.ndarray:
    """Polylines (N, strokes, steps, 2) in the unit square to images (N, 28, 28).

    Each step leaves ink proportional to its length, distributed over the four nearest pixels (bilinearly), which makes
    gray edges.
    """
    N, curve = len(curve), curve * SMALL - 0.5  # in pixels
    middle = (curve[..., 1:, :] + curve[..., :-1, :]) / 2
    length = np.linalg.norm(np.diff(curve, axis=-2), axis=-1)
    image = np.broadcast_to(np.arange(N).reshape(N, 1, 1), length.shape)
    used = np.isfinite(length)
    x, y, amount, image = middle[used][:, 0], middle[used][:, 1], INK * length[used], image[used]
    column, row = np.floor(x).astype(int), np.floor(y).astype(int)
    total = np.zeros(N * SMALL * SMALL)
    for right in (0, 1):
        for below in (0, 1):
            share = np.abs(1 - right - (x - column)) * np.abs(1 - below - (y - row)) * amount
            i, j = row + below, column + right
            inside = (i >= 0) & (i < SMALL) & (j >= 0) & (j < SMALL)
            pixel = (image * SMALL + i) * SMALL + j
            total += np.bincount(pixel[inside], share[inside], minlength=len(total))
    return np.minimum(total, 1).astype("float32").reshape(N, SMALL, SMALL)
