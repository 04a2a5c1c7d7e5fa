"""The built site in Chromium: no page scrolls sideways, shows TeX, or has labels that overlap; search finds pages.

Marked `browser`, because it takes minutes and needs `make docs` first and Chromium: make notebooks.
"""

import re
from pathlib import Path

import pytest

from tests.docs import browser

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(browser.CHROMIUM is None, reason="Chromium is not installed"),
]
site = pytest.mark.skipif(not browser.SITE.is_dir(), reason="make docs builds the site")


@site
def test_no_page_has_a_fault():
    assert browser.check(browser.pages()) == {}


@site
@pytest.mark.parametrize(
    ("words", "page"),
    [
        ("inducing points", "09-inducing-points.html"),
        ("key_padding_mask", "faq.html"),
        ("logsumexp", "api/autograd.html#logsumexp"),
        ("explaining away", "01-why-sets.html#explaining-away"),
        ("dropout", "api/autograd.html#dropout"),
    ],
)
def test_search_works_without_a_server(words: str, page: str):
    """The page is one of the first three results."""
    found = re.findall(r'<li class="kind-\w+"><a href="([^"]+)"', browser.found_by_search(words))
    assert page in found[:3]


GOOD = '<div class="picture"><svg aria-label="p" width="200" height="50"><text x="10" y="20">one</text></svg></div>'
STYLE = "<style>body { margin: 0; background: #fff } body[data-theme=dark] { background: #000 }</style>"
SCRIPT = '<script>document.body.dataset.theme = localStorage.getItem("theme")</script>'


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (GOOD, None),
        ('<p style="width:500px">wide</p>', "scrolls sideways"),
        ("<p>the loss $x^2$</p>", "raw TeX"),
        (r"<p>\frac{1}{2}</p><code>\n and $</code>", "raw TeX"),
        ('<img src="nothing.png">', "no image"),
        (GOOD.replace("</svg>", '<text x="14" y="22">two</text></svg>'), '"one" overlaps "two"'),
        (GOOD.replace('x="10"', 'x="190"'), "leaves the picture"),
    ],
)
def test_the_faults_of_a_page_are_found(tmp_path: Path, body: str, problem: str | None):
    page = f"<!doctype html><meta charset=utf-8>{STYLE}<body><article>{body}</article>{SCRIPT}</body>"
    (tmp_path / "a.html").write_text(page)
    (tmp_path / "light.html").write_text(page.replace("data-theme=dark", "data-theme=no"))
    found = browser.check(["a.html"], tmp_path, [(390, "light"), (390, "dark")])
    if problem is None:
        assert found == {}
        assert "does not follow the switch" in browser.check(["light.html"], tmp_path, [(390, "dark")]).popitem()[1][0]
    else:
        assert all(problem in found[f"a.html at 390, {theme}"][0] for theme in ("light", "dark"))
