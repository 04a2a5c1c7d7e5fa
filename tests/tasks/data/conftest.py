"""The web server that the tests of downloads share."""

import threading
from collections.abc import Iterator

import pytest

from tasks.data import download
from tests.helpers.fileserver import CONTENT, Server


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setattr(download, "BACKOFF", 0.001)
    with Server(CONTENT) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.let_go.set()
        server.shutdown()
        thread.join()
