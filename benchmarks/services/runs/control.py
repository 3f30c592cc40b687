"""Starting, stopping, continuing and deleting runs. API, pages, commands and admin all come through here."""

from __future__ import annotations

import platform
from typing import Any

import django
from django.conf import settings
from django.db import transaction
from django.db.models import F

from benchmarks import jobs
from benchmarks.engine.execution import lifecycle
from benchmarks.engine.execution.dispatch import leases_wanted
from benchmarks.engine.execution.finishing import cancelled_results, close_if_over
from benchmarks.engine.execution.prompts import SENT_PARAMETERS
from benchmarks.models import LIVE, TERMINAL, Outcome, Result, ResultState, Run, RunStatus, Score, Transcript
from benchmarks.services.access import Caller, account_of, record
from benchmarks.services.errors import NotPossible
from benchmarks.services.imports import refuse_external
from benchmarks.services.operations.code_version import code_version
from benchmarks.services.runs.request import validated


def start_run(data: Any, user: Caller = None, *, parent: Run | None = None, fresh_of: Run | None = None) -> Run:
    """Queue a run and call workers once it is committed. Raises ``InvalidRequest`` naming every bad field."""
    request = validated(data)
    dataset = request["dataset"]
    parameters = {name: request[name] for name in SENT_PARAMETERS if request.get(name) is not None}
    if request.get("system_prompt"):
        parameters["system_prompt"] = request["system_prompt"]
    parameters["max_tool_steps"] = request["max_tool_steps"]
    with transaction.atomic():
        run = Run.objects.create(
            dataset=dataset,
            dataset_version=dataset.current_version,
            model=request["model"],
            metrics=request["metrics"],
            judge_model=request["judge_model"],
            self_judged=request["judge_model"] == request["model"],
            parameters=parameters,
            repeats=request["repeats"],
            concurrency=request.get("concurrency") or settings.CODEFORGE.benchmark.default_concurrency,
            use_cache=request["use_cache"],
            skip_judge_when_identical=request["skip_judge_when_identical"],
            budget_usd=request.get("budget_usd"),
            task_classes=request.get("tasks") or [],
            representation=request.get("representation") or "",
            few_shot=request["few_shot"],
            limit=request.get("limit"),
            target_half_width=request.get("target_half_width"),
            max_canvases=request.get("max_canvases"),
            code_version=code_version(),
            environment={"python": platform.python_version(), "django": django.get_version()},
            parent=parent,
            fresh_of=fresh_of,
            created_by=account_of(user),
        )
        record(user, "run.start", f"run {run.pk}", dataset=dataset.slug, model=run.model)
        _call_workers(run)
    return run


def request_of(run: Run) -> dict[str, Any]:
    """The request that would start a run like this one again."""
    asked = {
        "dataset": run.dataset.slug,
        "model": run.model,
        "metrics": run.metrics,
        "judge_model": run.judge_model,
        "allow_self_judging": run.self_judged,
        "skip_judge_when_identical": run.skip_judge_when_identical,
        "repeats": run.repeats,
        "concurrency": run.concurrency,
        "limit": run.limit,
        "target_half_width": run.target_half_width,
        "max_canvases": run.max_canvases,
        "budget_usd": run.budget_usd,
        "use_cache": run.use_cache,
        "tasks": run.task_classes,
        "representation": run.representation,
        "few_shot": run.few_shot,
        **run.parameters,
    }
    return {name: value for name, value in asked.items() if value is not None and value not in ("", [])}


def start_again(run: Run, user: Caller = None) -> Run:
    """A new run of the same request, on the dataset's current version."""
    refuse_external(run, "started again")
    return start_run(request_of(run), user, parent=run)


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
    refuse_external(run, "resumed")
    with transaction.atomic():
        never_prepared = run.total == 0
        record(user, "run.resume", f"run {run.pk}")
        if never_prepared and lifecycle.requeue(run.pk):
            _call_workers(run)
            return 0
        if not lifecycle.reopen(run.pk, (RunStatus.CANCELLED, RunStatus.FAILED, RunStatus.PAUSED)):
            raise NotPossible(f"Run {run.pk} is {_now(run)}; only a cancelled, failed or paused run can be resumed.")
        _refuse_if_pruned(run)
        unasked, unjudged = cancelled_results(run)
        _call_workers(run)
    return unasked + unjudged


def retry_failed(run: Run, user: Caller = None) -> int:
    """Try again only what ended in an error, and replace it only by a success; where the judge failed, ask only it.

    Returns how many results those are.
    """
    refuse_external(run, "tried again")
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
        _call_workers(run)
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


def _call_workers(run: Run) -> None:
    """A broker that is away is only logged: the run is stored, and the sweep rings for it."""
    for _ in range(leases_wanted(run)):
        transaction.on_commit(lambda: jobs.work_on_run.delay(run.pk), robust=True)


def _now(run: Run) -> str:
    run.refresh_from_db(fields=["status"])
    return str(run.get_status_display())
