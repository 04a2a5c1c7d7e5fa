"""Drawings of graphs: text and DOT to the letter, the SVG by what it shows, and every refusal as one sentence."""

import doctest
import itertools
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from autograd import Tensor, drawing, linear, no_grad, softmax, stack
from autograd.drawing import Graph, graph

SVG = "{http://www.w3.org/2000/svg}"


def leaf(*shape: int, dtype: str = "float64") -> Tensor:
    return Tensor(np.ones(shape, dtype), requires_grad=True)


def small() -> tuple[Tensor, dict[str, Tensor]]:
    """A loss of four ops and three leaves."""
    named = {"W": leaf(3, 4), "b": leaf(4), "y": leaf(5, 4)}
    return (linear(np.ones((5, 3)), named["W"], named["b"]).relu() * named["y"]).sum(), named


def residual() -> tuple[Tensor, dict[str, Tensor]]:
    """Two layers, and a way around the second one."""
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
    """Twenty ops of inputs at random, some of them used twice at once."""
    rng = np.random.default_rng(seed)
    made = [leaf() for _ in range(4)]
    for _ in range(20):
        i, j = rng.integers(len(made), size=2)
        made.append(made[i] * made[j] if rng.random() < 0.7 else made[i].tanh())
    return stack(made).sum(), {}


SIMPLE = {example.__name__: example for example in (small, residual, blocks, attention, recurrent)}
EXAMPLES = SIMPLE | {"dense": dense}
EXAMPLES |= {f"scrambled {seed}": lambda seed=seed: scrambled(seed) for seed in range(5)}
every_example = pytest.mark.parametrize("example", EXAMPLES.values(), ids=EXAMPLES.keys())


@dataclass
class Box:
    left: float
    top: float
    right: float
    bottom: float
    rect: dict[str, str]
    words: list[str]

    @property
    def centre(self) -> float:
        return (self.left + self.right) / 2


Point = tuple[float, float]


class Picture:
    """An SVG as one sees it."""

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
    """Points along a path: a dozen on each curve and on each line.  To move the pen must not make it jump."""
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


# ---- text and DOT


def test_the_text_of_a_small_graph():
    loss, named = small()
    del named["y"]
    assert graph(loss, named).text.splitlines() == [
        "W       leaf      (3, 4)",
        "b       leaf      (4,)",
        "leaf 1  leaf      (5, 4)",
        "0       linear    (5, 4)  <- W, b",
        "1       relu      (5, 4)  <- 0",
        "2       multiply  (5, 4)  <- 1, leaf 1",
        "3       sum       ()      <- 2",
    ]


def test_the_example_of_the_module():
    results = doctest.testmod(drawing)
    assert results.attempted > 0 and results.failed == 0


def test_the_dot_of_a_small_graph():
    x = leaf(2)
    assert graph((x * x).sum(), {"β": x}).dot.splitlines() == [
        "digraph {",
        '  node [shape=box, fontname="monospace"];',
        '  0 [label="β\\n(2,)", shape=ellipse];',
        '  1 [label="multiply\\n(2,)"];',
        '  2 [label="sum\\n()", penwidth=3];',
        "  0 -> 1;",
        "  0 -> 1;",
        "  1 -> 2;",
        "}",
    ]


def test_a_value_used_twice_is_drawn_once():
    x = leaf(2)
    y = x.exp()
    drawn = graph(y * y + y * x)
    assert drawn.text.splitlines() == [
        "leaf 1  leaf      (2,)",
        "0       exp       (2,)  <- leaf 1",
        "1       multiply  (2,)  <- 0, 0",
        "2       multiply  (2,)  <- 0, leaf 1",
        "3       add       (2,)  <- 1, 2",
    ]
    assert sorted((a, b) for a, b, _ in Picture(drawn).edges) == [
        (0, 1),
        (0, 3),
        (1, 2),
        (1, 2),
        (1, 3),
        (2, 4),
        (3, 4),
    ]


def test_a_leaf_is_a_drawing_of_itself():
    x = leaf(2)
    assert str(graph(x, {"x": x})) == "x  leaf  (2,)"
    assert [box.words for box in Picture(graph(x)).boxes.values()] == [["leaf 1", "(2,)"]]


def test_a_dtype_is_shown_where_it_is_not_that_of_the_output():
    x = leaf(2, dtype="float32")
    assert [value.shape for value in graph(x.exp().astype("float64").sum()).values] == [
        "(2,) float32",
        "(2,) float32",
        "(2,)",
        "()",
    ]


def test_a_drawing_outlives_the_graph():
    loss, named = small()
    drawn = graph(loss, named)
    before = drawn.text, drawn.dot, drawn.svg
    loss.backward()
    assert (drawn.text, drawn.dot, drawn.svg) == before


# ---- names


class Module:
    """What graph knows of a Module."""

    def __init__(self, **parameters: Tensor) -> None:
        self.parameters = parameters

    def named_parameters(self):
        yield from self.parameters.items()


def test_the_names_of_a_module_are_those_of_a_dictionary():
    loss, named = small()
    assert graph(loss, Module(**named)) == graph(loss, named)
    assert [value.name for value in graph(loss, Module(**named)).values] == ["W", "b", "y", "0", "1", "2", "3"]


def test_leaves_without_a_name_are_numbered_by_first_use():
    x, y, z = leaf(2), leaf(3), leaf(4)
    middle = y.sum() * x.sum()
    output = middle * (z.sum() * x.sum())
    assert [(value.name, value.shape) for value in graph(output).values[:3]] == [
        ("leaf 1", "(3,)"),
        ("leaf 2", "(2,)"),
        ("leaf 3", "(4,)"),
    ]


def test_what_an_op_computed_may_have_a_name():
    x = leaf(2)
    h = x.exp()
    drawn = graph(h.sum(), {"x": x, "h": h})
    assert drawn.text.splitlines() == ["x  leaf  (2,)", "h  exp   (2,)  <- x", "0  sum   ()    <- h"]
    assert Picture(drawn).boxes[1].words == ["h = exp", "(2,)"]


def test_no_two_values_have_one_name():
    x, y = leaf(2), leaf(2)
    values = graph((x * y).sum(), {"leaf 1": y}).values
    assert [value.name for value in values] == ["leaf 2", "leaf 1", "0", "1"]
    values = graph((x * y).sum(), {"0": y}).values
    assert [value.name for value in values] == ["leaf 1", "0", "1", "2"]


def test_a_tied_parameter_has_all_of_its_names():
    x = leaf(2)
    assert graph(x.sum(), {"in": x, "out": x, "elsewhere": leaf(1)}).values[0].name == "in = out"


# ---- the SVG


@every_example
def test_the_svg_shows_every_value_and_every_edge(example):
    drawn = graph(*example())
    picture = Picture(drawn)
    assert {i: box.words for i, box in picture.boxes.items()} == {
        i: [value.label, value.shape] for i, value in enumerate(drawn.values)
    }
    expected = Counter((i, j) for j, value in enumerate(drawn.values) for i in value.inputs)
    assert Counter((i, j) for i, j, _ in picture.edges) == expected


@every_example
def test_every_edge_joins_its_boxes(example):
    """An edge begins at the box of its value, or at the column that begins there, and its arrow ends on a box."""
    picture = Picture(graph(*example()))
    for i, j, line in picture.edges:
        start, box = (picture.boxes[i].centre, picture.boxes[i].bottom), picture.boxes[j]
        column = picture.columns.get(i, [])
        assert not column or column[0] == pytest.approx(start, abs=0.11)
        assert line[0] == pytest.approx(start, abs=0.11) or line[0] in column
        assert line[-1][1] == box.top and box.left < line[-1][0] < box.right
    for j in picture.boxes:
        ends = [line[-1] for _, user, line in picture.edges if user == j]
        assert len(set(ends)) == len(ends)  # of two arrows into a box, both can be seen


@every_example
def test_boxes_do_not_overlap(example):
    for a, b in itertools.combinations(Picture(graph(*example())).boxes.values(), 2):
        assert a.right < b.left or b.right < a.left or a.bottom < b.top or b.bottom < a.top


@every_example
def test_no_edge_runs_through_a_box(example):
    picture = Picture(graph(*example()))
    for line in [*picture.columns.values(), *(line for _, _, line in picture.edges)]:
        x, y = np.array(line).T
        for box in picture.boxes.values():
            assert not np.any((box.left < x) & (x < box.right) & (box.top < y) & (y < box.bottom))


@every_example
def test_everything_is_inside_the_picture(example):
    picture = Picture(graph(*example()))
    left, top, width, height = (float(word) for word in picture.root.get("viewBox").split())
    assert (left, top) == (0, 0)
    assert (float(picture.root.get("width")), float(picture.root.get("height"))) == (width, height)
    corners = [(x, y) for box in picture.boxes.values() for x, y in ((box.left, box.top), (box.right, box.bottom))]
    points = [*corners, *itertools.chain(*picture.columns.values()), *(p for _, _, line in picture.edges for p in line)]
    assert all(0 < x < width and 0 < y < height for x, y in points)


@every_example
def test_a_value_stands_one_layer_above_its_first_use(example):
    picture = Picture(graph(*example()))
    tops = sorted({box.top for box in picture.boxes.values()})
    layer = {i: tops.index(box.top) for i, box in picture.boxes.items()}
    for i in picture.boxes:
        uses = [layer[j] for source, j, _ in picture.edges if source == i]
        assert layer[i] == (min(uses) - 1 if uses else len(tops) - 1)


@pytest.mark.parametrize(("example", "ops"), [(residual, 6), (blocks, 22)])
def test_the_longest_path_is_straight(example, ops):
    drawn = graph(*example())
    picture = Picture(drawn)
    path = [i for i, value in enumerate(drawn.values) if value.op != "leaf"]
    centres = [picture.boxes[i].centre for i in path]
    assert len(centres) == ops and max(centres) - min(centres) < 2
    arrows = [line for i, j, line in picture.edges if i in path and j == i + 1]
    assert len(arrows) == ops - 1 and all(abs(line[0][0] - line[-1][0]) < 2 for line in arrows)


def test_of_two_paths_into_an_op_the_younger_is_straight():
    """A block computes its shortcut first, and then what is worth a straight line."""
    shortcut = leaf().exp()
    drawn = graph(shortcut + leaf().tanh().sqrt().abs())
    assert [value.op for value in drawn.values[3:]] == ["tanh", "sqrt", "abs", "add"]
    centres = [box.centre for box in Picture(drawn).boxes.values()]
    assert max(centres[3:]) - min(centres[3:]) < 2 < abs(centres[2] - centres[-1])


def test_a_leaf_stands_above_the_op_that_uses_it():
    drawn = graph(*recurrent())
    boxes = Picture(drawn).boxes
    assert drawn.values[2].inputs == (0,)
    assert abs(boxes[0].centre - boxes[2].centre) < 2


@pytest.mark.parametrize("example", SIMPLE.values(), ids=SIMPLE.keys())
def test_no_edges_cross_in_simple_graphs(example):
    picture = Picture(graph(*example()))
    lines = [{y: x for x, y in line} for line in [*picture.columns.values(), *(line for _, _, line in picture.edges)]]
    layers = sorted({(box.top, box.bottom) for box in picture.boxes.values()})
    for (_, high), (low, _) in itertools.pairwise(layers):
        ends = [(line[high], line[low]) for line in lines if high in line and low in line]
        assert ends
        assert all((a - c) * (b - d) >= 0 for (a, b), (c, d) in itertools.combinations(ends, 2))


@every_example
def test_words_fit_into_their_boxes(example):
    for box in Picture(graph(*example())).boxes.values():
        letter = 0.61 * 13  # of a monospaced font of size 13: DejaVu's is 0.602 of the size, Menlo's the same
        assert max(len(word) for word in box.words) * letter + 10 < box.right - box.left


def test_layers_are_ordered_so_that_edges_do_not_cross():
    a, b = leaf(), leaf()
    first, second = a.exp(), b.exp()
    later = second.tanh()  # created before the tanh of the first: in creation order the edges would cross
    drawn = graph(first.tanh() + later, {"a": a, "b": b})
    assert [value.op for value in drawn.values] == ["leaf", "leaf", "exp", "exp", "tanh", "tanh", "add"]
    x = [box.centre for box in Picture(drawn).boxes.values()]
    assert (x[0] < x[1]) == (x[2] < x[3]) == (x[5] < x[4])


def test_leaves_and_the_output_stand_out():
    drawn = graph(*small())
    boxes = Picture(drawn).boxes
    looks = [(boxes[i].rect["rx"], boxes[i].rect["fill"]) for i in boxes]
    leaves, ops, output = set(looks[:3]), set(looks[3:-1]), looks[-1]
    assert len(leaves) == len(ops) == 1 and leaves != ops
    assert output not in leaves | ops


def test_the_svg_has_a_title_and_a_background():
    root = Picture(graph(*small())).root
    assert root.tag == f"{SVG}svg"
    assert root.find(f"{SVG}title").text == "graph of sum"
    shapes = [shape for shape in root.iter() if shape.tag in (f"{SVG}rect", f"{SVG}text")]
    assert shapes[0].attrib == {"width": "100%", "height": "100%", "fill": "#ffffff"}  # below everything else


def test_names_are_escaped():
    x, y = leaf(2), leaf(2)
    drawn = graph(x * y, {'<b>&amp;"\\': x, "two\nlines\0": y})
    assert [value.name for value in drawn.values[:2]] == ['<b>&amp;"\\', "two\\nlines\\x00"]
    assert len(drawn.text.splitlines()) == 3
    assert '  0 [label="<b>&amp;amp;\\"\\\\\\n(2,)", shape=ellipse];' in drawn.dot.splitlines()
    assert Picture(drawn).boxes[0].words == ['<b>&amp;"\\', "(2,)"]
    assert Picture(graph(x, {"<x>": x})).root.find(f"{SVG}title").text == "graph of <x>"


# ---- where it is shown


def test_a_notebook_shows_the_svg_and_a_terminal_the_text():
    drawn = graph(*small())
    assert drawn._repr_svg_() == drawn.svg
    assert repr(drawn) == str(drawn) == drawn.text


@pytest.mark.parametrize(("name", "kind"), [("a.svg", "svg"), ("a.dot", "dot"), ("a.txt", "text"), ("A.SVG", "svg")])
def test_save_writes_what_the_suffix_says(tmp_path: Path, name: str, kind: str):
    x = leaf(2)
    drawn = graph(x.sum(), {"β": x})
    drawn.save(tmp_path / name)
    drawn.save(str(tmp_path / name))  # again, and as a string
    assert (tmp_path / name).read_text(encoding="utf-8") == getattr(drawn, kind) + "\n"


@pytest.mark.parametrize("name", ["a.png", "a"])
def test_save_refuses_other_suffixes(tmp_path: Path, name: str):
    with pytest.raises(ValueError, match=rf"saved to a \.svg, \.dot or \.txt file; given .*{name}'"):
        graph(leaf(2)).save(tmp_path / name)
    assert not list(tmp_path.iterdir())


# ---- large graphs, and refusals


def test_a_deep_graph():
    """Deeper than Python's stack, with a leaf that is used in every layer."""
    x = y = leaf()
    for _ in range(5000):
        y = y * x
    drawn = graph(y, {"x": x}, limit=5001)
    assert len(drawn.text.splitlines()) == 5001 and drawn.dot.count("->") == 10000
    root = ElementTree.fromstring(drawn.svg)
    assert len(root.findall(f"{SVG}g[@data-value]")) == 5001 and len(root.findall(f".//{SVG}path[@data-to]")) == 10000


def test_the_limit_is_the_largest_number_of_nodes():
    loss, named = small()
    assert len(graph(loss, named, limit=7).values) == 7
    with pytest.raises(ValueError, match=r"a graph of 7 nodes is above the limit of 6: draw .* or pass limit=7"):
        graph(loss, named, limit=6)


def test_by_default_500_nodes_are_drawn():
    y = leaf()
    for _ in range(499):
        y = y * 1.0
    assert len(graph(y).values) == 500
    with pytest.raises(ValueError, match="a graph of 501 nodes is above the limit of 500"):
        graph(y * 1.0)


def test_a_freed_graph_is_refused():
    x = leaf(2)
    y = x.exp()
    loss, other = y.sum(), y.tanh()
    loss.backward()
    with pytest.raises(RuntimeError, match="graph of sum, which backward has freed; draw it before backward"):
        graph(loss)
    with pytest.raises(RuntimeError, match="graph of exp, which backward has freed"):  # a part of this one
        graph(other)


def test_a_constant_is_refused():
    with pytest.raises(ValueError, match=r"a constant of shape \(3,\), which has none: .* requires_grad=True"):
        graph(Tensor([1.0, 2.0, 3.0]))
    x = leaf(2)
    with no_grad(), pytest.raises(ValueError, match=r"constant of shape \(\).* no_grad\(\)"):
        graph(x.sum())


@pytest.mark.parametrize("output", [None, 1.0, np.ones(2), [leaf(2)]], ids=lambda output: type(output).__name__)
def test_what_is_not_a_tensor_is_refused(output: object):
    with pytest.raises(TypeError, match=f"given {type(output).__name__}; pass a Tensor"):
        graph(output)


def test_names_that_are_none_are_refused():
    x = leaf(2)
    with pytest.raises(TypeError, match=r"names must be a dictionary .* or a Module, given list; pass"):
        graph(x, [x])
    with pytest.raises(TypeError, match="only Tensors have names in a graph, given ndarray as 'x'"):
        graph(x, {"x": np.ones(2)})
