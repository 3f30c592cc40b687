"""How far repeats agree: pass@k, pass^k, flips and agreement; and how far a judge agrees with itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
from typing import Any

from django.db.models import Count, F, Max, Min, Q, Sum
from django.db.models.functions import MD5

from benchmarks.engine.summary.means import FETCHED, plain
from benchmarks.metrics.base import Metric
from benchmarks.metrics.registered_metrics import metric_named
from benchmarks.models import Run
from benchmarks.statistics.reliability import (
    JudgeSpread,
    Reliability,
    Tally,
    judge_spread_of_sums,
    reliability_of_tallies,
)


def reliability_numbers(run: Run) -> dict[str, dict[str, Any]]:
    """Metric → its reliability, for those that say right or wrong; empty for runs without repeats.

    A try is right where its score reaches what the metric takes for correct. ``judge`` tells the spread of the judge's
    scores for answers to one task that came back word for word alike; it is missing where there are none.
    """
    if run.repeats < 2:
        return {}
    found = {}
    for name in run.metrics:
        metric = metric_named(name)
        if metric is not None and metric.range == (0.0, 1.0) and metric.decides_outcome:
            found[name] = _numbers(reliability_of_tallies(_tallies(run, metric)))
            if metric.judged and (spread := judge_spread_of_sums(_judged_again(run, metric))).n_answers:
                found[name]["judge"] = _judge_numbers(spread)
    return found


def _tallies(run: Run, metric: Metric) -> Iterator[tuple[Tally, int]]:
    """What the tasks of each canvas came to; outside canvas sets each task is a cluster by itself."""
    scored = run.scores.filter(metric=metric.name, value__isnull=False)
    tasks = (
        scored.order_by("result__cluster")
        .values_list("result__cluster", "result__task")
        .annotate(n=Count("pk"), right=Count("pk", filter=Q(value__gte=metric.passes_at)))
    )
    rows = tasks.iterator(chunk_size=FETCHED)
    if not run.has_canvases:
        yield from (({result: 1}, count) for result, count in Counter(row[2:] for row in rows).items())
        return
    for _, of_canvas in groupby(rows, key=itemgetter(0)):
        yield Counter(row[2:] for row in of_canvas), 1


def _judged_again(run: Run, metric: Metric) -> Iterator[tuple[int, float, float, float]]:
    """Number, sum, sum of squares and range of the scores of every answer that the judge saw more than once."""
    judged = run.scores.filter(metric=metric.name, value__isnull=False, judge__isnull=False)
    answers = (
        judged.order_by()
        .values_list("result__task", MD5("result__transcript__actual_output"))
        .annotate(
            n=Count("pk"), total=Sum("value"), squares=Sum(F("value") * F("value")), width=Max("value") - Min("value")
        )
        .filter(n__gt=1)
    )
    for *_, n, total, squares, width in answers.iterator(chunk_size=FETCHED):
        yield n, total, squares, width


def _numbers(found: Reliability) -> dict[str, Any]:
    return {
        "pass_at": {str(k): plain(interval) for k, interval in found.pass_at.items()},
        "pass_hat": {str(k): plain(interval) for k, interval in found.pass_hat.items()},
        "flipped": plain(found.flipped),
        "agreement": plain(found.agreement),
        "alpha": found.alpha,
        "n_tasks": found.n_tasks,
        "n_repeated": found.n_repeated,
    }


def _judge_numbers(spread: JudgeSpread) -> dict[str, Any]:
    return {
        "deviation": spread.deviation,
        "widest": spread.widest,
        "alpha": spread.alpha,
        "n_answers": spread.n_answers,
    }
