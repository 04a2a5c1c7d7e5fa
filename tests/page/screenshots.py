"""Pictures of every view: python -m tests.page.screenshots FOLDER"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from tests.page.browser import DESKTOP, PHONE, Browser, browsing, served


def points_seen(browser: Browser) -> None:
    browser.until("JSON.parse(document.querySelector('#view-0').dataset.rows || '[]').length > 0")


def clustering(browser: Browser) -> None:
    points_seen(browser)


def compared(browser: Browser) -> None:
    points_seen(browser)
    browser.choose("model-1", "clustering-pooling")
    browser.until("JSON.parse(document.querySelector('#view-1').dataset.rows || '[]').length > 0")
    browser.click("[data-em=converged]")
    browser.click("#truth")


def attention(browser: Browser) -> None:
    points_seen(browser)
    browser.until("document.querySelectorAll('#queries button').length")
    browser.click("#queries button:nth-child(2)")


def broken(browser: Browser) -> None:
    points_seen(browser)
    browser.click("#break")
    browser.click("#changes button:nth-child(1)")
    browser.until("document.getElementById('difference').innerText.includes('Largest')")


def maximum(browser: Browser) -> None:
    browser.until("document.getElementById('max-answer').innerText")
    browser.click("#max-changes button:nth-child(3)")


def characters(browser: Browser) -> None:
    browser.click("#char-sample")
    browser.until("document.getElementById('char-answer').innerText.includes('different')")
    browser.mouse("mouseMoved", *browser.center(".cell:nth-child(2) canvas"))


def clouds(browser: Browser) -> None:
    browser.until("document.querySelectorAll('#bars div').length")
    browser.choose("shape", "15")
    time.sleep(0.4)


def tape(browser: Browser) -> None:
    browser.until("document.querySelectorAll('#graph [data-value].here').length")
    for _ in range(3):
        browser.click("#node-previous")
    browser.until("document.getElementById('node-formula').innerText")


VIEWS = {
    "clustering": ("clustering", clustering),
    "compared": ("clustering", compared),
    "attention": ("clustering", attention),
    "broken": ("clustering", broken),
    "maximum": ("maximum", maximum),
    "characters": ("characters", characters),
    "clouds": ("clouds", clouds),
    "tape": ("tape", tape),
}


def main(folder: Path, names: list[str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with served() as address, browsing() as browser:
        for name in names or VIEWS:
            page, prepare = VIEWS[name]
            for size, device in ((DESKTOP, "desktop"), (PHONE, "phone")):
                for dark in (False, True):
                    browser.open(address, page, size, dark)
                    prepare(browser)
                    path = folder / f"{name}-{device}-{'dark' if dark else 'light'}.png"
                    browser.screenshot(path)
                    if device == "phone":
                        full(browser, path.with_name(f"{path.stem}-whole.png"))
                    print(path, *browser.problems(), flush=True)


def full(browser: Browser, path: Path) -> None:
    """The whole page, not only what fits on the screen."""
    height = browser.js("document.documentElement.scrollHeight")
    metrics = {"width": PHONE[0], "height": height, "deviceScaleFactor": 1, "mobile": True}
    browser.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    browser.screenshot(path)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
