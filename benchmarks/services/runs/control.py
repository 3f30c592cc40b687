"""Cancel, resume, retry and delete runs. The API, the pages, the commands and the admin all call these functions."""

from __future__ import annotations

from django.db import transaction
from django.db.models import F

from benchmarks.engine.execution import lifecycle
from benchmarks.engine.execution.finishing import close_if_over, reset_cancelled
from benchmarks.models import LIVE, TERMINAL, Outcome, Result, ResultState, Run, RunStatus, Score, Transcript
from benchmarks.services.access import Caller, record
from benchmarks.services.errors import NotPossible
from benchmarks.services.imports import refuse_imported
from benchmarks.services.runs.start import enqueue_run


def cancel_run(run: Run, user: Caller = None) -> None:
    """Stop sending within a second; what was answered stays, the rest is marked cancelled."""
    with transaction.atomic():
        if not lifecycle.cancel(run.pk):
            raise NotPossible(f"Run {run.pk} is {_now(run)}; only a live or paused run can be cancelled.")
        record(user, "run.cancel", f"run {run.pk}")
    close_if_over(run.pk)


def resume_run(run: Run, user: Caller = None) -> int:
    """Continue a cancelled, failed or paused run; returns how many results will be asked or judged again.

    Only what has no answer is asked, and only what has no verdict yet is judged.
    """
    refuse_imported(run, "resumed")
    with transaction.atomic():
        never_prepared = run.total == 0
        record(user, "run.resume", f"run {run.pk}")
        if never_prepared and lifecycle.requeue(run.pk):
            enqueue_run(run)
            return 0
        if not lifecycle.reopen(run.pk, (RunStatus.CANCELLED, RunStatus.FAILED, RunStatus.PAUSED)):
            raise NotPossible(f"Run {run.pk} is {_now(run)}; only a cancelled, failed or paused run can be resumed.")
        _refuse_if_pruned(run)
        unasked, unjudged = reset_cancelled(run)
        enqueue_run(run)
    return unasked + unjudged


def retry_failed(run: Run, user: Caller = None) -> int:
    """Try again only what ended in an error, and replace it only by a success; where the judge failed, ask only it.

    Returns how many results those are.
    """
    refuse_imported(run, "tried again")
    with transaction.atomic():
        if not lifecycle.reopen(run.pk, TERMINAL):
            raise NotPossible(f"Run {run.pk} is {_now(run)}; failed results can be retried once it has ended.")
        _refuse_if_pruned(run)
        failed = Result.objects.filter(run=run, state=ResultState.ERROR)
        asked = failed.filter(outcome=Outcome.PROVIDER_ERROR).update(state=ResultState.PENDING, claimed_by=None)
        judged = failed.filter(outcome=Outcome.JUDGE_ERROR).update(state=ResultState.ANSWERED, claimed_by=None)
        count = asked + judged
        if count == 0:
            raise NotPossible(f"Run {run.pk} has no failed results.")
        Run.objects.filter(pk=run.pk).update(done=F("done") - count, errors=F("errors") - count)
        record(user, "run.retry", f"run {run.pk}", results=count)
        enqueue_run(run)
    return count


def raise_budget(run: Run, usd: float, user: Caller = None) -> None:
    """Set a higher budget; a run that is paused for its budget goes on."""
    if run.budget_usd is None or usd <= run.budget_usd:
        raise NotPossible(f"The budget can only be raised; it is {run.budget_usd or 'not limited'}.")
    with transaction.atomic():
        Run.objects.filter(pk=run.pk).update(budget_usd=usd)
        record(user, "run.budget", f"run {run.pk}", usd=usd)
    run.refresh_from_db()
    if run.status == RunStatus.PAUSED:
        resume_run(run, user)


def delete_run(run: Run, user: Caller = None) -> None:
    """Delete a run with its results. Raises ``NotPossible`` while it is live."""
    with transaction.atomic():
        locked = Run.objects.select_for_update().get(pk=run.pk)
        if locked.status in LIVE or locked.leases.exists():
            raise NotPossible(f"Run {run.pk} is {locked.status}; cancel it before deleting it.")
        record(user, "run.delete", f"run {run.pk}", dataset=locked.dataset.slug, model=locked.model)
        results = Result.objects.filter(run=locked).order_by()
        Score.objects.filter(run=locked).delete()
        Transcript.objects.filter(result__in=results).delete()
        results._raw_delete(results.db)  # its rows refer to nothing any more, and are not loaded to find that out
        locked.delete()


def _refuse_if_pruned(run: Run) -> None:
    """A run whose answers are gone cannot go on: no judge could be asked about them, and half its texts would be there.

    To be called once the run is reopened, in the same transaction: pruning begins with ended runs only.
    """
    run.refresh_from_db(fields=["texts_pruned_at"])
    if run.texts_pruned_at:
        raise NotPossible(f"The texts of run {run.pk} were {run.texts_pruned}; start it again as a new run instead.")


def _now(run: Run) -> str:
    run.refresh_from_db(fields=["status"])
    return str(run.get_status_display())
