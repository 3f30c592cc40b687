"""Ending a run: its last status, what was never asked, and its summary."""

from __future__ import annotations

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from benchmarks.engine.execution import adaptive, lifecycle
from benchmarks.engine.execution.sql import note_ended
from benchmarks.engine.summary.summarize import summarize
from benchmarks.engine.summary.verification import write_prompt_hash
from benchmarks.models import COMPLETED, LIVE, Lease, Outcome, Result, ResultState, Run, RunStatus

STOPPED = (RunStatus.FAILED, RunStatus.CANCELLED)
TO_DO = (ResultState.PENDING, ResultState.CLAIMED, ResultState.ANSWERED, ResultState.JUDGING)


def close_if_over(run_id: int) -> bool:
    """Complete a run of which nothing is left to do, or settle one that was stopped. False while it is worked on.

    The summary is written before a run completes, so whoever sees a completed run sees its final numbers. A run that
    was stopped has none (``summarised_at`` is ``None``) from its settling until they are written, so that a sweep
    makes up for a worker that dies between the two. A paused run keeps what is left, with the numbers so far. An
    adaptive run that has not seen enough gets more to do instead.
    """
    with transaction.atomic():
        run = Run.objects.select_for_update().filter(pk=run_id).first()
        if run is None or run.leases.exists():
            return False
        left = run.results.filter(state__in=TO_DO).exists()
        if run.status in LIVE and (left or run.status != RunStatus.RUNNING):
            return False
        if left and run.status in STOPPED:
            _mark_unasked(run)
    if run.status in COMPLETED:
        return True
    if adaptive.extend(run_id):
        return False
    refresh_summary(run_id)
    if run.status == RunStatus.RUNNING:
        write_prompt_hash(run_id)
        lifecycle.complete(run_id, with_errors=run.errors > 0)
        note_ended(run)
    return run.status != RunStatus.PAUSED


def _mark_unasked(run: Run) -> None:
    """Whatever a stopped run did not ask, or did not get judged, is cancelled; resuming makes it pending again.

    What was to be tried again keeps the error it had, and is an error as before.
    """
    to_retry = run.results.filter(state__in=TO_DO, outcome__in=(Outcome.PROVIDER_ERROR, Outcome.JUDGE_ERROR))
    kept = to_retry.update(state=ResultState.ERROR, claimed_by=None)
    counted = {"done": F("done") + kept, "errors": F("errors") + kept}
    Run.objects.filter(pk=run.pk).update(summarized_at=None, **counted)
    why = "The run was cancelled." if run.status == RunStatus.CANCELLED else "The run ended early."
    run.results.filter(state__in=(ResultState.PENDING, ResultState.CLAIMED)).update(
        state=ResultState.ERROR, outcome=Outcome.CANCELLED, error_kind="cancelled", error_message=why, claimed_by=None
    )
    run.results.filter(state__in=(ResultState.ANSWERED, ResultState.JUDGING)).update(
        state=ResultState.ERROR,
        outcome=Outcome.CANCELLED,
        error_kind="unjudged",
        error_message=f"{why} The answer is kept, its judge was not asked.",
        claimed_by=None,
    )


def refresh_summary(run_id: int, lease: Lease | None = None) -> None:
    """Compute the run's numbers from its rows and keep them; those of a ``shift`` only while it is open.

    Final numbers are computed when no shift is left, so a slow shift that was taken for dead cannot replace them.
    """
    run = Run.objects.filter(pk=run_id).first()
    if run is None:
        return
    summary, breakdown = summarize(run, live=lease is not None)
    still = Run.objects.filter(pk=run_id) if lease is None else Run.objects.filter(pk=run_id, leases=lease.pk)
    still.update(summary=summary, breakdown=breakdown, summarized_at=timezone.now())


def cancelled_results(run: Run) -> tuple[int, int]:
    """Make cancelled results pending, or answered where only their judge is missing; returns both counts."""
    cancelled = Result.objects.filter(run=run, outcome=Outcome.CANCELLED)
    fresh = {"outcome": "", "error_kind": "", "error_message": "", "claimed_by": None}
    unjudged = cancelled.filter(error_kind="unjudged").update(state=ResultState.ANSWERED, **fresh)
    unasked = cancelled.update(state=ResultState.PENDING, **fresh)
    return unasked, unjudged
