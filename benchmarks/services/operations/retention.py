"""Retention: delete the texts of old runs. Scores, outcomes, hashes, tokens and costs are kept.

A conditional UPDATE first marks an ended run as pruned; from then on it cannot be resumed, and every page and export
says so. Then its texts are deleted in small transactions, because SQLite has one writer and other runs may be active.
An interrupted pruning leaves ``texts_left`` set, and the next one continues there.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from benchmarks.engine import lease
from benchmarks.engine.sql import update_rows
from benchmarks.models import TERMINAL, CachedResponse, Result, Run, Score, StoredStep, Transcript
from benchmarks.services.access import Caller, record
from benchmarks.services.errors import NotPossible

BATCH = 500
PAUSE_SECONDS = 0.02
"""Between two transactions. Without it others who wait for SQLite's write lock may not get it for long."""
KEPT_OF_JUDGES = frozenset({"calls", "tokens_in", "tokens_out", "cached_tokens", "notes"})


@dataclass(slots=True)
class Pruned:
    """How many rows lost their texts, or would lose them. ``runs`` counts those that were begun."""

    runs: int = 0
    results: int = 0
    cached_responses: int = 0


def prune_texts(
    older_than: timedelta, user: Caller = None, *, dry_run: bool = False, stopping: Callable[[], bool] = lambda: False
) -> Pruned:
    """Prune the runs that ended longer ago than ``older_than``, and delete cached responses of that age.

    Active and paused runs are not touched. ``stopping`` is called before each transaction; once it returns true, the
    rest is left to the next call. Raises ``NotPossible`` while another worker prunes.
    """
    cutoff = timezone.now() - older_than
    runs = _prunable_runs(cutoff)
    if dry_run:
        totals = list(runs.values_list("total", flat=True))
        return Pruned(len(totals), sum(totals), _old_responses(cutoff).count())
    pruned = Pruned()
    with lease.exclusive("retention") as held:
        if held is None:
            raise NotPossible("Another worker is pruning texts now. Wait until it has finished.")

        def may_continue() -> bool:
            # A lease that was released meanwhile belongs to another worker, which continues with what is left.
            return not stopping() and lease.heartbeat(held)

        for run_id in list(runs.values_list("pk", flat=True)):
            if not may_continue():
                return pruned
            if _mark(run_id, older_than, cutoff, user):
                pruned.runs += 1
                pruned.results += _prune_run(run_id, may_continue)
        while may_continue() and (keys := list(_old_responses(cutoff).values_list("key", flat=True)[:BATCH])):
            pruned.cached_responses += CachedResponse.objects.filter(key__in=keys).delete()[0]
            time.sleep(PAUSE_SECONDS)
    return pruned


def _prunable_runs(cutoff: datetime) -> QuerySet[Run]:
    """Runs that ended before ``cutoff`` and still have their texts, and those whose pruning was interrupted."""
    # A run that ended before it was prepared (total 0) has no texts and may be queued again.
    ended = Q(status__in=TERMINAL, completed_at__lt=cutoff, total__gt=0, leases=None)
    return Run.objects.filter(ended & Q(texts_pruned_at=None) | Q(texts_left=True)).order_by("pk")


def _old_responses(cutoff: datetime) -> QuerySet[CachedResponse]:
    return CachedResponse.objects.filter(created_at__lt=cutoff)


def _mark(run_id: int, older_than: timedelta, cutoff: datetime, user: Caller) -> bool:
    """Mark a run as pruned and record that. False if it was resumed or deleted since it was selected."""
    with transaction.atomic():
        if Run.objects.filter(pk=run_id, texts_left=True).exists():
            return True
        # A run that is resumed at the same time either commits first, and no row matches here, or finds this mark after
        # its own UPDATE and rolls back.
        run = Run.objects.filter(pk=run_id, status__in=TERMINAL, completed_at__lt=cutoff, texts_pruned_at=None)
        if not run.update(texts_pruned_at=timezone.now(), texts_left=True):
            return False
        record(user, "run.prune", f"run {run_id}", older_than_days=older_than.days)
    return True


def _prune_run(run_id: int, may_continue: Callable[[], bool]) -> int:
    """Delete the texts of a marked run in batches; return how many results lost theirs."""
    # By position alone, which is an index: with a second key, PostgreSQL may sort all that is left for every batch.
    results = Result.objects.filter(run=run_id).order_by("position").values_list("position", "pk")
    after, pruned = -1, 0
    while batch := list(results.filter(position__gt=after)[:BATCH]):
        if not may_continue():
            return pruned
        # Positions need not be unique, so a batch includes every result at its last one.
        after = batch[-1][0]
        ids = list(results.filter(position__range=(batch[0][0], after)).values_list("pk", flat=True))
        with transaction.atomic():
            _delete_texts(ids)
        pruned += len(ids)
        time.sleep(PAUSE_SECONDS)
    # Last of all, so that a crash before this line repeats batches instead of leaving some.
    Run.objects.filter(pk=run_id).update(texts_left=False)
    return pruned


def _delete_texts(result_ids: list[int]) -> None:
    Transcript.objects.filter(result__in=result_ids).update(
        messages=[], actual_output="", reasoning="", tool_calls=[], retrieved=None, attempts=[]
    )
    StoredStep.objects.filter(result__in=result_ids).delete()
    scores = Score.objects.filter(result__in=result_ids)
    judged = scores.exclude(judge=None).values_list("judge", "pk")
    numbers = [({name: judge[name] for name in KEPT_OF_JUDGES & judge.keys()}, pk) for judge, pk in judged if judge]
    update_rows(Score, ("judge",), numbers)
    scores.update(reason="", extracted=None, detail={})
