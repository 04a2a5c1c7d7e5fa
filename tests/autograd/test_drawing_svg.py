"""The SVG of a graph, judged by what it shows: boxes, edges, their order, and the words in them."""

import itertools
from collections import Counter

import numpy as np
import pytest

from autograd.drawing import graph
from tests.helpers.pictures import EXAMPLES, SIMPLE, SVG, Picture, blocks, leaf, recurrent, residual, small

every_example = pytest.mark.parametrize("example", EXAMPLES.values(), ids=EXAMPLES.keys())


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
        start, box = (picture.boxes[i].center, picture.boxes[i].bottom), picture.boxes[j]
        column = picture.columns.get(i, [])
        assert not column or column[0] == pytest.approx(start, abs=0.11)
        assert line[0] == pytest.approx(start, abs=0.11) or line[0] in column
        assert line[-1][1] == box.top and box.left < line[-1][0] < box.right
    for j in picture.boxes:
        ends = [line[-1] for _, user, line in picture.edges if user == j]
        assert len(set(ends)) == len(ends)  # two arrows into a box do not coincide


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
def test_a_value_is_one_layer_above_its_first_use(example):
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
    centers = [picture.boxes[i].center for i in path]
    assert len(centers) == ops and max(centers) - min(centers) < 2
    arrows = [line for i, j, line in picture.edges if i in path and j == i + 1]
    assert len(arrows) == ops - 1 and all(abs(line[0][0] - line[-1][0]) < 2 for line in arrows)


def test_of_two_paths_into_an_op_the_newer_is_straight():
    """A block computes its shortcut first; the longer path, computed later, is the straight one."""
    shortcut = leaf().exp()
    drawn = graph(shortcut + leaf().tanh().sqrt().abs())
    assert [value.op for value in drawn.values[3:]] == ["tanh", "sqrt", "abs", "add"]
    centers = [box.center for box in Picture(drawn).boxes.values()]
    assert max(centers[3:]) - min(centers[3:]) < 2 < abs(centers[2] - centers[-1])


def test_a_leaf_is_above_the_op_that_uses_it():
    drawn = graph(*recurrent())
    boxes = Picture(drawn).boxes
    assert drawn.values[2].inputs == (0,)
    assert abs(boxes[0].center - boxes[2].center) < 2


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
    x = [box.center for box in Picture(drawn).boxes.values()]
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
