"""The bookkeeping side of a shift: claims results, hands them to the lanes, writes down what comes back.

The clerk is the thread of the Celery job, so every database call is a plain one; the lanes live on the engine loop.
Both talk through two queues. When the database goes away the clerk keeps what was answered and waits for it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from queue import Empty, SimpleQueue
from typing import TypeVar

from django.db.models import Q

from benchmarks.engine import lease as leases
from benchmarks.engine.execution import lifecycle, reply_cache, result_store
from benchmarks.engine.execution.budget import price_of
from benchmarks.engine.execution.db_retry import all_then_each, retry_db
from benchmarks.engine.execution.event_loop import ENGINE_LOOP
from benchmarks.engine.execution.finishing import refresh_summary
from benchmarks.engine.execution.model_clients import model_client
from benchmarks.engine.execution.outcomes import Unforeseen, broken_metric, is_deferred, metrics_of
from benchmarks.engine.execution.prompts import Prompt
from benchmarks.engine.execution.questions import PromptBuilder
from benchmarks.engine.execution.request_pool import Abandoned, RequestPool, RequestSettings, Said
from benchmarks.engine.execution.result_store import ResultStore, Scored, Work
from benchmarks.engine.execution.scoring import Scorer
from benchmarks.engine.execution.work_items import Answer, Judged, Question, ToJudge
from benchmarks.metrics.base import Item
from benchmarks.models import LIVE, Lease, ResultState, Run, RunStatus, Score

T = TypeVar("T")

LOOK_SECONDS = 0.5
GATHER_SECONDS = 0.01
MOST_WRITTEN = 500
MOST_CLAIMED = 500
AHEAD_SECONDS = 0.5
GRACE_SECONDS = 5.0
"""How long requests that are out may still be answered once a run was stopped or a worker is shutting down."""
TURN_SECONDS = 5.0
"""After so long a shift makes room for runs that wait, if there are any…"""
CROWDED_SECONDS = 1.0
"""…for so long that no worker can have had a thread to spare."""

NOTHING = Item("", "", "")

STOPPING = threading.Event()
"""Set when the worker shuts down: shifts send nothing more and hand over."""


class RunExecutor:
    """One shift on one run, from its first claim to its last write."""

    def __init__(self, run: Run, lease: Lease) -> None:
        self.run = run
        self.lease = lease
        metrics = metrics_of(run)
        price, judge_price = price_of(run.model), price_of(run.judge_model or run.model)
        self.book = ResultStore(run.pk, lease, metrics, price, judge_price)
        self.prompt_builder = PromptBuilder(run, metrics, price, judge_price)
        self.scorer = Scorer(run, metrics, self.prompt_builder)
        self.deferred = {metric.name: metric for metric in metrics if is_deferred(metric)}
        self.inbox: SimpleQueue[Said] = SimpleQueue()
        asking = RequestSettings(run.parameters, run.parameters.get("max_tool_steps", 5))
        judge = model_client(run.judge_model) if run.judge_model else None
        memory = reply_cache.JudgeResponseCache(run.judge_model) if run.use_cache and run.repeats == 1 else None
        self.slots = RequestPool(model_client(run.model), judge, asking, self.deferred, self.inbox, memory=memory)
        self.is_shared = run.concurrency > lease.slots
        self.under_way = 0
        self.sending = True
        self.exhausted = False
        self.may_have_answered = True
        self.judge_has_judged = False
        self.out_of_budget = False
        self.began = self.looked = time.monotonic()
        self.crowded_since: float | None = None
        self.abandon_at: float | None = None
        self.finished = 0
        self.summary_due = self.began + 2.0

    def work(self) -> None:
        """Work until nothing is left to claim, the run stops, or others need the worker."""
        ENGINE_LOOP.call(self.slots.open, self.lease.slots)
        try:
            while True:
                self._look_up()
                if self.sending and self.under_way < self._ahead():
                    self._claim()
                if not self.under_way and (self.exhausted or not self.sending):
                    break
                self._write(self._gather())
        finally:
            ENGINE_LOOP.submit(self.slots.close()).result()

    def _ahead(self) -> int:
        """How many results to have claimed: all lanes busy, and half a second of work at the present rate.

        Where several shifts share a run whose answers take more than a second, no more than the lanes hold: what one
        has claimed ahead, others have idle lanes for, and the last round would be that one's alone.
        """
        rate = self.finished / max(time.monotonic() - self.began, 0.1)
        if self.is_shared and rate < self.lease.slots:
            return self.lease.slots
        return self.lease.slots + max(self.lease.slots // 2, int(rate * AHEAD_SECONDS))

    def _claim(self) -> None:
        ahead = self._ahead()
        more = self.lease.slots // 2 if ahead > self.lease.slots else 0
        room = min(ahead - self.under_way + more, MOST_CLAIMED)
        self.exhausted = False
        if self.may_have_answered:
            if ids := self._persist(lambda: result_store.claim(self.lease, ResultState.ANSWERED, room)):
                self._take_up_answered(ids)
                return
            self.may_have_answered = bool(self.deferred)
        ids = self._persist(lambda: result_store.claim(self.lease, ResultState.PENDING, room))
        if not ids:
            self.exhausted = True
            return
        questions, unaskable = all_then_each(
            lambda some: self._persist(lambda: self.prompt_builder.questions(some)), ids
        )
        if unaskable:
            self._record([_never_asked(result_id, error) for result_id, error in unaskable])
        self._hand_out(self._afford(questions))

    def _take_up_answered(self, ids: Sequence[int]) -> None:
        """Go on with answers that a judge, or another metric that takes its time, has not scored yet."""
        requests, broken = all_then_each(lambda some: self._persist(lambda: self.prompt_builder.to_judge(some)), ids)
        scored = [Judged(replace(request, reserved_usd=0.0), {}) for request in requests if not request.metrics]
        scored += [_never_judged(result_id, self.deferred, error) for result_id, error in broken]
        if scored:
            self._record_judged(scored)
        self._hand_out(self._afford([request for request in requests if request.metrics]))

    def _afford(self, units: list[Work]) -> list[Work]:
        """Those of the units whose worst case fits the budget; the rest goes back, and with none the run pauses."""
        if self.run.budget_usd is None or not units:
            return units
        idle = not self.under_way
        fitting = self._persist(lambda: result_store.reserve_for(self.lease, units, idle=idle))
        if not fitting and idle:
            self._persist(self._pause)
        return fitting

    def _pause(self) -> None:
        """Leave the run to the other shifts, whose reservations may become free; the last one pauses it."""
        self.sending = False
        self.out_of_budget = True
        if Lease.objects.filter(run_id=self.run.pk).exclude(pk=self.lease.pk).exists():
            return
        unknown = Run.objects.filter(Q(cost_usd=None) | Q(judge_cost_usd=None), pk=self.run.pk).exists()
        reason = (
            "The endpoint does not report the tokens it used, so what was spent is unknown and the budget of "
            f"${self.run.budget_usd:g} cannot be held. Start the run again without a budget."
            if unknown
            else f"The budget of ${self.run.budget_usd:g} would not cover the next request at its worst. "
            "Raise the budget to continue."
        )
        lifecycle.pause(self.run.pk, reason)

    def _hand_out(self, work: Sequence[Question] | Sequence[ToJudge]) -> None:
        if not work:
            return
        self.under_way += len(work)
        ENGINE_LOOP.call(self.slots.put, work)

    def _gather(self) -> list[Said]:
        """What came in: wait a little for the first, then a moment for those right behind it."""
        try:
            gathered = [self.inbox.get(timeout=LOOK_SECONDS / 2)]
        except Empty:
            return []
        until = time.monotonic() + GATHER_SECONDS
        while len(gathered) < MOST_WRITTEN and len(gathered) < self.under_way:
            try:
                gathered.append(self.inbox.get(timeout=max(until - time.monotonic(), 0)))
            except Empty:
                break
        return gathered

    def _write(self, gathered: list[Said]) -> None:
        answers = [unit for unit in gathered if isinstance(unit, Answer)]
        judged = [unit for unit in gathered if isinstance(unit, Judged)]
        self.under_way -= sum(isinstance(unit, Abandoned) for unit in gathered)
        if answers:
            scored, unscorable = all_then_each(lambda some: [self.scorer.score(answer) for answer in some], answers)
            scored += [_unstorable(answer, error) for answer, error in unscorable]
            owned = self._record(scored)
            self._finish(len(answers))
            if self.sending:
                self._hand_out([self.scorer.to_judge(s) for s in scored if _waits_for_judge(s, owned)])
        if judged:
            self._record_judged(judged)
            self._finish(len(judged))
        self._stop_if_broken()

    def _record(self, scored: Sequence[Scored]) -> set[int]:
        """Write answers down; one that the database does not take is an error of its result."""
        owned, refused = all_then_each(lambda some: list(self._persist(lambda: self._written(some))), scored)
        for one, error in refused:
            self._persist(partial(self._written, [_unstorable(one.answer, error)]))
        return set(owned)

    def _written(self, scored: Sequence[Scored]) -> set[int]:
        return result_store.write_answers(self.book, scored)

    def _record_judged(self, judged: Sequence[Judged]) -> None:
        def write(some: Sequence[Judged]) -> Sequence[Judged]:
            self._persist(lambda: result_store.write_judged(self.book, some))
            return some

        _, refused = all_then_each(write, judged)
        for one, error in refused:
            write([_never_judged(one.request.result_id, self.deferred, error)])

    def _finish(self, count: int) -> None:
        ENGINE_LOOP.call(self.slots.written, count)
        self.under_way -= count
        self.finished += count

    def _stop_if_broken(self) -> None:
        """A bad key or a dead endpoint ends the run now, with its reason, not after a thousand tries.

        A judge that died after it had judged something does not: the run goes on and keeps every answer, the verdicts
        that are missing are errors with the reason, and to retry them asks the judge alone.
        """
        if self.abandon_at is not None:
            return
        if reason := self.slots.breaker.tripped:
            self._fail(f"The model {self.run.model}: {reason}")
        elif (reason := self.slots.judge_breaker.tripped) and not self._persist(self._has_verdicts):
            self._fail(f"The judge {self.run.judge_model}: {reason}")

    def _has_verdicts(self) -> bool:
        """Whether the judge has ever scored an answer of this run. Once it has, the question is not asked again."""
        self.judge_has_judged = (
            self.judge_has_judged
            or Score.objects.filter(run=self.run.pk, value__isnull=False, judge__isnull=False).exists()
        )
        return self.judge_has_judged

    def _fail(self, reason: str) -> None:
        self._persist(lambda: lifecycle.fail(self.run.pk, reason))
        self._stop()

    def _look_up(self) -> None:
        """Every half second: beat, see whether the run goes on, make room for others, refresh the summary."""
        now = time.monotonic()
        if now - self.looked < LOOK_SECONDS:
            return
        self.looked = now
        if self.abandon_at is None:
            if self._must_stop():
                self._stop()
            elif self.sending and self._others_wait(now):
                self._send_no_more(self.slots.drain)
        elif now >= self.abandon_at:
            ENGINE_LOOP.call(self.slots.abandon)
        if now >= self.summary_due:
            self._persist(lambda: refresh_summary(self.run.pk, self.lease))
            took = time.monotonic() - now
            self.summary_due = time.monotonic() + max(2.0, 20 * took)

    def _must_stop(self) -> bool:
        return STOPPING.is_set() or not self._persist(lambda: leases.heartbeat(self.lease) and self._goes_on())

    def _goes_on(self) -> bool:
        return Run.objects.filter(pk=self.run.pk, status=RunStatus.RUNNING).exists()

    def _others_wait(self, now: float) -> bool:
        """Whether runs wait for a thread, and this shift is among the oldest: one makes room for each of them."""
        if now - self.began < TURN_SECONDS:
            return False
        waiting = self._persist(Run.objects.filter(status__in=LIVE, leases=None).count)
        if not waiting:
            self.crowded_since = None
            return False
        self.crowded_since = self.crowded_since or now
        if now - self.crowded_since < CROWDED_SECONDS:
            return False
        making_room = waiting + int((now - self.crowded_since) / TURN_SECONDS)  # the oldest may take long to end
        older = Lease.objects.filter(run__isnull=False, started_at__lt=self.lease.started_at)
        return self._persist(older.count) < making_room

    def _stop(self) -> None:
        """End soon: nothing more is sent, and what is out has a grace period to be answered."""
        self.abandon_at = time.monotonic() + GRACE_SECONDS
        self._send_no_more(self.slots.stop_sending)

    def _send_no_more(self, on_the_loop: Callable[[], int]) -> None:
        """What was not begun goes back when the shift ends."""

        async def taken_back() -> int:
            return on_the_loop()

        self.sending = False
        self.under_way -= ENGINE_LOOP.submit(taken_back()).result()

    def _persist(self, act: Callable[[], T]) -> T:
        return retry_db(act, f"run {self.run.pk}")


def _waits_for_judge(scored: Scored, owned: set[int]) -> bool:
    return scored.to_judge and scored.answer.question.result_id in owned


def _never_asked(result_id: int, error: Exception) -> Scored:
    question = Question(result_id, 0, Prompt(()), NOTHING)
    return Scored(Answer(question, None, (), error=Unforeseen("The question could not be put", error)), {}, False)


def _unstorable(answer: Answer, error: Exception) -> Scored:
    """In place of an answer that the database, or a metric, does not take. Its texts may be why, so they go too."""
    failed = replace(
        answer,
        question=replace(answer.question, prompt=Prompt(()), cache_key=None),
        reply=None,
        messages=(),
        tool_calls=(),
        error=Unforeseen("The answer could not be stored", error),
        attempts=(),
    )
    return Scored(failed, {}, False)


def _never_judged(result_id: int, metrics: Iterable[str], error: Exception) -> Judged:
    return Judged(ToJudge(result_id, NOTHING, ()), {name: broken_metric(error) for name in metrics})
