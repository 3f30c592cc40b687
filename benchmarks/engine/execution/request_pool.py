"""Keep the requests of one lease in flight: slots on the event loop that send questions, and others that judge answers.

The pool knows no database. It takes units of work from two queues and puts what came of each into the executor's inbox.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from queue import SimpleQueue
from typing import Any

import orjson

from benchmarks.engine.execution.judge import EngineJudge, JudgeParameters
from benchmarks.engine.execution.model_clients import Model, Slot
from benchmarks.engine.execution.reply_cache import JudgeResponseCache
from benchmarks.engine.execution.scoring import InternalError, broken_metric, score_of
from benchmarks.engine.execution.simulated_user import SimulatedUser, next_message
from benchmarks.engine.execution.work_items import Answer, Judged, Question, ToJudge
from benchmarks.metrics.base import DeterministicMetric, JudgedMetric, Metric, Score, finish_fault, judge_error
from benchmarks.metrics.panel import Seat, judged_by_panel
from benchmarks.metrics.worlds import World
from benchmarks.providers.base import ChatReply, ChatRequest, Message, ProviderError
from benchmarks.providers.retrying import Breaker, GaveUp
from benchmarks.tracing import span

logger = logging.getLogger(__name__)

ACKNOWLEDGED = "ok"
"""The result of a tool that the dataset does not simulate."""
UNKNOWN_SECONDS = 10.0
"""A lease that was not renewed for longer may have been released."""
SANDBOXES = asyncio.Semaphore(os.cpu_count() or 1)
"""Limits how many metrics of a worker run code at the same time."""


@dataclass(frozen=True, slots=True)
class Aborted:
    """A unit of work was broken off. Its result stays claimed until the lease is released and gives it back."""


Finished = Answer | Judged | Aborted
"""What the pool puts into the executor's inbox: one for each unit of work that was submitted, after any ``Judged`` that
are unfinished."""


class UserFailed(Exception):
    """The simulated user of a conversation did not reply."""

    def __init__(self, error: ProviderError) -> None:
        super().__init__(error.message)
        self.error = error


@dataclass(frozen=True, slots=True)
class PanelJudge:
    """One of the judges of a run, and how it is asked."""

    model: Model
    parameters: JudgeParameters
    cache: JudgeResponseCache | None = None


@dataclass(eq=False)
class RequestPool:
    """Call every method on the event loop. ``parameters`` go with every question, as fields of ``ChatRequest``, beside
    the seed of the question."""

    model: Model
    judges: Sequence[PanelJudge]
    parameters: Mapping[str, Any]
    _: KW_ONLY
    judge_repeats: int
    judge_vote: str
    second_judge: PanelJudge | None = None
    deferred: Mapping[str, Metric]
    user: SimulatedUser | None = None
    inbox: SimpleQueue[Finished]
    breaker: Breaker = field(default_factory=Breaker, init=False)
    judge_breaker: Breaker = field(default_factory=Breaker, init=False)
    user_breaker: Breaker = field(default_factory=Breaker, init=False)
    _questions: asyncio.Queue[Question] = field(default_factory=asyncio.Queue, init=False)
    _to_judge: asyncio.Queue[ToJudge] = field(default_factory=asyncio.Queue, init=False)
    _slots: dict[asyncio.Task[None], Slot] = field(default_factory=dict, init=False)
    _unstored: int = field(default=0, init=False)
    _max_unstored: int = field(default=0, init=False)
    _renewed_at: float = field(default_factory=time.monotonic, init=False)
    _room: asyncio.Event = field(default_factory=asyncio.Event, init=False)

    def open(self, slots: int) -> None:
        """Open slots for questions, and as many for deferred metrics if the run has any.

        Judging has slots of its own, so it overlaps with asking and neither starves the other.
        """
        self._max_unstored = slots
        for _ in range(slots):
            self._open_slot(self._questions, self._answer)
            if self.deferred:
                self._open_slot(self._to_judge, self._judge)

    def _open_slot(self, queue: asyncio.Queue[Any], process: Callable[[Any, Slot], Awaitable[Answer | Judged]]) -> None:
        slot = Slot(may_send=self._wait_for_lease)
        # The loop itself holds tasks weakly, so this mapping also keeps them alive.
        self._slots[asyncio.create_task(self._work(queue, process, slot))] = slot

    def submit(self, work: Sequence[Question | ToJudge]) -> None:
        for unit in work:
            if isinstance(unit, Question):
                self._questions.put_nowait(unit)
            else:
                self._to_judge.put_nowait(unit)

    def stored(self, count: int) -> None:
        """Note that ``count`` more units are safe in the database."""
        self._unstored -= count
        self._room.set()

    def renewed(self, at: float) -> None:
        """Note that the lease was still held at this time, of the monotonic clock."""
        self._renewed_at = at
        self._room.set()

    def drain(self) -> int:
        """Start nothing from now on; what was sent continues, with its retries.

        Returns how many queued units were dropped. A unit that a slot took, but for which nothing was sent yet, is
        aborted and reported as such. The claims of both are given back with the lease.
        """
        for task, slot in self._slots.items():
            if not slot.started:
                task.cancel()
        return self._drop_queued()

    def stop_sending(self) -> int:
        """Send nothing from now on, not even a retry; what is in flight may still be answered. Returns as above."""
        for task, slot in self._slots.items():
            slot.closed = True
            if not slot.in_flight:
                task.cancel()
        return self._drop_queued()

    def abort(self) -> None:
        """Break off what is in flight."""
        for task in self._slots:
            task.cancel()  # also between units: an idle slot then reports nothing, because it holds no unit

    async def close(self) -> None:
        """Break off what is in flight and wait until nothing runs."""
        self.abort()
        await asyncio.gather(*self._slots, return_exceptions=True)

    def _drop_queued(self) -> int:
        dropped = 0
        for queue in (self._questions, self._to_judge):
            while not queue.empty():
                queue.get_nowait()
                dropped += 1
        return dropped

    async def _work(
        self, queue: asyncio.Queue[Any], process: Callable[[Any, Slot], Awaitable[Answer | Judged]], slot: Slot
    ) -> None:
        while True:
            slot.started = False
            unit = await queue.get()
            try:
                await self._wait_for_room()
                finished = await process(unit, slot)
            except asyncio.CancelledError:
                self.inbox.put(Aborted())  # the executor counts units, so none may end without a word
                raise
            self._unstored += 1
            self.inbox.put(finished)
            # ``_judge`` catches its cancellation to report what was spent, so the slot has to end here.
            if isinstance(finished, Judged) and finished.aborted:
                return

    async def _wait_for_room(self) -> None:
        """Send nothing more while as many answers wait to be stored as there are slots.

        This bounds what a killed worker can lose: what is in flight, and as much again.
        """
        while self._unstored >= self._max_unstored:
            # Nothing is awaited between the check and ``clear``, so no ``set`` is lost. One event serves both waits:
            # every slot that wakes checks its own condition again.
            self._room.clear()
            await self._room.wait()

    async def _wait_for_lease(self) -> None:
        """Send nothing while nobody knows whether the lease is still held.

        A worker that was frozen looks first: all its requests time out when it wakes, and would be sent again at once.
        """
        while time.monotonic() - self._renewed_at > UNKNOWN_SECONDS:
            self._room.clear()
            await self._room.wait()

    async def _answer(self, question: Question, slot: Slot) -> Answer:
        answer = Answer(question, list(question.prompt.messages))
        if question.cached is not None:  # it says nothing about the endpoint, so the breaker does not hear of it
            answer.reply, answer.from_cache = question.cached, True
            answer.tokens_in = answer.tokens_out = 0
            return answer
        try:
            with span("ask", codeforge__result=question.result_id):
                await self._converse(answer, slot)
        except GaveUp as gave_up:
            answer.attempts += gave_up.attempts
            answer.error = gave_up.error
        except UserFailed as failed:
            answer.error = replace(failed.error, message=f"Simulated user: {failed.error.message}")
            self.breaker.record(None)  # the model itself answered until then
            return answer
        except Exception as error:
            logger.exception("result %s: asking failed", question.result_id)
            answer.error = InternalError("The request failed", error)
            return answer
        self.breaker.record(answer.error)
        return answer

    async def _converse(self, answer: Answer, slot: Slot) -> None:
        """Hold a conversation from its beginning, in a fresh world: the turns of the user follow the answers.

        It ends at an answer that nothing can follow, because it is refused, cut off, empty or still calls tools.
        """
        question = answer.question
        world = World(question.item.world) if question.item.world else None
        conversation = uuid.uuid4().hex if question.asked else ""
        await self._ask(answer, slot, world, conversation, turn=0)
        for turn in range(1, question.prompt.most_turns):
            reply = answer.reply
            if (
                reply is None
                or self._calls_tools(reply)
                or not reply.text.strip()
                or finish_fault(answer.finish_reason)
            ):
                return
            turns = question.prompt.turns
            message = turns[turn - 1] if turns else await self._next_message(answer, slot)
            if message is None:
                return
            answer.messages += [{"role": "assistant", "content": reply.text}, message]
            await self._ask(answer, slot, world, conversation, turn)

    async def _next_message(self, answer: Answer, slot: Slot) -> Message | None:
        """What the simulated user says next; ``None`` if the user is done. A baseline, which answers at once, has none.

        Raises ``UserFailed``: what the user's endpoint breaks is no fault of the model's.
        """
        if self.user is None:
            return None
        try:
            request = self.user.request(answer.question.prompt.user or {}, answer.messages, answer.text)
            reply, _ = await slot.send(self.user.model, request)
            answer.count_user(reply)
            message = next_message(reply)
        except (GaveUp, ProviderError) as failed:
            error = failed.error if isinstance(failed, GaveUp) else failed
            self.user_breaker.record(error)
            raise UserFailed(error) from None
        self.user_breaker.record(None)
        if message is None:
            answer.notes.append("The simulated user ended the conversation")
        return message

    def _calls_tools(self, reply: ChatReply) -> bool:
        """Whether the reply waits for results of tools; a system has called its own."""
        return bool(reply.tool_calls) and not self.model.provider.is_system

    async def _ask(self, answer: Answer, slot: Slot, world: World | None, conversation: str, turn: int) -> None:
        """Send a turn until the model answers it: its tool calls are answered in between."""
        question = answer.question
        steps = question.prompt.steps
        for step in range(1, steps + 1):
            request = ChatRequest(
                model=self.model.name,
                messages=answer.messages,
                tools=question.prompt.tools,
                extra=question.prompt.extra,
                baseline=question.baseline and question.baseline.of_turn(turn),
                task=question.asked and question.asked.of_turn(turn, conversation),
                **{**self.parameters, "seed": question.seed},  # not the run's: each repeat has its own
            )
            reply, attempts = await slot.send(self.model, request)
            answer.attempts += attempts
            answer.count(reply)
            if not self._calls_tools(reply) or step == steps:
                answer.reply = reply
                return
            answer.messages += _tool_messages(reply, question.tool_results, world)

    async def _judge(self, request: ToJudge, slot: Slot) -> Judged:
        """The last score. Those before it go into the inbox as they come, because they are paid for."""
        judged = Judged(request, {})
        for name in request.metrics:
            seats = self._seats(slot)
            try:
                await self._wait_for_room()
                score = await self._score(self.deferred[name], request, seats)
            except asyncio.CancelledError:
                # The judge was paid for calls whose verdict is now incomplete: their cost is stored, the score is not.
                judges = dict.fromkeys(judge for seat in seats for judge in (seat.judge, *seat.substitutes))
                spent = tuple(judge.usage for judge in judges if judge.spent.calls)
                if not spent:
                    raise
                return Judged(judged.rest, {}, aborted=True, unscored=spent)
            judged = Judged(judged.rest, {name: score}, unfinished=name != request.metrics[-1])
            if judged.unfinished:
                self._unstored += 1
                self.inbox.put(judged)
        return judged

    def _seats(self, slot: Slot) -> list[Seat[EngineJudge]]:
        """The verdicts to ask for, repeat by repeat. The second judge takes the seat of one whose replies cannot be
        read, and after it the next judge of the panel."""
        seats: list[Seat[EngineJudge]] = []
        second = [self._engine_judge(self.second_judge, slot, 1)] if self.second_judge else []
        for repeat in range(1, self.judge_repeats + 1):
            judges = [self._engine_judge(judge, slot, repeat) for judge in self.judges]
            following = [*judges[1:], *judges[:1]]
            for judge, following_one in zip(judges, following, strict=True):
                substitutes = [*second, *([following_one] if len(judges) > 1 else [])]
                seats.append(Seat(judge, repeat, substitutes))
        return seats

    @staticmethod
    def _engine_judge(judge: PanelJudge, slot: Slot, repeat: int) -> EngineJudge:
        return EngineJudge(judge.model, judge.parameters, slot, judge.cache if repeat == 1 else None)

    async def _score(self, metric: Metric, request: ToJudge, seats: Sequence[Seat[EngineJudge]]) -> Score:
        """The score of a deferred metric; of a judged one by the judges on ``seats``."""
        if isinstance(metric, DeterministicMetric):
            async with SANDBOXES:
                # Canceling does not stop the thread. It ends by the sandbox's own time limit, and its score is dropped.
                return await asyncio.to_thread(score_of, metric, request.item)
        assert isinstance(metric, JudgedMetric), "a metric is judged or deterministic"
        assert seats, "runs with a judged metric have a judge"
        if reason := self.judge_breaker.tripped:
            return judge_error(f"The judge {seats[0].judge.model} was not called: {reason}")
        try:
            with span("judge", codeforge__result=request.result_id, codeforge__metric=metric.name):
                score = await judged_by_panel(metric, request.item, seats, self.judge_vote)
        except Exception as error:
            logger.exception("result %s: metric %s failed", request.result_id, metric.name)
            return broken_metric(error)
        detail = score.detail
        # Metrics turn a provider's error into a score; the breaker wants it back. Other judge errors are none of its.
        failure = ProviderError(detail["kind"], score.reason, systemic=detail["systemic"]) if "kind" in detail else None
        self.judge_breaker.record(failure)
        return score


def _tool_messages(reply: ChatReply, results: Mapping[str, object], world: World | None) -> list[Message]:
    """A reply with tool calls, in the form in which endpoints take it back, and the results of the calls."""
    calls = [
        {
            "id": call.id,
            "type": "function",
            "function": {"name": call.name, "arguments": call.raw_arguments},
            **call.returned,
        }
        for call in reply.tool_calls
    ]
    message = {"role": "assistant", "content": reply.text or None, "tool_calls": calls, **reply.returned}
    messages: list[Message] = [message]
    for call in reply.tool_calls:
        result = results.get(call.name, ACKNOWLEDGED)
        if call.arguments is None or not call.name:
            result = "error: the arguments are not a JSON object"
        elif world and world.answers(call.name):
            result = world.call(call.name, call.arguments)
        text = result if isinstance(result, str) else orjson.dumps(result).decode()
        messages.append({"role": "tool", "tool_call_id": call.id, "content": text})
    return messages
