"""A real browser: Chromium without a window, driven through its own protocol by Selenium, and a server to look at."""

from __future__ import annotations

import contextlib
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from selenium import webdriver
from selenium.webdriver.chrome.service import Service

from tests.helpers.commandline import start
from tests.helpers.requirements import CHROMIUM

FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage", "--hide-scrollbars",
)  # fmt: skip
DESKTOP, PHONE = (1280, 800), (390, 844)


@contextlib.contextmanager
def served(*options: str) -> Iterator[str]:
    """minisets play in a process of its own; gives its address."""
    process = start("play", "--no-browser", "--port", "0", *options)
    try:
        line = process.stdout.readline()
        found = re.match(r"(http://\S+)", line)
        assert found, (line, process.stderr.read())
        yield found[1]
    finally:
        process.terminate()
        process.communicate(timeout=20)


class Browser:
    """A page, and what a visitor does with it."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def open(self, address: str, page: str, size: tuple[int, int] = DESKTOP, dark: bool = False) -> None:
        width, height = size
        phone = size == PHONE
        metrics = {"width": width, "height": height, "deviceScaleFactor": 2 if phone else 1, "mobile": phone}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        self.driver.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": phone})
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": scheme})
        self.driver.get("about:blank")
        self.driver.get(f"{address}#{page}")
        self.until(f"!document.getElementById('page-{page}').hidden")

    def js(self, expression: str) -> Any:
        return self.driver.execute_script(f"return {expression}")

    def until(self, expression: str, seconds: float = 20) -> Any:
        """Wait until a JavaScript expression is true; returns its value."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            value = self.js(expression)
            if value:
                return value
            time.sleep(0.03)
        raise AssertionError(f"not within {seconds} s: {expression}; the page says {self.text('error')!r}")

    def text(self, name: str) -> str:
        return self.js(f"document.getElementById('{name}').innerText")

    def click(self, selector: str) -> None:
        self.js(f"document.querySelector({selector!r}).scrollIntoView({{block: 'nearest'}})")
        x, y = self.center(selector)
        self.mouse("mouseMoved", x, y)
        self.mouse("mousePressed", x, y)
        self.mouse("mouseReleased", x, y)

    def choose(self, name: str, value: str) -> None:
        self.js(
            f"(e => {{ e.value = {value!r}; e.dispatchEvent(new Event('input', {{bubbles: true}})); "
            f"e.dispatchEvent(new Event('change', {{bubbles: true}})); return e.value }})"
            f"(document.getElementById('{name}'))"
        )

    def box(self, selector: str) -> dict[str, float]:
        return self.js(f"document.querySelector({selector!r}).getBoundingClientRect().toJSON()")

    def center(self, selector: str) -> tuple[float, float]:
        box = self.box(selector)
        return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2

    def mouse(self, kind: str, x: float, y: float) -> None:
        buttons = 0 if kind == "mouseMoved" and not self.pressed else 1
        self.pressed = {"mousePressed": True, "mouseReleased": False}.get(kind, self.pressed)
        event = {"type": kind, "x": x, "y": y, "button": "left" if buttons else "none", "buttons": buttons}
        self.driver.execute_cdp_cmd("Input.dispatchMouseEvent", event | {"clickCount": 1})

    pressed = False

    def drag(self, *places: tuple[float, float]) -> None:
        self.mouse("mouseMoved", *places[0])
        self.mouse("mousePressed", *places[0])
        for place in places[1:]:
            self.mouse("mouseMoved", *place)
        self.mouse("mouseReleased", *places[-1])

    def touch(self, kind: str, *places: tuple[float, float]) -> None:
        points = [{"x": x, "y": y} for x, y in places]
        self.driver.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    def key(self, name: str, code: int = 0, text: str = "") -> None:
        for kind in ("keyDown", "keyUp"):
            event = {"type": kind, "key": name, "code": name, "windowsVirtualKeyCode": code}
            self.driver.execute_cdp_cmd(
                "Input.dispatchKeyEvent", event | ({"text": text} if text and kind == "keyDown" else {})
            )

    def screenshot(self, path: Path) -> None:
        time.sleep(0.25)  # the last answer is drawn
        self.driver.save_screenshot(str(path))

    def problems(self) -> list[str]:
        """Errors of scripts, and files that were refused."""
        return [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] == "SEVERE"]


@contextlib.contextmanager
def browsing() -> Iterator[Browser]:
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        for flag in (*FLAGS, f"--user-data-dir={folder}"):
            options.add_argument(flag)
        driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
        try:
            yield Browser(driver)
        finally:
            driver.quit()


Action = Callable[[Browser], None]
