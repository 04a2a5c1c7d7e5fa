"""A page on which trained networks work live, in your browser and computed on this machine.

    minisets play                       starts a small server on loopback and opens the page
    minisets play --no-browser          prints its address instead
    minisets play --runs runs my/runs   with the networks of these runs beside the shipped ones

The page needs no connection to the internet.  Ctrl-C ends it.  docs/play.md has a tour, and the messages.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import signal
import webbrowser
from pathlib import Path

from autograd import threads
from tasks.harness.errors import UsageError
from tasks.harness.parser import Parser, reader
from tasks.harness.planning import RUNS
from tasks.play.api import handlers
from tasks.play.library import Library
from tasks.play.server import Server

HOSTS = ("127.0.0.1", "localhost", "::1")
PORT = 8008


def main(argv: list[str]) -> int:
    parser = Parser(prog="minisets play", description=__doc__)
    parser.add_argument("--port", type=reader(int), default=PORT, help=f"default: {PORT}; 0: any that is free")
    parser.add_argument("--host", default=HOSTS[0], help="a loopback address: 127.0.0.1 (default), localhost or ::1")
    parser.add_argument("--no-browser", action="store_true", help="do not open the page")
    parser.add_argument(
        "--runs", nargs="+", type=Path, metavar="DIR", help="folders to search for runs (default: runs)"
    )
    given = parser.parse_args(argv)
    if given.host not in HOSTS:
        raise UsageError(
            f"--host must be one of {', '.join(HOSTS)}, given {given.host!r}: whoever can reach the page can make this "
            "machine compute; to use it from another one, forward the port with ssh -L"
        )
    if not 0 <= given.port <= 65_535:
        raise UsageError(f"--port must be from 0 to 65535, given {given.port}")
    library = Library(given.runs or ([RUNS] if RUNS.is_dir() else []))
    with threads.use(1):  # several small computations at a time, rather than one in several threads
        asyncio.run(serve(library, given.host, given.port, browser=not given.no_browser))
    return 0


async def serve(library: Library, host: str, port: int, *, browser: bool) -> None:
    """Serve until Ctrl-C or SIGTERM."""
    server, ended = Server(handlers(library)), asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        with contextlib.suppress(NotImplementedError):  # Windows
            asyncio.get_running_loop().add_signal_handler(number, ended.set)
    try:
        await server.start("127.0.0.1" if host == "localhost" else host, port)  # one address, hence one port
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise UsageError(
                f"port {port} is in use, perhaps by another minisets play; end that one, or choose another --port "
                "(0: any that is free)"
            ) from None
        raise UsageError(f"cannot listen on {host}, port {port}: {error.strerror or error}") from None
    address = f"http://{f'[{host}]' if ':' in host else host}:{server.port}/"
    print(f"{address}    (Ctrl-C ends it)", flush=True)
    if browser:
        await asyncio.get_running_loop().run_in_executor(None, webbrowser.open, address)
    try:
        await ended.wait()
    finally:
        await server.close()
    print("ended")
