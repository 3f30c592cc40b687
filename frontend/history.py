"""Scores over time as pages show them: a chart for each history."""

from __future__ import annotations

from collections.abc import Iterable

from django.utils import timezone

from benchmarks.models import ScoreDrop
from benchmarks.presentation.sentences import n_of_mean
from benchmarks.presentation.tables import Shown
from benchmarks.queries.history import History, latest_changes
from benchmarks.queries.tables.history import TWO_RUNS, PointRow
from frontend import charts
from frontend.chart_parts import Chart
from frontend.view_models import metric_row

MOST_CHARTS = 12
FEWEST_DRAWN = 3
"""Runs of a chart over time: a line between two says nothing that their scores do not."""


def history_charts(histories: Iterable[History], *, by_dataset: bool, least_days: int = 2) -> list[Chart]:
    """One chart for each of the first histories that moved, or are of so many days, named by its dataset or by its
    model; those that moved first."""
    drawn = [each for each in _told(histories, least_days) if len(each.points) >= FEWEST_DRAWN]
    shown = []
    for place, history in enumerate(drawn[:MOST_CHARTS]):
        shown.append(
            charts.score_over_time(
                f"history-{place + 1}",
                history.dataset.title if by_dataset else history.model,
                ", ".join(filter(None, [metric_row(history.metric).title, history.setting])),
                [
                    {
                        "run": f"Run {point.run.pk}",
                        "at": timezone.localtime(point.run.created_at)
                        .replace(tzinfo=None)
                        .isoformat(timespec="seconds"),
                        "version": f"v{point.run.version_label}",
                        "is_new": point.is_new_version,
                        "mean": point.mean,
                        "low": point.numbers.low,
                        "high": point.numbers.high,
                        "n": n_of_mean(history.metric, point.numbers),
                    }
                    for point in history.points
                ],
                metric_row(history.metric),
            )
        )
    return shown


def of_two_runs(histories: Iterable[History], *, by_dataset: bool, told: Iterable[ScoreDrop] = ()) -> Shown[PointRow]:
    """A row for each run of those that are too short for a chart and whose score is another one now, the older run
    first, named as charts are. ``told`` are the drops that a notice of the page says, with both scores."""
    said = {(drop.scheduled_run.run_id, drop.metric) for drop in told}
    short = [each for each in _told(histories) if len(each.points) < FEWEST_DRAWN]
    unsaid = [each for each in short if (each.points[-1].run.pk, each.metric) not in said]
    few = [each for each in unsaid if each.points[0].mean != each.points[-1].mean][:MOST_CHARTS]
    changes = latest_changes(few)
    return TWO_RUNS.of(
        PointRow(each.dataset.title if by_dataset else each.model, each, point, changes.get(point.run.pk))
        for each in few
        for point in each.points
    )


def _told(histories: Iterable[History], least_days: int = 2) -> list[History]:
    shown = [each for each in histories if _moved(each) or _days(each) >= least_days]
    return sorted(shown, key=_moved, reverse=True)


def _moved(history: History) -> bool:
    """Whether the interval of the last run lies apart from that of the run before, however soon that was."""
    before, last = (point.numbers for point in history.points[-2:])
    if before.low is None or before.high is None or last.low is None or last.high is None:
        return False
    return last.high < before.low or before.high < last.low


def _days(history: History) -> int:
    """On how many days it has runs; over minutes, a chart over time says nothing of runs that people start."""
    return len({timezone.localtime(point.run.created_at).date() for point in history.points})
