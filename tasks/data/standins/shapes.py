"""A stand-in for ModelNet40: shapes of 16 classes with random proportions, as noisy points.

Most classes have a neighbor that differs in one respect only: cylinder and prism, cone and pyramid, capsule and ball, a
stool with a round top and a table with a square one, a chair that is a table with a back.  So the outline of a cloud of
100 points is not enough to tell them apart.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tasks.data.surfaces import Clouds, sample_points, unit_ball

SEED = 40  # the stand-in is one data set, the same for every run
PER_CLASS = {"train": 120, "test": 50}  # shapes per class
NOISE = 0.03  # standard deviation, for a shape whose farthest point has distance 1

Surface = np.ndarray  # (F, 3, 3): triangles
Rng = np.random.Generator


def load(split: str, points: int) -> Clouds:
    """The shapes of "train" or "test", each sampled with its own random generator."""
    labels = np.tile(np.arange(len(CLASSES)), PER_CLASS[split])
    clouds = np.empty((len(labels), points, 3), dtype="float32")
    for i, label in enumerate(labels):
        rng = np.random.default_rng([SEED, split == "test", i])
        clouds[i] = sample_cloud(rng, CLASSES[label], points)
    return Clouds(clouds, labels, tuple(make.__name__ for make in CLASSES))


def sample_cloud(rng: Rng, make: Callable[[Rng], Surface], points: int) -> np.ndarray:
    """Points (P, 3) of a new shape of this class: scaled, rotated about z, tilted slightly, and with noise."""
    scaled = make(rng) * np.exp(rng.uniform(-0.35, 0.35, size=3))
    rotated = scaled @ _rotation(rng.uniform(0, 2 * np.pi), 0, 1) @ _rotation(rng.normal(0, 0.12), 1, 2)
    return unit_ball(sample_points(rng, rotated, points)) + NOISE * rng.standard_normal((points, 3))


def _rotation(angle: float, i: int, j: int) -> np.ndarray:
    """The matrix (3, 3) that rotates the plane of axes i and j."""
    R = np.eye(3)
    R[[i, i, j, j], [i, j, i, j]] = np.cos(angle), np.sin(angle), -np.sin(angle), np.cos(angle)
    return R


# ---- building blocks of surfaces ------------------------------------------------------------------------------------


def grid_surface(grid: np.ndarray) -> Surface:
    """The surface through a grid of points (a, b, 3): two triangles per cell."""
    p, q, r, s = grid[:-1, :-1], grid[1:, :-1], grid[:-1, 1:], grid[1:, 1:]
    return np.stack([p, q, r, s, r, q], axis=2).reshape(-1, 3, 3)


def revolve(outline: list[tuple[float, float]] | np.ndarray, sides: int = 24) -> Surface:
    """The surface of revolution of an outline (radius, height) about z; with few sides, a prism or a pyramid."""
    radius, height = np.asarray(outline, dtype=float).T[..., None]  # each (k, 1)
    angle = np.linspace(0, 2 * np.pi, sides + 1)
    return grid_surface(np.stack([radius * np.cos(angle), radius * np.sin(angle), height + 0 * angle], axis=-1))


def cuboid(center: tuple[float, float, float], size: tuple[float, float, float]) -> Surface:
    """A box with sides along the axes: a unit cube, scaled and shifted."""
    radius = np.sqrt(0.5)  # four corners at this distance make a square of side 1
    cube = revolve([(0, -0.5), (radius, -0.5), (radius, 0.5), (0, 0.5)], sides=4) @ _rotation(np.pi / 4, 0, 1)
    return cube * size + np.asarray(center, dtype=float)


def tube(line: np.ndarray, radius: float, sides: int = 8) -> Surface:
    """A tube of this radius along a polyline (k, 3) that is nowhere vertical."""
    tangent = np.gradient(line, axis=0)
    normal = np.cross(tangent, [0.0, 0.0, 1.0])
    binormal = np.cross(normal, tangent)
    normal, binormal = (x / np.linalg.norm(x, axis=1, keepdims=True) for x in (normal, binormal))
    angle = np.linspace(0, 2 * np.pi, sides + 1)[:, None]
    return grid_surface(line[:, None] + radius * (np.cos(angle) * normal[:, None] + np.sin(angle) * binormal[:, None]))


def arc(radius: float, start: float, end: float, center: tuple[float, float] = (0, 0), steps: int = 12) -> np.ndarray:
    """An arc of a circle as an outline (steps, 2); angles are measured from the horizontal."""
    angle = np.linspace(start, end, steps)
    return center + radius * np.stack([np.cos(angle), np.sin(angle)], axis=1)


def legs(width: float, depth: float, height: float, thick: float) -> list[Surface]:
    """Four legs below height 0."""
    x, y = width / 2 - thick, depth / 2 - thick
    return [cuboid((a, b, -height / 2), (thick, thick, height)) for a in (-x, x) for b in (-y, y)]


# ---- the classes ----------------------------------------------------------------------------------------------------


def ball(rng: Rng) -> Surface:
    return revolve(arc(1, -np.pi / 2, np.pi / 2))


def capsule(rng: Rng) -> Surface:
    h = rng.uniform(0.6, 2.5)
    return revolve(np.concatenate([arc(1, -np.pi / 2, 0), arc(1, 0, np.pi / 2, center=(0, h))]))


def cylinder(rng: Rng) -> Surface:
    h = rng.uniform(0.8, 3.5)
    return revolve([(0, 0), (1, 0), (1, h), (0, h)])


def prism(rng: Rng) -> Surface:
    h = rng.uniform(0.8, 3.5)
    return revolve([(0, 0), (1, 0), (1, h), (0, h)], sides=rng.choice([3, 5, 6]))


def box(rng: Rng) -> Surface:
    return cuboid((0, 0, 0), (1, rng.uniform(0.6, 1), rng.uniform(0.5, 2)))


def cone(rng: Rng) -> Surface:
    return revolve([(0, 0), (1, 0), (0, rng.uniform(0.8, 3.5))])


def pyramid(rng: Rng) -> Surface:
    return revolve([(0, 0), (1, 0), (0, rng.uniform(0.8, 3.5))], sides=rng.choice([3, 4, 5]))


def frustum(rng: Rng) -> Surface:
    h, top = rng.uniform(0.8, 3.5), rng.uniform(0.3, 0.75)
    return revolve([(0, 0), (1, 0), (top, h), (0, h)])


def torus(rng: Rng) -> Surface:
    return revolve(arc(rng.uniform(0.15, 0.5), 0, 2 * np.pi, center=(1, 0)))


def helix(rng: Rng) -> Surface:
    t = np.linspace(0, 2 * np.pi * rng.uniform(1.2, 4), 80)
    line = np.stack([np.cos(t), np.sin(t), t / t[-1] * rng.uniform(0.8, 3)], axis=1)
    return tube(line, rng.uniform(0.08, 0.2))


def bowl(rng: Rng) -> Surface:
    inner = arc(rng.uniform(0.8, 0.95), rng.uniform(-0.3, 0.2), -np.pi / 2)
    return revolve(np.concatenate([arc(1, -np.pi / 2, 0), inner]))


def cup(rng: Rng) -> Surface:
    h, foot, wall = rng.uniform(1.2, 2.6), rng.uniform(0.7, 1), rng.uniform(0.05, 0.15)
    body = revolve([(0, 0), (foot, 0), (1, h), (1 - wall, h), (foot - wall, wall), (0, wall)])
    x, z = arc(rng.uniform(0.3, 0.45) * h, -np.pi / 2, np.pi / 2, center=(0.9, h / 2)).T
    handle = np.stack([x, 0.01 * z, z], axis=1)  # tilted slightly, so that it is nowhere vertical
    return np.concatenate([body, tube(handle, rng.uniform(0.06, 0.12))])


def bottle(rng: Rng) -> Surface:
    h, neck, long = rng.uniform(1.5, 3), rng.uniform(0.25, 0.5), rng.uniform(0.4, 1.2)
    shoulder = h + rng.uniform(0.2, 0.7)
    return revolve([(0, 0), (1, 0), (1, h), (neck, shoulder), (neck, shoulder + long), (0, shoulder + long)])


def table(rng: Rng) -> Surface:
    width, depth, thick = rng.uniform(1, 2), rng.uniform(0.8, 1), rng.uniform(0.04, 0.15)
    top = cuboid((0, 0, thick / 2), (width, depth, thick))
    return np.concatenate([top, *legs(width, depth, rng.uniform(0.5, 1.2), rng.uniform(0.05, 0.12))])


def stool(rng: Rng) -> Surface:
    r, thick = rng.uniform(0.45, 0.8), rng.uniform(0.04, 0.15)
    top = revolve([(0, 0), (r, 0), (r, thick), (0, thick)])
    return np.concatenate([top, *legs(1.4 * r, 1.4 * r, rng.uniform(0.5, 1.5), rng.uniform(0.05, 0.12))])


def chair(rng: Rng) -> Surface:
    width, depth, back, thick = rng.uniform((0.8, 0.8, 0.5, 0.05), (1.2, 1, 1.2, 0.15))
    seat = cuboid((0, 0, thick / 2), (width, depth, thick))
    rest = cuboid((0, (thick - depth) / 2, thick + back / 2), (width, thick, back))
    return np.concatenate([seat, rest, *legs(width, depth, rng.uniform(0.4, 1), rng.uniform(0.05, 0.12))])


CLASSES: tuple[Callable[[Rng], Surface], ...] = (
    ball, capsule, cylinder, prism, box, cone, pyramid, frustum, torus, helix, bowl, cup, bottle, table, stool, chair,
)  # fmt: skip
