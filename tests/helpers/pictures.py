"""Example graphs to draw, and the boxes and lines of the SVG that is drawn."""

import re
from dataclasses import dataclass
from xml.etree import ElementTree

import numpy as np

from autograd import Tensor, linear, softmax, stack
from autograd.drawing import Graph

SVG = "{http://www.w3.org/2000/svg}"


def leaf(*shape: int, dtype: str = "float64") -> Tensor:
    return Tensor(np.ones(shape, dtype), requires_grad=True)


def small() -> tuple[Tensor, dict[str, Tensor]]:
    """A loss of four ops and three leaves."""
    named = {"W": leaf(3, 4), "b": leaf(4), "y": leaf(5, 4)}
    return (linear(np.ones((5, 3)), named["W"], named["b"]).relu() * named["y"]).sum(), named


def residual() -> tuple[Tensor, dict[str, Tensor]]:
    """Two layers, with a shortcut around the second."""
    named = {"W1": leaf(8, 16), "b1": leaf(16), "W2": leaf(16, 16), "b2": leaf(16)}
    h = linear(np.ones((5, 8)), named["W1"], named["b1"]).relu()
    return (h + linear(h, named["W2"], named["b2"]).relu()).sum(), named


def blocks() -> tuple[Tensor, dict[str, Tensor]]:
    """Four residual blocks, of two layers each."""
    h = linear(np.ones((5, 8)), leaf(8, 8), leaf(8))
    for _ in range(4):
        h = h + linear(linear(h, leaf(8, 8), leaf(8)).relu(), leaf(8, 8), leaf(8)).relu()
    return h.sum(), {}


def attention() -> tuple[Tensor, dict[str, Tensor]]:
    """H + relu(H W), where H = softmax(X Wq (X Wk)ᵀ / 2) X Wv Wo + X: the leaf X is used early and late."""
    X, q, k, v, o, W = leaf(5, 4), *(leaf(4, 4) for _ in range(5))
    queries, keys, values = X @ q, X @ k, X @ v
    H = softmax(queries @ keys.T * 0.5, axis=-1) @ values @ o + X
    return (H + (H @ W).relu()).sum(), {"X": X, "Wq": q, "Wk": k, "Wv": v, "Wo": o}


def recurrent() -> tuple[Tensor, dict[str, Tensor]]:
    """The same weight in every step."""
    W, h = leaf(4, 4), np.ones((5, 8)) @ leaf(8, 4)
    for _ in range(4):
        h = (h @ W).tanh()
    return h.sum(), {"W": W}


def dense() -> tuple[Tensor, dict[str, Tensor]]:
    """Every layer uses all the layers before it."""
    w = leaf()
    layers = [w * 1.0]
    for _ in range(5):
        layers.append(stack([*layers, w, leaf()]).mean())
    return layers[-1], {"a rather long name, which makes for a wide box": w}


def scrambled(seed: int) -> tuple[Tensor, dict[str, Tensor]]:
    """Twenty ops of random inputs, some with the same input twice."""
    rng = np.random.default_rng(seed)
    made = [leaf() for _ in range(4)]
    for _ in range(20):
        i, j = rng.integers(len(made), size=2)
        made.append(made[i] * made[j] if rng.random() < 0.7 else made[i].tanh())
    return stack(made).sum(), {}


SIMPLE = {example.__name__: example for example in (small, residual, blocks, attention, recurrent)}
EXAMPLES = SIMPLE | {"dense": dense}
EXAMPLES |= {f"scrambled {seed}": lambda seed=seed: scrambled(seed) for seed in range(5)}


@dataclass
class Box:
    left: float
    top: float
    right: float
    bottom: float
    rect: dict[str, str]
    words: list[str]

    @property
    def center(self) -> float:
        return (self.left + self.right) / 2


Point = tuple[float, float]


class Picture:
    """The boxes and lines of an SVG."""

    def __init__(self, drawn: Graph) -> None:
        self.root = ElementTree.fromstring(drawn.svg)
        self.boxes: dict[int, Box] = {}
        for group in self.root.iter(f"{SVG}g"):
            if "data-value" in group.attrib:
                rect = group.find(f"{SVG}rect").attrib
                x, y, width, height = (float(rect[key]) for key in ("x", "y", "width", "height"))
                words = [text.text for text in group.iter(f"{SVG}text")]
                self.boxes[int(group.get("data-value"))] = Box(x, y, x + width, y + height, rect, words)
        paths = [path for path in self.root.iter(f"{SVG}path") if "data-from" in path.attrib]
        edges = [path for path in paths if "data-to" in path.attrib]
        self.edges = [(int(p.get("data-from")), int(p.get("data-to")), traced(p.get("d"))) for p in edges]
        self.columns = {int(p.get("data-from")): traced(p.get("d")) for p in paths if "data-to" not in p.attrib}


def traced(path: str) -> list[Point]:
    """Points along a path: a dozen on each curve and on each line.  A move must not leave a gap."""
    points: list[Point] = []
    for letter, numbers in re.findall(r"([MCV])([^MCV]*)", path):
        n = [float(word) for word in numbers.split()]
        if letter == "M":
            assert not points or points[-1] == (n[0], n[1])
            points.append((n[0], n[1]))
            continue
        x, y = points[-1]
        corners = np.array(
            [[x, y], [x, y], [x, n[0]], [x, n[0]]] if letter == "V" else [[x, y], *np.reshape(n, (3, 2))]
        )
        for t in np.linspace(0, 1, 13)[1:]:
            weights = np.array([(1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t**2 * (1 - t), t**3])
            points.append(tuple((weights @ corners).tolist()))
    return points
