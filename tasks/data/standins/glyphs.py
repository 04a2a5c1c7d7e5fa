"""A stand-in for Omniglot: characters nobody ever wrote, of a few random strokes, each drawn by 20 unsteady hands.

A character is one to four strokes, each a smooth curve that four points control.  A drawing of it moves every point a
little (the hand), and turns, slants, stretches and shifts the whole (the person).  Everything comes from a seed, and
the result has the very form that tasks/data/omniglot.py gives.
"""

from __future__ import annotations

import functools

import numpy as np

from tasks.data.omniglot import DRAWERS, SMALL, Split

CHARACTERS = {"train": 868, "validation": 96, "test": 659}  # as many as Omniglot's
STROKES, POINTS, STEPS = 4, 4, 24  # at most so many strokes, through so many points, drawn in so many steps
HAND = 0.03  # how far a point may move: its standard deviation, the image being 1 wide
INK = 1.4  # a line that crosses a pixel straight, once, blackens it


@functools.cache
def synthesize(seed: int = 0) -> Split:
    """{"train", "validation", "test"}: images (characters, 20, 28, 28) of float32 from 0, paper, to 1, ink."""
    rng = np.random.default_rng([seed, 1623])
    return {part: draw(rng, characters(rng, count)) for part, count in CHARACTERS.items()}


def characters(rng: np.random.Generator, count: int) -> np.ndarray:
    """The points of characters, (count, strokes, points, 2) within the unit square; strokes not made are nan.

    A stroke begins anywhere and goes on by steps of some length whose direction turns as it goes.
    """
    start = rng.uniform(0.15, 0.85, size=(count, STROKES, 1, 2))
    angle = rng.uniform(0, 2 * np.pi, size=(count, STROKES, 1)) + np.cumsum(
        rng.normal(0, 0.9, size=(count, STROKES, POINTS - 1)), axis=-1
    )
    length = rng.uniform(0.12, 0.4, size=(count, STROKES, POINTS - 1))
    steps = length[..., None] * np.stack([np.cos(angle), np.sin(angle)], axis=-1)
    points = np.concatenate([start, start + np.cumsum(steps, axis=-2)], axis=-2)
    points = _between(points, 0.05, 0.95)
    made = rng.integers(1, STROKES, size=(count, 1), endpoint=True) > np.arange(STROKES)
    return np.where(made[..., None, None], points, np.nan)


def draw(rng: np.random.Generator, points: np.ndarray, drawers: int = DRAWERS) -> np.ndarray:
    """Every character (C, strokes, points, 2) by every drawer: (C, drawers, 28, 28)."""
    C = len(points)
    hands = rng.normal(0, HAND, size=(C, drawers, *points.shape[1:]))
    turn, slant = rng.normal(0, 0.12, size=(2, C, drawers))
    wide, high = rng.uniform(0.75, 1.1, size=(2, C, drawers))
    shift = rng.normal(0, 0.03, size=(C, drawers, 1, 1, 2))
    person = np.array(
        [[wide * np.cos(turn), high * (slant - np.sin(turn))], [wide * np.sin(turn), high * np.cos(turn)]]
    )
    person = np.moveaxis(person, (0, 1), (-2, -1))[:, :, None]  # (C, drawers, 1, 2, 2)
    moved = (points[:, None] + hands - 0.5) @ np.swapaxes(person, -1, -2) + 0.5 + shift
    return np.concatenate([_render(part) for part in np.array_split(moved, max(1, C // 100))])


def _between(x: np.ndarray, low: float, high: float) -> np.ndarray:
    """x folded back into [low, high], as by mirrors on both sides."""
    width = high - low
    return low + width - np.abs((x - low) % (2 * width) - width)


@functools.cache
def _curve() -> np.ndarray:
    """(STEPS, POINTS): weights that turn four points into places on the Bézier curve that they control."""
    t = np.linspace(0, 1, STEPS)[:, None]
    return np.concatenate([(1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t**2 * (1 - t), t**3], axis=1)


def _render(points: np.ndarray) -> np.ndarray:
    """Points (C, drawers, strokes, 4, 2) to images: each step of a curve leaves ink, as much as it is long.

    The ink of a step is shared by the four nearest pixels according to their distance, which makes grey edges.
    """
    C, drawers = points.shape[:2]
    curve = _curve() @ points * SMALL - 0.5  # (C, drawers, strokes, steps, 2), in pixels
    middle = (curve[..., 1:, :] + curve[..., :-1, :]) / 2
    length = np.linalg.norm(np.diff(curve, axis=-2), axis=-1)
    image = np.broadcast_to(np.arange(C * drawers).reshape(C, drawers, 1, 1), length.shape)
    there = np.isfinite(length)
    x, y, ink, image = middle[there][:, 0], middle[there][:, 1], INK * length[there], image[there]
    column, row = np.floor(x).astype(int), np.floor(y).astype(int)
    total = np.zeros(C * drawers * SMALL * SMALL)
    for right in (0, 1):
        for below in (0, 1):
            share = np.abs(1 - right - (x - column)) * np.abs(1 - below - (y - row)) * ink
            i, j = row + below, column + right
            inside = (i >= 0) & (i < SMALL) & (j >= 0) & (j < SMALL)
            place = (image * SMALL + i) * SMALL + j
            total += np.bincount(place[inside], share[inside], minlength=len(total))
    return np.minimum(total, 1).astype("float32").reshape(C, drawers, SMALL, SMALL)
