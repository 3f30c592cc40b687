"""Canvas documents as rows: canvases, their questions, and a task for each question, written in bulk.

A set only ever grows at its end, so what a run has prepared stays as it is.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import orjson
from django.db import transaction
from django.utils import timezone

from benchmarks.engine.execution.prompts import shapes_of
from benchmarks.engine.execution.sql import insert_rows
from benchmarks.models import Dataset, DatasetVersion, Task
from benchmarks.presentation.labels import sentence_case
from tasks_app.loader import STORED_DESCRIPTIONS, CanvasDocument
from tasks_app.models import Canvas, CanvasSet, Question
from tasks_app.tasks.task import Question as Asked

LEVELS = tuple(Task.Difficulty.values)
MOST_SHAPES = (5, 12)
MOST_STEPS = (3, 6)
"""The most shapes, or steps to be followed, of an easy and of a medium question; above, it is hard."""

_STEPS = ("tracking_steps", "inference_steps")


@dataclass(frozen=True, slots=True)
class NumberedCanvas:
    """A document with the numbers in its file's name. ``layout`` has an imported file's names, in its order."""

    n_shapes: int
    number: int
    document: CanvasDocument
    layout: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @property
    def key(self) -> str:
        return f"canvas_{self.n_shapes}_{self.number}"

    @property
    def asked(self) -> Iterator[tuple[str, tuple[Asked, ...]]]:
        """Task classes with their questions, the evaluated one first; without those that have none."""
        return ((name, questions) for name, questions in self.document.questions.items() if questions)


def difficulty_of(n_shapes: int, measures: Mapping[str, int]) -> str:
    """Easy up to 5 shapes and 3 steps, medium up to 12 and 6, else hard: the harder of the two decides.

    Steps are changes and swaps to be tracked, or relations to be chained, where the question has any.
    """
    return _difficulty(n_shapes, max(measures.get(name, 0) for name in _STEPS))


@cache
def _difficulty(n_shapes: int, steps: int) -> str:
    return LEVELS[max(_level(n_shapes, MOST_SHAPES), _level(steps, MOST_STEPS))]


def _level(value: int, bounds: Sequence[int]) -> int:
    return sum(value > most for most in bounds)


def append(canvas_set: CanvasSet, placed: Sequence[NumberedCanvas]) -> bool:
    """Store canvases at the end of a set, with their questions and tasks, or nothing at all.

    ``canvas_set`` is the set as it was when they were drawn. False where it has changed since; then nothing is stored.
    """
    with transaction.atomic():
        locked = CanvasSet.objects.select_for_update().filter(pk=canvas_set.pk, count=canvas_set.count).first()
        if locked is None:
            return False
        canvas_ids = _insert_canvases(locked, placed)
        question_ids = _insert_questions(locked, canvas_ids, placed)
        version = DatasetVersion.objects.select_related("dataset").get(dataset__canvas_set=locked)
        tasks = _task_rows(version, locked.count, question_ids, placed)
        insert_rows(Task, _TASK_FIELDS, tasks)
        _count(locked, version, placed, tasks)
    return True


def _insert_canvases(canvas_set: CanvasSet, placed: Sequence[NumberedCanvas]) -> list[int]:
    """Insert the canvases; return their ids in order."""
    begin = canvas_set.count
    rows = (
        (canvas_set.pk, index, it.n_shapes, it.number, _shapes(it), it.document.descriptions, it.layout)
        for index, it in enumerate(placed, begin)
    )
    insert_rows(Canvas, ("canvas_set", "index", "n_shapes", "number", "shapes", "descriptions", "layout"), rows)
    inserted = Canvas.objects.filter(canvas_set=canvas_set, index__gte=begin).order_by("index")
    return list(inserted.values_list("id", flat=True))


def _shapes(placed: NumberedCanvas) -> list[dict[str, Any]]:
    return [
        {"shape": it.shape, "color": it.color, "size": it.size, "center": it.center} for it in placed.document.shapes
    ]


_QUESTION_FIELDS = (
    "canvas", "task_name", "question", "answer", "answer_is_number", "examples", "difficulty", "audit", "audit_note"
)  # fmt: skip


def _insert_questions(
    canvas_set: CanvasSet, canvas_ids: Sequence[int], placed: Sequence[NumberedCanvas]
) -> dict[tuple[int, str], int]:
    """Insert the evaluated questions with their examples; return their ids by (place among the canvases, class)."""
    rows = []
    for canvas_id, it in zip(canvas_ids, placed, strict=True):
        for name, ((question, answer), *examples) in it.asked:
            measures = it.document.difficulty.get(name, {})
            number = isinstance(answer, int)
            rows.append((canvas_id, name, question, str(answer), number, examples, measures, "", ""))
    insert_rows(Question, _QUESTION_FIELDS, rows)
    inserted = Question.objects.filter(canvas__canvas_set=canvas_set, canvas__index__gte=canvas_set.count)
    return {
        (index - canvas_set.count, name): pk
        for pk, index, name in inserted.values_list("id", "canvas__index", "task_name")
    }


_TASK_FIELDS = (
    "version", "position", "task_id", "name", "input", "expected_output", "difficulty", "expected_tools", "context",
    "tool_results", "choices", "content_hash", "group", "n_shapes", "cluster", "question",
)  # fmt: skip
_DIFFICULTY, _GROUP = _TASK_FIELDS.index("difficulty"), _TASK_FIELDS.index("group")


def _task_rows(
    version: DatasetVersion, begin: int, question_ids: Mapping[tuple[int, str], int], placed: Sequence[NumberedCanvas]
) -> list[tuple[Any, ...]]:
    rows: list[tuple[Any, ...]] = []
    for place, it in enumerate(placed):
        shown = _shown_hash(it.document)
        for name, questions in it.asked:
            question, answer = questions[0]
            rows.append(
                (
                    version.pk,
                    version.task_count + len(rows) + 1,
                    f"{it.key}/{name}",
                    f"{sentence_case(name)}, canvas {begin + place}",
                    question.strip(),
                    str(answer).strip(),
                    difficulty_of(it.n_shapes, it.document.difficulty.get(name, {})),
                    [],
                    [],
                    {},
                    [],
                    _asked_hash(shown, it.document, name),
                    name,
                    it.n_shapes,
                    it.key,
                    question_ids[place, name],
                )
            )
    return rows


def _shown_hash(document: CanvasDocument) -> str:
    """SHA-256 over the shapes and every description that belongs to no task class."""
    shapes = [(it.shape, it.color, it.size, *it.center) for it in document.shapes]
    texts = {name: text for name, text in document.descriptions.items() if name not in document.questions}
    return hashlib.sha256(orjson.dumps([shapes, texts], option=orjson.OPT_SORT_KEYS)).hexdigest()


def _asked_hash(shown: str, document: CanvasDocument, name: str) -> str:
    """SHA-256 over the canvas and all that a class asks of it: equal canvases pair up wherever they are stored."""
    asked = [(question, str(answer)) for question, answer in document.questions[name]]
    return hashlib.sha256(orjson.dumps([shown, name, document.descriptions.get(name), asked])).hexdigest()


def _count(
    canvas_set: CanvasSet, version: DatasetVersion, placed: Sequence[NumberedCanvas], tasks: Sequence[tuple[Any, ...]]
) -> None:
    """Move the numbers of the set, its version and its dataset with the rows just stored."""
    lacking = Counter(canvas_set.not_applicable)
    lacking.update(name for it in placed for name in canvas_set.task_classes if not it.document.questions.get(name))
    CanvasSet.objects.filter(pk=canvas_set.pk).update(
        count=canvas_set.count + len(placed), not_applicable=dict(lacking)
    )
    total = version.task_count + len(tasks)
    facets = {
        "difficulty": _added(version.facets.get("difficulty"), (row[_DIFFICULTY] for row in tasks)),
        "group": _added(version.facets.get("group"), (row[_GROUP] for row in tasks)),
        "fields": {"expected_output": total, "group": total},
    }
    DatasetVersion.objects.filter(pk=version.pk).update(task_count=total, facets=facets)
    if total:
        Dataset.objects.filter(pk=version.dataset_id).update(current_version=version, updated_at=timezone.now())


def _added(counted: Mapping[str, int] | None, more: Iterator[str]) -> dict[str, int]:
    total = Counter(counted or {})
    total.update(more)
    return dict(total)


def stored_documents(canvas_set: CanvasSet, begin: int, end: int) -> list[tuple[Canvas, CanvasDocument]]:
    """The canvases from place ``begin`` to before ``end``, each with the document that made it. Two queries."""
    canvases = Canvas.objects.filter(canvas_set=canvas_set, index__gte=begin, index__lt=end).order_by("index")
    return [
        (canvas, _document(canvas, list(canvas.questions.all()), canvas_set))
        for canvas in canvases.prefetch_related("questions")
    ]


def _document(canvas: Canvas, questions: Sequence[Question], canvas_set: CanvasSet) -> CanvasDocument:
    """A canvas as its file has it. A database may forget the order of names: it is the layout's, else the loader's."""
    asked = {it.task_name: it for it in questions}
    classes = canvas.layout.get("questions", canvas_set.task_classes)
    names = canvas.layout.get("descriptions", (*STORED_DESCRIPTIONS, *canvas_set.task_classes))
    return CanvasDocument(
        shapes_of(canvas),
        {name: canvas.descriptions[name] for name in names if name in canvas.descriptions},
        {name: _questions(asked[name]) if name in asked else () for name in classes},
        {name: asked[name].difficulty for name in classes if name in asked},
    )


def _questions(stored: Question) -> tuple[Asked, ...]:
    answer = int(stored.answer) if stored.answer_is_number else stored.answer
    return ((stored.question, answer), *((question, answer) for question, answer in stored.examples))
