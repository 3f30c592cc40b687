"""Canvas sets, their canvases and questions, as other programs read them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar, Literal, Self, TypedDict

from benchmarks.queries.resources.base import Reader, Resource
from tasks_app.models import Canvas, CanvasSet, Question


@dataclass(frozen=True, kw_only=True)
class CanvasSetResource(Resource):
    described_by: ClassVar = CanvasSet

    slug: str
    name: str
    origin: CanvasSet.Origin
    seed: int | None
    generator_version: str
    shapes_low: int
    shapes_high: int
    tracking_steps: int
    task_classes: list[str]
    count: int
    wanted: int
    audited: int
    error_message: str
    not_applicable: dict[str, int]
    dataset: str
    """The dataset that a run names"""
    tasks: int
    created_at: datetime

    @classmethod
    def of(cls, row: CanvasSet, reader: Reader, **given: Any) -> Self:
        version = row.dataset.current_version
        tasks = version.task_count if version else 0
        return super().of(row, reader, dataset=row.dataset.slug, tasks=tasks, **given)


@dataclass(frozen=True, kw_only=True)
class CanvasSetDetail(CanvasSetResource):
    audit: dict[str, object]
    """Answer balance, guess scores, duplicates and solver agreement by class"""


class Shape(TypedDict):
    shape: str
    color: str
    size: str
    center: tuple[int, int]


@dataclass(frozen=True, kw_only=True)
class QuestionResource(Resource):
    described_by: ClassVar = Question

    task: str
    question: str
    answer: str
    examples: list[list[Any]]
    """[question, answer] shown first in few-shot runs"""
    difficulty: Any
    audit: Question.Audit | Literal[""]
    audit_note: str


@dataclass(frozen=True, kw_only=True)
class CanvasResource(Resource):
    described_by: ClassVar = Canvas

    id: str
    """As in the name of its file, and before the / in the ids of its tasks"""
    index: int
    n_shapes: int
    number: int
    shapes: list[Shape]
    descriptions: dict[str, str]
    questions: list[QuestionResource]

    @classmethod
    def of(cls, row: Canvas, reader: Reader, **given: Any) -> Self:
        questions = [QuestionResource.of(each, reader, task=each.task_name) for each in row.questions.all()]
        return super().of(row, reader, id=row.key, questions=questions, **given)
