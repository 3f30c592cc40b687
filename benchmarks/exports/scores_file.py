"""A run's numbers as CSV: one line for every mean that its page shows, with its bounds and n."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from typing import Any

from benchmarks.exports.csv_file import BYTE_ORDER_MARK, csv_cell, csv_line

Found = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class NumberRow:
    """One number with its 95 % bounds; ``value`` is a mean but for thresholds, which are in units of their difficulty.

    ``part`` says what of the run it tells, ``level`` where in it. ``None`` is unknown, never 0.
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


def scores_pieces(summary: Found, breakdown: Found, metrics: Sequence[str]) -> Iterator[str]:
    """The file's lines, its head first."""
    yield BYTE_ORDER_MARK + csv_line(COLUMNS)
    for row in number_rows(summary, breakdown, metrics):
        yield csv_line([csv_cell(value) for value in astuple(row)])


def number_rows(summary: Found, breakdown: Found, metrics: Sequence[str]) -> Iterator[NumberRow]:
    """Every number of a run's stored summary and breakdown."""
    means = summary.get("metrics", {})
    yield from (_row(name, "run", "", means[name]) for name in metrics if name in means)
    yield from _levels(breakdown)
    for metric, found in summary.get("chance", {}).items():
        for group in found["groups"]:
            yield _row(metric, "corrected for guessing", group["group"], group["corrected"])
        yield _row(metric, "corrected for guessing", "average", found["average"])
    for one in summary.get("thresholds", ()):
        yield _row("", f"threshold in {one['measure']}", one["group"], one | {"mean": one["threshold"]})
    for metric, found in summary.get("reliability", {}).items():
        for k in found["pass_at"]:
            yield _row(metric, f"pass@{k}", "", found["pass_at"][k])
            yield _row(metric, f"pass^{k}", "", found["pass_hat"][k])
        yield _row(metric, "tasks that flip", "", found["flipped"])
        yield _row(metric, "two tries agree", "", found["agreement"])
    if adaptive := summary.get("adaptive"):
        for stratum in adaptive["strata"]:
            yield _row(metrics[0], "confidence sequence by n_shapes", str(stratum["n_shapes"]), stratum)
        yield _row(metrics[0], "confidence sequence", "", adaptive["overall"])


def _levels(breakdown: Found) -> Iterator[NumberRow]:
    for facet, levels in breakdown.items():
        if facet == "surface":
            yield from (_row(cell["metric"], facet, f"{cell['group']}/{cell['n_shapes']}", cell) for cell in levels)
            continue
        for level, by_metric in levels.items():
            yield from (_row(metric, facet, level, found) for metric, found in by_metric.items())


def _row(metric: str, part: str, level: str, found: Found) -> NumberRow:
    return NumberRow(
        metric=metric,
        part=part,
        level=level,
        value=found["mean"],
        low=found["low"],
        high=found["high"],
        n=found.get("n"),
        n_clusters=found.get("n_clusters"),
        method=found.get("method", ""),
        note=found.get("note", ""),
    )
