"""The cost model of distributed training, what is measured for it, and the tables and figure of docs/24-scaling.md."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from tasks.bench import scaling, scaling_tables
from tasks.bench.cost_model import Costs, Network, TwoProcesses, costs_of, fit_costs, fit_network
from tasks.bench.scaling_worker import AsOneOf, Request, steps
from tasks.bench.tables import with_tables
from tests.helpers.commandline import command

NETWORK = Network(latency=5e-6, bandwidth=10e9)
COSTS = Costs(3e-3, 2e-6, 4e-4, 1e-4, [("gather", 8), ("gather", 1_024), ("sum", 1_024), ("sum", 4_000_000)])


def test_the_parts_of_a_step():
    assert NETWORK.sum(2, 1_000) == pytest.approx(2 * 5e-6 + 1_000 / 10e9)
    assert NETWORK.sum(8, 1_000) == pytest.approx(6 * 5e-6 + 2 * 7 / 8 * 1_000 / 10e9)
    assert NETWORK.gather(8, 1_000) == pytest.approx(3 * 5e-6 + 7 * 1_000 / 10e9)
    assert COSTS.step(1, 10, NETWORK) == pytest.approx(3e-3 + 10 * (2e-6 + 4e-4))
    exchanges = NETWORK.gather(4, 1_032) + NETWORK.gather(4, 0) + NETWORK.sum(4, 4_001_024) + NETWORK.sum(4, 0)
    assert COSTS.step(4, 10, NETWORK) == pytest.approx(3e-3 + 10 * 2e-6 + 3 * 4e-4 + 1e-4 + exchanges)


@pytest.mark.parametrize("P", [2, 16, 128])
def test_the_batch_that_pays_is_the_smallest_with_an_efficiency_of_half(P: int):
    B = COSTS.batch_that_pays(P, NETWORK)
    assert B % P == 0 and COSTS.speedup(P, B, NETWORK) >= P / 2 * (1 - 1e-12)
    assert B == P or COSTS.speedup(P, B - P, NETWORK) < P / 2


def test_where_every_process_samples_too_much_no_batch_pays():
    assert COSTS.most() == pytest.approx(201)
    assert COSTS.batch_that_pays(1_024, NETWORK) is None
    assert COSTS.speedup(1_024, 10**9, NETWORK) < 512
    assert Costs(1, 0, 1, 0, []).most() == math.inf


def test_costs_and_network_are_found_again():
    points = [
        {"batch": B, "size": P, "packing": 1e-4, "seconds": COSTS.compute(P, B)}
        for B, P in [(32, 1), (32, 2), (32, 4), (32, 32), (256, 256)]
    ]
    found = fit_costs(points, COSTS.exchanges)
    for name in ("fixed", "whole", "work", "packing"):
        assert getattr(found, name) == pytest.approx(getattr(COSTS, name), rel=1e-6), name
    network = fit_network([(n, NETWORK.sum(2, n)) for n in (8, 4_096, 10**6)])
    assert (network.latency, network.bandwidth) == pytest.approx((5e-6, 10e9))
    here = TwoProcesses([(8, 1e-5), (800, 1e-3), (8_000, 1e-1)])
    assert [here.sum(2, n) for n in (8, 80, 8_000)] == pytest.approx([1e-5, 1e-4, 1e-1])


def test_as_one_of_some_processes():
    """The share is that of the last process, and the exchanges are those of a real step."""
    world = AsOneOf(4)
    assert world.rows(10) == slice(7, 10) and world.weight == 0.3
    assert world.gather(np.ones(2)).shape == (4, 2)
    world.sum(np.ones(3))
    assert world.exchanges == [("gather", 16), ("sum", 24)]
    options = {"data": "synthetic", "arch": "SAB + PMA (1)", "batch": 8}
    (timed,) = steps([Request("unique_characters", options, steps=2, seconds=60, size=4)])
    tensors = (timed.exchanges[-1][1] - 4 * timed.parameters) // 4 - 2  # which of them have gradients; loss and stop
    assert timed.exchanges == [("gather", 8), ("gather", 1_024)] * 4 + [("sum", 1_024)] * 4 + [timed.exchanges[-1]]
    assert timed.exchanges[-1][0] == "sum" and 40 < tensors < 80
    assert len(timed.steps) == 2 and all(0 < a < min(timed.steps) for a in timed.averaging[1:])


def test_the_largest_batch_that_is_measured_can_be_sampled():
    for name, options in scaling.EXPERIMENTS.items():
        experiment = scaling.find_experiment(name)
        config = experiment.config(**experiment.presets["paper"] | options)
        experiment.config(
            **experiment.presets["paper"] | options | {"batch": scaling.LARGER.get(name, 8) * config.batch}
        )


def test_what_other_programs_use_is_not_what_we_use():
    others = scaling.OtherPrograms()
    assert 0 <= others.cores() < 1_000


# ---- docs/24-scaling.md


STORED = json.loads(scaling_tables.STORED.read_text())


def test_the_page_has_the_tables_of_the_stored_measurements():
    """If not: make tables."""
    page = scaling_tables.PAGE.read_text(encoding="utf-8")
    for name, table in scaling_tables.tables(STORED).items():
        assert f"<!-- table {name} -->\n{table}\n<!-- end of table -->" in page, name
    assert with_tables(page, scaling_tables.tables(STORED)) == page
    assert [row["name"] for row in STORED["rows"]] == list(scaling.EXPERIMENTS)


def test_every_cost_was_found():
    for row in STORED["rows"]:
        costs = costs_of(row)
        assert costs.fixed > 0 and costs.work > 0 and costs.packing > 0, row["name"]


def test_a_line_while_measuring():
    here = TwoProcesses(STORED["sums"])
    line = scaling_tables.scaling_line(STORED["rows"][0], here)
    assert len(line) == len(scaling_tables.scaling_line(None, here)) and line.startswith("max_regression")


def test_the_figure_can_be_plotted_again_for_another_network(tmp_path: Path):
    words = ["bench", "--scaling", "--plot-only", "--out", tmp_path]
    done = command(*words)
    assert done.returncode == 2 and "leave out --plot-only to measure" in done.stderr
    (tmp_path / "scaling.json").write_text(json.dumps(STORED | {"rows": STORED["rows"][:2]}))
    assert command(*words, "--latency", "1e-6").returncode == 0 and (tmp_path / "scaling.svg").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["clusterin"], "there is no experiment 'clusterin'; did you mean clustering"),
        (["--bandwidth", "0"], "--latency must be at least 0, and --bandwidth a positive number"),
    ],
)
def test_bad_requests(words: list[str], message: str, tmp_path: Path):
    done = command("bench", "--scaling", *words, cwd=tmp_path)
    assert done.returncode == 2 and message in done.stderr and not list(tmp_path.iterdir())


def test_without_mpiexec_the_command_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("shutil.which", lambda *_, **__: None)
    with pytest.raises(scaling.UsageError, match="mpiexec was not found; install it with pip install"):
        scaling.mpiexec()
