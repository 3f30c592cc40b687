"""Read canvas sets, their canvases and questions, and the answers of models."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, F, Max, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce, Left

from benchmarks.models import ERRORS, OF_MODELS, Outcome, Result, Run, RunKind, Task
from benchmarks.queries.keyset import KeysetPage, Order, keyset_page
from tasks_app.models import Canvas, CanvasSet, Question

PAGE_SIZE = 24
PREVIEW = 120
_WHOLE, _NOT_SCORED = 10_000, 10_001
"""All answers of a canvas, of which a share is counted in whole numbers, as cursors need it. Canvases without a scored
answer come after those with any share."""
MOST_SORTED = 2_000
"""Canvases of a set that is sorted by the answers of a run: each page counts those of every canvas."""


@dataclass(frozen=True, slots=True)
class GalleryFilters:
    """``task``: a task class; ``answer``: an expected answer; ``outcome``: an outcome in run ``run``; ``hardest``: the
    canvases with the smallest share of correct answers in the run first."""

    n_shapes: int | None = None
    task: str = ""
    answer: str = ""
    run: int | None = None
    outcome: str = ""
    hardest: bool = False


def canvas_sets() -> QuerySet[CanvasSet]:
    """All canvas sets with their datasets, newest first."""
    return CanvasSet.objects.select_related("dataset__current_version").order_by("-id")


def canvases_of(slug: str) -> QuerySet[Canvas]:
    """The canvases of a set in order, with their questions. Raises ``CanvasSet.DoesNotExist``."""
    canvas_set = CanvasSet.objects.only("id").get(slug=slug)
    return Canvas.objects.filter(canvas_set=canvas_set).order_by("index").prefetch_related("questions")


def gallery_page(
    canvas_set: CanvasSet, filters: GalleryFilters, after: str | None, before: str | None
) -> KeysetPage[Canvas]:
    """A page of the matching canvases, without descriptions. Raises ``BadCursor``."""
    canvases = Canvas.objects.filter(canvas_set=canvas_set).only("index", "n_shapes", "canvas_set")
    if filters.n_shapes is not None:
        canvases = canvases.filter(n_shapes=filters.n_shapes)
    if filters.task or filters.answer:
        questions = Question.objects.filter(canvas__canvas_set=canvas_set)
        if filters.task:
            questions = questions.filter(task_name=filters.task)
        if filters.answer:
            questions = questions.filter(answer=filters.answer)
        canvases = canvases.filter(pk__in=questions.values("canvas"))
    if filters.run is not None and filters.outcome:
        results = Result.objects.filter(run=filters.run, outcome=filters.outcome, task__question__isnull=False)
        if filters.task:
            results = results.filter(group=filters.task)
        canvases = canvases.filter(pk__in=results.values("task__question__canvas"))
    if filters.run is None or not filters.hardest:
        return keyset_page(canvases, Order("index"), PAGE_SIZE, after, before)
    answers = _answers_on(filters.run, filters.task).filter(task__question__canvas=OuterRef("pk")).order_by()
    scored = answers.exclude(outcome__in=["", *ERRORS]).values("run")
    share = Count("pk", filter=Q(outcome=Outcome.CORRECT)) * _WHOLE / Count("pk")
    canvases = canvases.annotate(share=Coalesce(Subquery(scored.annotate(share=share).values("share")), _NOT_SCORED))
    return keyset_page(canvases, Order("share"), PAGE_SIZE, after, before)


def outcomes_on(run: int, task: str, canvases: Iterable[Canvas]) -> dict[int, list[str]]:
    """Canvas → the outcomes of a run's first answers to its questions, in the order of the task classes."""
    results = _answers_on(run, task).filter(task__question__canvas__in=[canvas.pk for canvas in canvases])
    found: dict[int, list[str]] = {}
    for canvas, outcome in results.order_by("group", "pk").values_list("task__question__canvas", "outcome"):
        found.setdefault(canvas, []).append(outcome)
    return found


def _answers_on(run: int, task: str) -> QuerySet[Result]:
    """The first answer of a run to each question, or to those of a task class."""
    results = Result.objects.filter(run=run, repeat=1)
    return results.filter(group=task) if task else results


def canvas_detail(slug: str, index: int) -> Canvas:
    """Raises ``Canvas.DoesNotExist``."""
    return Canvas.objects.select_related("canvas_set").get(canvas_set__slug=slug, index=index)


def canvas_neighbors(canvas: Canvas) -> tuple[int | None, int | None]:
    """Indexes of the canvases before and after this one in its set."""
    others = Canvas.objects.filter(canvas_set=canvas.canvas_set_id)
    before = others.filter(index__lt=canvas.index).order_by("-index").values_list("index", flat=True).first()
    after = others.filter(index__gt=canvas.index).order_by("index").values_list("index", flat=True).first()
    return before, after


def questions_of(canvas: Canvas) -> list[Question]:
    return list(canvas.questions.order_by("task_name"))


def variants_of(questions: Iterable[Question]) -> list[tuple[str, bool]]:
    """The prompt variants, (representation, few-shot), in which runs have these questions, those of most runs first."""
    ids = [question.pk for question in questions]
    results = Result.objects.filter(task__question__in=ids).exclude(run__kind=RunKind.CALIBRATION).order_by()
    counted = results.values_list("run__representation", "run__few_shot").annotate(n=Count("run", distinct=True))
    return [(representation, few_shot) for representation, few_shot, _ in sorted(counted, key=lambda row: -row[2])]


def answers_to(
    questions: Iterable[Question], variant: tuple[str, bool], most: int = 8
) -> tuple[list[Run], dict[int, dict[int, Result]]]:
    """Question → run → the result of the first repeat, for one run of each model in a prompt variant: its latest on all
    tasks with the plain prompt, if it has one.

    The ``most`` newest of these runs: ended ones before others, models before baselines, most correct answers first.
    Judge calibrations replay answers, so they are not runs of a model.
    """
    ids = [question.pk for question in questions]
    results = Result.objects.filter(task__question__in=ids).exclude(run__kind=RunKind.CALIBRATION)
    representation, few_shot = variant
    results = results.filter(run__representation=representation, run__few_shot=few_shot)
    whole = Max("run", filter=Q(run__limit=None, run__variant=""))
    latest = results.order_by().values("run__model").annotate(whole=whole, latest=Max("run"))
    chosen = sorted((whole or latest for whole, latest in latest.values_list("whole", "latest")), reverse=True)[:most]
    results = (
        results.filter(run__in=chosen, repeat=1)
        .only("run_id", "outcome", "state", "value")
        .annotate(question_id=F("task__question"), answer=Left("transcript__actual_output", PREVIEW))
    )
    answers: dict[int, dict[int, Result]] = {}
    for result in results:
        answers.setdefault(result.question_id, {})[result.run_id] = result
    right = Counter(
        run for of_question in answers.values() for run, each in of_question.items() if each.outcome == Outcome.CORRECT
    )
    members = Run.objects.filter(pk__in=chosen).only("model", "variant", "import_format", "status", "texts_pruned_at")
    return sorted(members, key=lambda run: (run.is_live, run.is_baseline, -right[run.pk], -run.pk)), answers


def canvas_of_task(task: Task) -> Canvas | None:
    """The canvas of a task; ``None`` for a task of a YAML dataset."""
    if task.question_id is None:
        return None
    return Canvas.objects.select_related("canvas_set").defer("descriptions").get(questions=task.question_id)


def doubt_about(task: Task) -> Question | None:
    """The question of a task if the audit finds its answer wrong or undetermined."""
    return Question.objects.filter(tasks=task, audit__in=Question.DOUBTS).first()


def runs_on(canvas_set: CanvasSet) -> QuerySet[Run]:
    """The runs of models on a set, newest first. A page shows the numbers of one of them, which are read when used."""
    runs = Run.objects.filter(OF_MODELS, dataset__canvas_set=canvas_set).order_by("-pk")
    return runs.only(
        "model", "kind", "import_format", "status", "representation", "few_shot", "limit", "variant", "headline"
    )


def answers_of(canvas_set: CanvasSet, task: str) -> list[str]:
    """The most frequent expected answers of a task class in a set, according to its audit."""
    audit = canvas_set.audit.get("tasks", {}).get(task, {})
    return [answer for answer, _ in audit.get("answers", ())]


def blind_scores(canvas_set: CanvasSet) -> tuple[list[int], list[dict[str, Any]]]:
    """The numbers of shapes of a set, and for each probed task class the score without the canvas at each of them."""
    probed = {
        name: audit for name, audit in canvas_set.audit.get("tasks", {}).items() if audit.get("blind_score") is not None
    }
    shapes = sorted({n_shapes for audit in probed.values() for n_shapes, *_ in audit["blind_by_shapes"]})
    rows = []
    for name, audit in probed.items():
        scores = {n_shapes: score for n_shapes, score, _ in audit["blind_by_shapes"]}
        row = {"name": name, "rule": audit["blind_rule"], "score": audit["blind_score"], "asked": audit["asked"]}
        row["majority"] = audit.get("majority_score")
        row |= {"examples_score": audit.get("examples_score"), "examples_rule": audit.get("examples_rule", "")}
        rows.append({**row, "by_shapes": [scores.get(n_shapes) for n_shapes in shapes]})
    return shapes, rows
