"""A stand-in for CelebA: painted faces with binary attributes, a function of a seed.

A face has twelve binary attributes, independent of each other, and two dozen continuous traits (position, tilt, colors,
proportions).  It is painted back to front, each part a soft-edged ellipse in the face's own coordinates (u to the
right, v down, the chin near v = 1), many faces at once.
"""

from __future__ import annotations

import numpy as np

from tasks.data.celeba import Faces

ATTRIBUTES = (
    "Bangs", "Beard", "Bushy_Eyebrows", "Earrings", "Eyeglasses", "Gray_Hair",
    "Hat", "Lipstick", "Long_Hair", "Rosy_Cheeks", "Scarf", "Smiling",
)  # fmt: skip
COUNT = 30_000  # faces in the data set; only the requested ones are painted
SPLITS = (24_000, 3_000, 3_000)  # for training, validation and test, in this order
FREQUENCY = 0.35  # of each attribute
CHUNK = 128  # faces painted at once

_TRAITS = {  # trait -> the range of its uniform distribution
    "x": (-0.08, 0.08), "y": (-0.02, 0.10), "tilt": (-0.16, 0.16), "scale": (0.58, 0.68),
    "width": (0.70, 0.90), "gaze": (-0.12, 0.12), "eye_offset": (0.30, 0.40), "eye_height": (0.07, 0.11),
    "nose": (0.09, 0.15), "mouth": (0.50, 0.62),
    "skin": (0.0, 1.0), "hair": (0.0, 1.0), "light": (-0.25, 0.25), "wave_angle": (0.0, 6.3),
    "red": (0.3, 0.8), "green": (0.3, 0.8), "blue": (0.3, 0.8), "wave_frequency": (2.0, 9.0),
    "wave_amplitude": (0.0, 0.15), "wave_phase": (0.0, 6.3),
    "hue": (0.0, 6.3), "clothes_hue": (0.0, 6.3), "fullness": (0.0, 1.0), "shade": (0.0, 1.0),
}  # fmt: skip


def load(seed: int = 0) -> Faces:
    """The stand-in: its attributes are sampled at once, its images are painted on request."""
    rng = np.random.default_rng([seed, 64])
    attributes = rng.random((COUNT, len(ATTRIBUTES))) < FREQUENCY
    traits = {name: rng.uniform(*limits, size=COUNT).astype("float32") for name, limits in _TRAITS.items()}

    def images(indices: np.ndarray, size: int) -> np.ndarray:
        painted = np.empty((len(indices), 3, size, size), dtype=np.uint8)
        for first in range(0, len(indices), CHUNK):
            chunk = indices[first : first + CHUNK]
            has = dict(zip(ATTRIBUTES, attributes[chunk].T, strict=True))
            painted[first : first + CHUNK] = paint(has, {name: t[chunk] for name, t in traits.items()}, size)
        return painted

    return Faces(ATTRIBUTES, attributes, np.repeat(np.arange(3, dtype=np.uint8), SPLITS), images)


# ---- painting -------------------------------------------------------------------------------------------------------


class _Canvas:
    """The images of faces being painted, (b, 3, S, S), and the faces' own coordinates u, v (b, S, S)."""

    def __init__(self, traits: dict[str, np.ndarray], size: int) -> None:
        t = {name: values[:, None, None] for name, values in traits.items()}
        y, x = (np.mgrid[:size, :size].astype("float32") + 0.5) * (2 / size) - 1
        cos, sin = np.cos(t["tilt"]), np.sin(t["tilt"])
        x_face, y_face = (x - t["x"]) / t["scale"], (y - t["y"]) / t["scale"]
        self.u, self.v = cos * x_face + sin * y_face, cos * y_face - sin * x_face
        self.edge = 2 / size / t["scale"]  # the width of a soft edge: one pixel
        direction = np.cos(t["wave_angle"]) * x + np.sin(t["wave_angle"]) * y
        wave = np.sin(t["wave_frequency"] * direction + t["wave_phase"])
        background = np.stack([traits[name] for name in ("red", "green", "blue")], axis=1)
        self.pixels = background[..., None, None] + (t["wave_amplitude"] * wave)[:, None]
        self.light = 1 + t["light"] * x
        self.zero = np.zeros_like(traits["x"])

    def ellipse(self, u: np.ndarray, v: np.ndarray, a: np.ndarray | float, b: np.ndarray | float) -> np.ndarray:
        """The coverage (b, S, S), from 0 to 1, of the ellipse with semi-axes a and b centered at (u, v)."""
        a, b = _per_image(a), _per_image(b)
        radius = np.sqrt(((self.u - _per_image(u)) / a) ** 2 + ((self.v - _per_image(v)) / b) ** 2)
        return np.clip((1 - radius) * np.minimum(a, b) / self.edge + 0.5, 0, 1)

    def below(self, v: np.ndarray | float) -> np.ndarray:
        """The coverage of the half-plane below v."""
        return np.clip((self.v - _per_image(v)) / self.edge + 0.5, 0, 1)

    def paint(self, coverage: np.ndarray, color: np.ndarray, which: np.ndarray | None = None) -> None:
        """Blend a color (b, 3) over the pixels; only in the images where `which` is True."""
        chosen = slice(None) if which is None else np.flatnonzero(which)
        self.pixels[chosen] += coverage[chosen][:, None] * (color[chosen][..., None, None] - self.pixels[chosen])


def _per_image(value: np.ndarray | float) -> np.ndarray | float:
    """(b,) -> (b, 1, 1); a number stays a number."""
    return value[:, None, None] if isinstance(value, np.ndarray) else value


def _colors(*rgb: np.ndarray | float) -> np.ndarray:
    """(b, 3) from red, green and blue, each (b,) or a number."""
    return np.stack(np.broadcast_arrays(*rgb), axis=1).astype("float32")


def _bright(hue: np.ndarray) -> np.ndarray:
    """A bright color (b, 3) for each angle on the color wheel."""
    return _colors(*(0.5 + 0.4 * np.cos(hue + shift) for shift in (0.0, 2.1, 4.2)))


def paint(has: dict[str, np.ndarray], t: dict[str, np.ndarray], size: int) -> np.ndarray:
    """Images (b, 3, size, size) of uint8 of faces with these attributes and traits, (b,) each."""
    c = _Canvas(t, size)
    pale, dark = np.float32([0.98, 0.84, 0.72]), np.float32([0.55, 0.36, 0.25])
    skin = pale + t["skin"][:, None] * (dark - pale)
    straw, brown, silver = np.float32([[0.9, 0.72, 0.3], [0.22, 0.12, 0.07], [0.62, 0.61, 0.6]])
    hair = np.where((t["hair"] > 0.5)[:, None], brown, straw)
    hair = np.where(has["Gray_Hair"][:, None], silver, hair)
    _paint_background(c, has, t, skin, hair)
    _paint_head(c, has, t, skin, hair)
    _paint_eyes_and_nose(c, has, t, skin, hair)
    _paint_mouth(c, has, t, skin)
    _paint_foreground(c, has, t, hair)
    return (np.clip(c.pixels * c.light[:, None], 0, 1) * 255).round().astype(np.uint8)


def _paint_background(c: _Canvas, has: dict, t: dict, skin: np.ndarray, hair: np.ndarray) -> None:
    """What is behind the face: hair, clothes, neck, ears."""
    zero, width, shadow = c.zero, t["width"], skin * 0.72
    length = 1.05 + 0.2 * t["fullness"]
    c.paint(c.ellipse(zero, 0.5 + zero, width + 0.22, length) * c.below(-0.2), hair, has["Long_Hair"])
    c.paint(c.ellipse(zero, -0.12 + zero, width + 0.14, 1.06), hair)
    c.paint(c.ellipse(zero, 1.95 + zero, 1.3, 0.85), _bright(t["clothes_hue"]) * 0.8)
    c.paint(c.ellipse(zero, 1.0 + zero, 0.34, 0.5), shadow)
    for side in (-1, 1):
        c.paint(c.ellipse(side * width, 0.05 + zero, 0.13, 0.2), shadow)


def _paint_head(c: _Canvas, has: dict, t: dict, skin: np.ndarray, hair: np.ndarray) -> None:
    zero, gaze = c.zero, t["gaze"]
    face = c.ellipse(zero, zero, t["width"], 1.0)
    c.paint(face, skin)
    for side in (-1, 1):
        blush = c.ellipse(gaze + side * 0.45, 0.3 + zero, 0.24, 0.2)
        c.paint(blush * 0.75, skin * np.float32([1.02, 0.55, 0.55]), has["Rosy_Cheeks"])
    beard = face * c.below(0.42 - 0.12 * t["fullness"]) * (1 - c.ellipse(gaze, 0.28 + zero, 0.46, 0.42))
    c.paint(beard * (0.7 + 0.3 * _per_image(t["shade"])), hair * 0.4, has["Beard"])


def _paint_eyes_and_nose(c: _Canvas, has: dict, t: dict, skin: np.ndarray, hair: np.ndarray) -> None:
    zero, gaze = c.zero, t["gaze"]
    for side in (-1, 1):
        u, v = gaze + side * t["eye_offset"], -0.12 + zero
        c.paint(c.ellipse(u, v, 0.15, t["eye_height"]), _colors(0.97 + zero, 0.97, 0.97))
        c.paint(c.ellipse(u + 0.5 * gaze, v, 0.07, 0.07), _colors(0.08 + zero, 0.06, 0.08))
        c.paint(c.ellipse(u, v - 0.24, 0.22, np.where(has["Bushy_Eyebrows"], 0.13, 0.03)), hair * 0.3)
    c.paint(c.ellipse(gaze * 1.3, 0.15 + zero, 0.6 * t["nose"], 0.2), skin * 0.86)
    c.paint(c.ellipse(gaze * 1.3, 0.28 + zero, t["nose"], 0.03 + 0.5 * t["nose"]), skin * 0.78)


def _paint_mouth(c: _Canvas, has: dict, t: dict, skin: np.ndarray) -> None:
    """A smile is the lower edge of an ellipse, a straight mouth a flat ellipse."""
    gaze, v, smiling, lipstick = t["gaze"], t["mouth"], has["Smiling"], has["Lipstick"]
    lips = np.where(lipstick[:, None], np.float32([0.8, 0.08, 0.2]), skin * 0.72 * np.float32([1.0, 0.72, 0.72]))
    thickness = np.where(lipstick, 0.11, 0.05).astype("float32")
    c.paint(c.ellipse(gaze, v, 0.24, thickness), lips, ~smiling)
    teeth = c.ellipse(gaze, v - 0.14, 0.36, 0.24) * c.below(v - 0.14)
    c.paint(teeth, _colors(0.97 + c.zero, 0.95, 0.92), smiling)
    arc = c.ellipse(gaze, v - 0.14, 0.38, 0.22 + thickness) * (1 - c.ellipse(gaze, v - 0.17, 0.36, 0.21))
    c.paint(arc * c.below(v - 0.16), lips, smiling)


def _paint_foreground(c: _Canvas, has: dict, t: dict, hair: np.ndarray) -> None:
    """What is in front of the face: bangs, glasses, earrings, hat, scarf."""
    zero, width, gaze, fullness = c.zero, t["width"], t["gaze"], t["fullness"]
    black = _colors(0.08 + zero, 0.06, 0.08)
    bangs = c.ellipse(zero, -0.55 + zero, width + 0.05, 0.45) * (1 - c.below(-0.34 + 0.1 * t["shade"]))
    c.paint(bangs, hair, has["Bangs"])
    opacity = _per_image(np.where(t["shade"] > 0.7, 0.75, 0.1).astype("float32"))
    for side in (-1, 1):
        u = gaze + side * t["eye_offset"]
        lens = c.ellipse(u, -0.1 + zero, 0.27, 0.22)
        rim = lens * (1 - c.ellipse(u, -0.1 + zero, 0.21, 0.16))
        color = black + 0.5 * (fullness[:, None] > 0.6) * (_bright(t["hue"]) - black)
        c.paint(np.maximum(rim, lens * opacity), color, has["Eyeglasses"])
        c.paint(c.ellipse(side * (width + 0.02), 0.36 + zero, 0.13, 0.18), _bright(t["hue"]), has["Earrings"])
    c.paint(c.ellipse(gaze, -0.1 + zero, 0.12, 0.025), black, has["Eyeglasses"])
    crown = c.ellipse(zero, -0.72 + zero, width + 0.1, 0.5 + 0.3 * fullness) * (1 - c.below(-0.6))
    brim = c.ellipse(zero, -0.6 + zero, width + 0.2 + 0.25 * t["shade"], 0.09)
    c.paint(np.maximum(crown, brim), _bright(t["clothes_hue"] + 2), has["Hat"])
    scarf = np.maximum(c.ellipse(zero, 1.18 + zero, 0.62, 0.2), c.ellipse(0.3 * gaze / 0.12, 1.5 + zero, 0.2, 0.5))
    c.paint(scarf * c.below(0.9), _bright(t["hue"] + 1), has["Scarf"])
