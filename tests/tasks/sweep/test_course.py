"""The order of cells, the time left, what is shown, and notes on disk."""

import contextlib
import os
import pty
import shlex
import termios
from pathlib import Path

import pytest

from tasks.harness.cli import main
from tasks.sweep import store, view
from tasks.sweep.command import prepare
from tasks.sweep.costs import Costs, total
from tasks.sweep.store import Cell, Request, Store
from tasks.sweep.view import Line, Snapshot, lines
from tests.helpers.commandline import command, start
from tests.helpers.sweeps import settings, sweep

# ---- costs ----------------------------------------------------------------------------------------------------------


def cell(name: str, kind: str, steps: int | None = 100) -> Cell:
    return Cell("max_regression", f"max_regression/quick/{name}", (), steps, kind)


def test_the_longest_cells_come_first_and_unknown_ones_before_them(tmp_path: Path):
    short, long, unknown = cell("a", "x"), cell("b", "x", 500), cell("c", "z")
    slow, endless = cell("d", "y"), cell("e", "no steps", None)
    costs = Costs(Store(tmp_path), [])
    costs.learn({"x": 0.1, "y": 1.0})
    assert costs.longest_first([short, long, slow, unknown, endless]) == [unknown, endless, slow, long, short]
    assert [costs.left(one) for one in (short, long, slow, unknown)] == [10.0, 50.0, 100.0, None]


def test_a_step_is_timed_only_where_it_decides_the_order(tmp_path: Path):
    costs = Costs(Store(tmp_path), [])
    assert costs.unknown([cell("a", "x"), cell("b", "x")]) == []  # they take the same time
    assert costs.unknown([cell("a", "x"), cell("b", "x", 7)]) == [cell("b", "x", 7)]
    assert [one.kind for one in costs.unknown([cell("a", "x"), cell("b", "y"), cell("c", "y")])] == ["x", "y"]
    costs.learn({"x": 1.0, "y": 1.0})
    assert costs.unknown([cell("a", "x"), cell("b", "y")]) == []
    assert costs.unknown([cell("a", "x"), cell("e", "no steps", None)]) == []


def test_what_earlier_runs_took_is_known(runs: Path):
    """From the folder of a finished run with another seed; a rehearsal's measurement is kept in costs.json."""
    words = "max_regression --arch 'SAB + PMA' --seed 7 --set steps=6 --out x"
    (planned,) = prepare(shlex.split(words)).cells
    (tiny,) = prepare(shlex.split(words + " --set batch=4 --set validation_sets=10 --set test_sets=20 "
                                          "--set evaluate_every=3")).cells  # fmt: skip
    found = Costs(Store(runs.parent), [cell("x", "x")]).per_step
    assert tiny.kind not in found
    here = Cell("max_regression", "max/x", (), 6, "x")
    found = Costs(Store(runs), [here]).per_step
    assert found[tiny.kind] > 0 and planned.kind not in found


@pytest.mark.parametrize(
    ("workers", "running", "waiting", "expected"),
    [
        (1, [], [], (0, True)),
        (1, [5], [3, 2], (10, True)),
        (2, [5], [3, 2], (5, True)),
        (2, [5, 1], [4, 4], (9, True)),
        (3, [5], [2, 2, 2], (5, True)),
        (2, [5, None], [3], (5, False)),
        (1, [], [3, None], (3, False)),
        (0, [4], [], (4, True)),
    ],
)
def test_the_time_left_is_that_of_the_last_worker(workers, running, waiting, expected):
    assert total(workers, running, waiting) == expected


def test_costs_on_disk_decide_which_cell_starts_first(tmp_path: Path, capsys):
    words = [*map(str, sweep(tmp_path, seeds=1)), "--jobs", "1"]
    cells = prepare(words[1:]).cells
    for slow, fast in (cells, cells[::-1]):
        (tmp_path / "sweeps").mkdir(exist_ok=True)
        Store(tmp_path).write_costs({slow.kind: 2.0, fast.kind: 1.0})
        assert Costs(Store(tmp_path), cells).longest_first(cells) == [slow, fast]
    done = command(*words)
    started = [line.split(": ")[1] for line in done.stdout.splitlines() if "started: " in line]
    assert started == [cells[1].name, cells[0].name] and "timing" not in done.stdout


def test_damaged_costs_are_no_costs(tmp_path: Path):
    (tmp_path / "sweeps").mkdir()
    for text in ("{", '{"x": "fast"}', '{"x": -1}', '{"x": 1, "checksum": "0"}', "[]"):
        (tmp_path / "sweeps" / "costs.json").write_text(text)
        assert Store(tmp_path).read_costs() == {}


# ---- notes and requests ---------------------------------------------------------------------------------------------


def test_notes(tmp_path: Path):
    place, one = Store(tmp_path), cell("a", "x")
    assert place.note(one) is None
    place.write_note(one, store.DIVERGED, "the loss became nan")
    assert place.note(one) == store.Note(store.DIVERGED, "the loss became nan")
    path = next(tmp_path.rglob("a.json"))
    path.write_text(path.read_text().replace("nan", "0.1"))
    assert place.note(one) == store.Note(store.STARTED, "")  # damaged: nothing is known but that it was started
    place.remove_note(one)
    assert place.note(one) is None
    (tmp_path / "file").touch()
    Store(tmp_path / "file").write_note(one, store.FAILED, "a full disk")  # no error


def test_a_damaged_request_is_skipped_with_a_sentence(tmp_path: Path, capsys):
    place = Store(tmp_path)
    for name in "ab":
        with place.sweeping(["sweep", name], [cell(name, "x"), cell("e", "y", None)], 2):
            request = Request.read(place.requests()[-1])
            assert request.alive and request.cells == [cell(name, "x"), cell("e", "y", None)]
    path = place.requests()[0]
    assert not Request.read(path).alive
    path.write_text(path.read_text().replace('"name"', '"nmae"'))
    assert main(["sweep", "--status", "--out", str(tmp_path)]) == 1
    printed = capsys.readouterr()
    assert f"minisets: skipped: {path} was changed after it was written" in printed.err
    assert printed.out.startswith("minisets sweep b\n  not running, started ") and "0 of 2 cells done" in printed.out


# ---- what is shown --------------------------------------------------------------------------------------------------

NAME = "clustering_large/paper/isab16-pma-seed{}-lr0.001-save_every100"
SNAPSHOT = Snapshot(
    total=40,
    done=3,
    waiting=20,
    left=7_500,
    exact=True,
    running=[Line(NAME.format(i), 1_200 * i, 50_000, 0.5131, 3_800.0) for i in range(4)] + [Line("runtime/quick/x")],
    elsewhere=[Line(NAME.format(9), 7, 50_000, None, None)],
    failed={NAME.format(i): "the loss became nan at step 2; \x1b[31m try a smaller --lr" * 3 for i in range(10, 22)},
)


def test_the_block_says_what_is_going_on():
    text = "\n".join(lines(SNAPSHOT, 200, 100))
    assert text.startswith("3 of 40 cells done, 5 running, 1 running elsewhere, 12 failed, 20 waiting, about 2:05:00 l")
    assert f"  running   {NAME.format(3)}  step 3,600/50,000  loss 0.5131  1:03:20 left" in text
    assert "  elsewhere " in text and "step 7/50,000\n" in text and "starting" in text and "\x1b" not in text
    assert "at least" in Snapshot(2, 0, 2, 10, False).summary() and Snapshot(2, 2, 0, 0, True).summary() == (
        "2 of 2 cells done"
    )
    assert Snapshot(2, 0, 2, 10, True, doing="saving").summary() == "0 of 2 cells done, 2 waiting, saving"


@pytest.mark.parametrize(("width", "height"), [(80, 24), (80, 10), (40, 5), (20, 3), (200, 8)])
def test_the_block_fits_the_terminal(width: int, height: int):
    block = lines(SNAPSHOT, width, height)
    assert len(block) < height and max(map(len, block)) < width
    if height < 20:
        assert "… and " in block[-1]
    if width == 80:
        assert "…/isab16-pma-seed3" in block[4] and block[4].endswith("step 3,600/50,000  loss 0.5131  1:03:20 left")


def test_the_block_is_drawn_in_place(capsys, monkeypatch):
    monkeypatch.setattr(view.shutil, "get_terminal_size", lambda: os.terminal_size((80, 24)))
    terminal = view.TerminalView()
    terminal.show(Snapshot(2, 0, 1, 10, True, [Line("a")]))
    terminal.show(Snapshot(2, 1, 0, 10, True, [Line("b")]))
    first, second = capsys.readouterr().out.split("\x1b[2F")  # back over the two lines of the first block
    assert "a  " in first and "b  " in second and second.count("\x1b[K\n") == 2
    terminal.end()
    assert capsys.readouterr().out.startswith("\x1b[2F\x1b[J")


def test_on_a_terminal_a_sweep_draws_and_leaves_the_result(tmp_path: Path):
    main_side, side = pty.openpty()
    termios.tcsetwinsize(side, (24, 80))
    words = ["sweep", "max_regression", "--arch", "rFF + Pooling (max)", *settings(steps=20), "--set", "lr=1e-3,1e30"]
    process = start(*words, "--out", tmp_path, stdout=side)
    os.close(side)
    seen = b""
    with contextlib.suppress(OSError):  # reading a closed terminal is an error
        while part := os.read(main_side, 65536):
            seen += part
    process.communicate()
    os.close(main_side)
    text = seen.decode()
    assert process.returncode == 1 and "\x1b[K\r\n" in text and "2 running" in text and "started: " not in text
    assert text.rpartition("\x1b[J")[2].strip().splitlines()[-1].startswith("1 of 2 cells are finished")
