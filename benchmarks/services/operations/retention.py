"""Retention: the texts of old runs' results go, their scores, outcomes, hashes, tokens and costs stay.

A run is marked as pruned first, in one conditional UPDATE that takes ended runs only; from then on it is not reopened,
and every reader is told. Its texts are emptied after that in small transactions, because SQLite has one writer and runs
may be going on. Whoever is interrupted leaves the run marked as unfinished, and the next round goes on with it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from benchmarks.engine.execution.sql import update_rows
from benchmarks.models import TERMINAL, CachedResponse, Result, Run, Score, Transcript
from benchmarks.services.access import Caller, record

BATCH = 500
BREATH_SECONDS = 0.02
"""Between two transactions, so that others who wait for SQLite's write lock get it."""
KEPT_OF_JUDGES = frozenset({"calls", "tokens_in", "tokens_out"})


@dataclass(slots=True)
class Pruned:
    """What went, or with a dry run would go."""

    runs: int = 0
    results: int = 0
    cached_replies: int = 0


def prunable_runs(older_than: timedelta) -> QuerySet[Run]:
    """Ended runs that ended so long ago and still have their texts, and those whose pruning was interrupted."""
    return Run.objects.filter(_due(older_than) | Q(texts_left=True)).order_by("id")


def prune_texts(
    older_than: timedelta, user: Caller = None, *, dry_run: bool = False, stopping: Callable[[], bool] = lambda: False
) -> Pruned:
    """Prune the texts of runs that ended longer ago than that, and replies that the cache has kept for as long.

    A live or paused run is never touched. ``stopping`` is asked between two transactions; what is left then is for the
    next call.
    """
    cutoff = timezone.now() - older_than
    kept_replies = CachedResponse.objects.filter(created_at__lt=cutoff)
    if dry_run:
        totals = list(prunable_runs(older_than).values_list("total", flat=True))
        return Pruned(len(totals), sum(totals), kept_replies.count())
    pruned = Pruned()
    for run_id in list(prunable_runs(older_than).values_list("id", flat=True)):
        if stopping():
            return pruned
        if _mark(run_id, older_than, cutoff, user):
            pruned.results += _empty(run_id, stopping)
            pruned.runs += 1
    while not stopping() and (keys := list(kept_replies.values_list("key", flat=True)[:BATCH])):
        pruned.cached_replies += CachedResponse.objects.filter(key__in=keys).delete()[0]
        time.sleep(BREATH_SECONDS)
    return pruned


def _due(older_than: timedelta) -> Q:
    """A run that ended before it was prepared has no texts, and may still be put back into the queue."""
    ended = Q(status__in=TERMINAL, completed_at__lt=timezone.now() - older_than, total__gt=0)
    return ended & Q(texts_pruned_at=None, leases=None)


def _mark(run_id: int, older_than: timedelta, cutoff: datetime, user: Caller) -> bool:
    """Take the run for pruning. False where it was reopened or deleted since it was found."""
    with transaction.atomic():
        if Run.objects.filter(pk=run_id, texts_left=True).exists():
            return True
        run = Run.objects.filter(pk=run_id, status__in=TERMINAL, completed_at__lt=cutoff, texts_pruned_at=None)
        if not run.update(texts_pruned_at=timezone.now(), texts_left=True):
            return False
        record(user, "run.prune", f"run {run_id}", older_than_days=older_than.days)
    return True


def _empty(run_id: int, stopping: Callable[[], bool]) -> int:
    """Empty the texts of a marked run's results, batch by batch; returns how many results those were."""
    results = Result.objects.filter(run=run_id).order_by("position", "pk").values_list("position", "pk")
    after, emptied = -1, 0
    while batch := list(results.filter(position__gt=after)[:BATCH]):
        if stopping():
            return emptied
        after = batch[-1][0]
        ids = list(results.filter(position__range=(batch[0][0], after)).values_list("pk", flat=True))
        with transaction.atomic():
            _empty_results(ids)
        emptied += len(ids)
        time.sleep(BREATH_SECONDS)
    Run.objects.filter(pk=run_id).update(texts_left=False)
    return emptied


def _empty_results(ids: list[int]) -> None:
    Transcript.objects.filter(result__in=ids).update(
        messages=[], actual_output="", reasoning="", tool_calls=[], attempts=[]
    )
    scores = Score.objects.filter(result__in=ids)
    judged = scores.exclude(judge=None).values_list("judge", "pk")
    update_rows(Score, ("judge",), [(_numbers_of(judge or {}), pk) for judge, pk in judged])
    scores.update(reason="", extracted=None, detail={})


def _numbers_of(judge: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in judge.items() if name in KEPT_OF_JUDGES}
