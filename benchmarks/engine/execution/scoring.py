"""Scores that need no judge, given in the worker as answers arrive, and what is left for a judge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from benchmarks.engine.execution.outcomes import is_deferred, score_of
from benchmarks.engine.execution.questions import PromptBuilder
from benchmarks.engine.execution.result_store import Scored, finish_reason
from benchmarks.engine.execution.work_items import Answer, ToJudge
from benchmarks.metrics.base import DeterministicMetric, Item, JudgedMetric, Metric, Score, ScoreStatus
from benchmarks.models import Run


class Scorer:
    """Scores the answers of one run."""

    def __init__(self, run: Run, metrics: Sequence[Metric], prompt_builder: PromptBuilder) -> None:
        self.run = run
        self.metrics = metrics
        self.prompt_builder = prompt_builder

    def score(self, answer: Answer) -> Scored:
        if answer.error is not None:
            return Scored(answer, {}, to_judge=False)
        item = _answered(answer)
        scores = {metric.name: score for metric in self.metrics if (score := self._now(metric, item))}
        left = [metric for metric in self.metrics if metric.name not in scores]
        reserve = self.prompt_builder.judge_reserve(item, sum(metric.judged for metric in left))
        return Scored(answer, scores, to_judge=bool(left), judge_reserve_usd=reserve)

    def to_judge(self, scored: Scored) -> ToJudge:
        answer = scored.answer
        left = tuple(metric.name for metric in self.metrics if metric.name not in scored.scores)
        return ToJudge(
            answer.question.result_id,
            _answered(answer),
            left,
            finish_reason(answer.reply),
            scored.scores,
            reserved_usd=scored.judge_reserve_usd,
        )

    def _now(self, metric: Metric, item: Item) -> Score | None:
        """The score, where it can be given without a judge."""
        if not metric.applies_to(item):
            missing = ", ".join(sorted(name for name in metric.needs if not getattr(item, name)))
            return Score(ScoreStatus.NOT_APPLICABLE, reason=f"The task has no {missing}.")
        if isinstance(metric, DeterministicMetric) and not is_deferred(metric):
            return score_of(metric, item)
        if isinstance(metric, JudgedMetric) and self.run.skip_judge_when_identical:
            return metric.decided_without_judge(item)
        return None


def _answered(answer: Answer) -> Item:
    reply = answer.reply
    assert reply is not None, "answers without a reply carry an error"
    return replace(
        answer.question.item,
        actual_output=reply.text or reply.refusal or "",
        tool_calls=answer.tool_calls,
        duration_ms=answer.duration_ms,
        tokens_out=answer.tokens_out,
    )
