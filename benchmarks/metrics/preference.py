"""A judge chooses between two answers to the same task. Only preference runs have this metric."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Literal, cast

from pydantic import BaseModel

from benchmarks.metrics.base import Item, Judge, JudgedMetric, Level, Score, scored
from benchmarks.metrics.extraction import same_spacing
from benchmarks.metrics.judge_responses import JudgeResponseError
from benchmarks.metrics.judges import JUDGING_TIMEOUT_S, JudgeSession, as_data, judge_failure, shown_answer
from benchmarks.providers.base import ProviderError
from tasks_app.tasks.reply import answer_body

DEFAULT_CRITERIA = (
    "Choose the answer that helps the person who asked more: it is correct, does all that the task asks for, and says "
    "it clearly. Length, tone and formatting count only where the task asks for them. If there is a reference, an "
    "answer that contradicts it is worse. Say tie if neither answer is better."
)
POINTS = {"A": 1.0, "tie": 0.5, "B": 0.0}
"""Verdict → the score of the answer that was shown first."""
_INSTRUCTIONS = (
    "Two models were given the same task. Compare their answers by the criteria. The order of the answers is random "
    "and says nothing about them."
)
_REPLY = (
    'Return only JSON with the keys "reason" (a sentence that names the decisive difference) and "verdict" ("A", "B" '
    'or "tie").\n\nJSON:'
)


class Verdict(BaseModel):
    reason: str
    verdict: Literal["A", "B", "tie"]


class Preference(JudgedMetric):
    """1 if the first answer is preferred, 0.5 for a tie, 0 if the second is. One judge call."""

    name = "preference"
    title = "Preference"
    description = "A judge chooses between two answers to the same task"
    decides_outcome = False
    levels = (Level(0.0, "Second answer"), Level(0.5, "Tie"), Level(1.0, "First answer"))

    def __init__(self, criteria: str = DEFAULT_CRITERIA, timeout_s: float = JUDGING_TIMEOUT_S) -> None:
        self.criteria = criteria
        self.timeout_s = timeout_s

    def decided_without_judge(self, item: Item) -> Score | None:
        first, second = (same_spacing(answer_body(text)) for text in (item.actual_output, item.other_output))
        return scored(0.5, "The answers are identical, so the judge was not called.") if first == second else None

    def extra_tokens(self, item: Item) -> int:
        return len(self.criteria.encode())

    def prompt(self, item: Item) -> str:
        """What the judge is sent, with everything that others wrote fenced as data."""
        passages = "\n\n".join(f"[{number}] {passage}" for number, passage in enumerate(item.context, 1))
        parts = [
            _INSTRUCTIONS,
            f"Criteria:\n{self.criteria}",
            f"Task:\n{as_data('TASK', item.input)}",
            f"Context of the task:\n{as_data('CONTEXT', passages)}" if passages else "",
            f"Reference:\n{as_data('REFERENCE', item.reference)}" if item.reference else "",
            f"Answer A:\n{shown_answer(item)}",
            f"Answer B:\n{shown_answer(replace(item, actual_output=item.other_output))}",
            _REPLY,
        ]
        return "\n\n".join(filter(None, parts))

    async def judge(self, item: Item, judge: Judge) -> Score:
        session = JudgeSession(judge)
        try:
            async with asyncio.timeout(self.timeout_s):
                verdict = cast("Verdict", await session.ask(self.prompt(item), Verdict))
            score = scored(POINTS[verdict.verdict], verdict.reason)
        except (ProviderError, JudgeResponseError, TimeoutError) as error:
            score = judge_failure(session, error, self.timeout_s)
        return replace(score, usage=session.usage)
