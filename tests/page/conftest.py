"""tests/page plays with the page in a real Chromium; where it or Selenium is missing, nothing here is collected."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.helpers import requirements

if "page" in requirements.missing():
    collect_ignore_glob = ["test_*.py"]
else:
    from tests.page.browser import Browser, browsing, served

    @pytest.fixture(scope="session")
    def address() -> Iterator[str]:
        with served() as found:
            yield found

    @pytest.fixture(scope="session")
    def one_browser() -> Iterator[Browser]:
        with browsing() as browser:
            yield browser

    @pytest.fixture
    def browser(one_browser: Browser) -> Iterator[Browser]:
        one_browser.problems()  # of the test before
        yield one_browser
        assert one_browser.problems() == []
