"""The tasks of an experiment with what its runs answered, as other programs read them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

from benchmarks.models import Run
from benchmarks.queries.resources.base import Reader, Resource
from benchmarks.queries.task_grid import TaskPage, TaskRow

TEXT_LENGTH = 2_000


@dataclass(frozen=True, slots=True)
class Answer:
    """The first answer of a run to a task, at most 2,000 characters of it."""

    run: int
    model: str
    variant: str
    result: int | None
    outcome: str
    score: float | None
    """Mean over repeats"""
    answer: str | None


@dataclass(frozen=True, slots=True)
class ExperimentTask:
    task_id: str
    name: str
    input: str
    """At most 2,000 characters"""
    expected_output: str
    """At most 2,000 characters"""
    right: int
    """Number of runs with the full score"""
    answers: Sequence[Answer]

    @classmethod
    def of(cls, row: TaskRow, columns: Sequence[Run]) -> Self:
        task, answers = row.task, []
        for run, (result, score) in zip(columns, row.cells, strict=False):  # of more runs than have cells
            pk, outcome, answer = (result.pk, result.outcome, result.answer) if result else (None, "", None)
            answers.append(Answer(run.pk, run.model, run.variant, pk, outcome, score, answer))
        return cls(task.task_id, task.name, task.input_preview, task.expected_preview, row.right, answers)


@dataclass(frozen=True, kw_only=True)
class TaskPageResource(Resource):
    """One page of 50 tasks of a dataset; ``disagree`` to ``all_wrong`` count all its tasks."""

    dataset: str
    count: int
    """Tasks that match"""
    page: int
    pages: int
    disagree: int
    all_right: int
    all_wrong: int
    results: Sequence[ExperimentTask]

    @classmethod
    def of(cls, row: TaskPage, reader: Reader, **given: Any) -> Self:
        """Given are the ``dataset`` and its runs, the ``columns``."""
        results = [ExperimentTask.of(each, given["columns"]) for each in row.rows]
        return super().of(row, reader, dataset=given["dataset"], page=row.number, results=results)
