"""Solutions of chapter 20, point clouds.

7. By hand.  SAB: 64 · 4 · 5,000² = 6.4 · 10⁹ scores, 25.6 GB.  ISAB₁₆: 64 · 4 · 5,000 · 16 = 20.5 million for each of
   its two MABs, 0.08 GB.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

Array = np.ndarray


def standardize(X: Array) -> Array:
    """One standard deviation for each axis would make a plate, a cube and a pole alike: proportions are what
    matters.
    """
    X = X - X.mean(axis=1, keepdims=True)
    scale = np.sqrt(np.mean(X**2, axis=(1, 2), keepdims=True))
    return X / np.where(scale > 0, scale, 1)


def rotate_about_z(X: Array, angle: float) -> Array:
    """x' = cos a · x − sin a · y, y' = sin a · x + cos a · y: the x axis goes to (cos a, sin a)."""
    c, s = np.cos(angle), np.sin(angle)
    return X @ np.array([[c, s, 0], [-s, c, 0], [0, 0, 1]])


def which_is_up(X: Array) -> int:
    """Things are about as wide to the left as to the right, but not as heavy above as below."""
    middle = (X.max(axis=1) + X.min(axis=1)) / 2
    radius = np.linalg.norm(X - middle[:, None], axis=-1).max(axis=1)
    return int((np.abs(X.mean(axis=1) - middle) / radius[:, None]).mean(axis=0).argmax())


def sample_surface(rng: np.random.Generator, triangles: Array, n: int) -> Array:
    """A triangle is chosen in proportion to its area, half the length of the cross product of two sides.

    With u, v uniform in the square, u + v > 1 is outside of the triangle; (1 − u, 1 − v) folds it back.
    """
    a, b, c = triangles[:, 0], triangles[:, 1], triangles[:, 2]
    area = np.linalg.norm(np.cross(b - a, c - a), axis=1)
    chosen = rng.choice(len(triangles), size=n, p=area / area.sum())
    u, v = rng.random((2, n, 1))
    outside = u + v > 1
    u, v = np.where(outside, 1 - u, u), np.where(outside, 1 - v, v)
    return a[chosen] + u * (b - a)[chosen] + v * (c - a)[chosen]


def mean_class_accuracy(confusion: Mapping[str, Mapping[str, int]]) -> float:
    """Each class counts the same, whatever its size.  For a classifier that always says "chair" it is 1/40."""
    return float(np.mean([row.get(name, 0) / sum(row.values()) for name, row in confusion.items()]))


def critical_points(features: Array) -> list[int]:
    """Max pooling sees nothing of the other points: without them the pooled vector is the same."""
    return sorted(set(features.argmax(axis=0).tolist()))
