"""The labels of the rows in the paper's tables, such as "ISAB (16) + PMA": an encoder and a pooling."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass

_BASELINES = ("rFF + Pooling", "rFFp-mean + Pooling", "rFFp-max + Pooling", "rFF + Dotprod")
_CLUSTERING_ROWS = (
    *_BASELINES,
    "SAB + Pooling",
    "ISAB (16) + Pooling",
    "ISAB (32) + Pooling",
    "ISAB (64) + Pooling",
    "rFF + PMA",
    "SAB + PMA",
    "ISAB (16) + PMA",
    "ISAB (32) + PMA",
    "ISAB (64) + PMA",
)
ROWS = {  # the labels printed in the paper's tables, by experiment
    "max_regression": ("rFF + Pooling (mean)", "rFF + Pooling (sum)", "rFF + Pooling (max)", "SAB + PMA"),
    "unique_characters": (
        *_BASELINES, "rFF + PMA", "SAB + Pooling", "SAB + Dotprod",
        "SAB + PMA (1)", "SAB + PMA (2)", "SAB + PMA (4)", "SAB + PMA (8)",
    ),
    "clustering": _CLUSTERING_ROWS,
    "clustering_large": ("rFF + Pooling", "rFFp-mean + Pooling", "rFF + PMA (6)", "SAB (32) + PMA (6)"),
    "image_clustering": _CLUSTERING_ROWS,
    "set_anomaly": (*_BASELINES, "SAB + Pooling", "rFF + PMA", "SAB + PMA"),
    "point_cloud": ("rFF + Pooling", "rFFp-max + Pooling", "rFF + PMA", "ISAB (16) + Pooling", "ISAB (16) + PMA"),
}  # fmt: skip
ROWS["point_cloud_5000"] = ROWS["point_cloud"]


@dataclass(frozen=True)
class Label:
    """A parsed label: an encoder (with its number of inducing points m) and a pooling (with k seeds, or a kind)."""

    encoder: str
    pooling: str
    m: int | None = None
    k: int | None = None
    kind: str | None = None

    def __str__(self) -> str:
        """As the paper prints labels: "ISAB (16) + PMA"."""
        encoder = self.encoder.replace("rff", "rFF") if self.encoder.startswith("rff") else self.encoder.upper()
        pooling = "PMA" if self.pooling == "pma" else self.pooling.capitalize()
        inducing, detail = (f" ({value})" if value else "" for value in (self.m, self.k or self.kind))
        return f"{encoder}{inducing} + {pooling}{detail}"


_IGNORED = r"\(ours\)|\([^()]*\d{4}[^()]*\)|\[.*?\]|\\cite\w*\{.*?\}|\\mathrm|[\s_{}$\\]"  # citations, TeX, spaces
_LABEL = re.compile(
    r"(?P<encoder>rffp-mean|rffp-max|rff|isab|sab)(?P<m>\(\d+\)|\d+)?"
    r"\+(?P<pooling>pooling|dotprod|pma)(?P<k>\(\d+\)|\d+)?(\((?P<kind>mean|sum|max)\))?"
)


def parse(text: str) -> Label:
    """Parse a label, ignoring case, spaces, "(ours)" and citations."""
    cleaned = re.sub(_IGNORED, "", text.lower())
    if cleaned.startswith("settransformer"):
        cleaned = cleaned.replace("settransformer", "sab") + "+pma"
    match = _LABEL.fullmatch(cleaned)
    if not match or not _is_consistent(**match.groupdict()):
        raise ValueError(f"there is no architecture {text!r}; {_nearest(cleaned)}")
    m, k = (int(match[name].strip("()")) if match[name] else None for name in ("m", "k"))
    encoder, pooling, kind = match["encoder"], match["pooling"], match["kind"]
    if encoder == "isab" and m is None:
        raise ValueError(f"{text!r} does not say how many inducing points; write 'ISAB (16)', for example")
    if 0 in (m, k):
        raise ValueError(f"{text!r} must have at least one inducing point and at least one seed")
    if encoder == "sab" and m is not None:  # the paper's table for large sets writes SAB (32) for ISAB (32)
        encoder = "isab"
    return Label(encoder, pooling, m, k, kind)


def _is_consistent(encoder: str, m: str | None, pooling: str, k: str | None, kind: str | None) -> bool:
    """Whether numbers are given only for SAB, ISAB or PMA, and a kind only for Pooling."""
    return (m is None or encoder in ("sab", "isab")) and (k is None or pooling == "pma") and (
        kind is None or pooling == "pooling"
    )  # fmt: skip


def _nearest(cleaned: str) -> str:
    """The most similar printed labels, or a description of labels if none is similar."""
    known = {re.sub(_IGNORED, "", label.lower()): label for rows in ROWS.values() for label in rows}
    similar = [known[label] for label in difflib.get_close_matches(cleaned, known, n=4, cutoff=0.5)]
    if similar:
        return f"the nearest are {', '.join(map(repr, similar))}"
    return "a label is an encoder and a pooling, such as 'rFF + Pooling', 'SAB + PMA (4)' or 'ISAB (16) + Dotprod'"
