"""Try a run's judge on one known pair before the first question, so that no answers are paid for that nobody can judge.

The trial is part of the preparation, which one worker at a time does, so there is one for a run, however many workers
come. If the judge fails, the run fails before it is prepared; resuming it prepares it again, and tries the judge again.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import wait
from dataclasses import replace

from django.db import transaction
from django.db.models import QuerySet

from benchmarks.engine import lease as leases
from benchmarks.engine.db_retry import retry_db
from benchmarks.engine.execution import lifecycle, reply_cache
from benchmarks.engine.execution.budget import TRIAL_CALLS, WorstCase, money_left, price_of
from benchmarks.engine.execution.event_loop import ENGINE_LOOP
from benchmarks.engine.execution.judge import EngineJudge, judge_parameters
from benchmarks.engine.execution.model_clients import Model, Slot, model_client
from benchmarks.engine.execution.prompts import PromptBuilder
from benchmarks.engine.execution.result_store import note_adjustments
from benchmarks.engine.execution.scoring import metrics_of
from benchmarks.engine.sql import lock
from benchmarks.metrics.base import Score
from benchmarks.metrics.judges import try_judge
from benchmarks.metrics.panel import judges_named
from benchmarks.models import Experiment, Lease, Run, Task
from benchmarks.presentation.numbers import money
from benchmarks.providers.base import known_sum

CHECK_SECONDS = 0.5


def judge_is_usable(
    run: Run, tasks: QuerySet[Task], may_continue: Callable[[], bool], lease: Lease | None = None
) -> bool:
    """Whether the run may go on to its questions: its judge gave a verdict, or need not be tried.

    Otherwise the run was failed or paused with the reason, or stopped meanwhile. A judge that is overloaded or slow at
    the moment does not stop the run. With a lease, only while it is held is anything written: another worker may try
    the judge, too.
    """
    # A run that replays stored answers pays for none of them.
    if not run.judge_model or run.judge_trial or run.is_replay or not _is_needed(run, tasks):
        return True
    # The first judge comes last: its verdict says that all were tried.
    return all(_is_usable(run, name, may_continue, lease) for name in reversed(judges_named(run.judge_model)))


def _is_usable(run: Run, name: str, may_continue: Callable[[], bool], lease: Lease | None) -> bool:
    what = f"run {run.pk}"
    try:
        model = model_client(name)
    except ValueError as error:  # its provider was removed from the configuration
        return not lifecycle.fail(run.pk, str(error), lease)
    if run.budget_in_force is not None and not _is_covered(run, may_continue, lease):
        return False
    cache = reply_cache.JudgeResponseCache(name) if reply_cache.is_used_by(run) else None
    slot = Slot(TRIAL_CALLS)
    judge = EngineJudge(model, judge_parameters(run, name), slot, cache)
    score = _score(judge, may_continue)
    is_last = name == judges_named(run.judge_model)[0]
    if not _record(run, judge, score, lease, keep=is_last):
        return False
    if slot.sent_plain and score is not None and score.value is not None:
        _find_refused(run, name, model, may_continue, lease)
    if model.adjustments.notes:
        retry_db(lambda: note_adjustments(run.pk, {"judge": model.adjustments.notes}), what)
    if score is None:
        return False
    if score.value is not None or (score.detail.get("retryable") and not score.detail["systemic"]):
        return True
    reason = f"{score.reason} No question was asked. Fix the judge, then resume the run."
    retry_db(lambda: lifecycle.fail(run.pk, reason, lease), what)
    return False


def _find_refused(run: Run, name: str, model: Model, may_continue: Callable[[], bool], lease: Lease | None) -> None:
    """Find out what exactly a judge refuses that gave its verdict on a plain request, so that no more is left out.

    Such a judge can judge, so the refused requests on the way are not wasted.
    """
    judge = EngineJudge(model, judge_parameters(run, name))
    score = _score(judge, may_continue)
    _record(run, judge, None, lease, keep=False)
    if score is not None and score.value is None and not score.detail.get("retryable"):
        model.adjustments.leave_out_all(judge.request("", {"type": "object"}))


def _is_needed(run: Run, tasks: QuerySet[Task]) -> bool:
    """Whether a judged metric of the run applies to any of its tasks, as far as that is known without answers."""
    judged = [metric for metric in metrics_of(run) if metric.judged]
    prompts = PromptBuilder(run)
    items = (replace(prompts.item(task), actual_output="?") for task in tasks.iterator(chunk_size=500))
    return any(metric.applies_to_any(item) for item in items for metric in judged)


def _is_covered(run: Run, may_continue: Callable[[], bool], lease: Lease | None) -> bool:
    """Whether the budget covers the trial, whose worst case is then reserved; otherwise the run is paused or stopped.

    While other runs of the experiment have requests in flight, it waits for what these leave of their reservations.
    """
    what = f"run {run.pk}"
    while (reserved := retry_db(lambda: reserve_trial(run, lease), what)) is None:
        if not may_continue():
            return False
        time.sleep(CHECK_SECONDS)
    if not reserved:
        budget = money(run.budget_in_force)
        reason = f"The budget of {budget} does not cover trying the judge. Raise the budget to continue."
        retry_db(lambda: lifecycle.pause(run.pk, reason, lease), what)
    return reserved


def reserve_trial(run: Run, lease: Lease | None = None) -> bool | None:
    """Reserve the most that the trial can cost, and say whether the budget covers it; ``None`` if it may soon, or if
    the lease is gone.

    While it is prepared, a run has no other reservation. If its worker dies, the reservation ends with the lease.
    """
    with transaction.atomic():
        # As in ``ResultStore.reserve``, the experiment is locked first.
        if run.experiment_id is not None:
            lock(Experiment.objects.filter(pk=run.experiment_id))
        if lease is not None and not leases.is_held(lease):
            return None
        locked = Run.objects.select_for_update().get(pk=run.pk)
        most, left = WorstCase(locked).trial(), money_left(locked)
        if left is not None and most <= left:
            run.reserved_usd = most
            Run.objects.filter(pk=run.pk).update(reserved_usd=most)
            return True
        siblings = Run.objects.filter(experiment=run.experiment_id or 0).exclude(pk=run.pk)
        # Sums of floats leave dust behind, which is no reservation.
        return None if siblings.filter(reserved_usd__gt=1e-9).exists() else False


def _score(judge: EngineJudge, may_continue: Callable[[], bool]) -> Score | None:
    """The judge's score; ``None`` if the run was stopped, or the worker is shutting down."""
    future = ENGINE_LOOP.submit(try_judge(judge))
    while not wait([future], timeout=CHECK_SECONDS).done:
        if not may_continue():
            future.cancel()
            return None
    return future.result()


def _record(run: Run, judge: EngineJudge, score: Score | None, lease: Lease | None, *, keep: bool) -> bool:
    """Add what the trial cost to the run in place of its reservation, and ``keep`` its verdict if there is one. False
    if the lease is gone: another worker tries the judge."""
    spent = judge.spent
    cost = price_of(judge.model).cost(spent.tokens_in, spent.tokens_out, spent.cached_tokens)
    if spent.tokens_in == spent.tokens_out == 0:  # it was not reached, which costs nothing at any price
        cost = 0.0
    unknown = cost is None or run.judge_tokens_in is None
    run.judge_cost_usd = None if unknown else (run.judge_cost_usd or 0.0) + (cost or 0.0)
    run.judge_tokens_in = known_sum(run.judge_tokens_in, spent.tokens_in)
    run.judge_tokens_out = known_sum(run.judge_tokens_out, spent.tokens_out)
    if keep and score is not None and score.value is not None:
        run.judge_trial = {"value": score.value, "reason": score.reason, "calls": spent.calls}
    run.reserved_usd = 0.0
    # Only the write is tried again: an addition that was committed without an answer would count twice.
    fields = ["judge_cost_usd", "judge_tokens_in", "judge_tokens_out", "judge_trial", "reserved_usd"]

    def write() -> bool:
        with transaction.atomic():
            if lease is not None and not leases.is_held(lease):
                return False
            run.save(update_fields=fields)
        return True

    return retry_db(write, f"run {run.pk}")
