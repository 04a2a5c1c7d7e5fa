"""Every snippet of the book runs and prints what the text says; code, names, links, formulas and order are right."""

import contextlib
import doctest
import io
import sys
from pathlib import Path

import pytest

import autograd
from docs import contents, markdown
from tests.docs import pages
from tests.docs.pages import ROOT

DOCS = ROOT / "docs"
BOOK = [ROOT / "README.md", *sorted(DOCS.glob("*.md"))]
PAGES = [*BOOK, ROOT / "CONTRIBUTING.md", *sorted(DOCS.glob("*/*.md"))]

RUN = list(BOOK)
if "autograd.fast" not in sys.modules:  # tests/helpers/without_fast: the chapter on speed has nothing to show
    RUN.remove(DOCS / "22-speed.md")


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def run(text: str) -> None:
    """A ```python block runs; a ```text block after it is what it prints."""
    names: dict = {}
    printed = None
    for fence in markdown.fences(text):
        if fence.info == "python":
            with contextlib.redirect_stdout(io.StringIO()) as out:
                exec(compile(fence.body, f"the snippet in line {fence.line}", "exec"), names)
            printed = out.getvalue()
        elif fence.info == "text":
            assert printed == fence.body, (
                f"line {fence.line} promises\n{fence.body}\nbut the snippet before it printed\n{printed}"
            )


@pytest.mark.parametrize("page", RUN, ids=name)
def test_snippets_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    run(page.read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_what_a_page_names_exists(page: Path):
    text = page.read_text(encoding="utf-8")
    assert pages.source_problems(text) == []
    assert pages.name_problems(text) == []
    assert pages.link_problems(page) == []
    assert pages.tex_problems(text) == []


@pytest.mark.parametrize("page", contents.pages())
def test_a_page_has_the_title_that_the_contents_say(page: str):
    assert (DOCS / page).is_file()
    assert f"[{contents.title(page)}]({page})" in (DOCS / "index.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", contents.chapters())
def test_a_chapter_leads_to_the_one_before_and_the_one_after(page: str):
    last = (DOCS / page).read_text(encoding="utf-8").rstrip().rpartition("\n")[2]
    assert last == contents.neighbours(page), "python -m docs.contents writes these lines"


def test_every_page_is_in_the_contents_and_the_numbers_have_no_gap():
    listed = contents.pages()
    assert sorted(listed) == sorted(set(listed))
    assert {page.name for page in DOCS.glob("*.md")} - set(listed) == {"index.md"}
    assert [int(page[:2]) for page in contents.chapters()] == list(range(len(contents.chapters())))


def test_the_example_in_the_package():
    assert doctest.testmod(autograd).failed == 0


# ---- the checks can fail


def test_a_snippet_that_prints_something_else_is_noticed():
    run("```python\nprint(1)\n```\n\nprints\n\n```text\n1\n```\n")
    with pytest.raises(AssertionError, match="line 5 promises"):
        run("```python\nprint(1)\n```\n\n```text\n2\n```\n")
    with pytest.raises(ZeroDivisionError):
        run("- In a list:\n\n  ```python\n  1 / 0\n  ```\n")


SOURCE = '''
X = 1


@property
def f(x):
    """Why."""
    return x


class C:
    """A class."""

    def g(self):
        """Its method."""
        return 1
'''


def test_code_that_is_not_the_repositorys_is_noticed(tmp_path: Path):
    (tmp_path / "a.py").write_text(SOURCE)

    def problems(words: str, body: str) -> list[str]:
        return pages.source_problems(f"```python source {words}\n{body}\n```\n", tmp_path)

    assert problems("a.py f", '@property\ndef f(x):\n    """Why."""\n    return x') == []
    assert problems("a.py f body", "@property\ndef f(x):\n    return x") == []
    assert problems("a.py C.g body", "def g(self):\n    return 1") == [] and problems("a.py X", "X = 1") == []
    assert "a.py has f as" in problems("a.py f body", "@property\ndef f(x):\n    return y")[0]
    assert "has no C.h" in problems("a.py C.h", "def h(self):\n    return 1")[0]
    assert "there is no file" in problems("b.py f", "")[0]
    assert "write ```python source" in problems("a.py", "")[0] and "write" in problems("a.py f all", "")[0]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("`minisets/mask.py`", "there is no minisets/mask.py"),
        ("`minisets/masks.py:9999`", "has no text in line 9999"),
        ("`autograd.tape.Tesnor`", "there is no autograd.tape.Tesnor"),
        ("`minisets.blocks.MAB.froward(X)`", "there is no minisets.blocks.MAB.froward"),
        ("`minisets/masks.py`, `minisets/masks.py:1`, `minisets.blocks.MAB.forward(X)`, `docs/ch/NN-NAME.md`", None),
        ("```text\n`minisets/mask.py`\n```", None),
    ],
)
def test_a_name_of_nothing_is_noticed(text: str, problem: str | None):
    found = pages.name_problems(text)
    assert (found == []) if problem is None else (len(found) == 1 and problem in found[0])


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[a](b.md)", "there is no file b.md"),
        ("![a picture](pictures/b.svg)", "there is no file pictures/b.svg"),
        ("# A title\n\n[a](#a-titel)", "has no heading #a-titel"),
        ("[a](other.md#two-1)", "has no heading #two-1"),
        ("[a](code.py#L7)", "has nothing at #L7"),
        ("# A `title`, *long*\n\n[a](#a-title-long) [b](other.md#two) [c](code.py#L1) [d](https://x.y/z)", None),
        ("`[a](b.md)` and\n\n```\n[a](b.md)\n```", None),
    ],
)
def test_a_link_to_nothing_is_noticed(text: str, problem: str | None, tmp_path: Path):
    (tmp_path / "other.md").write_text("# One\n\n## Two\n")
    (tmp_path / "code.py").write_text("x = 1\n")
    (tmp_path / "page.md").write_text(text)
    found = pages.link_problems(tmp_path / "page.md")
    assert (found == []) if problem is None else (len(found) == 1 and problem in found[0])


def test_the_names_of_headings():
    text = (
        "# Why √d\n\n## A. *b* `c_d`\n\n## A. *b* `c_d`\n\n### [A link](x.md), and more\n\n```text\n# no heading\n```\n"
    )
    assert markdown.anchors(text) == {"why-d", "a-b-c_d", "a-b-c_d-1", "a-link-and-more"}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (r"$\fraction{1}{2}$", r"\fraction is not known"),
        (r"$$x_{i$$", "it ends too early"),
        (r"$\operatorname{softmax}(x)$", "write \\mathrm"),
        (r"$a\, b$", "write \\thinspace"),
        (r"$x_i_j$", "two _ in a row"),
        (r"$\left( x$", r"\left without \right"),
        (r"$$\begin{aligned} x \end{bmatrix}$$", "ends with another name"),
        ("a price of 5 $ each", "a lone $"),
        ("| a | b |\n|---|---|\n| $|x|$ | 1 |", "cuts the formula"),
        ("$$a\n\nb$$", "an empty line"),
        (r"$\frac{1}{\sqrt d}$, `$x`, \$5, and" "\n$$\n\\sum_{i=1}^n x_i\n$$\n", None),
    ],
)
def test_a_formula_that_does_not_convert_is_noticed(text: str, problem: str | None):
    found = pages.tex_problems(text)
    assert (found == []) if problem is None else (len(found) == 1 and problem in found[0]), found


def test_a_wrong_order_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(contents, "DOCS", tmp_path)
    (tmp_path / "index.md").write_text(
        "# T\n\n## Start\n\nwords\n\n## Part I\n\n- [0. A](00-a.md)\n- [1. B](01-b.md)\n"
    )
    (tmp_path / "00-a.md").write_text("# 0. A\n\ntext\n\nNext: [2. C](02-c.md)\n")
    (tmp_path / "01-b.md").write_text("# B\n\ntext\n")
    assert contents.parts() == [contents.Part("Part I", ("00-a.md", "01-b.md"))]
    assert contents.mend() == ["00-a.md", "01-b.md"] and contents.mend() == []
    assert (tmp_path / "00-a.md").read_text() == "# 0. A\n\ntext\n\nNext: [1. B](01-b.md)\n"
    assert (tmp_path / "01-b.md").read_text() == "# B\n\ntext\n\nPrevious: [0. A](00-a.md)\n"
