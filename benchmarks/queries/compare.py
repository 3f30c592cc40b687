"""Results of runs side by side on the tasks they share: tasks with identical input and expected answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db.models import F, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Left

from benchmarks.models import Result, Run, Score
from benchmarks.queries.keyset import KeysetPage, Order, keyset_page
from benchmarks.queries.runs import full_runs

MOST_RUNS = 6
PAGE_SIZE = 50
PREVIEW = 120
SHOWN = {
    "a_better": Q(own_value__gt=F("other_value")),
    "b_better": Q(own_value__lt=F("other_value")),
    "differ": ~Q(own_value=F("other_value")),
    "same": Q(own_value=F("other_value")),
}


def runs_to_compare(ids: Sequence[int]) -> list[Run]:
    """The existing ones of these runs, in the order of ``ids``."""
    by_id = full_runs().filter(calibration__isnull=True).in_bulk(ids[:MOST_RUNS])
    return [by_id[pk] for pk in dict.fromkeys(ids) if pk in by_id]


def shared_results(
    a: Run, b: Run, metric: str, show: str, *, after: str | None = None, before: str | None = None
) -> KeysetPage[Result]:
    """Results of ``a`` on tasks it shares with ``b``, each with ``other_value``, ``other_id`` and ``other_outcome``.

    ``show`` is a key of ``SHOWN``. Of several repeats the first one is compared. Raises ``BadCursor``.
    """
    # Correlated subqueries instead of a join: the page reads 50 rows of a, and only their counterparts in b.
    others = Result.objects.filter(run=b, repeat=1, task__content_hash=OuterRef("task__content_hash"))
    rows = (
        Result.objects.filter(run=a, repeat=1)
        .select_related("task")
        .only("run", "position", "outcome", "task__task_id", "task__name")
        .annotate(
            own_value=_value_of(a, metric),
            other_id=Subquery(others.values("pk")[:1]),
            other_outcome=Subquery(others.values("outcome")[:1]),
            other_value=Subquery(_values(others, b, metric)[:1]),
            expected_preview=Left("task__expected_output", PREVIEW),
            own_preview=Left("transcript__actual_output", PREVIEW),
            other_preview=Subquery(others.values(text=Left("transcript__actual_output", PREVIEW))[:1]),
        )
        .filter(SHOWN.get(show, SHOWN["differ"]), own_value__isnull=False, other_value__isnull=False)
    )
    return keyset_page(rows, Order("position"), PAGE_SIZE, after, before)


def _value_of(run: Run, metric: str) -> F | Subquery:
    """The score of a result: of the run's first metric the result row holds a copy."""
    if metric == run.metrics[0]:
        return F("value")
    return Subquery(Score.objects.filter(result=OuterRef("pk"), metric=metric).values("value")[:1])


def _values(results: QuerySet[Result], run: Run, metric: str) -> QuerySet[Result, Any]:
    return results.annotate(metric_value=_value_of(run, metric)).values("metric_value")
