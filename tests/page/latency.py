"""How soon the picture follows the pointer, as the page itself measures it: python -m tests.page.latency

A point of 500 is dragged through the plane in a real browser, once with attention recorded, as the page is opened,
and once with two networks side by side and EM to convergence beside each.  The time runs from the event of the pointer
to the frame that shows the answer.
"""

from __future__ import annotations

import json
import math
import os
import time

import numpy as np

from autograd import threads
from tasks.harness import machine
from tasks.play.api import handlers
from tasks.play.library import Library
from tasks.play.messages import parse, plain
from tests.page.browser import Browser, browsing, served

MOVES, PAUSE = 150, 0.025  # moves of the pointer, and seconds between them


def drag(browser: Browser) -> tuple[float, float, int]:
    """Median and 95% quantile in milliseconds, and how many answers were drawn."""
    x, y = browser.center("#view-0 canvas")
    browser.mouse("mouseMoved", x, y)
    browser.mouse("mousePressed", x, y)
    for i in range(MOVES):
        browser.mouse("mouseMoved", x + 120 * math.sin(i / 10), y + 90 * math.sin(i / 7))
        time.sleep(PAUSE)
    browser.mouse("mouseReleased", x, y)
    time.sleep(0.5)
    found = browser.js("({...document.getElementById('latency').dataset})")
    return float(found["median"]), float(found["p95"]), int(found["count"])


def main() -> None:
    with served() as address, browsing() as browser:
        for name, prepare in (("one network", None), ("two networks and EM", compare)):
            browser.open(address, "clustering")
            browser.until("JSON.parse(document.querySelector('#view-0').dataset.rows || '[]').length > 0")
            if prepare:
                prepare(browser)
            browser.choose("sample-size", "500")
            browser.click("#sample")
            browser.until("document.getElementById('clustering-status').innerText.startsWith('500')")
            time.sleep(0.5)
            median, p95, count = drag(browser)
            print(f"{name}: median {median:.0f} ms, 95% within {p95:.0f} ms ({count} answers)")
    print(f"computing one answer takes the server {computing():.1f} ms of processor time")
    load = ", ".join(f"{x:.1f}" for x in os.getloadavg())
    print(f"{machine.environment()['machine']['processor']}, {os.cpu_count()} cores, load average {load}")


def computing(repeats: int = 50) -> float:
    """Milliseconds of processor time from the bytes of a request to those of its answer, with attention."""
    answer = handlers(Library([]))["clustering"]
    points = np.random.default_rng(0).normal(scale=2, size=(500, 2)).round(3).tolist()
    body = json.dumps({"model": "clustering-isab", "points": points, "layer": "decoder.0.mab"}).encode()
    with threads.use(1):
        answer(parse(body))
        start = time.process_time()
        for _ in range(repeats):
            json.dumps(plain(answer(parse(body))))
    return 1_000 * (time.process_time() - start) / repeats


def compare(browser: Browser) -> None:
    browser.choose("model-1", "clustering-rff-pma")
    browser.click("[data-em=converged]")


if __name__ == "__main__":
    main()
