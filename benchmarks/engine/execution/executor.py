"""Execute one run lease: claim results, build prompts, send requests, score and store what comes back.

Runs in the thread of the Celery job, so all database calls are synchronous. Requests run on the worker's event loop
(``RequestPool``); a queue in each direction connects both. While the database is unavailable, finished answers stay in
memory.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from queue import Empty, SimpleQueue
from typing import TypeVar

from benchmarks.engine import lease as leases
from benchmarks.engine.db_retry import all_then_each, retry_db, try_db
from benchmarks.engine.execution import lifecycle, reply_cache
from benchmarks.engine.execution.budget import WorstCase, money_left
from benchmarks.engine.execution.event_loop import ENGINE_LOOP
from benchmarks.engine.execution.finishing import refresh_summary
from benchmarks.engine.execution.judge import judge_parameters, second_judge
from benchmarks.engine.execution.model_clients import Model, model_client
from benchmarks.engine.execution.prompts import PromptBuilder
from benchmarks.engine.execution.request_pool import Aborted, Finished, PanelJudge, RequestPool
from benchmarks.engine.execution.result_store import ResultStore, Work, note_adjustments
from benchmarks.engine.execution.scoring import InternalError, Scorer, broken_metric, is_deferred, metrics_of
from benchmarks.engine.execution.simulated_user import simulated_user_of
from benchmarks.engine.execution.work_items import Answer, Judged, Prompt, Question, Scored, ToJudge
from benchmarks.metrics.base import Item
from benchmarks.metrics.panel import judges_named
from benchmarks.models import LIVE, Lease, ResultState, Run, RunStatus, Score
from benchmarks.presentation.numbers import money
from benchmarks.run_parameters import sent_parameters

T = TypeVar("T")

CHECK_SECONDS = 0.5
"""How often the lease is renewed and the run looked at: what a canceled run still sends is half a second's worth."""
GATHER_SECONDS = 0.01
"""How long a batch waits for further answers: a transaction costs more than a row, and nobody notices 10 ms."""
MAX_BATCH = 500
"""Results in one transaction; bounds how long other writers wait, and what is done again if it fails."""
FIRST_BATCH = 32
"""Results that an idle lease claims first: they are soon ready to send; others are claimed while these are answered."""
AHEAD_SECONDS = 0.5
"""How much work is claimed ahead, so that no slot is idle while the next batch is claimed."""
GRACE_SECONDS = 5.0
"""How long requests in flight may still be answered once the run was stopped or the worker is shutting down."""
YIELD_AFTER_SECONDS = 5.0
"""After this time a lease gives its thread to a waiting run…"""
CROWDED_SECONDS = 1.0
"""…that has waited for this time, so that no worker can have had a free thread."""
SUMMARY_SECONDS = 2.0
SHOWN_WAIT_SECONDS = 5.0
"""Readers of a run are told of longer waits that an endpoint asks for."""

NO_ITEM = Item("", "", "")

STOPPING = threading.Event()
"""Set when the worker shuts down: executors send nothing more and give back what they claimed."""


class RunExecutor:
    """Works on one run under one lease, from the first claim to the last write."""

    def __init__(self, run: Run, lease: Lease) -> None:
        """Raises ``ValueError`` if the provider of the run's model or judge is not configured."""
        self.run = run
        self.lease = lease
        metrics = metrics_of(run)
        self.deferred = {metric.name: metric for metric in metrics if is_deferred(metric)}
        self.store = ResultStore(run, lease, metrics)
        self.worst_case = WorstCase(run)
        self.prompts = PromptBuilder(run)
        self.scorer = Scorer(run, metrics, self.prompts, self.worst_case)
        self.inbox: SimpleQueue[Finished] = SimpleQueue()
        self.uses_cache = reply_cache.is_used_by(run)
        # A rescoring asks no model, and the run's own may no longer be configured.
        names = judges_named(run.judge_model)
        judges = [model_client(name) for name in names]
        self.models = {"model": model_client("baseline/reference" if run.rescored_from else run.model)}
        # What the first judge refuses is stored; of others it is found out again.
        self.models |= {"judge": judges[0]} if judges else {}
        for role, model in self.models.items():
            model.adjustments.notes |= run.adjustments.get(role, {})
        self.adjustments_stored = run.adjustments
        second = second_judge(run)
        self.pool = RequestPool(
            self.models["model"],
            [self._panel_judge(name, judge) for name, judge in zip(names, judges, strict=True)],
            {name: run.parameters.get(name) for name in sent_parameters()},
            judge_repeats=run.judge_repeats,
            judge_vote=run.judge_vote,
            second_judge=self._panel_judge(second, model_client(second)) if second else None,
            deferred=self.deferred,
            user=simulated_user_of(run),
            inbox=self.inbox,
        )
        self.in_progress = 0
        """Units that this lease has claimed and not stored; each comes back through the inbox exactly once."""
        self.finished = 0
        """Units stored so far."""
        self.sending = True
        self.exhausted = False
        """Nothing was left to claim, as of less than ``CHECK_SECONDS`` ago."""
        self.answers_may_wait = True
        self.judge_has_judged = False
        self.out_of_budget = False
        self.began = self.checked = time.monotonic()
        self.crowded_since: float | None = None
        self.abort_at: float | None = None
        self.summary_due = self.began + SUMMARY_SECONDS

    def _panel_judge(self, name: str, model: Model) -> PanelJudge:
        cache = reply_cache.JudgeResponseCache(name) if self.uses_cache else None
        return PanelJudge(model, judge_parameters(self.run, name), cache)

    def work(self) -> None:
        """Work until nothing is left to claim, the run stops, or another run needs the thread."""
        ENGINE_LOOP.call(self.pool.open, self.lease.slots)
        try:
            while True:
                self._check()
                # Asked once: it falls as time passes, and a claim of less than nothing would end the run.
                if self.sending and not self.exhausted and self.in_progress < (target := self._target()):
                    before = self.in_progress
                    self._claim(target)
                    if self.in_progress > before:
                        continue  # all slots are busy before the first answer is waited for
                # Every claimed unit comes back through the inbox, also when it was aborted, so this count reaches 0.
                if not self.in_progress and (self.exhausted or not self.sending):
                    break
                self._store(self._receive())
        finally:
            # Nothing may be sent for results that the released lease gives back.
            ENGINE_LOOP.submit(self.pool.close()).result()

    # Claim and send.

    def _target(self) -> int:
        """How many results to have in progress: all slots busy, and half a second of work at the present rate.

        If several leases share a run whose answers take more than a second, no more than the slots hold: what one lease
        claims ahead, the others have idle slots for, and it would finish alone.
        """
        slots = self.lease.slots
        rate = self.finished / max(time.monotonic() - self.began, 0.1)
        if self.run.concurrency > slots and rate < slots:
            return slots
        return slots + max(slots // 2, int(rate * AHEAD_SECONDS))

    def _claim(self, target: int) -> None:
        """Claim stored answers that wait for their judge, else pending results, and submit what the budget covers."""
        # Half the slots on top make claims fewer and larger, unless other leases have a use for them.
        extra = self.lease.slots // 2 if target > self.lease.slots else 0
        limit = min(target - self.in_progress + extra, MAX_BATCH if self.in_progress else FIRST_BATCH)
        # Stored answers first: they are paid for, and only their judge is missing.
        if self.answers_may_wait:
            if ids := self._retry(lambda: self.store.claim(ResultState.ANSWERED, limit)):
                self._submit_answered(ids)
                return
            self.answers_may_wait = bool(self.deferred)  # another lease may still give some back
        ids = self._retry(lambda: self.store.claim(ResultState.PENDING, limit))
        if not ids:
            self.exhausted = True
            return
        # One prompt that cannot be built is an error of its result alone.
        questions, broken = all_then_each(lambda some: self._retry(lambda: self._questions(some)), ids)
        if broken:
            self._write_answers([_not_sent(result_id, error) for result_id, error in broken])
        self._submit(self._within_budget(questions))

    def _questions(self, ids: Sequence[int]) -> list[Question]:
        """Build prompts, look up cached responses, and compute what each question may cost."""
        questions = self.prompts.questions(ids)
        if self.uses_cache:
            questions = reply_cache.with_cached(self.run, questions)
        return (
            questions if self.run.budget_in_force is None else [self._with_reserve(question) for question in questions]
        )

    def _with_reserve(self, question: Question) -> Question:
        asking = 0.0 if question.cached else self.worst_case.asking(question.prompt)
        judging = self.worst_case.judging(question.item, self.deferred.values())
        return replace(question, reserved_usd=asking + judging)

    def _submit_answered(self, ids: Sequence[int]) -> None:
        """Resume stored answers that a judge, or another deferred metric, has not scored yet."""
        requests, broken = all_then_each(lambda some: self._retry(lambda: self.scorer.stored_to_judge(some)), ids)
        # All their metrics may have a score by now: then they only have to be completed.
        complete = [Judged(replace(request, reserved_usd=0.0), {}) for request in requests if not request.metrics]
        complete += [self._not_judged(result_id, error) for result_id, error in broken]
        if complete:
            self._write_judged(complete)
        self._submit(self._within_budget([request for request in requests if request.metrics]))

    def _within_budget(self, units: list[Work]) -> list[Work]:
        """Those of the units whose worst case fits the budget. The others are given back; without any, pause."""
        if self.run.budget_in_force is None or not units:
            return units
        idle, key = not self.in_progress, uuid.uuid4()
        fitting = self._retry(lambda: self.store.reserve(units, key, idle=idle))
        if not fitting and idle:  # otherwise answers in progress will free reservations
            self._retry(self._pause)
        return fitting

    def _pause(self) -> None:
        """Leave the budget to whoever may free reservations: the run's other leases, and the other runs of its
        experiment. The last one pauses the run.
        """
        self.sending = False
        self.out_of_budget = True
        siblings = Run.objects.filter(experiment=self.run.experiment_id or 0).exclude(pk=self.run.pk)
        others = Lease.objects.filter(run=self.run).exclude(pk=self.lease.pk)
        # Two leases that look at the same moment both leave. The worker that then finds results waiting and no lease
        # (``dispatch``) comes here alone, and pauses. Sums of floats leave dust behind, which is no reservation.
        if others.exists() or siblings.filter(reserved_usd__gt=1e-9).exists():
            return
        budget = money(self.run.budget_in_force)
        run = Run.objects.select_related("experiment").get(pk=self.run.pk)
        if money_left(run) is None:
            reason = (
                f"The endpoint does not report token usage, so the cost is unknown and the budget of {budget} cannot "
                "be enforced. Start a new run without a budget."
            )
        else:
            reason = (
                f"The budget of {budget} does not cover the worst-case cost of the next request. "
                "Raise the budget to continue."
            )
        lifecycle.pause(self.run.pk, reason, self.lease)

    def _submit(self, work: Sequence[Question] | Sequence[ToJudge]) -> None:
        if work:
            self.in_progress += len(work)
            ENGINE_LOOP.call(self.pool.submit, work)

    # Receive, score and store.

    def _receive(self) -> list[Finished]:
        """What came in: wait a little for the first, then a moment for those right behind it, to store in batches."""
        try:
            # Half of it, so that a silent endpoint does not delay the next heartbeat.
            batch = [self.inbox.get(timeout=CHECK_SECONDS / 2)]
        except Empty:
            return []
        if len(batch) + self.inbox.qsize() < self.in_progress:
            time.sleep(GATHER_SECONDS)  # waiting for each would take the interpreter from the loop at each
        with suppress(Empty):
            while len(batch) < MAX_BATCH:
                batch.append(self.inbox.get_nowait())
        return batch

    def _store(self, batch: list[Finished]) -> None:
        answers = [unit for unit in batch if isinstance(unit, Answer)]
        judged = [unit for unit in batch if isinstance(unit, Judged)]
        self.in_progress -= sum(isinstance(unit, Aborted) for unit in batch)
        if answers:
            for answer in answers:
                if answer.replies:
                    self.worst_case.observe(answer.question.prompt, answer.tokens_in, answer.tokens_out)
            scored, broken = all_then_each(lambda some: [self.scorer.score(answer) for answer in some], answers)
            scored += [_not_stored(answer, error) for answer, error in broken]
            # Stored before a judge is called: a judge that fails must not cost the answer again. A worker that dies
            # after this line leaves results that are judging; giving back its lease makes them answered, and the next
            # lease judges them without asking the model.
            held = self._write_answers(scored)
            self._mark_stored(len(answers), len(answers))
            # Only of results that are still held: whoever took over the others judges them.
            if self.sending:  # otherwise they are given back as answered, and judged once the run is resumed
                self._submit([self.scorer.to_judge(s) for s in scored if s.to_judge and s.result_id in held])
        if judged:
            self._write_judged(list(_joined(judged)))
            self._mark_stored(len(judged), sum(not unit.unfinished for unit in judged))
        self._store_adjustments()
        self._stop_if_broken()

    def _store_adjustments(self) -> None:
        """Store what requests go without, once something new is known."""
        known = {role: dict(model.adjustments.notes) for role, model in self.models.items() if model.adjustments.notes}
        if known != self.adjustments_stored:
            self._retry(lambda: note_adjustments(self.run.pk, known))
            self.adjustments_stored = known

    def _write_answers(self, batch: Sequence[Scored]) -> set[int]:
        """Store answers; return the IDs of the results that this lease still held."""

        def write(some: Sequence[Scored]) -> list[int]:
            return self._retry(lambda: self.store.write_answers(some))

        held, rejected = all_then_each(write, batch)
        for scored, error in rejected:  # what the database does not take becomes an error of its result
            write([_not_stored(scored.answer, error)])
        return set(held)

    def _write_judged(self, batch: Sequence[Judged]) -> None:
        def write(some: Sequence[Judged]) -> list[int]:
            return self._retry(lambda: self.store.write_judged(some))

        _, rejected = all_then_each(write, batch)
        for judged, error in rejected:
            write([self._not_judged(judged.result_id, error)])

    def _not_judged(self, result_id: int, error: Exception) -> Judged:
        return Judged(ToJudge(result_id, NO_ITEM, ()), {name: broken_metric(error) for name in self.deferred})

    def _mark_stored(self, count: int, finished: int) -> None:
        """Note that ``count`` parts of units are stored, with which ``finished`` units are complete."""
        ENGINE_LOOP.call(self.pool.stored, count)
        self.in_progress -= finished
        self.finished += finished

    # Stop, yield and report.

    def _stop_if_broken(self) -> None:
        """Fail the run if its endpoint is dead or its key invalid: now and with the reason, not after every request.

        A judge that fails after it has judged something does not stop the run. The answers are kept, the missing
        verdicts are errors with their reason, and retrying them calls the judge alone.
        """
        if self.abort_at is not None:
            return
        if reason := self.pool.breaker.tripped:
            self._fail(f"The model {self.run.model} failed. {reason}")
        elif (reason := self.pool.judge_breaker.tripped) and not self._retry(self._has_verdicts):
            self._fail(f"The judge {self.run.judge_model} failed. {reason}")
        elif reason := self.pool.user_breaker.tripped:
            self._fail(f"The simulated user {self.run.user_model} failed. {reason}")

    def _has_verdicts(self) -> bool:
        """Whether the judge has ever scored an answer of this run. Remembered, so that it costs one query."""
        verdicts = Score.objects.filter(run=self.run.pk, value__isnull=False, judge__isnull=False)
        self.judge_has_judged = self.judge_has_judged or verdicts.exists()
        return self.judge_has_judged

    def _fail(self, reason: str) -> None:
        self._retry(lambda: lifecycle.fail(self.run.pk, reason, self.lease))
        self._stop()

    def _check(self) -> None:
        """Every half second: renew the lease, see whether the run goes on, yield if needed, refresh the summary."""
        now = time.monotonic()
        if now - self.checked < CHECK_SECONDS:
            return
        self.checked = now
        self.exhausted = False
        if self.abort_at is None:
            if STOPPING.is_set() or not self._retry(self._may_continue):
                self._stop()
            elif self.sending and self._should_yield(now):
                # Unlike a stop, this has no deadline: what was sent ends in its own time, retries included.
                self._send_no_more(self.pool.drain)
            else:
                # The time before the heartbeat was written: the lease is held at least since then.
                ENGINE_LOOP.call(self.pool.renewed, now)
        elif now >= self.abort_at:
            ENGINE_LOOP.call(self.pool.abort)
        if now >= self.summary_due:
            # Once: while it is retried, no answer is stored and no lease renewed. Final numbers do not depend on it.
            try_db(partial(refresh_summary, self.run.pk, self.lease), f"run {self.run.pk}")
            # A summary of a large run takes long: spend at most a twentieth of the time on it.
            took = time.monotonic() - now
            self.summary_due = time.monotonic() + max(SUMMARY_SECONDS, 20 * took)

    def _may_continue(self) -> bool:
        """False once the lease was released, the run is no longer running, or it was deleted."""
        running = Run.objects.filter(pk=self.run.pk, status=RunStatus.RUNNING)
        wait = max(
            model.gate.asked_to_wait for model in (self.pool.model, *(judge.model for judge in self.pool.judges))
        )
        return leases.heartbeat(self.lease, wait if wait >= SHOWN_WAIT_SECONDS else 0.0) and running.exists()

    def _should_yield(self, now: float) -> bool:
        """Whether runs wait for a thread and this lease is among the oldest: one yields for each waiting run."""
        if now - self.began < YIELD_AFTER_SECONDS:
            return False
        waiting = self._retry(Run.objects.filter(status__in=LIVE, leases=None).count)
        if not waiting:
            self.crowded_since = None
            return False
        self.crowded_since = self.crowded_since or now
        if now - self.crowded_since < CROWDED_SECONDS:
            return False
        # The oldest may take long to end, so one more yields every few seconds.
        yielding = waiting + int((now - self.crowded_since) / YIELD_AFTER_SECONDS)
        older = Lease.objects.filter(run__isnull=False, started_at__lt=self.lease.started_at)
        return self._retry(older.count) < yielding

    def _stop(self) -> None:
        """Send nothing more; requests in flight have a grace period to be answered."""
        # Set even if nothing is in flight: it also says that the run was stopped, so that it is not failed on top.
        self.abort_at = time.monotonic() + GRACE_SECONDS
        self._send_no_more(self.pool.stop_sending)

    def _send_no_more(self, drop_queued: Callable[[], int]) -> None:
        """Stop sending. Units that were dropped stay claimed until the lease is released and gives them back."""

        # On the loop, where no slot can take a unit between the cancellation and the count.
        async def on_the_loop() -> int:
            return drop_queued()

        self.sending = False
        self.in_progress -= ENGINE_LOOP.submit(on_the_loop()).result()

    def _retry(self, operation: Callable[[], T]) -> T:
        return retry_db(operation, f"run {self.run.pk}")


def _joined(batch: Iterable[Judged]) -> Iterable[Judged]:
    """The batch with one ``Judged`` for each result."""
    joined: dict[int, Judged] = {}
    for judged in batch:
        earlier = joined.get(judged.result_id)
        joined[judged.result_id] = earlier.followed_by(judged) if earlier else judged
    return joined.values()


def _not_sent(result_id: int, error: Exception) -> Scored:
    question = Question(result_id, 0, Prompt(()), NO_ITEM)
    failure = InternalError("The request could not be sent", error)
    return Scored(Answer(question, [], error=failure), {}, to_judge=False)


def _not_stored(answer: Answer, error: Exception) -> Scored:
    """Replaces an answer that the database, or a metric, rejects. Its texts may be the cause, so they go too."""
    failed = replace(
        answer,
        question=replace(answer.question, prompt=Prompt(()), cache_key=None),
        reply=None,
        messages=[],
        tool_calls=[],
        error=InternalError("The answer could not be stored", error),
        attempts=[],
    )
    return Scored(failed, {}, to_judge=False)
