"""The built site in headless Chromium: what is wrong with a page, and what it looks like.

    python -m tests.docs.browser check [PAGE ...]           problems at 390 and 1280 pixels, light and dark
    python -m tests.docs.browser shoot FOLDER [PAGE ...]    screenshots

The site is served from this process, together with look.html, which loads one page after another into an iframe, looks
at it, and sends back what it found.  Nothing leaves the machine.
"""

from __future__ import annotations

import functools
import http.server
import json
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent.parent
SITE = ROOT / "build" / "docs"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars"]
FLAGS += ["--disable-background-networking", "--disable-component-update", "--disable-sync"]
VIEWS = [(390, "light"), (390, "dark"), (1280, "light"), (1280, "dark")]

LOOK = Path(__file__).with_name("look.html")


class Handler(http.server.SimpleHTTPRequestHandler):
    """Serves the site, the page that looks at it, and takes the report."""

    action, report, done = "", {}, threading.Event()

    def do_GET(self) -> None:
        if not self.path.startswith("/look"):
            super().do_GET()
            return
        body = LOOK.read_text(encoding="utf-8").replace("ACTION", type(self).action).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self) -> None:
        type(self).report = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(204)
        self.end_headers()
        type(self).done.set()

    def log_message(self, format: str, *words: Any) -> None:
        pass


@contextmanager
def served(site: Path, action: str) -> Iterator[tuple[str, type[Handler]]]:
    handler = type("Handler", (Handler,), {"action": action, "report": None, "done": threading.Event()})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(handler, directory=str(site))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", handler
        server.shutdown()


def pages(site: Path = SITE) -> list[str]:
    """All pages but those that show files and the index of search terms."""
    names = sorted(path.relative_to(site).as_posix() for path in site.rglob("*.html"))
    return [name for name in names if not name.startswith(("source/", "_", "genindex", "search"))]


def check(names: list[str], site: Path = SITE, views: list[tuple[int, str]] = VIEWS) -> dict[str, list[str]]:
    """The problems of each page in each view; {} if there are none."""
    assert CHROMIUM is not None
    with (
        served(site, f"check({json.dumps(names)}, {json.dumps(views)})") as (address, handler),
        tempfile.TemporaryDirectory() as profile,
    ):
        words = [CHROMIUM, *FLAGS, f"--user-data-dir={profile}", "--window-size=1300,1000", "--remote-debugging-port=0"]
        browser = subprocess.Popen([*words, f"{address}/look"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            if not handler.done.wait(timeout=60 + 5 * len(names)):
                raise TimeoutError("Chromium did not report on the pages")
        finally:
            browser.terminate()
            browser.wait()
        return handler.report


def shoot(folder: Path, names: list[str], site: Path = SITE, height: int = 1600) -> None:
    """PNG files NAME-390-dark.png and so on."""
    assert CHROMIUM is not None
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        for width, theme in VIEWS:
            file = folder / f"{name.replace('/', '-').removesuffix('.html')}-{width}-{theme}.png"
            with (
                served(site, f"show({json.dumps(name)}, {width}, '{theme}', {height})") as (address, _),
                tempfile.TemporaryDirectory() as profile,
            ):
                words = [CHROMIUM, *FLAGS, f"--user-data-dir={profile}", f"--window-size={max(width, 500)},{height}"]
                words += ["--virtual-time-budget=4000", f"--screenshot={file}", f"{address}/look"]
                subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True, timeout=120)


def found_by_search(words: str, site: Path = SITE) -> str:
    """The text of the search page for some words, opened as a file."""
    assert CHROMIUM is not None
    with tempfile.TemporaryDirectory() as profile:
        address = f"{(site / 'search.html').as_uri()}?q={words.replace(' ', '+')}"
        command = [CHROMIUM, *FLAGS, f"--user-data-dir={profile}", "--virtual-time-budget=8000", "--dump-dom", address]
        return subprocess.run(command, capture_output=True, text=True, timeout=120).stdout


if __name__ == "__main__":
    command, *rest = sys.argv[1:]
    if command == "check":
        problems = check(rest or pages())
        print(json.dumps(problems, indent=1, ensure_ascii=False))
        sys.exit(1 if problems else 0)
    shoot(Path(rest[0]), rest[1:] or pages())
