"""Cancel, resume, retry, verify, edit and delete runs. The API, the pages, the commands and the admin call these.

What is possible in which state stands in ``presentation.actions``. It decides first, from the stored facts, and gives
the reason. A conditional UPDATE decides again, because the run may have changed between the two.
"""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.db.models import F

from benchmarks.engine.execution import lifecycle
from benchmarks.engine.execution.finishing import close_if_over, refresh_summaries, reset_cancelled
from benchmarks.engine.execution.verification import Verification, verify_prompts
from benchmarks.models import (
    COMPLETED,
    LOST,
    TERMINAL,
    UNSCORED,
    Dataset,
    Result,
    ResultState,
    Run,
    RunStatus,
    Score,
    StoredStep,
    Transcript,
)
from benchmarks.presentation.actions import imported_refusal, refusal
from benchmarks.presentation.numbers import money
from benchmarks.services.access import Caller, record
from benchmarks.services.errors import InvalidRequest, NotPossible
from benchmarks.services.labels import pass_on_labels
from benchmarks.services.providers import missing_keys
from benchmarks.services.requests import StrictBoolean, StrictRequest, StrictText, Tags, validated_by
from benchmarks.services.runs.start import enqueue_run, models_asked


def cancel_run(run: Run, user: Caller = None) -> None:
    """Stop sending within a second. Stored answers are kept; the other results are marked ``cancelled``."""
    require(run, "cancel")
    with transaction.atomic():
        if not lifecycle.cancel(run.pk):
            raise _changed(run, "cancel")
        record(user, "run.cancel", f"run {run.pk}")
    # Only the last lease may close a run. If no worker holds one, nobody else would mark the results.
    close_if_over(run.pk)


def pause_run(run: Run, user: Caller = None) -> None:
    """Stop sending within a second, until somebody resumes the run. Answers and verdicts on the way are stored."""
    require(run, "pause")
    with transaction.atomic():
        if not lifecycle.pause(run.pk, ""):
            raise _changed(run, "pause")
        record(user, "run.pause", f"run {run.pk}")
    close_if_over(run.pk)  # its numbers so far, if no worker is there to compute them


def resume_run(run: Run, user: Caller = None) -> int:
    """Continue a canceled, failed or paused run; returns how many results are sent or judged again.

    Only results without an answer are sent, and only answers without a verdict are judged.
    """
    require(run, "resume")
    with transaction.atomic():
        record(user, "run.resume", f"run {run.pk}")
        if not run.is_prepared and lifecycle.requeue(run.pk):
            _require_keys(run)
            enqueue_run(run)
            return 0
        if not lifecycle.reopen(run.pk, (RunStatus.CANCELLED, RunStatus.FAILED, RunStatus.PAUSED)):
            raise _changed(run, "resume")
        _require_texts(run, "resume")
        n_sent, n_judged = reset_cancelled(run)
        _require_keys(run)
        enqueue_run(run)
    return n_sent + n_judged


def retry_failed(run: Run, user: Caller = None) -> int:
    """Repeat the results that ended in an error; returns how many.

    Only a success replaces an error. If the judge failed, only the judge is called again.
    """
    require(run, "retry")
    with transaction.atomic():
        if not lifecycle.reopen(run.pk, TERMINAL):
            raise _changed(run, "retry")
        _require_texts(run, "retry")
        errors = Result.objects.filter(run=run, state=ResultState.ERROR)
        lost = errors.filter(outcome__in=LOST) if run.rescored_from is None else errors.none()
        n_sent = lost.update(state=ResultState.PENDING, claimed_by=None)
        n_judged = errors.filter(outcome__in=UNSCORED).update(state=ResultState.ANSWERED, claimed_by=None)
        count = n_sent + n_judged
        if count == 0:
            raise NotPossible(f"Run {run.pk} has no errors to retry.")
        # The counters move with the results, in one transaction, so that they always add up to the total.
        Run.objects.filter(pk=run.pk).update(done=F("done") - count, errors=F("errors") - count)
        _require_keys(run)
        record(user, "run.retry", f"run {run.pk}", results=count)
        enqueue_run(run)
    return count


def _require_keys(run: Run) -> None:
    """Raise ``NotPossible`` if a key is not there that what is left to do needs."""
    asked = models_asked(run)
    if run.is_prepared and not run.results.filter(state=ResultState.PENDING).exists():
        asked = {"judge_model": asked["judge_model"]}
    if problems := missing_keys(asked):
        raise NotPossible(" ".join(text for texts in problems.values() for text in texts))


def resume_judging(run: Run, user: Caller = None) -> int:
    """Judge what has no verdict yet in a calibration or preference run; returns how many answers or pairs that are.

    Raises ``NotPossible`` unless the run is canceled, failed or paused, or has completed with errors.
    """
    if not run.errors or run.status not in TERMINAL:
        return resume_run(run, user)
    with transaction.atomic():
        # A run resumes what was canceled and retries what failed in two steps; both are answers without a verdict.
        return retry_failed(run, user) + sum(reset_cancelled(run))


def raise_budget(run: Run, usd: float, user: Caller = None) -> None:
    """Set a higher budget, and resume a run that is paused."""
    require(run, "budget")
    if run.budget_usd is not None and usd <= run.budget_usd:
        raise NotPossible(f"The new budget must exceed the current one ({money(run.budget_usd)}).")
    with transaction.atomic():
        Run.objects.filter(pk=run.pk).update(budget_usd=usd)
        record(user, "run.budget", f"run {run.pk}", usd=usd)
    run.refresh_from_db()
    if run.status == RunStatus.PAUSED:
        resume_run(run, user)


def include_doubtful(run: Run, include: bool, user: Caller = None) -> None:
    """Count the scores whose expected answer the audit finds wrong or undetermined, or leave them out again."""
    require(run, "include_doubtful" if include else "leave_out_doubtful")
    run.include_doubtful = include
    run.note_asked()
    run.save(update_fields=["include_doubtful", "asked", "question_key", "answer_key"])
    record(user, "run.include_doubtful", f"run {run.pk}", include=include)
    refresh_summaries(run)


def delete_run(run: Run, user: Caller = None) -> None:
    """Delete a run with its results. Raises ``NotPossible`` while it is live."""
    with transaction.atomic():
        # The lock keeps the sweep from leasing the run between the check and the deletion.
        locked = Run.objects.select_for_update().get(pk=run.pk)
        if reason := refusal("delete", locked):
            raise NotPossible(reason)
        if locked.leases.exists():
            raise NotPossible(f"A worker still finishes requests of run {run.pk}. Try again in a few seconds.")
        record(user, "run.delete", f"run {run.pk}", dataset=locked.dataset.slug, model=locked.model)
        results = Result.objects.filter(run=locked).order_by()
        pass_on_labels(locked)
        Score.objects.filter(run=locked).delete()
        Transcript.objects.filter(result__in=results).delete()
        StoredStep.objects.filter(result__in=results).delete()
        # Nothing refers to the results any more, so they need not be loaded to look for references.
        results._raw_delete(results.db)
        locked.delete()
        if locked.is_replay and not locked.dataset_version.runs.exists():
            locked.dataset_version.delete()  # its answers were stored for such runs alone


def verify_run(run: Run) -> Verification:
    """Rebuild every prompt of the run and compare. Raises ``NotPossible`` if nothing was sent from here."""
    if run.is_imported:
        raise NotPossible(imported_refusal(run, "verified"))
    verification = verify_prompts(run)
    if not verification.checked:
        raise NotPossible(f"Run {run.pk} has not sent any prompts yet, so there is nothing to verify.")
    return verification


def require(run: Run, action: str) -> None:
    """Raise ``NotPossible`` with the reason if the action is not possible in the stored state of the run."""
    fields = [
        "status",
        "is_prepared",
        "total",
        "errors",
        "budget_usd",
        "texts_pruned_at",
        "include_doubtful",
        "summary",
    ]
    run.refresh_from_db(fields=fields)
    if reason := refusal(action, run):
        raise NotPossible(reason)


def _changed(run: Run, action: str) -> NotPossible:
    """The error if the run changed after ``require``, for example because its last result was stored."""
    run.refresh_from_db(fields=["status"])
    return NotPossible(refusal(action, run) or f"Run {run.pk} changed at the same time. Try again.")


def _require_texts(run: Run, action: str) -> None:
    """Check again, after the run was reopened, that its texts are kept.

    Pruning starts with ended runs only. It may have started between ``require`` and the reopening, which rolls back
    then: without the answers no judge can score them, and half of the texts would be missing.
    """
    run.refresh_from_db(fields=["texts_pruned_at"])
    if run.texts_pruned_at and (reason := refusal(action, run)):
        raise NotPossible(reason)


class RunEdit(StrictRequest):
    """What changes on a run; what is left out stays as it is."""

    name = StrictText(required=False, allow_blank=True, max_length=200)
    tags = Tags(required=False)
    notes = StrictText(required=False, allow_blank=True, max_length=20_000)
    pinned = StrictBoolean(required=False, help_text="Lists show it first")
    baseline = StrictBoolean(
        required=False, help_text="Comparisons on its dataset use it as the reference run, instead of any other run"
    )


def edit_run(run: Run, data: Any, user: Caller = None) -> None:
    """Change what people write on a run. A dataset has at most one reference run: a new one replaces the earlier.

    Raises ``InvalidRequest``.
    """
    given = validated_by(RunEdit(data=data))
    if given.get("baseline") and (run.is_replay or run.status not in COMPLETED):
        raise InvalidRequest({"baseline": ["Only a completed run of a model can be the reference run."]})
    with transaction.atomic():
        if given.get("baseline"):
            # The lock makes two requests for different runs follow each other.
            Dataset.objects.select_for_update().get(pk=run.dataset_id)
            Run.objects.filter(dataset=run.dataset_id, baseline=True).exclude(pk=run.pk).update(baseline=False)
        for name, value in given.items():
            setattr(run, name, value)
        run.save(update_fields=list(given))
        record(user, "run.edit", f"run {run.pk}", changed=list(given))
