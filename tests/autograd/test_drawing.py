"""Drawings of graphs: text and DOT literally, names, files, and errors.  test_drawing_svg.py has the SVG."""

import doctest
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from autograd import Tensor, drawing, no_grad
from autograd.drawing import graph
from tests.helpers.pictures import SVG, Picture, leaf, small

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
    """The part of a Module that graph uses."""

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


def test_an_ops_output_may_have_a_name():
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


# ---- where it is shown


def test_a_notebook_shows_the_svg_and_a_terminal_the_text():
    drawn = graph(*small())
    assert drawn._repr_svg_() == drawn.svg
    assert repr(drawn) == str(drawn) == drawn.text


@pytest.mark.parametrize(("name", "kind"), [("a.svg", "svg"), ("a.dot", "dot"), ("a.txt", "text"), ("A.SVG", "svg")])
def test_the_suffix_chooses_the_format(tmp_path: Path, name: str, kind: str):
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


def test_bad_names_are_refused():
    x = leaf(2)
    with pytest.raises(TypeError, match=r"names must be a dictionary .* or a Module, given list; pass"):
        graph(x, [x])
    with pytest.raises(TypeError, match="only Tensors have names in a graph, given ndarray as 'x'"):
        graph(x, {"x": np.ones(2)})
