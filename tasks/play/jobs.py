"""Computing in a few threads, where only the newest request of each client counts.

A page that moves a point sends sixty requests a second, more than can be computed.  So each client has one place to
wait in: a newer request takes it, and the older one ends with Superseded.  Clients take turns.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any


class Superseded(Exception):
    """A newer request of the same client came before this one was computed."""


class Overloaded(Exception):
    """Too many clients are waiting."""


class Jobs:
    """submit(client, work) waits for work(), which runs in a thread."""

    def __init__(self, threads: int = 2, waiting: int = 200) -> None:
        self.threads, self.most = threads, waiting
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="play")
        self._waiting: dict[str, tuple[asyncio.Future[Any], Callable[[], Any]]] = {}  # by client, oldest first
        self._running = 0

    async def submit(self, client: str, work: Callable[[], Any]) -> Any:
        if client in self._waiting:
            older, _ = self._waiting[client]  # the client keeps its turn
            if not older.done():
                older.set_exception(Superseded())
        elif len(self._waiting) >= self.most:
            raise Overloaded
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting[client] = future, work
        self._start()
        try:
            return await future
        finally:  # also if the client has gone away
            if self._waiting.get(client, (None,))[0] is future:
                del self._waiting[client]

    def _start(self) -> None:
        while self._waiting and self._running < self.threads:
            client = next(iter(self._waiting))
            future, work = self._waiting.pop(client)
            self._running += 1
            computing = asyncio.get_running_loop().run_in_executor(self._pool, work)
            computing.add_done_callback(lambda done, future=future: self._finish(done, future))

    def _finish(self, done: asyncio.Future[Any], future: asyncio.Future[Any]) -> None:
        self._running -= 1
        if not future.done():
            error = done.exception()
            if error is None:
                future.set_result(done.result())
            else:
                future.set_exception(error)
        else:
            done.exception()  # looked at, so that asyncio does not report it as lost
        self._start()

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)
