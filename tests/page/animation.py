"""The animation docs/pictures/play.gif, recorded from the page itself: python -m tests.page.animation

Every frame is a screenshot of the page once it has answered, so the animation shows what the network says, but not how
fast: that is measured by tests/page/latency.py.
"""

from __future__ import annotations

import base64
import io
import math
import random
import time
from pathlib import Path

from PIL import Image

from tests.helpers.commandline import ROOT
from tests.page.browser import Browser, browsing, served

PATH = ROOT / "docs" / "pictures" / "play.gif"
SIZE, WIDTH = (1180, 900), 780
BLOBS = [(-2.6, 1.9, 0.2), (2.3, 2.2, 0.2), (2.6, -2.0, 0.2), (-2.0, -2.4, 0.2)]  # x, y and spread of what is sprayed


class Recorder:
    """Frames, each with the milliseconds for which it is shown."""

    def __init__(self, browser: Browser) -> None:
        self.browser, self.frames, self.times = browser, [], []

    def take(self, milliseconds: int = 90) -> None:
        time.sleep(0.12)
        self.browser.until("!document.getElementById('error').innerText")
        shot = self.browser.driver.execute_cdp_cmd("Page.captureScreenshot", {"format": "png"})
        image = Image.open(io.BytesIO(base64.b64decode(shot["data"]))).convert("RGB")
        height = round(WIDTH * image.height / image.width)
        self.frames.append(image.resize((WIDTH, height), Image.Resampling.LANCZOS))
        self.times.append(milliseconds)

    def save(self, path: Path) -> None:
        some = self.frames[:: max(1, len(self.frames) // 12)]  # one palette for all frames, so that nothing flickers
        sheet = Image.new("RGB", (some[0].width, some[0].height * len(some)))
        for i, frame in enumerate(some):
            sheet.paste(frame, (0, i * frame.height))
        palette = palette_of(sheet)
        frames = [frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in self.frames]
        path.parent.mkdir(parents=True, exist_ok=True)
        frames[0].save(path, save_all=True, append_images=frames[1:], duration=self.times, loop=0, optimize=True)


def palette_of(image: Image.Image) -> Image.Image:
    """The 150 most frequent colors, exactly, and 100 that cover the others."""
    frequent = sorted(image.getcolors(image.width * image.height), reverse=True)[:150]
    others = image.quantize(100, method=Image.Quantize.MAXCOVERAGE).getpalette()[:300]
    palette = Image.new("P", (1, 1))
    palette.putpalette([value for _, color in frequent for value in color] + others)
    return palette


def on_plane(browser: Browser, x: float, y: float) -> tuple[float, float]:
    box = browser.box("#view-0 canvas")
    scale = (min(box["width"], box["height"]) - 2) / 2 / 5.4
    return box["x"] + box["width"] / 2 + x * scale, box["y"] + box["height"] / 2 - y * scale


def settled(browser: Browser) -> None:
    """Wait for an answer to the points as they are."""
    rows = None
    while rows != (rows := browser.js("document.querySelector('#view-0').dataset.rows")) or not rows:
        time.sleep(0.15)


def record(browser: Browser) -> Recorder:
    film, rng = Recorder(browser), random.Random(0)
    settled(browser)
    browser.js("document.activeElement.blur()")
    browser.click("#clear")
    browser.click("[data-tool=spray]")
    film.take(500)
    for x, y, spread in BLOBS:  # spray four clusters; the mixture follows
        browser.mouse("mouseMoved", *on_plane(browser, x, y))
        browser.mouse("mousePressed", *on_plane(browser, x, y))
        for i in range(20):
            browser.mouse("mouseMoved", *on_plane(browser, rng.gauss(x, spread), rng.gauss(y, spread)))
            if i % 4 == 3:
                settled(browser)
                film.take()
        browser.mouse("mouseReleased", *on_plane(browser, x, y))
    film.take(900)
    for layer, chips in (("decoder.0.mab", (1, 2, 3, 4)), ("encoder.0.mab0", (3, 7, 12))):  # who looks where
        browser.choose("layer", layer)
        settled(browser)
        for i in chips:
            browser.mouse("mouseMoved", *browser.center(f"#queries button:nth-child({i})"))
            settled(browser)
            film.take(550)
    browser.mouse("mouseMoved", *browser.center("h1"))
    for step in range(8):  # learning
        browser.choose("step", str(step))
        settled(browser)
        film.take(350 if step < 7 else 900)
    browser.click("[data-tool=lasso]")  # a cluster walks around another
    corners = [(1.0, -3.6), (4.2, -3.6), (4.2, -0.4), (1.0, -0.4), (1.0, -3.6)]
    browser.drag(*(on_plane(browser, *corner) for corner in corners))
    x, y = browser.js("[2.6, -2.0]")
    start = on_plane(browser, *nearest(browser, x, y))
    browser.mouse("mouseMoved", *start)
    browser.mouse("mousePressed", *start)
    scale = on_plane(browser, 1, 0)[0] - on_plane(browser, 0, 0)[0]
    for i in range(1, 15):
        angle = math.pi * i / 14
        dx, dy = -2.6 * (1 - math.cos(angle)) / 2 * 2, 2.2 * math.sin(angle)
        browser.mouse("mouseMoved", start[0] + dx * scale * 0.5, start[1] - dy * scale)
        settled(browser)
        film.take(110)
    browser.mouse("mouseReleased", start[0] - 2.6 * scale * 0.5, start[1])
    browser.click("[data-tool=point]")
    film.take(700)
    browser.click("#break")  # and the same list in another order, for a network that is told the places in it
    settled(browser)
    film.take(700)
    for _ in range(3):
        browser.click("#changes button:nth-child(1)")
        settled(browser)
        film.take(800)
    film.take(900)
    return film


def nearest(browser: Browser, x: float, y: float) -> tuple[float, float]:
    """A sprayed point near a place, found by what the page says under the pointer: try around it."""
    for radius in (0, 0.1, 0.2, 0.3, 0.4, 0.5):
        for k in range(12):
            place = x + radius * math.cos(k), y + radius * math.sin(k)
            browser.mouse("mouseMoved", *on_plane(browser, *place))
            if browser.js(
                "[...document.querySelectorAll('#queries button')].some(b => parseFloat(b.style.cssText.slice(4)) > 0)"
            ):
                return place
    raise AssertionError("no point there")


def main() -> None:
    with served() as address, browsing() as browser:
        browser.open(address, "clustering", SIZE)
        film = record(browser)
    film.save(PATH)
    print(f"{PATH.relative_to(ROOT)}: {len(film.frames)} frames, {PATH.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
