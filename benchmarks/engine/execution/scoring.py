"""Score answers, and derive from the scores how a result ended. An error is an outcome of its own, never a score.

Deterministic metrics are computed here, in the executor's thread. Metrics that call a judge or run code are deferred:
the answer is stored first, and the request pool computes them.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from django.conf import settings

from benchmarks.engine.execution.budget import WorstCase
from benchmarks.engine.execution.prompts import PromptBuilder
from benchmarks.engine.execution.work_items import Answer, Scored, ToJudge
from benchmarks.metrics.base import (
    FAULTS,
    DeterministicMetric,
    Item,
    JudgedMetric,
    Metric,
    Score,
    ScoreStatus,
    finish_fault,
)
from benchmarks.metrics.conversations import conversation_score, judges_turns, with_answers, with_conversation
from benchmarks.metrics.imported import deciding_names
from benchmarks.metrics.preference import Preference
from benchmarks.metrics.registered_metrics import metrics_with
from benchmarks.metrics.rubrics import fails_at, rubric_metric
from benchmarks.metrics.task_parts import RubricValues
from benchmarks.models import Outcome, Result, ResultState, Run, StoredStep
from benchmarks.models import Score as StoredScore
from benchmarks.presentation.labels import task_key
from benchmarks.providers.base import ProviderError, ToolCall
from benchmarks.providers.steps import TOLD, Failures, Step, failures_of, of_messages, step_of, told
from benchmarks.sandbox.sandbox import Sandbox

logger = logging.getLogger(__name__)

FAILED = {ScoreStatus.JUDGE_ERROR: "judge", ScoreStatus.METRIC_ERROR: "metric"}
"""Statuses of scores that failed through no fault of the answer → the kind of error that the result gets."""
UNGRADED = (ScoreStatus.NOT_APPLICABLE, ScoreStatus.DOUBTFUL)
MAX_ERROR_TEXT = 1_000
MAX_ERROR = 2_000
MAX_FAILURE = 60


def usable_metrics() -> dict[str, Metric]:
    """Every registered metric as configured on this machine; ``unavailable`` says which cannot be computed here."""
    return _metrics(settings.CODEFORGE.benchmark.code_tests)


@cache
def _metrics(code_tests: bool) -> dict[str, Metric]:
    return metrics_with(Sandbox() if code_tests else None)


def metrics_of(run: Run) -> list[Metric]:
    """The run's metrics in its order: the first one that applies decides the outcome."""
    if run.preference is not None:
        return [Preference(run.preference["criteria"])]
    return metrics_named(run.metrics, run.rubrics)


def metrics_named(names: Iterable[str], rubrics: Mapping[str, RubricValues]) -> list[Metric]:
    """Metrics that were checked when the run was requested, those of ``rubrics`` with their text."""
    known = usable_metrics()
    return [rubric_metric(name, rubrics) or known[name] for name in names]


def is_deferred(metric: Metric) -> bool:
    """Whether the metric is computed after the answer is stored, because it calls a judge or runs code."""
    return metric.judged or metric.blocking


class InternalError(ProviderError):
    """An unexpected error on our side ended one result: its prompt could not be built, for example."""

    def __init__(self, what: str, error: Exception) -> None:
        super().__init__("unsupported", f"{what}: {_text_of(error)}")
        self.kind = "internal"  # type: ignore[assignment]  # no provider raises this kind


def score_of(metric: DeterministicMetric, item: Item) -> Score:
    """The metric's score of the item. A metric that raises, which it must not, fails for this item alone."""
    try:
        return metric.best_score(item)
    except Exception as error:
        logger.exception("metric %s failed", metric.name)
        return broken_metric(error)


def score_by_turn(metric: DeterministicMetric, item: Item, finish_reason: str) -> Score:
    """The metric's score of a scripted conversation; an error as above."""
    try:
        return conversation_score(metric, item, finish_reason)
    except Exception as error:
        logger.exception("metric %s failed", metric.name)
        return broken_metric(error)


def broken_metric(error: Exception) -> Score:
    """The score of a metric that raised."""
    return Score(ScoreStatus.METRIC_ERROR, reason=f"The metric failed: {_text_of(error)}")


def _text_of(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:MAX_ERROR_TEXT]


def outcome_of(metrics: Sequence[Metric], scores: Mapping[str, Score], finish_reason: str) -> tuple[Outcome, str]:
    """The outcome of an answered result, and in a few words why it is not correct, as far as the metric can tell.

    A judge or another metric that failed comes first, because it can be retried; then how the answer ended (refused,
    cut off); then the verdict of the first metric that decides outcomes and applies to the task. Of an imported run
    only the metrics of its tool count (``deciding_names``).
    """
    if failed := failed_score(metrics, scores):
        return Outcome(failed.status.value), ""
    fault = finish_fault(finish_reason)
    metric = deciding_metric(metrics, scores)
    if metric is None:
        return (Outcome(fault.value) if fault else Outcome.ANSWERED), ""
    score = scores[metric.name]
    right = metric.judges_refusals and score.value == metric.passes_at
    outcome = Outcome(fault.value) if fault and not right else _verdict(metric, score)
    return outcome, "" if outcome is Outcome.CORRECT else score.failure[:MAX_FAILURE]


def deciding_metric(metrics: Sequence[Metric], scores: Mapping[str, Score]) -> Metric | None:
    """The first metric that decides outcomes and applies to the task; ``None`` if the task is not graded."""
    names = deciding_names(tuple(metric.name for metric in metrics))
    for metric in metrics:
        score = scores.get(metric.name)
        if score and metric.decides_outcome and metric.name in names and score.status not in UNGRADED:
            return metric
    return None


def _verdict(metric: Metric, score: Score) -> Outcome:
    if score.value is None or score.status in FAULTS:
        return Outcome.UNPARSABLE
    # The threshold of a task's own rubric comes with the score.
    passes_at = score.detail.get("passes_at")
    high, low = (metric.passes_at, metric.fails_at) if passes_at is None else (passes_at, fails_at(passes_at))
    if score.value >= high:
        return Outcome.CORRECT
    return Outcome.WRONG if score.value <= low else Outcome.PARTIAL


def failed_score(metrics: Sequence[Metric], scores: Mapping[str, Score]) -> Score | None:
    """The first score that failed through no fault of the answer; of an imported run, among those of its tool."""
    known = (scores.get(name) for name in deciding_names(tuple(metric.name for metric in metrics)))
    return next((score for score in known if score is not None and score.status in FAILED), None)


def leading_value(metrics: Sequence[Metric], scores: Mapping[str, Score]) -> float | None:
    """The score of the task: the value of the metric that decides it, or of the first if none decides any task."""
    leading = deciding_metric(metrics, scores)
    if leading is None and not any(metric.decides_outcome for metric in metrics):
        names = deciding_names(tuple(metric.name for metric in metrics))
        leading = next((metric for metric in metrics if metric.name in names), None)
    score = scores.get(leading.name) if leading else None
    return score.value if score else None


def ending_of(metrics: Sequence[Metric], scores: Mapping[str, Score], finish_reason: str) -> dict[str, object]:
    """How an answered result ends, as fields of ``Result``."""
    failed = failed_score(metrics, scores)
    outcome, failure = outcome_of(metrics, scores, finish_reason)
    return {
        "state": ResultState.ERROR if failed else ResultState.DONE,
        "outcome": outcome,
        "failure": failure,
        "value": leading_value(metrics, scores),
        "error_kind": FAILED[failed.status] if failed else "",
        "error_message": failed.reason[:MAX_ERROR] if failed else "",
    }


def scores_by_result(rows: Iterable[StoredScore]) -> dict[int, dict[str, Score]]:
    """Stored scores as their metrics gave them: result → metric → score; empty for a result without any."""
    scores: dict[int, dict[str, Score]] = defaultdict(dict)
    for row in rows:
        scores[row.result_id][row.metric] = Score(ScoreStatus(row.status), row.value, row.reason, detail=row.detail)
    return scores


class Scorer:
    """Scores the answers of one run."""

    def __init__(self, run: Run, metrics: Sequence[Metric], prompts: PromptBuilder, worst_case: WorstCase) -> None:
        self.run = run
        self.metrics = metrics
        self.prompts = prompts
        self.worst_case = worst_case

    def score(self, answer: Answer) -> Scored:
        """Compute every metric that is not deferred."""
        if answer.error is not None:
            return Scored(answer, {}, to_judge=False)
        item = _answered(answer)
        scores = self._scores_now(self.metrics, item, answer.finish_reason)
        left = [metric for metric in self.metrics if metric.name not in scores]
        reserve = self.worst_case.judging(item, left)
        return Scored(answer, scores, to_judge=bool(left), judge_reserve_usd=reserve)

    def _scores_now(self, metrics: Sequence[Metric], item: Item, finish_reason: str) -> dict[str, Score]:
        return {metric.name: score for metric in metrics if (score := self._score_now(metric, item, finish_reason))}

    def _score_now(self, metric: Metric, item: Item, finish_reason: str) -> Score | None:
        """The score that needs neither a judge nor a sandbox; ``None`` if the metric is deferred."""
        if isinstance(metric, DeterministicMetric) and judges_turns(metric, item):
            return score_by_turn(metric, item, finish_reason)
        if not metric.applies_to_any(item):
            return not_applicable_to(metric, item)
        if fault := metric.fault(item, finish_reason):
            return fault
        if isinstance(metric, DeterministicMetric) and not is_deferred(metric):
            return score_of(metric, item)
        if isinstance(metric, JudgedMetric) and self.run.skip_judge_when_identical:
            return metric.decided_without_judge(item)
        return None

    def to_judge(self, scored: Scored) -> ToJudge:
        """The request to judge an answer that was just stored."""
        answer = scored.answer
        left = tuple(metric.name for metric in self.metrics if metric.name not in scored.scores)
        return ToJudge(
            answer.result_id,
            _answered(answer),
            left,
            answer.finish_reason,
            scored.scores,
            reserved_usd=scored.judge_reserve_usd,
        )

    def stored_to_judge(self, ids: Sequence[int]) -> list[ToJudge]:
        """The same for stored answers that no judge has scored yet, or whose judge failed.

        Deterministic metrics without a score are computed on the way.
        """
        stored = scores_by_result(StoredScore.objects.filter(result_id__in=ids).exclude(status__in=FAILED))
        return [self._stored_to_judge(result, stored[result.pk]) for result in self.prompts.results(ids, "transcript")]

    def _stored_to_judge(self, result: Result, known: Mapping[str, Score]) -> ToJudge:
        item = with_stored_answer(self.prompts.item(result.task), result)
        missing = [metric for metric in self.metrics if metric.name not in known]
        rescored = self._scores_now(missing, item, result.finish_reason)
        left = [metric for metric in missing if metric.name not in rescored]
        reserve = self.worst_case.judging(item, left)
        names = tuple(metric.name for metric in left)
        return ToJudge(result.pk, item, names, result.finish_reason, known, rescored, reserve)


def not_applicable_to(metric: Metric, item: Item) -> Score:
    """The score of a metric that does not apply.

    Names the fields that the task lacks; if it has all of them, the metric says what does not fit.
    """
    missing = [task_key(name).lower() for name in sorted(metric.needs) if not item.has(name)]
    if not missing and isinstance(metric, DeterministicMetric) and not is_deferred(metric):
        score = score_of(metric, item)
        if score.status is ScoreStatus.NOT_APPLICABLE:
            return score
    reason = (
        f"The task has no {' and no '.join(missing)}." if missing else f"{metric.title} does not apply to the task."
    )
    return Score(ScoreStatus.NOT_APPLICABLE, reason=reason)


def _answered(answer: Answer) -> Item:
    item = answer.question.item
    steps = [] if item.steps is None and item.failures is None else _steps_of(answer)
    return _with_text(
        item,
        answer.messages,
        answer.text,
        steps=None if item.steps is None else _ends_of(steps),
        failures=None if item.failures is None else failures_in(steps),
        declined=finish_fault(answer.finish_reason) is ScoreStatus.REFUSED,
        tool_calls=answer.tool_calls,
        retrieved=answer.retrieved,
        duration_ms=answer.duration_ms,
        tokens_out=answer.tokens_out,
    )


def _steps_of(answer: Answer) -> list[Step]:
    return [*map(step_of, answer.steps)] or [*of_messages(answer.messages)]


def failures_in(steps: Iterable[Step]) -> Failures:
    return failures_of((step.kind, step.name, step.failed) for step in steps)


def _stored_failures(result: Result) -> Failures:
    rows = StoredStep.objects.filter(result=result).order_by("position").values_list("kind", "name", "failed")
    if not rows.exists():
        return failures_in(of_messages(result.transcript.messages))
    return failures_of(rows.iterator())


def _ends_of(steps: Sequence[Step]) -> str:
    return told(steps[:TOLD], steps[TOLD:][-TOLD:], len(steps))


def _stored_steps(result: Result) -> str:
    """The same of a stored result. Of very many steps, only those that are told are read."""
    stored = StoredStep.objects.filter(result=result).order_by("position")
    if not (total := stored.count()):
        return _ends_of([*of_messages(result.transcript.messages)])
    last = stored.filter(position__gt=max(TOLD, total - TOLD))
    return told([row.step for row in stored[:TOLD]], [row.step for row in last], total)


def _with_text(item: Item, messages: Sequence[Mapping[str, object]], text: str, **fields: Any) -> Item:
    """The item with the answer, and with other fields of it."""
    if item.simulated_turns:
        return replace(with_conversation(item, messages, text), **fields)
    if item.turns:
        return replace(with_answers(item, messages, text), **fields)
    return replace(item, actual_output=text, **fields)


def with_stored_answer(item: Item, result: Result) -> Item:
    """The item with the answer in the result's transcript."""
    transcript = result.transcript
    calls = tuple(ToolCall("", call["name"], call["arguments"], call["raw"]) for call in transcript.tool_calls)
    return _with_text(
        item,
        transcript.messages,
        transcript.actual_output,
        declined=finish_fault(result.finish_reason) is ScoreStatus.REFUSED,
        steps=None if item.steps is None else _stored_steps(result),
        failures=None if item.failures is None else _stored_failures(result),
        tool_calls=calls,
        retrieved=transcript.retrieved,
        duration_ms=result.duration_ms,
        tokens_out=result.tokens_out,
    )
