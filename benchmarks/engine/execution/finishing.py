"""Finish a run: its last status, the results that were never sent, and its summary."""

from __future__ import annotations

from contextlib import nullcontext
from datetime import datetime

from django.db import connection, transaction
from django.db.models import F, OuterRef, QuerySet
from django.utils import timezone

from benchmarks.engine.execution import adaptive, lifecycle
from benchmarks.engine.execution.doubtful_references import apply_audit
from benchmarks.engine.execution.verification import write_prompt_hash
from benchmarks.engine.sql import note_ended, snapshot
from benchmarks.engine.summary.agreement import why_no_agreement
from benchmarks.engine.summary.summarize import summarize
from benchmarks.models import (
    COMPLETED,
    ERRORS,
    LIVE,
    STOPPED,
    TERMINAL,
    TO_DO,
    Dataset,
    Lease,
    Outcome,
    Result,
    ResultState,
    Run,
    RunStatus,
)
from benchmarks.presentation.numbers import plural


def results_in(states: tuple[ResultState, ...]) -> QuerySet[Result]:
    """The results in these states of the run of the query around it."""
    return Result.objects.filter(run=OuterRef("pk"), state__in=states).order_by()


def close_if_over(run_id: int) -> bool:
    """Complete a run with nothing left to do, or settle one that was stopped. False while it is worked on.

    A paused run keeps what is left, with the numbers so far. An adaptive run that needs more results gets them instead.
    A completed run without ``summarized_at`` gets new numbers: a migration has found the old ones wanting.
    A stopped run whose errors were retried is stopped again: it is complete only when every task was asked.
    """
    with transaction.atomic():
        # The lock keeps new leases out while the results that are left are settled.
        run = Run.objects.select_for_update().filter(pk=run_id).first()
        if run is None or run.leases.exists():
            return False
        left = run.results.filter(state__in=TO_DO).exists()
        if run.status in LIVE and (left or run.status != RunStatus.RUNNING):
            return False
        if left and run.status in STOPPED:
            _mark_unsent(run)
    if run.status in COMPLETED:
        if run.summarized_at is None:
            refresh_summaries(run)
        return True
    unasked = run.results.filter(outcome=Outcome.CANCELLED).count()
    if not unasked and adaptive.extend(run_id):
        return False
    # The summary comes before the status: whoever sees a completed run sees its final numbers. A worker that dies in
    # between leaves a run that a sweep finds again: running with nothing to do, or stopped without ``summarized_at``.
    summarized_at = refresh_summaries(run)
    if run.status == RunStatus.RUNNING:
        write_prompt_hash(run_id)
        return _end(run, unasked, summarized_at)
    return run.status != RunStatus.PAUSED


def _end(run: Run, unasked: int, summarized_at: datetime | None) -> bool:
    """Give a run with nothing left its last status, unless its numbers are no longer those of ``summarized_at``.

    Meanwhile another worker may have held a lease, so that they were not stored, or the run was ended and retried.
    False then: whoever worked on it since finishes it.
    """
    run_id = run.pk
    with transaction.atomic():
        now = Run.objects.select_for_update().filter(pk=run_id).first()
        if now is None or now.leases.exists() or now.results.filter(state__in=TO_DO).exists():
            return False
        if summarized_at is None or now.summarized_at != summarized_at:
            return False
        if unasked:
            why = f"{plural(unasked, 'result')} not asked or judged yet. Resume the run to finish it."
            lifecycle.cancel(run_id, why, summarized_at=summarized_at)
        elif reason := why_no_agreement(run):
            lifecycle.fail(run_id, reason, summarized_at=summarized_at)
        else:
            lifecycle.complete(run_id, with_errors=now.errors > 0)
        note_ended(run)
    return True


def _mark_unsent(run: Run) -> None:
    """Cancel the results of a stopped run that were not sent or not judged; resuming makes them pending again.

    A result that waited for a retry keeps the error it had, and counts as an error as before.
    """
    to_retry = run.results.filter(state__in=TO_DO, outcome__in=ERRORS)
    kept = to_retry.update(state=ResultState.ERROR, claimed_by=None)
    Run.objects.filter(pk=run.pk).update(summarized_at=None, done=F("done") + kept, errors=F("errors") + kept)
    why = "The run was canceled." if run.status == RunStatus.CANCELLED else "The run ended early."
    unjudged = f"{why} The answer is kept; the judge was not called."
    for states, kind, message in (
        ((ResultState.PENDING, ResultState.CLAIMED), "cancelled", why),
        ((ResultState.ANSWERED, ResultState.JUDGING), "unjudged", unjudged),
    ):
        run.results.filter(state__in=states).update(
            state=ResultState.ERROR,
            outcome=Outcome.CANCELLED,
            error_kind=kind,
            error_message=message,
            claimed_by=None,
        )


def reset_cancelled(run: Run) -> tuple[int, int]:
    """Make canceled results pending, or answered where only the judge is missing; return how many of each."""
    cancelled = Result.objects.filter(run=run, outcome=Outcome.CANCELLED)
    fresh = {"outcome": "", "failure": "", "error_kind": "", "error_message": "", "claimed_by": None}
    unjudged = cancelled.filter(error_kind="unjudged").update(state=ResultState.ANSWERED, **fresh)
    unsent = cancelled.update(state=ResultState.PENDING, **fresh)
    return unsent, unjudged


def refresh_summaries(run: Run) -> datetime | None:
    """Refresh the numbers of a run that nobody works on, and of the checks for contamination that compare with it.

    Returns when those of the run were stored, or ``None`` as ``refresh_summary`` does.
    """
    summarized_at = refresh_summary(run.pk)
    for fresh_id in run.fresh_runs.filter(status__in=TERMINAL).values_list("pk", flat=True):
        refresh_summary(fresh_id)
    return summarized_at


def refresh_audited(set_id: int) -> None:
    """Refresh the numbers of all runs on a canvas set that ended before it was audited."""
    for dataset_id in Dataset.objects.filter(canvas_set=set_id).values_list("pk", flat=True):
        refresh_doubtful(dataset_id)


def refresh_doubtful(dataset_id: int) -> None:
    """Refresh the numbers of all runs on a dataset that ended before references became doubtful, or sound again."""
    ended = Run.objects.filter(dataset=dataset_id, status__in=TERMINAL, leases=None)
    for run in ended.select_related("dataset__canvas_set"):
        if apply_audit(run):
            refresh_summaries(run)


def refresh_summary(run_id: int, lease: Lease | None = None) -> datetime | None:
    """Compute the run's numbers from its rows and store them; with a lease only while it is held.

    Returns when they were stored; ``None`` if they were not, because the run changed while they were computed.
    """
    run = Run.objects.filter(pk=run_id).first()
    if run is None:
        return None
    apply_audit(run)
    # Meanwhile other leases store scores, and the run may be deleted: the numbers are those of one moment. Inside a
    # transaction of the caller, which no snapshot can begin in, they are those that it sees.
    with nullcontext() if connection.in_atomic_block else snapshot(connection):
        summary, breakdown = summarize(run, live=lease is not None)
    # Final numbers are computed when no lease is left. The conditions keep whoever is slow from leaving old numbers: an
    # executor whose lease has expired or whose run was stopped, and a closer whose run was resumed since and has ended
    # again. It ended at another time, was active for longer, or counts other results.
    unchanged = Run.objects.filter(pk=run_id)
    if lease is not None:
        unchanged = unchanged.filter(leases=lease.pk, status=RunStatus.RUNNING)
    else:
        columns = ("status", "completed_at", "active_seconds", "total", "done", "errors")
        as_read = {name: getattr(run, name) for name in columns}
        unchanged = unchanged.filter(leases=None, **as_read)
    now = timezone.now()
    stored = unchanged.update(headline=run.headline, summary=summary, breakdown=breakdown, summarized_at=now)
    return now if stored else None
