"""The asking side of a shift: lanes on the event loop, each with one request in flight, and judging beside them.

Lanes know no database. They take questions from one queue and put what came of them into the clerk's inbox.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from queue import SimpleQueue
from typing import Any, Protocol

import orjson

from benchmarks.engine.execution.model_clients import Line, Model
from benchmarks.engine.execution.outcomes import Unforeseen, broken_metric, score_of
from benchmarks.engine.execution.work_items import Answer, Judged, Question, ToJudge
from benchmarks.metrics.base import (
    DeterministicMetric,
    JudgeAnswer,
    JudgedMetric,
    JudgeUsage,
    Metric,
    Score,
    judge_error,
)
from benchmarks.providers.base import ChatReply, ChatRequest, Message, ProviderError, ToolCall, known_sum
from benchmarks.providers.retrying import Attempt, Breaker, GaveUp
from benchmarks.tracing import span

logger = logging.getLogger(__name__)

ACKNOWLEDGED = "ok"
"""What a tool says whose result the dataset does not simulate."""
JUDGE_MAX_TOKENS = 2_048
SANDBOXES = asyncio.Semaphore(os.cpu_count() or 1)
"""How many metrics of a worker may run other people's code at a time."""


@dataclass(frozen=True, slots=True)
class RequestSettings:
    """How one run asks: sent parameters and the most steps of a conversation with tools."""

    parameters: Mapping[str, Any]
    max_tool_steps: int = 5


@dataclass(frozen=True, slots=True)
class Abandoned:
    """A unit of work was broken off; its result stays claimed until the shift ends and gives it back."""


Said = Answer | Judged | Abandoned
"""Whatever lanes put into the clerk's inbox; each stands for one unit of work that was handed to them."""
Act = Callable[[Any, Line], Awaitable[Answer | Judged]]


class RequestPool:
    """Runs on the engine loop: every method is called there."""

    def __init__(
        self,
        model: Model,
        judge: Model | None,
        asking: RequestSettings,
        metrics: Mapping[str, Metric],
        inbox: SimpleQueue[Said],
        *,
        memory: Memory | None = None,
    ) -> None:
        self.model = model
        self.judge = judge
        self.asking = asking
        self.metrics = metrics
        self.inbox = inbox
        self.memory = memory
        self.breaker = Breaker()
        self.judge_breaker = Breaker()
        self._questions: asyncio.Queue[Question] = asyncio.Queue()
        self._judging: asyncio.Queue[ToJudge] = asyncio.Queue()
        self._lanes: dict[asyncio.Task[None], Line] = {}
        self._unwritten = 0
        self._most_unwritten = 0
        self._room = asyncio.Event()

    def open(self, slots: int) -> None:
        """Open as many lanes for questions, and as many for metrics that come later, if the run has such."""
        self._most_unwritten = slots
        for _ in range(slots):
            self._open_lane(self._questions, self._answer)
            if self.metrics:
                self._open_lane(self._judging, self._judge)

    def _open_lane(self, queue: asyncio.Queue[Any], act: Act) -> None:
        line = Line()
        self._lanes[asyncio.create_task(self._work(queue, act, line))] = line

    def put(self, work: Sequence[Question | ToJudge]) -> None:
        for unit in work:
            if isinstance(unit, Question):
                self._questions.put_nowait(unit)
            else:
                self._judging.put_nowait(unit)

    def written(self, count: int) -> None:
        """So many answers are safe in the database."""
        self._unwritten -= count
        self._room.set()

    def drain(self) -> int:
        """Begin nothing from now on: questions of which nothing was sent yet are broken off or taken back.

        Returns how many units of work were taken back; those broken off are said to be abandoned. The claims of both
        end with the shift.
        """
        for lane, line in self._lanes.items():
            if not line.begun:
                lane.cancel()
        return _emptied(self._questions) + _emptied(self._judging)

    def stop_sending(self) -> int:
        """Send nothing from now on, not even a retry. What was sent may still be answered; returns as above."""
        for lane, line in self._lanes.items():
            line.closed = True
            if not line.requests:
                lane.cancel()
        return _emptied(self._questions) + _emptied(self._judging)

    def abandon(self) -> None:
        """Break off what is in flight."""
        for lane in self._lanes:
            lane.cancel()

    async def close(self) -> None:
        """Break off what is in flight and wait until nothing runs."""
        self.abandon()
        await asyncio.gather(*self._lanes, return_exceptions=True)

    async def _work(self, queue: asyncio.Queue[Any], act: Act, line: Line) -> None:
        while True:
            line.begun = False
            unit = await queue.get()
            try:
                await self._wait_for_room()
                said = await act(unit, line)
            except asyncio.CancelledError:
                self.inbox.put(Abandoned())
                raise
            self._unwritten += 1
            self.inbox.put(said)
            if isinstance(said, Judged) and said.broken_off:
                return

    async def _wait_for_room(self) -> None:
        """Ask nothing more while as many answers wait to be written as there are lanes.

        It bounds what a killed worker can lose: what is in flight, and as much again.
        """
        while self._unwritten >= self._most_unwritten:
            self._room.clear()
            await self._room.wait()

    async def _answer(self, question: Question, line: Line) -> Answer:
        conversation = _Conversation(question, self.model, self.asking, line)
        try:
            with span("ask", codeforge__result=question.result_id):
                answer = await conversation.hold()
        except Exception as error:
            logger.exception("result %s: asking failed", question.result_id)
            return conversation.ended(None, Unforeseen("Asking failed", error))
        if not answer.from_cache:
            self.breaker.record(answer.error)
        return answer

    async def _judge(self, request: ToJudge, line: Line) -> Judged:
        """The scores; where the lane is broken off, those that were there by then, because they are paid for."""
        scores: dict[str, Score] = {}
        for name in request.metrics:
            judge = EngineJudge(self.judge, line, self.memory) if self.judge else None
            try:
                scores[name] = await self._score(self.metrics[name], request, judge)
            except asyncio.CancelledError:
                spent = judge.spent if judge else JudgeUsage()
                if not scores and not spent.calls:
                    raise
                return Judged(request, scores, broken_off=True, unscored=(spent,))
        return Judged(request, scores)

    async def _score(self, metric: Metric, request: ToJudge, judge: EngineJudge | None) -> Score:
        if isinstance(metric, DeterministicMetric):
            async with SANDBOXES:
                return await asyncio.to_thread(score_of, metric, request.item)
        assert isinstance(metric, JudgedMetric), "a metric is judged or deterministic"
        assert judge is not None, "runs with a judged metric have a judge"
        if reason := self.judge_breaker.tripped:
            return judge_error(f"The judge {judge.model} was not asked any more: {reason}")
        try:
            with span("judge", codeforge__result=request.result_id, codeforge__metric=metric.name):
                score = await metric.judge(request.item, judge)
        except Exception as error:
            logger.exception("result %s: metric %s failed", request.result_id, metric.name)
            return broken_metric(error)
        self.judge_breaker.record(judge_failure(score))
        return score


def _emptied(queue: asyncio.Queue[Any]) -> int:
    waiting = queue.qsize()
    for _ in range(waiting):
        queue.get_nowait()
    return waiting


def judge_failure(score: Score) -> ProviderError | None:
    """The provider's error behind a judge error, where it was one, as the breaker wants it."""
    if "kind" not in score.detail:
        return None
    return ProviderError(
        score.detail["kind"],
        score.reason,
        retryable=bool(score.detail.get("retryable")),
        systemic=bool(score.detail.get("systemic")),
    )


class Memory(Protocol):
    """A judge's replies that are kept. Both are called in threads, because they wait for a database."""

    def find(self, request: ChatRequest) -> str | None: ...

    def keep(self, request: ChatRequest, reply: ChatReply) -> None: ...


class EngineJudge:
    """The judge of judged metrics: the same limits, retries and connections as for answers."""

    def __init__(self, model: Model, line: Line | None = None, memory: Memory | None = None) -> None:
        self._model = model
        self._line = line or Line()
        self._memory = memory
        self.model = f"{model.provider.name}/{model.name}"
        self.spent = JudgeUsage()
        """The replies that came, so that they are counted even where the score they were for is broken off."""

    async def ask(self, prompt: str, schema: Mapping[str, Any] | None = None) -> JudgeAnswer:
        """Ask once, with retries. Raises ``ProviderError`` where no reply could be had. A kept reply costs nothing."""
        request = ChatRequest(
            model=self._model.name,
            messages=({"role": "user", "content": prompt},),
            temperature=0.0,
            max_tokens=JUDGE_MAX_TOKENS,
            response_format=_json_form(schema) if schema else None,
        )
        if self._memory and (kept := await asyncio.to_thread(self._memory.find, request)) is not None:
            return self._heard(JudgeAnswer(kept, 0, 0))
        try:
            reply, _ = await self._line.ask(self._model, request)
        except GaveUp as gave_up:
            failure = gave_up.error
        else:
            answer = self._heard(JudgeAnswer(reply.text, reply.tokens_in, reply.tokens_out))
            if self._memory:
                await asyncio.to_thread(self._memory.keep, request, reply)
            return answer
        # Raised out here: inside, its context would be the ``GaveUp`` whose cause it is, a circle in which DeepEval,
        # looking through what caused an error, would go round for ever and hold up the event loop.
        raise failure

    def _heard(self, answer: JudgeAnswer) -> JudgeAnswer:
        spent = self.spent
        self.spent = JudgeUsage(
            calls=spent.calls + 1,
            tokens_in=known_sum(spent.tokens_in, answer.tokens_in),
            tokens_out=known_sum(spent.tokens_out, answer.tokens_out),
        )
        return answer


def _json_form(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"type": "json_schema", "json_schema": {"name": "verdict", "schema": schema, "strict": True}}


class _Conversation:
    """One question, asked until the model answers: its tool calls get simulated results in between."""

    def __init__(self, question: Question, model: Model, asking: RequestSettings, line: Line) -> None:
        self.question = question
        self.model = model
        self.asking = asking
        self.line = line
        self.messages: list[Message] = list(question.prompt.messages)
        self.calls: list[ToolCall] = []
        self.attempts: list[Attempt] = []
        self.replies = 0
        self.tokens_in: int | None = 0
        self.tokens_out: int | None = 0
        self.duration_ms = 0.0

    async def hold(self) -> Answer:
        if self.question.cached is not None:
            return replace(self.ended(self.question.cached), from_cache=True, tokens_in=0, tokens_out=0)
        steps = self.asking.max_tool_steps if self.question.prompt.tools else 1
        try:
            for step in range(1, steps + 1):
                reply = await self._ask()
                if not reply.tool_calls or step == steps:
                    return self.ended(reply)
                self._tell_results(reply)
        except GaveUp as gave_up:
            self.attempts += gave_up.attempts
            return self.ended(None, gave_up.error)
        raise AssertionError("the last step returns")

    async def _ask(self) -> ChatReply:
        sent = self.asking.parameters
        request = ChatRequest(
            model=self.model.name,
            messages=self.messages,
            temperature=sent.get("temperature"),
            top_p=sent.get("top_p"),
            max_tokens=sent.get("max_tokens"),
            seed=sent.get("seed"),
            tools=self.question.prompt.tools,
            baseline=self.question.baseline,
        )
        reply, attempts = await self.line.ask(self.model, request)
        self.attempts += attempts
        self.replies += 1
        self.calls += reply.tool_calls
        self.duration_ms += reply.duration_ms
        self.tokens_in = known_sum(self.tokens_in, reply.tokens_in)
        self.tokens_out = known_sum(self.tokens_out, reply.tokens_out)
        return reply

    def _tell_results(self, reply: ChatReply) -> None:
        self.messages.append(_said(reply))
        for call in reply.tool_calls:
            result = self.question.tool_results.get(call.name, ACKNOWLEDGED)
            if call.malformed:
                result = "error: the arguments are not a JSON object"
            text = result if isinstance(result, str) else orjson.dumps(result).decode()
            self.messages.append({"role": "tool", "tool_call_id": call.id, "content": text})

    def ended(self, reply: ChatReply | None, error: ProviderError | None = None) -> Answer:
        """What the conversation has come to, with all that was said and paid for on the way."""
        tokens_in, tokens_out = (self.tokens_in, self.tokens_out) if self.replies else (None, None)
        return Answer(
            question=self.question,
            reply=reply,
            messages=self.messages,
            tool_calls=tuple(self.calls),
            error=error,
            attempts=self.attempts,
            tokens_in=tokens_in,
            tokens_out=tokens_out,
            duration_ms=self.duration_ms if self.replies else None,
            replies=self.replies,
        )


def _said(reply: ChatReply) -> Message:
    """A reply with tool calls, as the endpoint wants it back."""
    calls = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.raw_arguments}}
        for call in reply.tool_calls
    ]
    return {"role": "assistant", "content": reply.text or None, "tool_calls": calls}
