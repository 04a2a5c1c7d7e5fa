"""The pictures of the book: drawn by the scripts that are there, up to date, in the page's colors, used by a page."""

import re
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from docs.pictures import __main__ as command
from docs.pictures.drawing import Drawing, picture
from docs.pictures.plot import COLORS, Plot, new_figure
from docs.pictures.style import site_style
from docs.pictures.words import number, pieces, spans

ROOT = Path(__file__).parent.parent.parent
FOLDER = ROOT / "docs" / "pictures"
PICTURES = command.find()
DRAWN = sorted(PICTURES)
if "autograd.fast" not in sys.modules:  # tests/helpers/without_fast: there are no blocks to measure
    DRAWN.remove("attention-memory")
FILES = sorted(FOLDER.glob("*.svg"))


@pytest.mark.parametrize("name", DRAWN)
def test_the_file_is_what_the_script_draws(name: str):
    path = FOLDER / f"{name}.svg"
    assert not command.is_stale(path, PICTURES[name]().svg()), f"python -m docs.pictures {name}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_picture_has_a_script_a_title_and_a_place(path: Path):
    assert path.stem in PICTURES, f"no function draws {path.name}"
    text = path.read_text(encoding="utf-8")
    root = ElementTree.fromstring(text)
    assert float(root.get("width", "0")) <= 700 and 'class="drawing"' in text
    title = root.find("{http://www.w3.org/2000/svg}title")
    assert title is not None and len(title.text or "") > 10
    used = [page.name for page in (ROOT / "docs").glob("*.md") if f"pictures/{path.name})" in page.read_text("utf-8")]
    assert used, f"no page shows {path.name}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_no_color_is_fixed(path: Path):
    """Outside its style a picture names colors; black or white would vanish on one of the two kinds of page."""
    body = re.sub(r"<style.*?</style>|<image.*?/>", "", path.read_text(encoding="utf-8"), flags=re.S)
    fixed = re.findall(r"(?:fill|stroke|color)[=:]\s*[\"']?\s*(#[0-9a-fA-F]{3,6}|black|white|rgb\([^)]*\))", body)
    assert not fixed


def demo() -> Drawing:
    d = Drawing(300, 100, "two boxes & an arrow")
    a, b = d.box(50, 50, "*A*_{1} < B", below="n × d"), d.circle(200, 50, 20, "+")
    d.arrow(a, b, label="x", bend=10)
    d.cells(
        230, 30, 2, 2, values=[[1, -0.5], [0, 0.2]], labels=[["1", "2"], ["3", "4"]], crossed=lambda i, j: i == j == 1
    )
    d.brace((0, 80), (100, 80), "b")
    d.route((0, 0), (0, 10), (10, 10))
    with d.group(x=3, opacity=0.5):
        d.dot(1, 2)
    return d


def test_a_drawing_is_valid_and_the_same_every_time():
    svg = demo().svg()
    assert svg == demo().svg()
    root = ElementTree.fromstring(svg)
    assert root.findtext("{http://www.w3.org/2000/svg}title") == "two boxes & an arrow"
    assert "url(#arrow-ink)" in svg and svg.count('class="cell"') == 4
    with pytest.raises(ValueError, match="needs a title"):
        Drawing(1, 1, "")


def test_an_arrow_goes_from_border_to_border():
    d = Drawing(300, 100, "arrow")
    a, b = d.box(50, 50, "A", width=40, height=20), d.box(250, 50, "B", width=40, height=20)
    d.arrow(a, b)
    assert "M72 50 L228 50" in d.svg()  # two pixels from each
    assert a.at(1, 0) == (70, 50) and a.top == 40 and a.cell(0, 1, 2, 4).x == 45


def test_text():
    assert pieces("*Q*_{k}x^{⊤}") == [("Q", "", True), ("k", "_", False), ("x", "", False), ("⊤", "^", False)]
    assert spans("a<b", 10) == "a&lt;b"
    assert spans("x_{1}y", 10) == 'x<tspan dy="2.2" font-size="7.2">1</tspan><tspan dy="-2.2">y</tspan>'
    assert [number(v) for v in (-0.0, 1.0, 2.126, 10)] == ["0", "1", "2.13", "10"]


def test_a_plot_names_its_colors_and_is_the_same_every_time():
    def plot() -> str:
        figure = new_figure(3, 2)
        figure.subplots().plot([0, 1], [1, 0], color=COLORS["blue"], label="a")
        return Plot(figure, "a falling line").svg()

    svg = plot()
    assert svg == plot() and "stroke: var(--blue)" in svg and "var(--ink)" in svg
    assert "#0101" not in svg and ElementTree.fromstring(svg).get("width") == "288"


def test_what_counts_as_stale(tmp_path: Path):
    path, svg = tmp_path / "a.svg", demo().svg()
    assert command.is_stale(path, svg)
    path.write_text(svg, encoding="utf-8")
    assert not command.is_stale(path, svg) and not command.is_stale(path, svg.replace('cx="200"', 'cx="200.3"'))
    assert command.is_stale(path, svg.replace('cx="200"', 'cx="201"'))
    assert command.is_stale(path, svg.replace(">x<", ">y<")) and command.is_stale(
        path, svg.replace("<circle", "<g/><circle")
    )


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture):
    monkeypatch.setattr(command, "FOLDER", tmp_path)
    monkeypatch.setattr(command, "PICTURES", {})
    monkeypatch.setattr("docs.pictures.drawing.PICTURES", command.PICTURES)
    picture(demo)
    assert command.main([]) == 0 and command.main(["--check"]) == 0
    (tmp_path / "demo.svg").write_text("<svg/>")
    (tmp_path / "old.svg").write_text("<svg/>")
    capsys.readouterr()
    assert command.main(["--check"]) == 1
    found = capsys.readouterr().err
    assert "demo.svg is not up to date" in found and "old.svg has no function" in found
    assert command.main(["nothing"]) == 2 and "there is no picture 'nothing'" in capsys.readouterr().err

    def other() -> Drawing:
        return demo()

    other.__name__, other.__module__ = "demo", "elsewhere"
    with pytest.raises(ValueError, match="two pictures are called 'demo'"):
        picture(other)


def test_the_style_of_the_site_follows_the_switch_of_the_page():
    style = site_style()
    assert style.index('body[data-theme="light"]') > style.index("prefers-color-scheme: dark")
    assert 'body[data-theme="dark"] .drawing { --ink: #e3e8ee;' in style
