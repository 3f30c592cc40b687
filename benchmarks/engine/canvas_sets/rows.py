"""Store canvas documents as rows: canvases, their questions, and a task for each question, in bulk.

Canvases are only appended, so the tasks of prepared runs never change.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson
from django.db import transaction
from django.db.models import F
from django.utils import timezone

from benchmarks.engine.sql import insert_rows
from benchmarks.models import Dataset, DatasetVersion, Run, Task
from benchmarks.presentation.labels import sentence_case
from tasks_app.canvas.shapes import Shape
from tasks_app.loader import STORED_DESCRIPTIONS, CanvasDocument
from tasks_app.models import Canvas, CanvasSet, Question
from tasks_app.tasks.task import Question as Asked

LEVELS = tuple(Task.Difficulty.values)
MAX_SHAPES = (5, 12)
MAX_STEPS = (3, 6)
"""Maximum numbers of shapes, and of steps, of an easy and of a medium question. Above, a question is hard."""

_STEPS = ("tracking_steps", "inference_steps")


@dataclass(frozen=True, slots=True)
class NumberedCanvas:
    """A document with the two numbers in its file name. ``layout``: the names in an imported file, in its order."""

    n_shapes: int
    number: int
    document: CanvasDocument
    layout: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @property
    def key(self) -> str:
        return f"canvas_{self.n_shapes}_{self.number}"

    @property
    def questions(self) -> Iterator[tuple[str, tuple[Asked, ...]]]:
        """Task classes that have questions, each with its questions, the evaluated one first."""
        return ((name, questions) for name, questions in self.document.questions.items() if questions)


def difficulty_of(n_shapes: int, measures: Mapping[str, int]) -> str:
    """Easy up to 5 shapes and 3 steps, medium up to 12 and 6, otherwise hard.

    Steps are the changes or swaps to track, or the relations to chain, of questions that have them.
    """
    steps = max(measures.get(name, 0) for name in _STEPS)
    levels = (sum(n_shapes > bound for bound in MAX_SHAPES), sum(steps > bound for bound in MAX_STEPS))
    return LEVELS[max(levels)]


def append(canvas_set: CanvasSet, canvases: Sequence[NumberedCanvas]) -> bool:
    """Append canvases to a set, with their questions and tasks, completely or not at all.

    ``canvas_set`` is the set for which they were generated. False if it has grown since; then nothing is stored.
    """
    with transaction.atomic():
        # The lock and the count guard against a process that lost its lease without noticing.
        locked = CanvasSet.objects.select_for_update().filter(pk=canvas_set.pk, count=canvas_set.count).first()
        if locked is None:
            return False
        canvas_ids = _insert_canvases(locked, canvases)
        question_ids = _insert_questions(locked, canvas_ids, canvases)
        version = DatasetVersion.objects.select_related("dataset").get(dataset__canvas_set=locked)
        tasks = _task_rows(version, locked.count, question_ids, canvases)
        insert_rows(Task, _TASK_FIELDS, tasks)
        _count(locked, version, canvases, tasks)
    return True


def _insert_canvases(canvas_set: CanvasSet, canvases: Sequence[NumberedCanvas]) -> list[int]:
    """Insert the canvases; return their IDs in order."""
    begin = canvas_set.count
    rows = []
    for index, it in enumerate(canvases, begin):
        shapes = [{"shape": s.shape, "color": s.color, "size": s.size, "center": s.center} for s in it.document.shapes]
        rows.append((canvas_set.pk, index, it.n_shapes, it.number, shapes, it.document.descriptions, it.layout))
    insert_rows(Canvas, ("canvas_set", "index", "n_shapes", "number", "shapes", "descriptions", "layout"), rows)
    inserted = Canvas.objects.filter(canvas_set=canvas_set, index__gte=begin).order_by("index")
    return list(inserted.values_list("id", flat=True))


_QUESTION_FIELDS = (
    "canvas", "task_name", "question", "answer", "answer_is_number", "examples", "difficulty", "audit", "audit_note"
)  # fmt: skip


def _insert_questions(
    canvas_set: CanvasSet, canvas_ids: Sequence[int], canvases: Sequence[NumberedCanvas]
) -> dict[tuple[int, str], int]:
    """Insert the questions with their examples; return (place among ``canvases``, task class) → question ID."""
    rows = []
    for canvas_id, it in zip(canvas_ids, canvases, strict=True):
        for name, ((question, answer), *examples) in it.questions:
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


def _task_rows(
    version: DatasetVersion, begin: int, question_ids: Mapping[tuple[int, str], int], canvases: Sequence[NumberedCanvas]
) -> list[tuple[Any, ...]]:
    rows: list[tuple[Any, ...]] = []
    for place, it in enumerate(canvases):
        canvas_hash = _canvas_hash(it.document)
        for name, questions in it.questions:
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
                    _question_hash(canvas_hash, it.document, name),
                    name,
                    it.n_shapes,
                    it.key,
                    question_ids[place, name],
                )
            )
    return rows


def _canvas_hash(document: CanvasDocument) -> str:
    """SHA-256 over the shapes and every description that belongs to no task class."""
    shapes = [(it.shape, it.color, it.size, *it.center) for it in document.shapes]
    texts = {name: text for name, text in document.descriptions.items() if name not in document.questions}
    return hashlib.sha256(orjson.dumps([shapes, texts], option=orjson.OPT_SORT_KEYS)).hexdigest()


def _question_hash(canvas_hash: str, document: CanvasDocument, name: str) -> str:
    """SHA-256 over a canvas and its questions of one class. Equal tasks have equal hashes in all sets."""
    questions = [(question, str(answer)) for question, answer in document.questions[name]]
    return hashlib.sha256(orjson.dumps([canvas_hash, name, document.descriptions.get(name), questions])).hexdigest()


def _count(
    canvas_set: CanvasSet, version: DatasetVersion, canvases: Sequence[NumberedCanvas], tasks: Sequence[tuple[Any, ...]]
) -> None:
    """Update the counts of the set, its version and its dataset for the rows just inserted."""
    lacking = Counter(canvas_set.not_applicable)
    lacking.update(name for it in canvases for name in canvas_set.task_classes if not it.document.questions.get(name))
    CanvasSet.objects.filter(pk=canvas_set.pk).update(
        count=canvas_set.count + len(canvases), not_applicable=dict(lacking)
    )
    total = version.task_count + len(tasks)
    facets: dict[str, dict[str, int]] = {"fields": {"expected_output": total, "group": total}}
    for name in ("difficulty", "group"):
        column = _TASK_FIELDS.index(name)
        facets[name] = dict(Counter(version.facets.get(name) or {}) + Counter(row[column] for row in tasks))
    added = max(0, canvas_set.count + len(canvases) - canvas_set.initial_count)
    DatasetVersion.objects.filter(pk=version.pk).update(task_count=total, facets=facets, added_canvases=added)
    if total:
        Dataset.objects.filter(pk=version.dataset_id).update(current_version=version, updated_at=timezone.now())


def added_canvases(run: Run) -> int:
    """How many of the canvases that a run asks about were added to their set after it was created."""
    enlarged = CanvasSet.objects.filter(dataset=run.dataset_id, count__gt=F("initial_count"))
    for initial in enlarged.values_list("initial_count", flat=True):
        added = run.results.order_by().filter(task__question__canvas__index__gte=initial)
        return added.values("task__question__canvas").distinct().count()
    return 0


def stored_documents(canvas_set: CanvasSet, begin: int, end: int) -> list[tuple[Canvas, CanvasDocument]]:
    """The canvases with indexes from ``begin`` to ``end`` - 1, each with its document. Two queries."""
    canvases = Canvas.objects.filter(canvas_set=canvas_set, index__gte=begin, index__lt=end).order_by("index")
    return [
        (canvas, _document(canvas, list(canvas.questions.all()), canvas_set))
        for canvas in canvases.prefetch_related("questions")
    ]


def shapes_of(canvas: Canvas) -> tuple[Shape, ...]:
    return tuple(
        Shape(shape["shape"], shape["color"], shape["size"], (shape["center"][0], shape["center"][1]))
        for shape in canvas.shapes
    )


def _document(canvas: Canvas, questions: Sequence[Question], canvas_set: CanvasSet) -> CanvasDocument:
    """A canvas as in its file. The order of names is from the layout, else from the loader: JSON columns lose it."""
    by_class = {it.task_name: it for it in questions}
    classes = canvas.layout.get("questions", canvas_set.task_classes)
    names = canvas.layout.get("descriptions", (*STORED_DESCRIPTIONS, *canvas_set.task_classes))
    return CanvasDocument(
        shapes_of(canvas),
        {name: canvas.descriptions[name] for name in names if name in canvas.descriptions},
        {name: _questions(by_class[name]) if name in by_class else () for name in classes},
        {name: by_class[name].difficulty for name in classes if name in by_class},
    )


def _questions(stored: Question) -> tuple[Asked, ...]:
    answer = int(stored.answer) if stored.answer_is_number else stored.answer
    return ((stored.question, answer), *((question, answer) for question, answer in stored.examples))
