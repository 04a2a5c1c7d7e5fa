"""A synthetic stand-in for CelebA: drawings of faces with binary attributes, from a seed.

A face is a few dozen numbers (where it is, how it is turned, its colours and proportions) and twelve attributes that
are there or not, independently of each other and of the rest.  It is painted back to front, each shape a soft-edged
ellipse or band in the face's own coordinates (u to the right, v down, the chin near v = 1), many faces at once.
"""

from __future__ import annotations

import numpy as np

from tasks.data.celeba import Faces

ATTRIBUTES = (
    "Bangs", "Beard", "Bushy_Eyebrows", "Earrings", "Eyeglasses", "Gray_Hair",
    "Hat", "Lipstick", "Long_Hair", "Rosy_Cheeks", "Scarf", "Smiling",
)  # fmt: skip
COUNT = 30_000  # faces there are; only those that are asked for are painted
PARTS = (24_000, 3_000, 3_000)  # for training, validation and test, in this order
FREQUENCY = 0.35  # of each attribute
TOGETHER = 128  # faces painted at once


def load(seed: int = 0) -> Faces:
    """The stand-in: its table of attributes at once, its images when they are asked for."""
    rng = np.random.default_rng([seed, 64])
    attributes = rng.random((COUNT, len(ATTRIBUTES))) < FREQUENCY
    traits = {name: rng.uniform(*span, size=COUNT).astype("float32") for name, span in _TRAITS.items()}

    def images(numbers: np.ndarray, size: int) -> np.ndarray:
        painted = np.empty((len(numbers), 3, size, size), dtype=np.uint8)
        for first in range(0, len(numbers), TOGETHER):
            some = numbers[first : first + TOGETHER]
            has = dict(zip(ATTRIBUTES, attributes[some].T, strict=True))
            painted[first : first + TOGETHER] = paint(has, {name: t[some] for name, t in traits.items()}, size)
        return painted

    return Faces(ATTRIBUTES, attributes, np.repeat(np.arange(3, dtype=np.uint8), PARTS), images)


_TRAITS = {  # what makes two faces with the same attributes different: each uniform between two numbers
    "x": (-0.08, 0.08), "y": (-0.02, 0.10), "turn": (-0.16, 0.16), "size": (0.58, 0.68),
    "wide": (0.70, 0.90), "look": (-0.12, 0.12), "apart": (0.30, 0.40), "eyes": (0.07, 0.11), "nose": (0.09, 0.15),
    "mouth": (0.50, 0.62),
    "skin": (0.0, 1.0), "hair": (0.0, 1.0), "light": (-0.25, 0.25), "angle": (0.0, 6.3),
    "red": (0.3, 0.8), "green": (0.3, 0.8), "blue": (0.3, 0.8), "waves": (2.0, 9.0), "strength": (0.0, 0.15),
    "phase": (0.0, 6.3), "hue": (0.0, 6.3), "other": (0.0, 6.3), "much": (0.0, 1.0), "shade": (0.0, 1.0),
}  # fmt: skip


class _Canvas:
    """Faces being painted, (b, 3, S, S), and their own coordinates u, v (b, S, S)."""

    def __init__(self, traits: dict[str, np.ndarray], size: int) -> None:
        t = {name: values[:, None, None] for name, values in traits.items()}
        y, x = (np.mgrid[:size, :size].astype("float32") + 0.5) * (2 / size) - 1
        cos, sin = np.cos(t["turn"]), np.sin(t["turn"])
        x_own, y_own = (x - t["x"]) / t["size"], (y - t["y"]) / t["size"]
        self.u, self.v = cos * x_own + sin * y_own, cos * y_own - sin * x_own
        self.soft = 2 / size / t["size"]  # the width of an edge: a pixel
        wave = np.sin(t["waves"] * (np.cos(t["angle"]) * x + np.sin(t["angle"]) * y) + t["phase"])
        ground = np.stack([traits[name] for name in ("red", "green", "blue")], axis=1)
        self.pixels = ground[..., None, None] + (t["strength"] * wave)[:, None]
        self.light = 1 + t["light"] * x

    def ellipse(self, u: np.ndarray, v: np.ndarray, a: np.ndarray | float, b: np.ndarray | float) -> np.ndarray:
        """How far a pixel lies inside the ellipse with half axes a and b about (u, v), from 0 to 1: (b, S, S)"""
        a, b = _tall(a), _tall(b)
        radius = np.sqrt(((self.u - _tall(u)) / a) ** 2 + ((self.v - _tall(v)) / b) ** 2)
        return np.clip((1 - radius) * np.minimum(a, b) / self.soft + 0.5, 0, 1)

    def below(self, v: np.ndarray | float) -> np.ndarray:
        return np.clip((self.v - _tall(v)) / self.soft + 0.5, 0, 1)

    def paint(self, where: np.ndarray, color: np.ndarray, present: np.ndarray | None = None) -> None:
        """Cover the pixels with a color (b, 3), where 1 is all of it; only on those faces that are present."""
        some = slice(None) if present is None else np.flatnonzero(present)
        self.pixels[some] += where[some][:, None] * (color[some][..., None, None] - self.pixels[some])


def _tall(value: np.ndarray | float) -> np.ndarray | float:
    return value[:, None, None] if isinstance(value, np.ndarray) else value


def _colors(*rgb: np.ndarray | float) -> np.ndarray:
    """(b, 3) from red, green and blue, each (b,) or a number."""
    return np.stack(np.broadcast_arrays(*rgb), axis=1).astype("float32")


def _bright(hue: np.ndarray) -> np.ndarray:
    """A bright color for each angle of the color circle: (b, 3)"""
    return _colors(*(0.5 + 0.4 * np.cos(hue + turn) for turn in (0.0, 2.1, 4.2)))


def paint(has: dict[str, np.ndarray], t: dict[str, np.ndarray], size: int) -> np.ndarray:
    """Faces with these attributes and traits, (b,) each, as images (b, 3, size, size) of uint8."""
    c = _Canvas(t, size)
    wide, look, much, zero = t["wide"], t["look"], t["much"], np.zeros_like(t["x"])
    pale, dark = np.float32([0.98, 0.84, 0.72]), np.float32([0.55, 0.36, 0.25])
    skin = pale + t["skin"][:, None] * (dark - pale)
    shadow, ink = skin * 0.72, _colors(0.08 + zero, 0.06, 0.08)
    straw, brown, silver = np.float32([[0.9, 0.72, 0.3], [0.22, 0.12, 0.07], [0.62, 0.61, 0.6]])
    hair = np.where((t["hair"] > 0.5)[:, None], brown, straw)
    hair = np.where(has["Gray_Hair"][:, None], silver, hair)
    face = c.ellipse(zero, zero, wide, 1.0)

    # what is behind the face
    c.paint(c.ellipse(zero, 0.5 + zero, wide + 0.22, 1.05 + 0.2 * much) * c.below(-0.2), hair, has["Long_Hair"])
    c.paint(c.ellipse(zero, -0.12 + zero, wide + 0.14, 1.06), hair)
    c.paint(c.ellipse(zero, 1.95 + zero, 1.3, 0.85), _bright(t["other"]) * 0.8)
    c.paint(c.ellipse(zero, 1.0 + zero, 0.34, 0.5), shadow)
    for side in (-1, 1):
        c.paint(c.ellipse(side * wide, 0.05 + zero, 0.13, 0.2), shadow)

    # the face
    c.paint(face, skin)
    for side in (-1, 1):
        blush = c.ellipse(look + side * 0.45, 0.3 + zero, 0.24, 0.2)
        c.paint(blush * 0.75, skin * np.float32([1.02, 0.55, 0.55]), has["Rosy_Cheeks"])
    beard = face * c.below(0.42 - 0.12 * much) * (1 - c.ellipse(look, 0.28 + zero, 0.46, 0.42))
    c.paint(beard * (0.7 + 0.3 * _tall(t["shade"])), hair * 0.4, has["Beard"])

    # the eyes and brows
    for side in (-1, 1):
        u, v = look + side * t["apart"], -0.12 + zero
        c.paint(c.ellipse(u, v, 0.15, t["eyes"]), _colors(0.97 + zero, 0.97, 0.97))
        c.paint(c.ellipse(u + 0.5 * look, v, 0.07, 0.07), ink)
        c.paint(c.ellipse(u, v - 0.24, 0.22, np.where(has["Bushy_Eyebrows"], 0.13, 0.03)), hair * 0.3)
    c.paint(c.ellipse(look * 1.3, 0.15 + zero, 0.6 * t["nose"], 0.2), skin * 0.86)
    c.paint(c.ellipse(look * 1.3, 0.28 + zero, t["nose"], 0.03 + 0.5 * t["nose"]), skin * 0.78)

    # the mouth: a smile is the lower edge of an ellipse, a straight mouth a flat one
    lips = np.where(has["Lipstick"][:, None], np.float32([0.8, 0.08, 0.2]), shadow * np.float32([1.0, 0.72, 0.72]))
    v, smiling, thick = t["mouth"], has["Smiling"], np.where(has["Lipstick"], 0.11, 0.05).astype("float32")
    c.paint(c.ellipse(look, v, 0.24, thick), lips, ~smiling)
    teeth = c.ellipse(look, v - 0.14, 0.36, 0.24) * c.below(v - 0.14)
    c.paint(teeth, _colors(0.97 + zero, 0.95, 0.92), smiling)
    arc = c.ellipse(look, v - 0.14, 0.38, 0.22 + thick) * (1 - c.ellipse(look, v - 0.17, 0.36, 0.21))
    c.paint(arc * c.below(v - 0.16), lips, smiling)

    # what is in front of it
    fringe = c.ellipse(zero, -0.55 + zero, wide + 0.05, 0.45) * (1 - c.below(-0.34 + 0.1 * t["shade"]))
    c.paint(fringe, hair, has["Bangs"])
    for side in (-1, 1):
        u = look + side * t["apart"]
        lens = c.ellipse(u, -0.1 + zero, 0.27, 0.22)
        rim = lens * (1 - c.ellipse(u, -0.1 + zero, 0.21, 0.16))
        glass = np.maximum(rim, lens * _tall(np.where(t["shade"] > 0.7, 0.75, 0.1).astype("float32")))
        c.paint(glass, ink + 0.5 * (much[:, None] > 0.6) * (_bright(t["hue"]) - ink), has["Eyeglasses"])
        c.paint(c.ellipse(side * (wide + 0.02), 0.36 + zero, 0.13, 0.18), _bright(t["hue"]), has["Earrings"])
    c.paint(c.ellipse(look, -0.1 + zero, 0.12, 0.025), ink, has["Eyeglasses"])
    crown = c.ellipse(zero, -0.72 + zero, wide + 0.1, 0.5 + 0.3 * much) * (1 - c.below(-0.6))
    brim = c.ellipse(zero, -0.6 + zero, wide + 0.2 + 0.25 * t["shade"], 0.09)
    c.paint(np.maximum(crown, brim), _bright(t["other"] + 2), has["Hat"])
    scarf = np.maximum(c.ellipse(zero, 1.18 + zero, 0.62, 0.2), c.ellipse(0.3 * look / 0.12, 1.5 + zero, 0.2, 0.5))
    c.paint(scarf * c.below(0.9), _bright(t["hue"] + 1), has["Scarf"])
    return (np.clip(c.pixels * c.light[:, None], 0, 1) * 255).round().astype(np.uint8)
