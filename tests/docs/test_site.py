"""The site's own code: formulas, docstrings, annotated sources, the reference, and how pages are collected."""

import importlib
import inspect
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from docs.site import annotated, api, docstrings
from docs.site.mathml import TexError, mathml
from docs.site.prepare import ROOT, Site, prepare

# ---- formulas


@pytest.mark.parametrize(
    ("tex", "part"),
    [
        (r"x_i^2", "<msubsup><mi>x</mi><mi>i</mi><mn>2</mn></msubsup>"),
        (r"\frac12", "<mfrac><mn>1</mn><mn>2</mn></mfrac>"),
        (r"\sqrt[3]{x}", "<mroot><mi>x</mi><mn>3</mn></mroot>"),
        (r"\mathrm{softmax}(x)", "<mi mathvariant='normal'>softmax</mi><mo"),
        (r"\mathbb{R}^{n \times d}", "<mi>ℝ</mi>"),
        (r"\text{all of } x", "<mtext>all\xa0of\xa0</mtext>"),
        (r"f''", '<mrow><mi>f</mi><mo lspace="0" rspace="0">′</mo><mo lspace="0" rspace="0">′</mo></mrow>'),
        (r"x \log y", '<mi>x</mi><mspace width="0.17em"/><mi>log</mi>'),
        (r"\left( x \right]", '<mo stretchy="true">(</mo>'),
        (r"a - b", "<mo>−</mo>"),
        (r"f(-x)", '<mo form="prefix" lspace="0" rspace="0">−</mo>'),
        (r"\begin{bmatrix} 1 & 2 \\ 3 & 4 \end{bmatrix}", '<mtr><mtd class="center"><mn>3</mn></mtd>'),
        (r"\begin{aligned} a &= b \cr &= c \end{aligned}", '<mtd class="left"><mo>=</mo><mi>b</mi></mtd>'),
        (r"\underbrace{x}_{n}", "<munder>"),
        (r"3.14", "<mn>3.14</mn>"),
        (r"a < b", "<mo>&lt;</mo>"),
    ],
)
def test_tex_becomes_mathml(tex: str, part: str):
    assert part in mathml(tex)
    ElementTree.fromstring(mathml(tex, display=True))


def test_limits_stand_above_and_below_only_in_display():
    assert "<munderover>" in mathml(r"\sum_{i=1}^n", display=True) and "<msubsup>" in mathml(r"\sum_{i=1}^n")
    assert mathml("x", display=True).startswith('<math display="block" alttext="x">')


@pytest.mark.parametrize("tex", ["{x", "x}", r"\frac{1}", r"\unknown", "x__1", "a & b", r"\begin{tabular}", r"\left(x"])
def test_wrong_tex_is_refused(tex: str):
    with pytest.raises(TexError, match="in the formula"):
        mathml(tex)


# ---- docstrings


def test_equations_keep_their_lines_and_text_flows():
    text = "One\ntwo `x` <y>.\n\n    a = b\n\n    c\n\nname    what it is\n"
    assert docstrings.html(text) == (
        '<div class="docstring"><p>One two <code>x</code> &lt;y&gt;.</p>'
        "<pre>    a = b&#10; &#10;    c&#10; &#10;name    what it is</pre></div>"
    )
    assert docstrings.html(None) == '<div class="docstring"></div>'


# ---- annotated sources


@pytest.mark.parametrize("name", annotated.ORDER)
def test_every_note_has_its_code_and_every_definition_an_explanation(name: str):
    notes = annotated.read(annotated.NOTES / f"{name}.md")
    defined = [piece for file in notes.files for piece in annotated.definitions(file)]
    assert notes.files and not set(notes.notes) - {piece.name for piece in defined}
    assert [piece.name for piece in defined if not piece.docstring and not notes.notes.get(piece.name)] == []


@pytest.mark.parametrize("name", annotated.ORDER)
def test_no_line_of_code_is_lost(name: str):
    """Together the pieces are the file: without docstrings, headings and indentation."""
    for file in annotated.read(annotated.NOTES / f"{name}.md").files:
        text = file.read_text(encoding="utf-8")
        shown = "\n".join(f"{piece.docstring}\n{piece.heading}\n{piece.code}" for piece in annotated.pieces(file))
        words = [word for word in text.replace('"""', " ").replace("//", " ").split() if not word.startswith("----")]
        missing = [word for word in words if word not in shown and word != "#"]
        assert missing == [], missing


SOURCE = '''"""Module."""

import a

# ---- first ----


@b
def f():
    """Doc."""
    return 1


# why
class C:
    x = 1

    def __init__(self):
        pass

    def g(self):
        return 2


D = 3
'''


def test_the_pieces_of_a_file(tmp_path: Path):
    (tmp_path / "x.py").write_text(SOURCE)
    found = annotated.pieces(tmp_path / "x.py")
    assert [(piece.name, piece.heading, piece.docstring) for piece in found] == [
        ("", "", "Module."),
        ("f", "first", "Doc."),
        ("C", "", ""),
        ("C.g", "", ""),
        ("", "", ""),
    ]
    assert found[1].code == "@b\ndef f():\n    return 1" and found[3].code == "def g(self):\n    return 2"
    assert found[2].code.startswith("# why\nclass C:") and "pass" in found[2].code and found[4].code == "D = 3"


# ---- the reference


@pytest.mark.parametrize("name", api.MODULES)
def test_every_public_name_has_an_entry(name: str):
    module = importlib.import_module(name)
    public, text = api.names(module), api.page(module)
    assert public and all(f"\n## {word}\n" in text for word in public)
    found = {word: getattr(module, word) for word in public}
    explained = {word: api.documentation(value) for word, value in found.items() if inspect.isroutine(value)}
    explained |= {word: api.documentation(value) for word, value in found.items() if inspect.isclass(value)}
    assert all(explained.values()), [word for word, text in explained.items() if not text]


def test_the_names_that_are_public():
    assert api.names(importlib.import_module("minisets.interop")) == [
        "load_authors",
        "authors_state",
        "save_safetensors",
        "load_safetensors",
    ]
    assert {"Run", "rng_for", "option", "TEST"} <= set(api.names(importlib.import_module("tasks.harness")))


def test_a_signature():
    def f(x: int, *words: str, y: float = 1.0, **more: object) -> None: ...

    assert api.signature(f, "f").startswith("<b>f</b>(x: int, *words: str, y: float = 1.0, **more: object)")


# ---- collecting pages


def test_links_lead_to_pages_of_the_site(tmp_path: Path):
    site = Site(tmp_path)
    text = site.rewrite(
        "[a](../minisets/masks.py#L3) [b](05-attention.md#x) [c](../README.md) `[d](../LICENSE)` [e](https://x.y)\n"
        "```python source minisets/masks.py f\nx\n```\n",
        ROOT / "docs" / "06-blocks.md",
    )
    assert "[a](source/minisets/masks.py.md)" in text and "[b](05-attention.md#x)" in text
    assert "[c](project/readme.md)" in text and "`[d](../LICENSE)`" in text and "[e](https://x.y)" in text
    assert ":caption: minisets/masks.py, f" in text and site.linked == {ROOT / "minisets" / "masks.py"}
    text = site.rewrite("[a](../24-scaling.md) [b](vgg.md)", ROOT / "docs" / "results" / "README.md")
    assert text == "[a](../24-scaling.md) [b](vgg.md)"


def test_all_pages_are_collected(tmp_path: Path):
    prepare(tmp_path)
    index = (tmp_path / "index.md").read_text(encoding="utf-8")
    for name in ("05-attention.md", "annotated/tape.md", "api/autograd.md", "source/autograd/tape.py.md"):
        assert (tmp_path / name).is_file()
    assert ":caption: Part II. Networks on sets" in index and "notebooks/part-1.ipynb" in index
    assert "\nPrevious: [" not in (tmp_path / "06-blocks.md").read_text(encoding="utf-8")
    assert 'body[data-theme="dark"] .drawing' in (tmp_path / "static" / "pictures.css").read_text(encoding="utf-8")


def test_a_picture_in_a_page():
    figures = pytest.importorskip(
        "docs.site.figures", reason="docutils is not installed: make docs", exc_type=ImportError
    )
    svg = '<?xml?><svg width="1"><style>a</style>\n<title>T</title><marker id="m"/><path marker-end="url(#m)"/></svg>'
    assert figures.inlined(svg, 'a "b"', "p1") == (
        '<div class="picture"><svg aria-label="a &quot;b&quot;" width="1">'
        '<marker id="p1-m"/><path marker-end="url(#p1-m)"/></svg></div>'
    )
