"""A visitor plays with the page on clustering: every control, with mouse, finger and keyboard."""

from __future__ import annotations

import time

import pytest

from tests.page.browser import PHONE, Browser
from tests.page.reading import as_number, count, difference, mixture, moved, place, rows


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
    clustering.until("document.getElementById('step-shown').innerText.includes('12,000')", 30)
    end = time.monotonic() + 20
    while rows(clustering) != last:
        assert time.monotonic() < end


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
