"""Reads the tables of a LaTeX file, as far as the paper needs it: cells as plain text, spans repeated."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

_GROUP = r"\{((?:[^{}]|\{[^{}]*\})*)\}"  # {...}, braces nested once
_RULES = r"\\(?:toprule|bottomrule|hline|midrule|cmidrule(?:\(\w+\))?\{[\d-]+\}|label\{[^{}]*\})"
_PLAIN = (
    (r"\(ours\)", ""),
    (r"\\citep?\{([A-Z][a-z]+)(\d{4})\}", r"(\1 et al., \2)"),
    (rf"\\(?:mathrm|textbf){_GROUP}", r"\1"),
    (r"\\bf\b", ""),
    (r"\\(max)\b", r"\1"),
    (r"\\pm\b", "±"),
    (r"\\cdot\b", "·"),
    (r"[${}]", ""),
    (r"\s+", " "),
)


@dataclass(frozen=True)
class Table:
    label: str
    columns: list[tuple[str, ...]]  # the headings of each column, top to bottom
    rows: list[list[str]]


def visible(text: str) -> str:
    """The text without comments and \\iffalse blocks, macros without arguments expanded."""
    text = re.sub(r"(?<!\\)%.*", "", text)
    text = re.sub(r"\\iffalse\b.*?\\fi\b", "", text, flags=re.S)
    definition = rf"\\newcommand\{{(\\\w+)\}}{_GROUP}"
    macros = re.findall(definition, text)
    text = re.sub(definition, "", text)
    for name, body in macros:
        text = re.sub(re.escape(name) + r"(?![A-Za-z])", lambda _, body=body: body, text)
    return text


def tables(text: str) -> Iterator[Table]:
    """Every tabular that is printed; its label is inside it or before the end of the table around it."""
    tabular = r"\\begin\{tabular\}(.*?)\\end\{tabular\}(?=(.*?)\\end\{table)"
    for source, after in re.findall(tabular, visible(text), re.S):
        label = re.search(r"\\label\{([^{}]*)\}", source + after)
        head, body = re.sub(rf"^{_GROUP}", "", source).split(r"\midrule", maxsplit=1)
        yield Table(label[1] if label else "", list(zip(*_grid(head), strict=True)), _grid(body))


def _grid(source: str) -> list[list[str]]:
    grid = [[*_cells(line)] for line in re.split(r"\\\\", re.sub(_RULES, "", source)) if line.strip()]
    for i, row in enumerate(grid):
        for j, cell in enumerate(row):
            if span := re.fullmatch(rf"\\multirow\{{(\d+)\}}{_GROUP}{_GROUP}", cell):
                for below in grid[i : i + int(span[1])]:
                    below[j] = span[3]
    return [[plain(cell) for cell in row] for row in grid]


def _cells(line: str) -> Iterator[str]:
    for cell in re.split(r"(?<!\\)&", line):
        cell = cell.strip()
        span = re.fullmatch(rf"\\multicolumn\{{(\d+)\}}{_GROUP}{_GROUP}", cell)
        yield from [span[3]] * int(span[1]) if span else [cell]


def plain(cell: str) -> str:
    """The text of a cell, without typefaces and "(ours)"; a command that is not known here is an error."""
    text = cell
    for pattern, replacement in _PLAIN:
        text = re.sub(pattern, replacement, text)
    if "\\" in text:
        raise ValueError(f"the cell {cell!r} has a command that the parser does not know")
    return text.strip()


def layers(cell: str) -> list[str]:
    """The layers of a cell in one spelling: "FC([128, 64],ReLU, -)" -> ["FC(128, ReLU)", "FC(64, ReLU)"]."""
    if cell.count(")") > cell.count("("):  # a misprint in the CIFAR-100 table
        cell = cell.removesuffix(")")
    match = re.fullmatch(r"(\w+)\((.*)\)", cell)
    if not match:
        return [cell] if cell else []
    name, arguments = match[1], re.split(r"\s*,\s*(?![^\[]*\])", match[2])
    if name == "FC" and arguments[2:] == ["-"]:
        arguments.pop()
    sizes = arguments[0].strip("[]").split(",")
    return [f"{name}({', '.join([_value(size), *arguments[1:]])})" for size in sizes]


def _value(size: str) -> str:
    """A size, worked out if it is a formula: "4·(1+2·2)" -> "20"."""
    return str(eval(size.replace("·", "*"))) if re.fullmatch(r"[\d+·() ]+", size) else size
