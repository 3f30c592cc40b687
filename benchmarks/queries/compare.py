"""Reads that set runs beside each other on the tasks they share: tasks that ask and expect exactly the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db.models import F, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Left

from benchmarks.models import Result, Run, Score
from benchmarks.queries.keyset import KeysetPage, Order, keyset_page
from benchmarks.queries.runs import runs

MOST_RUNS = 6
PAGE_SIZE = 50
PREVIEW = 120
SHOW = ("a_better", "b_better", "differ", "same")
_BY_POSITION = Order("position")


def runs_to_compare(ids: Sequence[int]) -> list[Run]:
    """The runs in the order of ``ids``; those that are not there are left out."""
    found = {run.pk: run for run in runs().filter(pk__in=ids[:MOST_RUNS])}
    return [found[pk] for pk in dict.fromkeys(ids) if pk in found]


def shared_results(
    a: Run, b: Run, metric: str, show: str, *, after: str | None = None, before: str | None = None
) -> KeysetPage[Result]:
    """Results of ``a`` on tasks it shares with ``b``, each with ``other_value``, ``other_id`` and ``other_outcome``.

    ``show`` is one of ``SHOW``. Of repeats the first stands for its task. Raises ``BadCursor``.
    """
    others = Result.objects.filter(run=b, repeat=1, task__content_hash=OuterRef("task__content_hash"))
    rows = (
        Result.objects.filter(run=a, repeat=1)
        .select_related("task")
        .only("run", "position", "outcome", "task__task_id", "task__name")
        .annotate(
            own_value=_value_of(a, metric, "pk"),
            other_id=Subquery(others.values("pk")[:1]),
            other_outcome=Subquery(others.values("outcome")[:1]),
            other_value=Subquery(_scored(others, b, metric)[:1]),
            expected_preview=Left("task__expected_output", PREVIEW),
            own_preview=Left("transcript__actual_output", PREVIEW),
            other_preview=Subquery(others.values(text=Left("transcript__actual_output", PREVIEW))[:1]),
        )
        .filter(own_value__isnull=False, other_value__isnull=False)
    )
    return keyset_page(rows.filter(_SHOWN.get(show, _SHOWN["differ"])), _BY_POSITION, PAGE_SIZE, after, before)


_SHOWN = {
    "a_better": Q(own_value__gt=F("other_value")),
    "b_better": Q(own_value__lt=F("other_value")),
    "differ": ~Q(own_value=F("other_value")),
    "same": Q(own_value=F("other_value")),
}


def _value_of(run: Run, metric: str, outer: str) -> F | Subquery:
    if metric == run.metrics[0]:
        return F("value")
    return Subquery(Score.objects.filter(result=OuterRef(outer), metric=metric).values("value")[:1])


def _scored(others: QuerySet[Result], run: Run, metric: str) -> QuerySet[Result, Any]:
    if metric == run.metrics[0]:
        return others.values("value")
    return others.annotate(found=_value_of(run, metric, "pk")).values("found")
