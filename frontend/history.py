"""Scores over time as pages show them: a chart for each history, and a row with a small line."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.utils import timezone

from benchmarks.presentation.numbers import points
from benchmarks.presentation.sentences import n_of_expected
from benchmarks.queries.history import History, latest_changes
from benchmarks.queries.statistics import Compared
from frontend import charts
from frontend.chart_parts import Chart
from frontend.view_models import metric_row

MOST_CHARTS = 12


@dataclass(frozen=True, slots=True)
class HistoryRow:
    """A history with how its last run compares with the one before; ``change`` only if the test finds one, in words,
    and ``direction`` is then up or down."""

    history: History
    title: str
    n_of: str
    compared: Compared | None
    change: str
    direction: str


def history_rows(found: Sequence[History]) -> list[HistoryRow]:
    """The histories with their latest changes, those with a significant one first."""
    compared = latest_changes(found)
    rows = [_row(history, compared.get(history.last.run.pk)) for history in found]
    return sorted(rows, key=lambda row: not row.change)


def history_charts(found: Iterable[History], *, by_dataset: bool) -> list[Chart]:
    """One chart for each of the first histories, named by its dataset or by its model."""
    shown = []
    for place, history in enumerate(found):
        if place == MOST_CHARTS:
            break
        name = history.dataset.slug if by_dataset else history.model
        title = ", ".join(filter(None, [f"{name}: {metric_row(history.metric).title}", history.setting]))
        shown.append(
            charts.score_over_time(
                f"history-{place + 1}",
                title,
                [
                    {
                        "run": f"Run {point.run.pk}",
                        "at": timezone.localtime(point.run.created_at)
                        .replace(tzinfo=None)
                        .isoformat(timespec="seconds"),
                        "version": f"v{point.run.version_label}",
                        "is_new": point.is_new_version,
                        "mean": point.mean,
                        "low": point.low,
                        "high": point.high,
                        "n": n_of_expected({"n": point.n, "n_expected": point.n_expected}),
                    }
                    for point in history.points
                ],
                metric_row(history.metric),
            )
        )
    return shown


def _row(history: History, compared: Compared | None) -> HistoryRow:
    change, direction = "", ""
    if compared is not None and compared.is_clear and compared.comparison.difference is not None:
        difference = compared.comparison.difference
        direction = "up" if difference > 0 else "down"
        change = f"{'▲' if difference > 0 else '▼'} {points(abs(difference))} points"
    last = history.last
    n_of = n_of_expected({"n": last.n, "n_expected": last.n_expected})
    return HistoryRow(history, metric_row(history.metric).title, n_of, compared, change, direction)
