"""A synthetic stand-in for ModelNet40: shapes of 16 classes, each with proportions of its own, as points with noise.

Most classes have a neighbour that differs in one respect only: cylinder and prism, cone and pyramid, capsule and ball,
a stool with a round top and a table with a square one, a chair that is a stool with a back.  So it takes more than the
outline of a cloud of 100 points to tell them apart.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tasks.data.surfaces import Clouds, scatter, unit_ball

SEED = 40  # the stand-in is one data set, the same for every run
EACH = {"train": 120, "test": 50}  # shapes of a class
NOISE = 0.03  # σ, for a shape with its farthest point at distance 1

Surface = np.ndarray  # (F, 3, 3): triangles
Rng = np.random.Generator


def load(split: str, points: int) -> Clouds:
    """The shapes of "train" or "test", so many points of each; every shape is drawn from a stream of its own."""
    labels = np.tile(np.arange(len(CLASSES)), EACH[split])
    clouds = np.empty((len(labels), points, 3), dtype="float32")
    for i, label in enumerate(labels):
        rng = np.random.default_rng([SEED, split == "test", i])
        clouds[i] = cloud(rng, CLASSES[label], points)
    return Clouds(clouds, labels, tuple(make.__name__ for make in CLASSES))


def cloud(rng: Rng, make: Callable[[Rng], Surface], points: int) -> np.ndarray:
    """Points (P, 3) of a new shape of this class: stretched, turned about z, tilted a little, and with noise."""
    stretched = make(rng) * np.exp(rng.uniform(-0.35, 0.35, size=3))
    turned = stretched @ _turn(rng.uniform(0, 2 * np.pi), 0, 1) @ _turn(rng.normal(0, 0.12), 1, 2)
    return unit_ball(scatter(rng, turned, points)) + NOISE * rng.standard_normal((points, 3))


def _turn(angle: float, i: int, j: int) -> np.ndarray:
    """The rotation of the plane of two axes."""
    R = np.eye(3)
    R[[i, i, j, j], [i, j, i, j]] = np.cos(angle), np.sin(angle), -np.sin(angle), np.cos(angle)
    return R


# ---- what surfaces are made of --------------------------------------------------------------------------------------


def sheet(grid: np.ndarray) -> Surface:
    """The surface through a grid of places (a, b, 3): two triangles for each of its meshes."""
    p, q, r, s = grid[:-1, :-1], grid[1:, :-1], grid[:-1, 1:], grid[1:, 1:]
    return np.stack([p, q, r, s, r, q], axis=2).reshape(-1, 3, 3)


def turned(outline: list[tuple[float, float]] | np.ndarray, sides: int = 24) -> Surface:
    """The outline (radius, height), turned about z; with few sides a prism or a pyramid."""
    radius, height = np.asarray(outline, dtype=float).T[..., None]  # each (k, 1)
    angle = np.linspace(0, 2 * np.pi, sides + 1)
    return sheet(np.stack([radius * np.cos(angle), radius * np.sin(angle), height + 0 * angle], axis=-1))


def cuboid(centre: tuple[float, float, float], size: tuple[float, float, float]) -> Surface:
    """A box along the axes: a square of side 1, turned, and brought to its size."""
    half = np.sqrt(0.5)  # four corners at this distance make a square of side 1
    upright = turned([(0, -0.5), (half, -0.5), (half, 0.5), (0, 0.5)], sides=4) @ _turn(np.pi / 4, 0, 1)
    return upright * size + np.asarray(centre, dtype=float)


def pipe(line: np.ndarray, radius: float, sides: int = 8) -> Surface:
    """A pipe of this radius along a line of places (k, 3), which nowhere goes straight up."""
    ahead = np.gradient(line, axis=0)
    aside = np.cross(ahead, [0.0, 0.0, 1.0])
    over = np.cross(aside, ahead)
    aside, over = (x / np.linalg.norm(x, axis=1, keepdims=True) for x in (aside, over))
    angle = np.linspace(0, 2 * np.pi, sides + 1)[:, None]
    return sheet(line[:, None] + radius * (np.cos(angle) * aside[:, None] + np.sin(angle) * over[:, None]))


def arc(size: float, start: float, end: float, centre: tuple[float, float] = (0, 0), steps: int = 12) -> np.ndarray:
    """Part of a circle of this size as an outline (steps, 2), by angles above the horizontal."""
    angle = np.linspace(start, end, steps)
    return centre + size * np.stack([np.cos(angle), np.sin(angle)], axis=1)


def legs(width: float, depth: float, height: float, thick: float) -> list[Surface]:
    """Four legs below height 0."""
    x, y = width / 2 - thick, depth / 2 - thick
    return [cuboid((a, b, -height / 2), (thick, thick, height)) for a in (-x, x) for b in (-y, y)]


# ---- the classes ----------------------------------------------------------------------------------------------------


def ball(rng: Rng) -> Surface:
    return turned(arc(1, -np.pi / 2, np.pi / 2))


def capsule(rng: Rng) -> Surface:
    h = rng.uniform(0.6, 2.5)
    return turned(np.concatenate([arc(1, -np.pi / 2, 0), arc(1, 0, np.pi / 2, centre=(0, h))]))


def cylinder(rng: Rng) -> Surface:
    h = rng.uniform(0.8, 3.5)
    return turned([(0, 0), (1, 0), (1, h), (0, h)])


def prism(rng: Rng) -> Surface:
    h = rng.uniform(0.8, 3.5)
    return turned([(0, 0), (1, 0), (1, h), (0, h)], sides=rng.choice([3, 5, 6]))


def box(rng: Rng) -> Surface:
    return cuboid((0, 0, 0), (1, rng.uniform(0.6, 1), rng.uniform(0.5, 2)))


def cone(rng: Rng) -> Surface:
    return turned([(0, 0), (1, 0), (0, rng.uniform(0.8, 3.5))])


def pyramid(rng: Rng) -> Surface:
    return turned([(0, 0), (1, 0), (0, rng.uniform(0.8, 3.5))], sides=rng.choice([3, 4, 5]))


def frustum(rng: Rng) -> Surface:
    h, top = rng.uniform(0.8, 3.5), rng.uniform(0.3, 0.75)
    return turned([(0, 0), (1, 0), (top, h), (0, h)])


def torus(rng: Rng) -> Surface:
    return turned(arc(rng.uniform(0.15, 0.5), 0, 2 * np.pi, centre=(1, 0)))


def helix(rng: Rng) -> Surface:
    t = np.linspace(0, 2 * np.pi * rng.uniform(1.2, 4), 80)
    line = np.stack([np.cos(t), np.sin(t), t / t[-1] * rng.uniform(0.8, 3)], axis=1)
    return pipe(line, rng.uniform(0.08, 0.2))


def bowl(rng: Rng) -> Surface:
    inner = arc(rng.uniform(0.8, 0.95), rng.uniform(-0.3, 0.2), -np.pi / 2)
    return turned(np.concatenate([arc(1, -np.pi / 2, 0), inner]))


def cup(rng: Rng) -> Surface:
    h, foot, wall = rng.uniform(1.2, 2.6), rng.uniform(0.7, 1), rng.uniform(0.05, 0.15)
    body = turned([(0, 0), (foot, 0), (1, h), (1 - wall, h), (foot - wall, wall), (0, wall)])
    x, z = arc(rng.uniform(0.3, 0.45) * h, -np.pi / 2, np.pi / 2, centre=(0.9, h / 2)).T
    handle = np.stack([x, 0.01 * z, z], axis=1)  # leaning a little, so that it nowhere goes straight up
    return np.concatenate([body, pipe(handle, rng.uniform(0.06, 0.12))])


def bottle(rng: Rng) -> Surface:
    h, neck, long = rng.uniform(1.5, 3), rng.uniform(0.25, 0.5), rng.uniform(0.4, 1.2)
    shoulder = h + rng.uniform(0.2, 0.7)
    return turned([(0, 0), (1, 0), (1, h), (neck, shoulder), (neck, shoulder + long), (0, shoulder + long)])


def table(rng: Rng) -> Surface:
    width, depth, thick = rng.uniform(1, 2), rng.uniform(0.8, 1), rng.uniform(0.04, 0.15)
    top = cuboid((0, 0, thick / 2), (width, depth, thick))
    return np.concatenate([top, *legs(width, depth, rng.uniform(0.5, 1.2), rng.uniform(0.05, 0.12))])


def stool(rng: Rng) -> Surface:
    r, thick = rng.uniform(0.45, 0.8), rng.uniform(0.04, 0.15)
    top = turned([(0, 0), (r, 0), (r, thick), (0, thick)])
    return np.concatenate([top, *legs(1.4 * r, 1.4 * r, rng.uniform(0.5, 1.5), rng.uniform(0.05, 0.12))])


def chair(rng: Rng) -> Surface:
    width, depth, back, thick = rng.uniform((0.8, 0.8, 0.5, 0.05), (1.2, 1, 1.2, 0.15))
    seat = cuboid((0, 0, thick / 2), (width, depth, thick))
    rest = cuboid((0, (thick - depth) / 2, thick + back / 2), (width, thick, back))
    return np.concatenate([seat, rest, *legs(width, depth, rng.uniform(0.4, 1), rng.uniform(0.05, 0.12))])


CLASSES: tuple[Callable[[Rng], Surface], ...] = (
    ball, capsule, cylinder, prism, box, cone, pyramid, frustum, torus, helix, bowl, cup, bottle, table, stool, chair,
)  # fmt: skip
