"""How much faster several processes train one network: measured with two, and by a model with more.

minisets bench --scaling                        every experiment of the paper, about ten minutes on two cores
minisets bench --scaling --plot-only            the figure again, from OUT/scaling.json
minisets bench --scaling --latency 2e-6 --bandwidth 25e9        for another cluster

Each experiment takes steps of its preset paper, on stand-in data, with one thread per process:

- as one of 1, 2, 4 and B processes whose others are absent, and with a larger batch as one of that many: the costs
  of cost_model.py are fitted to these five;
- as one of 2, twice at the same time: how much slower it is when both cores are busy;
- with mpiexec -n 1 and -n 2, as any distributed run, which the model has to predict;
- with mpiexec -n 1 and two threads.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from minisets.distributed.launcher import INSTALL
from tasks.bench.cost_model import Network, Row, TwoProcesses, fit_network
from tasks.bench.scaling_tables import scaling_line
from tasks.bench.scaling_worker import Request
from tasks.harness.errors import UsageError, warn
from tasks.harness.experiment import find_experiment
from tasks.harness.machine import environment
from tasks.harness.options import STAND_IN
from tasks.harness.run_folder import RunFolder
from tasks.plots.scaling import figure

EXPERIMENTS: dict[str, dict[str, Any]] = {  # options that differ from preset paper: set sizes are the paper's mean
    "max_regression": {"arch": "SAB + PMA"},
    "clustering": {"arch": "ISAB (16) + PMA", "n_min": 300, "n_max": 300},
    "clustering_large": {"arch": "SAB (32) + PMA (6)", "n_min": 3_000, "n_max": 3_000},
    "unique_characters": {"arch": "SAB + PMA (1)", "data": "synthetic"},
    "image_clustering": {"arch": "ISAB (16) + PMA", "n_min": 300, "n_max": 300, "data": "synthetic"},
    "set_anomaly": {"arch": "SAB + PMA", "data": "synthetic", "train_sets": 256, "validation_sets": 1},
    "point_cloud": {"arch": "ISAB (16) + PMA", "data": "synthetic"},
    "vgg": {"data": "synthetic", "per_class": 11},
}
LARGER = {"max_regression": 64}  # times the batch, to see what sampling takes; otherwise 8
ROUNDS = 2
QUIET = 0.1  # cores that other programs may keep busy during a turn; if they use more, it is repeated
TRIES = 3
SECONDS = 1.5  # of each turn in a round, or three steps if they take longer
CLUSTER = Network(latency=5e-6, bandwidth=10e9)  # a typical interconnect, unless the command says otherwise
MPI_OPTIONS = ("--bind-to", "none")  # or two jobs at the same time would share one core, and a job's threads too


def run(folder: RunFolder, given: argparse.Namespace) -> Path:
    """The command: measure, unless told not to, write scaling.json and plot it."""
    path = folder.path / "scaling.json"
    if given.plot_only and not path.exists():
        raise UsageError(f"there is no {path} to plot; leave out --plot-only to measure")
    cluster = {"cluster": {"latency": given.latency, "bandwidth": given.bandwidth}}
    if given.plot_only:
        stored = json.loads(path.read_text()) | cluster
    else:
        stored = measure_scaling(given.networks or list(EXPERIMENTS), given.steps) | cluster | environment()
        folder.write(path, stored)
    return folder.save_figure("scaling", figure(stored))


def measure_scaling(names: Sequence[str], steps: int) -> dict[str, Any]:
    """Print a line for each experiment, and return what was measured."""
    sums = undisturbed(["sums", str(SECONDS / 10)], processes=2).printed[0]
    network = fit_network(sums)
    print(f"two processes here: latency {network.latency * 1e6:.1f} µs, {network.bandwidth / 1e9:.2f} GB/s", flush=True)
    here = TwoProcesses(sums)
    print(scaling_line(None, here), flush=True)
    rows = []
    for name in names:
        rows.append(measure(name, steps))
        print(scaling_line(rows[-1], here), flush=True)
        if rows[-1]["others"] > QUIET:
            warn(f"{name}: meanwhile other programs kept {rows[-1]['others']:.1f} cores busy; measure it again later")
    return {"rows": rows, "sums": sums}


def measure(name: str, steps: int, rounds: int = ROUNDS) -> Row:
    """All turns of one experiment; seconds are medians over the steps of all rounds."""
    options, preset = EXPERIMENTS[name], find_experiment(name).presets["paper"]
    config = find_experiment(name).config(**preset | options)
    B, larger = config.batch, LARGER.get(name, 8) * config.batch

    def request(batch: int = B, size: int = 0) -> Request:
        return Request(name, options | {"batch": batch}, steps, SECONDS, size)

    parts = [request(B, size) for size in dict.fromkeys((1, 2, min(4, B), B))] + [request(larger, larger)]
    turns: dict[str, list[Turn]] = {}
    for _ in range(rounds):
        for kind, turn in (
            ("absent", undisturbed(_steps(parts))),
            ("busy", undisturbed(_steps([request(B, 2)]), jobs=2)),
            ("1", undisturbed(_steps([request()]), processes=1)),
            ("2", undisturbed(_steps([request()]), processes=2)),
            ("threads", undisturbed(_steps([request()]), processes=1, threads=2)),
        ):
            turns.setdefault(kind, []).append(turn)
    points = []
    for i, part in enumerate(parts):
        timed = [turn.printed[0][i] for turn in turns["absent"]]
        about = {"batch": part.options["batch"], "size": part.size}
        points.append(about | {"seconds": _median(timed, "steps"), "packing": _median(timed, "averaging")})
    half = turns["absent"][0].printed[0][1]  # as one of two
    seconds = {
        kind: _median([job[0] for turn in turns[kind] for job in turn.printed], "steps")
        for kind in ("busy", "1", "2", "threads")
    }
    busy = seconds.pop("busy") / points[1]["seconds"]
    about = {"name": name, "network": getattr(config, "arch", f"VGG-{getattr(config, 'depth', '')}"), "batch": B}
    about |= {"options": options, "data": STAND_IN if "data" in options else "sampled"}
    return about | {
        "parameters": half["parameters"],
        "exchanges": half["exchanges"],
        "points": points,
        "busy": busy,
        "measured": seconds,
        "others": max(turn.others for some in turns.values() for turn in some),
    }


def _steps(requests: list[Request]) -> list[str]:
    return ["steps", json.dumps([asdict(request) for request in requests])]


def _median(timed: list[dict[str, Any]], what: str) -> float:
    return statistics.median(seconds for one in timed for seconds in one[what])


# ---- processes ------------------------------------------------------------------------------------------------------


def run_workers(arguments: list[str], processes: int = 0, jobs: int = 1, threads: int = 1) -> list[Any]:
    """What each of some jobs at the same time prints: of `processes` each, started by mpiexec; 0: without it."""
    command = [sys.executable, "-m", "tasks.bench.scaling_worker", *arguments]
    if processes:
        command = [mpiexec(), *MPI_OPTIONS, "-n", str(processes), *command]
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1", "MINISETS_THREADS": str(threads)}
    environment |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}  # as in a container
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "env": environment}
    started = [subprocess.Popen(command, **pipes) for _ in range(jobs)]
    ended = [(*process.communicate(), process.returncode) for process in started]
    time.sleep(0.1)
    for _, errors, code in ended:
        if code:
            said = " ".join(line.strip() for line in errors.splitlines() if line.strip(" -"))  # without mpiexec's rules
            raise UsageError(f"a process of the benchmark failed with exit code {code}: {said or 'it printed nothing'}")
    return [json.loads(printed.splitlines()[-1]) for printed, *_ in ended]  # experiments may print as well


@dataclass(frozen=True)
class Turn:
    printed: list[Any]  # by each job
    others: float  # cores that other programs kept busy meanwhile


def undisturbed(arguments: list[str], **settings: int) -> Turn:
    """The same, tried again if other programs computed meanwhile; the least disturbed try counts."""
    turns: list[Turn] = []
    while len(turns) < TRIES and not (turns and turns[-1].others < QUIET):
        others = OtherPrograms()
        turns.append(Turn(run_workers(arguments, **settings), others.cores()))
    return min(turns, key=lambda turn: turn.others)


class OtherPrograms:
    """What other programs compute meanwhile: they make all times longer, and those of two processes most."""

    def __init__(self) -> None:
        self.began, self.used = time.perf_counter(), self._used()

    def cores(self) -> float:
        """How many cores they have kept busy, on average; 0 where that cannot be known."""
        return max(0.0, self._used() - self.used) / (time.perf_counter() - self.began)

    @staticmethod
    def _used() -> float:
        """Seconds of all cores, without those of this process and its children."""
        try:
            ticks = list(map(int, Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]))
        except OSError:  # not Linux
            return 0.0
        ours = os.times()
        idle = ticks[3] + ticks[4]
        return (sum(ticks) - idle) / os.sysconf("SC_CLK_TCK") - sum(ours[:4])


def mpiexec() -> str:
    """The program that starts several processes: that of this Python's environment, or else the first on the path."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    found = shutil.which("mpiexec", path=path)
    if found is None:
        raise UsageError(f"mpiexec was not found; install it with {INSTALL}")
    return found
