"""The result tables of tasks/paper.py and the networks that are built, compared with the paper's LaTeX source."""

import dataclasses
import itertools
import re
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import NamedTuple

import pytest

import tasks
from minisets import rFFp
from minisets.architectures import HYPERPARAMETERS
from minisets.labels import ROWS, parse
from tasks.harness import paper
from tests.helpers import latex
from tests.helpers.layers import described, network
from tests.helpers.requirements import PAPER

ROOT = Path(tasks.__file__).parent.parent
TEXT = PAPER.read_text(encoding="utf-8")
TABLES = {table.label: table for table in latex.tables(TEXT)}
RESULTS = {  # the table that tasks/paper.py copies
    "max_regression": "table:max",
    "unique_characters": "table:appunique",
    "clustering": "tab:2d_synthetic_more_results",
    "clustering_large": "tab:2d_synthetic_large_scale",
    "image_clustering": "tab:cifar100_more_results",
    "set_anomaly": "tab:meta_anomaly",
    "point_cloud": "table:pointcloud",
}
SHORTER = {  # the main text's table of the same results, and the heading above its columns
    "unique_characters": ("table:unique", ""),
    "clustering": ("tab:meta_clustering", "Synthetic"),
    "image_clustering": ("tab:meta_clustering", "CIFAR-100"),
}
ARCHITECTURES = {
    "max_regression": "tab:max_architecture",
    "unique_characters": "tab:unique_architecture",
    "clustering": "tab:2d_synthetic_architecture",
    "clustering_large": "tab:2d_synthetic_architecture",
    "image_clustering": "tab:cifar100_architecture",
    "set_anomaly": "tab:meta_anomaly_architecture",
    "point_cloud": "tab:pointcloud_architecture",
    "point_cloud_5000": "tab:pointcloud_architecture",
}


class Change(NamedTuple):
    """How the networks of these rows (a pattern of labels) differ from the printed table, and a quote that says so."""

    task: str
    rows: str
    printed: str
    built: str
    reason: str
    quote: str


IN_THE_TEXT = (  # quotes from the paper
    Change("clustering_large", "*Pooling", "FC(20, -)", "FC(30, -)", "six Gaussians instead of four", "set $k=6$"),
    Change(
        "point_cloud_5000", "ISAB*", "ISAB_16(256, 4) | ISAB_16(256, 4)", "ISAB_16(512, 4)",
        "one ISAB, twice as wide, for 5,000 points", "only used one ISAB block",
    ),
)  # fmt: skip
DEVIATIONS = (  # quotes from docs/25-deviations.md
    Change("unique_characters", "*PMA*", "(8, 8)", "(64, 4)", "the encoder's width and heads", "PMA₁(8, 8)"),
    Change("image_clustering", "*PMA", "PMA_4(128, 4)", "PMA_4(256, 4)", "the encoder's width", "PMA₄(128, 4)"),
    Change("clustering", "*PMA", "FC(20, -)", "FC(5, -) per seed", "a Gaussian per seed", "FC(4·(1+2·2))"),
    Change("clustering_large", "*PMA*", "FC(20, -)", "FC(5, -) per seed", "a Gaussian per seed", "FC(6·(1+2·2))"),
    Change("image_clustering", "*PMA", "FC(4100, -)", "FC(1025, -) per seed", "a Gaussian per seed", "FC(4·(1+2·512))"),
    Change("point_cloud_5000", "ISAB* + Pooling", "FC(256, ReLU)", "FC(512, ReLU)", "the ISAB's width", "width 512"),
    Change("point_cloud_5000", "ISAB* + PMA", "PMA_1(256, 4)", "PMA_1(512, 4)", "the ISAB's width", "width 512"),
)


# ---- results


def printed_results(table: latex.Table, group: str = "") -> dict[str, dict[str, str]]:
    """label -> column -> cell, of the columns under one heading, with the names that tasks/paper.py uses."""
    names = [re.sub(r"^Test |/data$| pts$", "", column[-1]) for column in table.columns]
    wanted = [i for i, column in enumerate(table.columns) if i and (not group or column[0] == group)]
    labels = [re.sub(r" *\+ *", " + ", row[0]) for row in table.rows]
    assert len({*labels}) == len(labels), f"a label occurs twice in {table.label}"
    return {label: {names[i]: row[i] for i in wanted if row[i]} for label, row in zip(labels, table.rows, strict=True)}


def differences(printed: dict[str, dict[str, str]], ours: dict[str, dict[str, str]]) -> dict[tuple[str, str], tuple]:
    """(label, column) -> (printed cell, our cell) where they differ; None for a cell that is not there."""
    a, b = ({(label, name): row[name] for label, row in table.items() for name in row} for table in (printed, ours))
    return {key: (a.get(key), b.get(key)) for key in a | b if a.get(key) != b.get(key)}


def test_every_table_is_compared():
    assert latex.visible(TEXT).count(r"\begin{tabular}") == len(TABLES)
    assert {*RESULTS.values(), *ARCHITECTURES.values(), *(label for label, _ in SHORTER.values())} == TABLES.keys()
    assert {*RESULTS, "vgg"} == paper.TABLES.keys() and ARCHITECTURES.keys() == HYPERPARAMETERS.keys() == ROWS.keys()


@pytest.mark.parametrize("task", RESULTS)
def test_results(task: str):
    printed = printed_results(TABLES[RESULTS[task]])
    assert differences(printed, paper.TABLES[task]) == {}
    rows = [label for label in printed if label not in ("Oracle", "Random guess")]
    assert {parse(label) for label in rows} == {parse(label) for label in ROWS[task]}


def test_accuracy_of_the_vgg():
    (percent,) = re.findall(r"obtained the test accuracy ([\d.]+)\\%", TEXT)
    assert paper.TABLES["vgg"] == {"vgg": {"Accuracy": f"{float(percent) / 100:.4f}"}}


def main_text_differences() -> Iterator[tuple[str, str]]:
    """Row and cell of the main text where the supplement's table has another value, or no such row."""
    for task, (label, group) in SHORTER.items():
        longer = printed_results(TABLES[RESULTS[task]])
        for row, cells in printed_results(TABLES[label], group).items():
            same = longer.get(row) or longer.get(f"{row} (1)", {})  # SAB + PMA is the supplement's SAB + PMA (1)
            yield from ((row, cell) for name, cell in cells.items() if same.get(name) != cell)


def test_docstring_lists_what_the_main_text_prints_differently():
    number = r"\d\.\d{3,}(?: ± \d\.\d+)?"
    stated = re.findall(rf"(\w+ \+ \w+|Oracle) ({number})", " ".join(paper.__doc__.split()))
    assert sorted(stated) == sorted(main_text_differences())
    assert len(stated) == len(re.findall(number, paper.__doc__))


# ---- architectures


def headings(table: latex.Table) -> list[tuple[str, ...]]:
    """("Encoder", "rFF") and so on, in the order of the columns; two tables use other names."""
    renamed = {("Encoder", "FF"): ("Encoder", "rFF"), ("Decoder", "rFF"): ("Decoder", "Pooling")}
    return [renamed.get(column, column) for column in table.columns]


def columns(label: str) -> list[tuple[str, str]]:
    """The headings of the two columns that make up a row's network."""
    row = parse(label)
    encoder = row.encoder.upper() if row.encoder in ("sab", "isab") else "rFF"
    return [("Encoder", encoder), ("Decoder", "PMA" if row.pooling == "pma" else "Pooling")]


def printed_network(task: str, label: str, changes: tuple[Change, ...] = (*IN_THE_TEXT, *DEVIATIONS)) -> list[str]:
    """The layers that the table prints for a row, after the changes."""
    table, row = TABLES[ARCHITECTURES[task]], parse(label)
    cells = [line[headings(table).index(column)] for column in columns(label) for line in table.rows]
    text = " | ".join(layer for cell in cells for layer in latex.layers(cell))
    text = re.sub(r"ISAB(_m)?\(", f"ISAB_{row.m}(", text).replace("mean, sum, max", row.kind or "")
    if row.k:
        text = re.sub(r"PMA_\d", f"PMA_{row.k}", text)
    if row.pooling == "dotprod":
        text = text.replace("mean", "Dotprod")
    for change in changes:
        if change.task == task and fnmatch(label, change.rows):
            text = text.replace(change.printed, change.built)
    return text.split(" | ")


def layer_differences(task: str) -> list[tuple[str, int, str | None, str | None]]:
    """(label, position, printed layer, built layer) where they differ."""
    found = []
    for label in ROWS[task]:
        pairs = itertools.zip_longest(printed_network(task, label), described(network(task, label)))
        found += [(label, i, printed, built) for i, (printed, built) in enumerate(pairs) if printed != built]
    return found


@pytest.mark.parametrize("task", ARCHITECTURES)
def test_architectures(task: str):
    assert layer_differences(task) == []
    for label in ROWS[task]:
        kinds = {module.pooling for module in network(task, label).modules() if isinstance(module, rFFp)}
        assert kinds == {*re.findall("rFFp-(mean|max)", label)}


def test_every_column_of_the_architecture_tables_is_compared():
    for label in {*ARCHITECTURES.values()}:
        rows = [row for task in ARCHITECTURES if ARCHITECTURES[task] == label for row in ROWS[task]]
        assert {column for row in rows for column in columns(row)} == {*headings(TABLES[label])}


def test_changes_are_in_use_and_documented():
    deviations = (ROOT / "docs" / "25-deviations.md").read_text(encoding="utf-8")
    for source, changes in ((TEXT, IN_THE_TEXT), (deviations, DEVIATIONS)):
        for change in changes:
            rows = [label for label in ROWS[change.task] if fnmatch(label, change.rows)]
            assert rows and all(change.printed in " | ".join(printed_network(change.task, row, ())) for row in rows)
            assert change.quote in source, change


# ---- the comparison can fail


def changed_digits(cell: str) -> Iterator[str]:
    for digit in re.finditer(r"\d", cell):
        yield cell[: digit.start()] + str((int(digit[0]) + 1) % 10) + cell[digit.end() :]


@pytest.mark.parametrize("task", RESULTS)
def test_any_changed_digit_or_missing_row_is_found(task: str):
    printed = printed_results(TABLES[RESULTS[task]])
    for label, cells in paper.TABLES[task].items():
        others = {other: row for other, row in paper.TABLES[task].items() if other != label}
        missing = {(label, name): (cell, None) for name, cell in cells.items()}
        assert differences(printed, others) == missing
        assert differences(others, printed) == {key: (None, cell) for key, (cell, _) in missing.items()}
        for name, cell in cells.items():
            for changed in changed_digits(cell):
                found = differences(printed, others | {label: cells | {name: changed}})
                assert found == {(label, name): (cell, changed)}


def test_a_changed_digit_of_the_source_is_found():
    changed = TEXT.replace(r"0.5888 $\pm$ 0.0072", r"0.5888 $\pm$ 0.0073")
    table = {table.label: table for table in latex.tables(changed)}["table:appunique"]
    found = differences(printed_results(table), paper.TABLES["unique_characters"])
    assert found == {("SAB + Dotprod", "Accuracy"): ("0.5888 ± 0.0073", "0.5888 ± 0.0072")}


def test_a_changed_width_of_the_source_is_found(monkeypatch: pytest.MonkeyPatch):
    for table in latex.tables(TEXT.replace("[1024, 512, 256]", "[1024, 513, 256]")):
        monkeypatch.setitem(TABLES, table.label, table)
    printed, built = "FC(513, -, Dropout)", "FC(512, -, Dropout)"
    assert layer_differences("set_anomaly") == [(label, 4, printed, built) for label in ROWS["set_anomaly"]]


def test_a_changed_plan_is_found(monkeypatch: pytest.MonkeyPatch):
    ours = HYPERPARAMETERS["max_regression"]
    monkeypatch.setitem(HYPERPARAMETERS, "max_regression", dataclasses.replace(ours, heads=2))
    blocks = "SAB", "SAB", "PMA_1"
    expected = [("SAB + PMA", i, f"{name}(64, 4)", f"{name}(64, 2)") for i, name in enumerate(blocks)]
    assert layer_differences("max_regression") == expected
    monkeypatch.setitem(HYPERPARAMETERS, "max_regression", dataclasses.replace(ours, rff=3))
    assert {label for label, *_ in layer_differences("max_regression")} == {*ROWS["max_regression"][:3]}


def test_the_parser_repeats_spans_and_rejects_unknown_commands():
    source = r"""\begin{table}\begin{tabular}{ccc}
        a & \multicolumn{2}{c}{b} \\ \midrule
        \multirow{2}{*}{$\mathrm{c}$} & \textbf{1 $\pm$ 2} & 3 \\
        & 4 % 5
        & 6 \\
    \end{tabular}\label{t}\end{table}"""
    (table,) = latex.tables(source)
    assert table == latex.Table("t", [("a",), ("b",), ("b",)], [["c", "1 ± 2", "3"], ["c", "4", "6"]])
    with pytest.raises(ValueError, match="has a command that the parser does not know"):
        list(latex.tables(source.replace("pm", "mp")))
