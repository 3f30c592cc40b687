"""Plain factories with defaults: runs with stored results, canvas sets, and dataset files to mend."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from django.utils import timezone

from benchmarks.engine.canvas_sets.generation import audit_set
from benchmarks.engine.summary.summarize import summarize
from benchmarks.models import (
    Dataset,
    DatasetVersion,
    Outcome,
    Result,
    ResultState,
    Run,
    RunStatus,
    Score,
    Task,
    Transcript,
)
from tasks_app.loader import build_canvas, build_prompt
from tasks_app.models import Canvas, CanvasSet, Question
from tasks_app.tasks.registered_tasks import REGISTERED_TASKS
from tests.support.factories import make_dataset

ATTEMPT = {
    "number": 1,
    "started_at": 0.0,
    "duration_ms": 120_000.0,
    "error_kind": "timeout",
    "status": None,
    "waited_ms": 40.0,
}
OUTCOMES = {1.0: Outcome.CORRECT, 0.0: Outcome.WRONG}


def make_scored_run(
    dataset: Dataset | None = None,
    values: Sequence[float | None] = (1.0, 0.0, 0.5),
    answer: str = "an answer",
    metrics: Sequence[str] = ("exact_match",),
    **fields: Any,
) -> Run:
    """An ended run whose n-th task scored the n-th value on every metric; ``None`` is a failed call."""
    dataset = dataset or make_dataset(len(values))
    version = dataset.current_version
    assert version is not None
    now = timezone.now()
    given = {
        "dataset": dataset,
        "dataset_version": version,
        "model": "loop/model",
        "metrics": list(metrics),
        "status": RunStatus.COMPLETED,
        "started_at": now,
        "completed_at": now,
        "cost_usd": 0.25,
        "representation": "full" if dataset.kind == Dataset.Kind.CANVAS else "",
        "task_classes": sorted(version.facets.get("group", {})),
    }
    run = Run.objects.create(**{**given, **fields})
    for task, value in zip(version.tasks.order_by("position"), values, strict=False):
        _make_result(run, task, value, answer)
    results = run.results.all()
    run.total = run.done = len(results)
    run.errors = sum(result.state == ResultState.ERROR for result in results)
    run.summary, run.breakdown = summarize(run)
    run.save()
    return run


def _make_result(run: Run, task: Task, value: float | None, answer: str) -> Result:
    failed = value is None
    result = Result.objects.create(
        run=run,
        task=task,
        position=task.position,
        state=ResultState.ERROR if failed else ResultState.DONE,
        outcome=Outcome.PROVIDER_ERROR if value is None else OUTCOMES.get(value, Outcome.PARTIAL),
        value=value,
        error_kind="timeout" if failed else "",
        error_message=f"No first byte within 120 s. {answer}" if failed else "",
        difficulty=task.difficulty,
        group=task.group,
        n_shapes=task.n_shapes,
        cluster=task.cluster or str(task.pk),
        duration_ms=100.0 * task.position,
        tokens_in=10,
        tokens_out=5,
        cost_usd=0.01,
        attempts=3 if failed else 1,
        finished_at=timezone.now(),
    )
    Transcript.objects.create(
        result=result,
        messages=[{"role": "user", "content": task.input}, {"role": "assistant", "content": answer}],
        actual_output="" if failed else answer,
        attempts=[ATTEMPT | {"message": answer}] if failed else [],
    )
    if not failed:
        for metric in run.metrics:
            Score.objects.create(
                result=result, run=run, metric=metric, status=Score.Status.SCORED, value=value, reason=answer
            )
    return result


def make_canvas_set(shapes: Sequence[int] = (3, 4, 5), slug: str = "canvases-7") -> CanvasSet:
    """A generated set of one canvas for each number of shapes, with its dataset."""
    canvas_set = CanvasSet.objects.create(
        slug=slug,
        name="Seed 7",
        seed=7,
        shapes_low=min(shapes),
        shapes_high=max(shapes),
        count=len(shapes),
        wanted=len(shapes),
        initial_count=len(shapes),
        task_classes=list(REGISTERED_TASKS),
    )
    dataset = Dataset.objects.create(slug=slug, name="Seed 7", kind=Dataset.Kind.CANVAS, canvas_set=canvas_set)
    version = DatasetVersion.objects.create(
        dataset=dataset, number=1, content_hash=slug, origin=DatasetVersion.Origin.GENERATED, name="Seed 7"
    )
    for index, n_shapes in enumerate(shapes):
        _make_canvas(canvas_set, version, index, n_shapes)
    version.task_count = version.tasks.count()
    groups = list(version.tasks.values_list("group", flat=True))
    version.facets = {"group": {group: groups.count(group) for group in groups}, "fields": {"expected_output": 1}}
    version.save()
    dataset.current_version = version
    dataset.save()
    audit_set(canvas_set.pk)
    canvas_set.refresh_from_db()
    return canvas_set


def _make_canvas(canvas_set: CanvasSet, version: DatasetVersion, index: int, n_shapes: int) -> None:
    document = build_canvas(n_shapes, 7, index, canvas_set.count)
    canvas = Canvas.objects.create(
        canvas_set=canvas_set,
        index=index,
        n_shapes=n_shapes,
        shapes=[
            {"shape": shape.shape, "color": shape.color, "size": shape.size, "center": list(shape.center)}
            for shape in document.shapes
        ],
        descriptions=document.descriptions,
    )
    for task_name, questions in document.questions.items():
        if not questions:
            continue
        question = Question.objects.create(
            canvas=canvas, task_name=task_name, question=questions[0][0], answer=questions[0][1], audit="agrees"
        )
        Task.objects.create(
            version=version,
            position=version.tasks.count() + 1,
            task_id=f"canvas_{n_shapes}_{index}/{task_name}",
            name=f"{task_name} {index}",
            input=build_prompt(document, task_name, "full", few_shot=False).text,
            expected_output=questions[0][1],
            content_hash=f"{index}/{task_name}",
            group=task_name,
            n_shapes=n_shapes,
            cluster=str(canvas.pk),
            question=question,
        )


def random_values(count: int, seed: int = 1) -> list[float]:
    rng = random.Random(seed)
    return [rng.choice((0.0, 0.5, 1.0)) for _ in range(count)]
