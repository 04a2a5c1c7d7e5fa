"""The page on counting characters: how many different ones are among the drawings?"""

from __future__ import annotations

from typing import Any

import numpy as np

from minisets import record_attention
from minisets.nn import evaluating
from tasks import unique_characters
from tasks.data.omniglot import SMALL
from tasks.data.standins import glyphs
from tasks.play.library import Library
from tasks.play.messages import BadMessage, Message, text, vectors, whole

MOST_DRAWINGS, MOST_STROKES, MOST_PLACES = 12, 40, 4_000
SPACING = 0.5 / SMALL  # strokes are drawn in steps of at most half a pixel


def sample(library: Library, message: Message) -> dict[str, Any]:
    """Drawings of test characters of the stand-in, and how many different ones they are."""
    count, rng = whole(message, "n", 1, 10, 6), np.random.default_rng(whole(message, "seed", 0, 2**31, 0))
    images = glyphs.synthesize(unique_characters.TEST_SEED)["test"]
    different = int(rng.integers(1, count, endpoint=True))
    chosen = rng.choice(len(images), different, replace=False)
    which = rng.permutation(np.concatenate([np.arange(different), rng.integers(different, size=count - different)]))
    drawers = rng.permutation(images.shape[1])[:count]
    pictures = images[chosen[which], drawers]
    return {"drawings": [{"pixels": as_pixels(image)} for image in pictures], "labels": which, "different": different}


def as_pixels(image: np.ndarray) -> list[int]:
    return np.rint(255 * image).astype(int).ravel().tolist()


def answer(library: Library, message: Message) -> dict[str, Any]:
    """λ, the count nearest to it, what the network sees of each drawing, and who attends to whom."""
    model = library.get(text(message, "model"), "characters")
    drawings = message.get("drawings")
    if not isinstance(drawings, list) or not 1 <= len(drawings) <= MOST_DRAWINGS:
        raise BadMessage(f"'drawings' must be a list of 1 to {MOST_DRAWINGS} drawings")
    images = np.stack([picture(i, drawing) for i, drawing in enumerate(drawings)])
    with model.opened() as net:
        dtype = net.network.head.weight.dtype
        mask = np.ones((1, len(images)), dtype=bool)
        attention = []
        with evaluating(net):
            if any(hasattr(module, "weights") for module in net.network.modules()):
                with record_attention(net.network) as seen:
                    rate = net(images[:, None].astype(dtype), mask).item()
                attention = [w[0][0].mean(axis=0) for w in seen.values() if w and w[0].ndim == 4]  # of the set, (q, n)
            else:
                rate = net(images[:, None].astype(dtype), mask).item()
    between = [w for w in attention if w.shape == (len(images), len(images))]
    pooled = [w for w in attention if w.shape[1] == len(images) != w.shape[0]]
    return {
        "rate": rate,
        "nearest": max(1, round(rate)),
        "floor": int(rate),
        "pixels": [as_pixels(image) for image in images],
        "attention": np.mean(between, axis=0) if between else None,
        "pooled": pooled[-1].mean(axis=0) if pooled else None,
    }


def picture(i: int, drawing: Any) -> np.ndarray:
    """A drawing (28, 28) from 0 (paper) to 1 (ink), given as its pixels or as its strokes."""
    if not isinstance(drawing, dict) or len(drawing.keys() & {"pixels", "strokes"}) != 1:
        raise BadMessage(f"drawing {i} must be an object with either pixels or strokes")
    if "pixels" in drawing:
        pixels = drawing["pixels"]
        valid = isinstance(pixels, list) and len(pixels) == SMALL**2
        if not valid or not all(type(p) is int and 0 <= p <= 255 for p in pixels):
            raise BadMessage(f"the pixels of drawing {i} must be {SMALL**2} whole numbers from 0 to 255")
        return np.array(pixels, dtype="float32").reshape(SMALL, SMALL) / 255
    strokes = drawing["strokes"]
    if not isinstance(strokes, list) or not len(strokes) <= MOST_STROKES:
        raise BadMessage(f"the strokes of drawing {i} must be a list of at most {MOST_STROKES} strokes")
    lines = [
        vectors({f"drawing {i}": stroke}, f"drawing {i}", 2, MOST_PLACES // MOST_STROKES * 4) for stroke in strokes
    ]
    image = np.zeros((SMALL, SMALL), dtype="float32")
    for line in lines:
        image += glyphs.ink(fine(np.clip(line, 0, 1))[None, None])[0]
    return np.minimum(image, 1)


def fine(line: np.ndarray) -> np.ndarray:
    """A polyline (k, 2) in short steps of equal length; a single place becomes a dot."""
    if len(line) == 1:
        line = np.stack([line[0], line[0] + (1 / SMALL, 0)])
    length = np.concatenate([[0], np.cumsum(np.linalg.norm(np.diff(line, axis=0), axis=1))])
    steps = 2 + min(int(length[-1] / SPACING), 10_000)
    along = np.linspace(0, length[-1], steps)
    return np.stack([np.interp(along, length, line[:, axis]) for axis in (0, 1)], axis=1)
