from __future__ import annotations

from benchmarks.metrics.base import (
    MAX_RECORDED,
    DeterministicMetric,
    Item,
    Score,
    ScoreStatus,
    metric_error,
    not_applicable,
    shortened,
)
from tasks_app.tasks.registered_tasks import REGISTERED_TASKS


class TaskScore(DeterministicMetric):
    """The score of a canvas answer by its own task class: the class's ``score`` if it has one, otherwise its rules."""

    name = "task_score"
    title = "Task score"
    description = "Score defined by the canvas task class"
    needs = frozenset({"group", "expected_output"})

    def applies_to(self, item: Item) -> bool:
        return item.group in REGISTERED_TASKS

    def score(self, item: Item) -> Score:
        task_class = REGISTERED_TASKS.get(item.group)
        if task_class is None:
            return not_applicable(f"The task class {item.group!r} does not exist.")
        try:
            verdict = task_class.verdict(item.expected_output, item.actual_output, item.input)
        except Exception as error:  # a plug-in may raise anything, and that is not a wrong answer
            return metric_error(f"{task_class.__name__}.score failed: {type(error).__name__}: {error}")
        extracted = None if verdict.extracted is None else shortened(verdict.extracted, MAX_RECORDED)
        if verdict.value is None:
            status, value = ScoreStatus.UNPARSABLE, 0.0
        else:
            status, value = ScoreStatus.SCORED, float(verdict.value)
        return Score(status, value, verdict.reason, extracted, detail={"failure": verdict.failure})
