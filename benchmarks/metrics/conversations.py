"""Scripted conversations: the answer to each turn, and the score of a metric over the turns that it judges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise, zip_longest
from typing import Any

from benchmarks.metrics.base import FAULTS, DeterministicMetric, Item, Metric, Score, ScoreStatus, shortened
from benchmarks.metrics.constraints import Constraints
from benchmarks.metrics.contains import Contains
from benchmarks.metrics.json_schema import JsonSchema
from benchmarks.metrics.multiple_choice import MultipleChoice
from benchmarks.metrics.numeric import Numeric
from benchmarks.metrics.regex import Regex

TURN_FIELDS = frozenset({"turns", "expected_output", "pattern", "constraints", "choices", "schema"})
"""A metric that needs one of these judges every turn that has it; any other judges the conversation as a whole."""
MAX_REASON = 300
DEFAULT_TURNS = 10
"""Messages of a simulated user at most, where a task does not say."""
NOT_REACHED = "The conversation ended before this turn, at an answer that is empty, refused or cut off."


class Turns(DeterministicMetric):
    """The share of turns whose answers fulfill all that the turn states.

    The expected text counts as ``multiple_choice`` with choices, as ``numeric`` with a tolerance, else as ``contains``.
    A pattern, constraints and a schema must hold as well. A turn that states nothing is left out.
    """

    name = "turns"
    title = "Turns"
    description = "Share of the turns of a scripted conversation whose answers fulfill all that the turn states"
    needs = frozenset({"turns"})

    def applies_to_turn(self, turn: Item) -> bool:
        return bool(_checks(turn))

    def score(self, item: Item) -> Score:
        """The score of one turn: 1 if everything holds, else 0 with the first reason."""
        scores = [metric.best_score(item) for metric in _checks(item)]
        worst = min((s for s in scores if s.value is not None), key=lambda s: s.value or 0.0, default=None)
        broken = next((s for s in scores if s.status is ScoreStatus.METRIC_ERROR), None)
        if broken or worst is None:
            return broken or Score(ScoreStatus.NOT_APPLICABLE, reason="The turn states nothing.")
        return worst if worst.value in (0.0, 1.0) else replace(worst, value=0.0)


def _checks(item: Item) -> list[DeterministicMetric]:
    """The metrics that check what a turn states."""
    text: DeterministicMetric = (
        MultipleChoice() if item.choices else Numeric() if item.tolerance is not None else Contains()
    )
    return [metric for metric in (text, Regex(), Constraints(), JsonSchema()) if metric.applies_to_any(item)]


def judges_turns(metric: Metric, item: Item) -> bool:
    """Whether the metric scores the item turn by turn."""
    is_computed = isinstance(metric, DeterministicMetric) and not metric.blocking
    return bool(item.turns) and is_computed and not metric.needs.isdisjoint(TURN_FIELDS)


def with_answers(item: Item, messages: Sequence[Mapping[str, object]], last: str) -> Item:
    """The item with the answers of a conversation: ``messages`` are all but the last answer.

    The last answer counts as the answer to the task only if it answers the last turn. The input becomes the whole
    conversation, for a judge.
    """
    answers = turn_answers(messages, item.opening_users, last)
    users = [turn.input for turn in item.turns]
    turns = [f"user: {user}\n\nassistant: {answer}" for user, answer in zip(users, answers[:-1], strict=False)]
    complete = len(answers) == len(item.turns)
    return replace(
        item,
        input="\n\n".join([*turns, *(f"user: {user}" for user in users[len(turns) :][:1])]),
        actual_output=last if complete else "",
        turn_answers=tuple(answers),
    )


def with_conversation(item: Item, messages: Sequence[Mapping[str, object]], last: str) -> Item:
    """The item with the last answer, and all that was said before it as its input."""
    turns = (f"{message['role']}: {message['content']}" for message in spoken(messages))
    return replace(item, input="\n\n".join(turns), actual_output=last)


def spoken(messages: Sequence[Mapping[str, object]]) -> list[dict[str, str]]:
    """What user and assistant said in words: without the system prompt, tool calls, their results and images."""
    turns = []
    for message in messages:
        content = message.get("content")
        if isinstance(content, list | tuple):
            content = "\n".join(str(part["text"]) for part in content if part.get("type") == "text")
        if content and message["role"] in ("user", "assistant"):
            turns.append({"role": str(message["role"]), "content": str(content)})
    return turns


def most_turns(user: Mapping[str, Any]) -> int:
    """The most messages of a simulated user, with the first one, which the task gives."""
    return int(user.get("max_turns", DEFAULT_TURNS))


def turn_answers(messages: Sequence[Mapping[str, object]], opening_users: int, last: str) -> list[str]:
    """The answers to the turns, in order. ``opening_users`` messages of the user come before the first turn."""
    starts = [place for place, message in enumerate(messages) if message["role"] == "user"][opening_users:]
    spans = pairwise(starts)
    return [*(_last_answer(messages[start:end]) for start, end in spans), *([last] if starts else [])]


def _last_answer(messages: Sequence[Mapping[str, object]]) -> str:
    texts = [message.get("content") for message in messages if message["role"] == "assistant"]
    return str(texts[-1] or "") if texts else ""


def conversation_score(metric: DeterministicMetric, item: Item, finish_reason: str) -> Score:
    """The mean of the metric over the turns that it judges: 1 only if each of them is right.

    ``finish_reason`` is that of the last answer. A turn that was not reached scores the lowest value, because the
    conversation ended at a fault of the model.
    """
    verdicts = []
    for number, (turn, answer) in enumerate(zip_longest(item.turns, item.turn_answers[: len(item.turns)]), 1):
        if metric.applies_to_turn(turn):
            reason = finish_reason if number == len(item.turn_answers) else ""
            verdicts.append((number, _turn_score(metric, turn, answer, reason)))
    if broken := next((score for _, score in verdicts if score.status is ScoreStatus.METRIC_ERROR), None):
        return broken
    judged = [(number, score) for number, score in verdicts if score.value is not None]
    if not judged:
        return Score(ScoreStatus.NOT_APPLICABLE, reason="No turn states what this metric judges.")
    return _mean(metric, judged)


def _turn_score(metric: DeterministicMetric, turn: Item, answer: str | None, finish_reason: str) -> Score:
    if answer is None:
        return Score(ScoreStatus.UNPARSABLE, metric.range[0], NOT_REACHED, detail={"failure": "Ended too early"})
    turn = replace(turn, actual_output=answer)
    return metric.fault(turn, finish_reason) or metric.best_score(turn)


def _mean(metric: DeterministicMetric, judged: Sequence[tuple[int, Score]]) -> Score:
    values = [score.value or 0.0 for _, score in judged]
    missed = [(number, score) for number, score in judged if (score.value or 0.0) < metric.passes_at]
    reason = f"{len(judged) - len(missed)} of {len(judged)} judged turns right."
    if missed:
        number, score = missed[0]
        reason += f" Turn {number}: {shortened(score.reason, MAX_REASON)}"
    statuses = {score.status for _, score in judged}
    status = statuses.pop() if len(statuses) == 1 and statuses <= FAULTS else ScoreStatus.SCORED
    turns = [
        {
            "turn": number,
            "value": score.value,
            "status": score.status.value,
            "reason": shortened(score.reason, MAX_REASON),
        }
        for number, score in judged
    ]
    detail: dict[str, object] = {"turns": turns}
    if missed:
        detail["failure"] = f"Turn {missed[0][0]}: {missed[0][1].failure or 'not as expected'}"
    return Score(status, sum(values) / len(values), reason, detail=detail)
