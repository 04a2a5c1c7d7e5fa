"""A visitor plays with the maximum, characters, shapes and the tape; every page on a screen and on a phone."""

from __future__ import annotations

import time

import pytest

from tests.page.browser import DESKTOP, PHONE, Browser, served
from tests.page.reading import as_number, difference, mixture


def test_the_maximum_and_its_gradient(browser: Browser, address: str):
    browser.open(address, "maximum")
    browser.until("document.getElementById('max-answer').innerText")
    x, y = browser.center("[data-number='0'] circle")
    box = browser.box("#line")
    browser.drag((x, y), (x + 100, y), (box["x"] + box["width"] - 40, y))
    browser.until("Number(document.querySelector('[data-number=\"0\"]').getAttribute('aria-valuenow')) > 97")
    browser.until("parseFloat(document.getElementById('max-answer').innerText) > 95")
    arrow = "document.querySelector('[data-number=\"{}\"] title').textContent"
    browser.until(f"parseFloat({arrow.format(0)}.split('gradient ')[1]) > 0.5")
    assert abs(as_number(browser.js(arrow.format(1)).split("gradient ")[1])) < 0.3
    browser.js("document.querySelector('[data-number=\"0\"]').focus()")
    for _ in range(6):
        browser.key("PageDown", 34)
    browser.until("parseFloat(document.getElementById('max-answer').innerText) < 90")
    browser.click("#max-changes button:nth-child(1)")
    assert "zero to rounding" in difference(browser, "max-difference")
    browser.click("#max-break")
    browser.until("document.getElementById('max-difference').innerText.includes('not the same')")


def test_draw_characters(browser: Browser, address: str):
    browser.open(address, "characters")
    answers = []
    for cell in (1, 2):
        box = browser.box(f".cell:nth-child({cell}) canvas")
        line = [(0.2, 0.2), (0.5, 0.3), (0.8, 0.2), (0.5, 0.5), (0.2, 0.8)] if cell == 1 else [(0.5, 0.1), (0.5, 0.9)]
        browser.drag(*[(box["x"] + u * box["width"], box["y"] + v * box["height"]) for u, v in line])
        browser.until(f"document.getElementById('char-answer').innerText.includes('of {cell}')")
        browser.until(f"document.querySelectorAll('#seen canvas').length === {cell}")
        answers.append(browser.text("char-answer"))
    assert answers[0].startswith("1 different")
    browser.click(".cell:nth-child(1) .copy")
    browser.until("document.getElementById('char-answer').innerText.includes('of 3')")
    browser.js("document.querySelector('.cell:nth-child(4) canvas').focus()")
    for key, code, text in (
        (" ", 32, " "),
        *[("ArrowDown", 40, "")] * 4,
        *[("ArrowRight", 39, "")] * 4,
        (" ", 32, " "),
    ):
        browser.key(key, code, text)
    browser.until("document.getElementById('char-answer').innerText.includes('of 4')")
    browser.click("#char-sample")
    browser.until("document.getElementById('char-answer').innerText.includes('of 6')")
    browser.mouse("mouseMoved", *browser.center(".cell:nth-child(3) canvas"))
    browser.until("document.querySelectorAll('.cell.lit').length > 0")


def test_turn_a_cloud(browser: Browser, address: str):
    browser.open(address, "clouds")
    browser.until("document.querySelectorAll('#bars div').length")
    browser.choose("shape", "15")
    browser.until("document.querySelector('#bars .true')?.innerText.startsWith('chair')")
    before, bars = browser.js("document.getElementById('cloud').dataset.turned"), browser.text("bars")
    x, y = browser.center("#cloud")
    browser.drag((x, y), (x + 40, y + 60), (x + 80, y + 150))
    browser.until(f"document.getElementById('cloud').dataset.turned !== {before!r}")
    browser.until(f"document.getElementById('bars').innerText !== {bars!r}")
    browser.choose("cloud-layer", "encoder.0.mab0")
    browser.until("document.querySelectorAll('#cloud-queries button').length === 16")
    browser.click("#cloud-changes button:nth-child(3)")
    assert "zero to rounding" in difference(browser, "cloud-difference")
    browser.click("#upright")
    browser.until(f"document.getElementById('cloud').dataset.turned === {before!r}")


def test_walk_the_tape(browser: Browser, address: str):
    browser.open(address, "clustering")
    mixture(browser)
    browser.js("location.hash = '#tape'")
    browser.until("document.querySelectorAll('#graph .here').length")
    assert "loss" in browser.text("node-name")
    browser.until("document.getElementById('gradient-about').innerText === '1.000'")
    browser.js("document.getElementById('graph').focus()")
    for name in ("mean", "gaussian_mixture_log_likelihood"):
        browser.key("ArrowUp", 38)
        browser.until(f"document.getElementById('node-name').innerText.includes({name!r})")
    browser.until("document.getElementById('node-formula').innerText.includes('log')")
    assert "shape (1, 300)" in browser.text("node-shape")
    browser.key("ArrowDown", 40)
    browser.until("document.getElementById('node-name').innerText.includes('mean')")
    browser.click("#node-inputs button")
    browser.until("document.getElementById('node-name').innerText.includes('gaussian')")
    n = browser.js("document.querySelectorAll('#graph [data-value]').length")
    browser.click("#fast")
    browser.until(f"document.querySelectorAll('#graph [data-value]').length < {n}")
    browser.choose("tape-page", "maximum")
    browser.until("document.getElementById('node-name').innerText.includes('loss = absolute_error')")


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
@pytest.mark.parametrize("page", ["clustering", "maximum", "characters", "clouds", "tape"])
def test_every_page_fits_and_has_names_for_its_controls(
    browser: Browser, address: str, page: str, size: tuple[int, int]
):
    browser.open(address, page, size, dark=True)
    time.sleep(0.5)
    assert browser.js("document.documentElement.scrollWidth") <= size[0]
    unnamed = browser.js(
        f"[...document.querySelectorAll('#page-{page} button, #page-{page} select, #page-{page} input')]"
        ".filter(e => !(e.innerText || e.ariaLabel || e.labels?.length)).map(e => e.outerHTML)"
    )
    assert unnamed == []
    assert browser.js("matchMedia('(prefers-color-scheme: dark)').matches")
    background = browser.js("getComputedStyle(document.body).backgroundColor")
    assert sum(map(int, background[4:-1].split(","))) < 120  # dark


def test_a_server_that_ends_is_said(one_browser: Browser):
    with served() as address:
        one_browser.open(address, "clustering")
        mixture(one_browser)
    one_browser.click("#sample")
    one_browser.until("document.getElementById('error').innerText.includes('does not answer')")
