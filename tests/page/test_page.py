"""A visitor plays with the page: every control, with mouse, finger and keyboard, in a real browser."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from tests.page.browser import DESKTOP, PHONE, Browser

ROWS = "document.querySelector('#view-{}').dataset.rows || '[]'"


def rows(browser: Browser, view: int = 0) -> list[list[float]]:
    return json.loads(browser.js(ROWS.format(view)))


def mixture(browser: Browser, view: int = 0) -> list[list[float]]:
    """The rows once they no longer change."""
    browser.until(f"JSON.parse({ROWS.format(view)}).length > 0")
    before = None
    while before != (now := rows(browser, view)):
        before = now
        time.sleep(0.4)
    return now


def moved(browser: Browser, before: Any, view: int = 0) -> list[list[float]]:
    """The rows once they differ from what they were, and no longer change."""
    browser.until(f"({ROWS.format(view)}) !== {json.dumps(json.dumps(before, separators=(',', ':')))}")
    return mixture(browser, view)


def place(browser: Browser, x: float, y: float, view: int = 0) -> tuple[float, float]:
    """Where on the screen a point of the plane is."""
    box = browser.box(f"#view-{view} canvas")
    scale = (min(box["width"], box["height"]) - 2) / 2 / 5.4
    return box["x"] + box["width"] / 2 + x * scale, box["y"] + box["height"] / 2 - y * scale


def count(browser: Browser) -> int:
    text = browser.text("clustering-status")
    return 0 if text.startswith("No points") else int(text.split()[0].replace(",", ""))


def difference(browser: Browser, name: str = "difference", what: str = "Largest change") -> str:
    browser.until(f"document.getElementById('{name}').innerText.includes({what!r})")
    return browser.text(name)


@pytest.fixture
def clustering(browser: Browser, address: str) -> Browser:
    browser.open(address, "clustering")
    mixture(browser)
    return browser


@pytest.fixture
def cleared(clustering: Browser) -> Browser:
    clustering.click("#clear")
    clustering.until("document.getElementById('clustering-status').innerText.startsWith('No points')")
    return clustering


# ---- clustering


def test_place_points_and_move_one(cleared: Browser):
    places = [(-3, -3), (-3.4, -2.7), (-2.6, -3.2), (3, 3), (3.4, 2.7), (2.6, 3.4)]
    for x, y in places:
        cleared.mouse("mouseMoved", *place(cleared, x, y))
        cleared.mouse("mousePressed", *place(cleared, x, y))
        cleared.mouse("mouseReleased", *place(cleared, x, y))
    assert count(cleared) == 6
    before = mixture(cleared)
    assert sum(row[0] for row in before) == pytest.approx(1, abs=1e-3)
    near = [sum(row[0] for row in before if abs(row[1] - x) < 1.5 and abs(row[2] - x) < 1.5) for x in (-3, 3)]
    assert min(near) > 0.25, before  # shares of the two corners
    cleared.drag(place(cleared, 3, 3), place(cleared, 1, 2), place(cleared, -1, 4))
    assert count(cleared) == 6 and moved(cleared, before) != before


def test_spray_lasso_and_erase(cleared: Browser):
    cleared.click("[data-tool=spray]")
    cleared.drag(*[place(cleared, -3 + 0.2 * i, -2) for i in range(12)])
    n = count(cleared)
    assert n > 20
    before = mixture(cleared)
    cleared.click("[data-tool=lasso]")
    cleared.drag(*[place(cleared, *p) for p in [(-5, -4), (0.5, -4), (0.5, 0), (-5, 0), (-5, -4)]])
    cleared.driver.switch_to.active_element.send_keys("\ue012" * 5)  # five times arrow left: what is selected moves
    after = moved(cleared, before)
    assert count(cleared) == n
    mean = [sum(row[0] * row[1] for row in r) for r in (before, after)]
    assert mean[1] - mean[0] == pytest.approx(-0.5, abs=0.25)
    cleared.click("[data-tool=erase]")
    cleared.drag(*[place(cleared, -5 + 0.1 * i, -2) for i in range(70)])
    assert count(cleared) < n / 2


def test_the_keyboard_alone(cleared: Browser):
    cleared.js("document.querySelector('#view-0 canvas').focus()")
    for key, code, times in (("ArrowRight", 39, 10), ("ArrowUp", 38, 5)):
        for _ in range(times):
            cleared.key(key, code)
    cleared.key("Enter", 13)
    assert count(cleared) == 1
    mixture(cleared)
    cleared.key("Delete", 46)
    assert count(cleared) == 0
    cleared.js("document.querySelector('[data-tool=point]').focus()")
    cleared.key("ArrowRight", 39)
    assert cleared.js("document.querySelector('[data-tool=spray]').getAttribute('aria-checked')") == "true"


def test_hover_a_seed_and_switch_layers_and_heads(clustering: Browser):
    lit = "Number(document.querySelector('#view-0').dataset.lit)"
    assert clustering.js(lit) == 0
    clustering.js("document.querySelector('#queries').scrollIntoView({block: 'nearest'})")
    picture = canvas(clustering)
    clustering.mouse("mouseMoved", *clustering.center("#queries button:nth-child(1)"))
    first = clustering.until(lit)
    assert 0 < first < 300 and canvas(clustering) != picture
    clustering.mouse("mouseMoved", *clustering.center("h1"))
    clustering.until(f"{lit} === 0")
    clustering.click("#queries button:nth-child(1)")  # it stays lit
    clustering.mouse("mouseMoved", *clustering.center("h1"))
    clustering.until(lit)
    for head in ("0", "1", "2", "3"):  # each looks elsewhere
        picture = canvas(clustering)
        clustering.choose("head", head)
        clustering.until(f"document.querySelector('#view-0 canvas').toDataURL() !== {picture!r}")
    clustering.choose("layer", "encoder.0.mab0")
    clustering.until("document.querySelectorAll('#queries button').length === 16")


def canvas(browser: Browser, selector: str = "#view-0 canvas") -> str:
    return browser.js(f"document.querySelector({selector!r}).toDataURL()")


def test_hover_a_point_and_see_who_attends_to_it(cleared: Browser):
    for x in (-3, 3, 0):
        cleared.drag(place(cleared, x, x), place(cleared, x, x))
    mixture(cleared)
    level = (
        "[...document.querySelectorAll('#queries button')].map(b => parseFloat(b.style.getPropertyValue('--w')) || 0)"
    )
    cleared.mouse("mouseMoved", *place(cleared, -5, 5))
    assert sum(cleared.js(level)) == 0
    cleared.mouse("mouseMoved", *place(cleared, 3, 3))
    cleared.until(f"{level}.some(w => w > 0)")
    cleared.choose("model-0", "clustering-sab")
    cleared.until("[...document.querySelectorAll('#layer option')].some(o => o.value === 'encoder.0.mab')")
    cleared.choose("layer", "encoder.0.mab")
    cleared.mouse("mouseMoved", *place(cleared, -5, 5))
    cleared.mouse("mouseMoved", *place(cleared, -3, -3))
    cleared.until("Number(document.querySelector('#view-0').dataset.lit)")  # SAB: its weights between points


def test_slide_through_the_checkpoints(clustering: Browser):
    last = mixture(clustering)
    clustering.choose("step", "0")
    untrained = moved(clustering, last)
    assert "after 0 training steps" in clustering.text("step-shown")
    assert max(row[0] for row in untrained) < 0.6  # nearly the same component four times
    clustering.click("#learn")
    clustering.until("document.getElementById('step').value === document.getElementById('step').max", 30)
    assert moved(clustering, untrained) == last


def test_em_and_the_truth(clustering: Browser):
    def scores() -> list[str]:
        return clustering.js("[...document.querySelectorAll('#scores tr')].map(r => r.cells[1].innerText)")

    network, em, truth = scores()
    assert em == "–" and truth != "–"
    clustering.click("[data-em=step]")
    clustering.until("document.querySelectorAll('#scores tr')[1].cells[1].innerText !== '–'")
    one = as_number(scores()[1])
    clustering.click("[data-em=converged]")
    clustering.until("document.querySelectorAll('#scores tr')[1].innerText.includes('convergence')")
    assert as_number(network) < one <= as_number(scores()[1])
    picture = canvas(clustering)
    clustering.click("#truth")
    clustering.until(f"document.querySelector('#view-0 canvas').toDataURL() !== {picture!r}")


def as_number(text: str) -> float:
    return float(text.replace("−", "-"))


def test_compare_two_networks(clustering: Browser):
    clustering.choose("model-1", "clustering-pooling")
    second = mixture(clustering, 1)
    assert clustering.js("!document.getElementById('view-1').hidden") and second != mixture(clustering)
    before = mixture(clustering)
    clustering.drag(place(clustering, 4.5, 4.5, 1), place(clustering, 4.5, 4.5, 1))  # on the second plane
    assert moved(clustering, second, 1) != second and moved(clustering, before) != before
    clustering.choose("model-1", "")
    assert clustering.js("document.getElementById('view-1').hidden")


def test_shuffle_duplicate_pad_and_break(clustering: Browser):
    before = mixture(clustering)
    for button, what in ((1, "another order"), (2, "each of 300 twice"), (3, "75 masked elements of nan")):
        clustering.click(f"#changes button:nth-child({button})")
        assert "zero to rounding" in difference(clustering, what=what)
    for old, new in zip(before, mixture(clustering), strict=True):
        assert new == pytest.approx(old, abs=1e-4)
    clustering.click("#changes button:nth-child(4)")
    clustering.until("document.getElementById('difference').innerText.startsWith('Change the list')")
    clustering.click("#break")
    ordered = moved(clustering, before)
    clustering.click("#changes button:nth-child(1)")
    assert "not the same answer" in difference(clustering)
    assert moved(clustering, ordered) != ordered


def test_touch_on_a_phone(browser: Browser, address: str):
    browser.open(address, "clustering", PHONE)
    mixture(browser)
    browser.click("#clear")
    browser.until("document.getElementById('clustering-status').innerText.startsWith('No points')")
    browser.js("document.querySelector('#view-0 canvas').scrollIntoView({block: 'center'})")
    for x in (-2, 2):
        browser.touch("touchStart", place(browser, x, x))
        browser.touch("touchMove", place(browser, x, x + 1))
        browser.touch("touchEnd")
    assert count(browser) == 2 and len(mixture(browser)) == 4
    width = browser.js("document.documentElement.scrollWidth")
    assert width <= PHONE[0]  # nothing sticks out


# ---- the other pages


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
    from tests.page.browser import served

    with served() as address:
        one_browser.open(address, "clustering")
        mixture(one_browser)
    one_browser.click("#sample")
    one_browser.until("document.getElementById('error').innerText.includes('does not answer')")
