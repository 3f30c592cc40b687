"""The numbers of a run as CSV: one line for each number of its page, with its bounds and n."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from typing import Any

from benchmarks.exports.text_files import BYTE_ORDER_MARK, csv_line

Numbers = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class NumberRow:
    """One number with its 95% bounds. ``value`` is a mean, or a threshold in units of its difficulty.

    ``part`` names the part of the run, ``level`` the level within it. ``None`` is unknown, never 0.
    """

    metric: str
    part: str
    level: str
    value: float | None
    low: float | None
    high: float | None
    n: int | None
    n_clusters: int | None
    method: str
    note: str


COLUMNS = tuple(field.name for field in fields(NumberRow))


def scores_pieces(summary: Numbers, breakdown: Numbers, metrics: Sequence[str]) -> Iterator[str]:
    """The lines of the file, the head first."""
    yield BYTE_ORDER_MARK + csv_line(COLUMNS)
    for row in number_rows(summary, breakdown, metrics):
        yield csv_line(astuple(row))


def number_rows(summary: Numbers, breakdown: Numbers, metrics: Sequence[str]) -> Iterator[NumberRow]:
    """Every number in the stored summary and breakdown of a run."""
    means = summary.get("metrics", {})
    yield from (_row(name, "run", "", means[name]) for name in metrics if name in means)
    for facet, levels in breakdown.items():
        if facet == "surface":
            yield from (_row(cell["metric"], facet, f"{cell['group']}/{cell['n_shapes']}", cell) for cell in levels)
            continue
        for level, by_metric in levels.items():
            yield from (_row(metric, facet, level, numbers) for metric, numbers in by_metric.items())
    for metric, chance in summary.get("chance", {}).items():
        for group in chance["groups"]:
            yield _row(metric, "above guessing", group["group"], group["corrected"])
        yield _row(metric, "above guessing", "average", chance["average"])
    for threshold in summary.get("thresholds", ()):
        part = f"threshold in {threshold['measure']}"
        yield _row("", part, threshold["group"], threshold | {"mean": threshold["threshold"]})
    for metric, repeats in summary.get("reliability", {}).items():
        for k in repeats["pass_at"]:
            yield _row(metric, f"pass@{k}", "", repeats["pass_at"][k])
            yield _row(metric, f"pass^{k}", "", repeats["pass_hat"][k])
        yield _row(metric, "tasks with differing repeats", "", repeats["flipped"])
        yield _row(metric, "agreement between two repeats", "", repeats["agreement"])
    if adaptive := summary.get("adaptive"):
        for stratum in adaptive["strata"]:
            yield _row(metrics[0], "confidence sequence by n_shapes", str(stratum["n_shapes"]), stratum)
        yield _row(metrics[0], "confidence sequence", "", adaptive["overall"])


def _row(metric: str, part: str, level: str, numbers: Numbers) -> NumberRow:
    return NumberRow(
        metric=metric,
        part=part,
        level=level,
        value=numbers["mean"],
        low=numbers["low"],
        high=numbers["high"],
        n=numbers.get("n"),
        n_clusters=numbers.get("n_clusters"),
        method=numbers.get("method", ""),
        note=numbers.get("note", ""),
    )
