"""What the tests of the page share: reading it, and waiting until it has answered."""

from __future__ import annotations

import json
import time
from typing import Any

from tests.page.browser import Browser

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


def as_number(text: str) -> float:
    return float(text.replace("−", "-"))
