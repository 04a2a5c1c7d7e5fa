"""minisets sweep --status: every sweep in a folder as its files show it now, from any terminal; nothing is changed."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path

from tasks.harness.errors import UsageError, printable
from tasks.sweep import store
from tasks.sweep.costs import Costs
from tasks.sweep.manager import snapshot
from tasks.sweep.store import Request, Store
from tasks.sweep.view import Snapshot, lines


def status(root: Path) -> int:
    """Print all sweeps; 0 if all their cells are finished, 1 if not."""
    place = Store(root)
    if not place.requests():
        raise UsageError(f"there is no sweep in {root}; minisets sweep TASK starts one, and --out names its folder")
    finished = True
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 10_000
    for path in place.requests():
        try:
            request = Request.read(path)
        except UsageError as error:
            print(f"minisets: skipped: {error}", file=sys.stderr)
            finished = False
            continue
        now = look(place, request)
        finished = finished and now.done == now.total
        state = "running" if request.alive else "not running"
        about = f"{state}, started {request.started} on {request.host} (process {request.process})"
        print(f"{printable(f'minisets {shlex.join(request.command)}', 2_000)}\n  {printable(about, 200)}")
        print("\n".join(f"  {line}" for line in lines(now, width - 2, 10_000)))
    return 0 if finished else 1


def look(place: Store, request: Request) -> Snapshot:
    """The state of a sweep; a cell is running if some process has locked its folder."""
    costs, done, running, waiting, failed = Costs(place, request.cells), 0, [], [], {}
    for cell in request.cells:
        note = place.note(cell)
        if place.running(cell):
            running.append(cell)
        elif place.done(cell):
            done += 1
        elif note and note.state in (store.DIVERGED, store.FAILED):
            failed[cell.name] = note.sentence
        else:
            waiting.append(cell)
    waiting = costs.longest_first(waiting)
    return snapshot(costs, request.workers, len(request.cells), done, running, [], waiting, failed)
