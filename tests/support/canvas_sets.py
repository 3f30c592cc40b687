"""Canvas sets for tests."""

from __future__ import annotations

from typing import Any

from benchmarks.engine.execution.dispatch import work_on_run_once
from benchmarks.models import Dataset, Run
from benchmarks.services.canvas_sets.control import generate_canvas_set
from benchmarks.services.runs.start import start_run
from tasks_app.models import CanvasSet, Question


def make_canvas_set(shapes: str = "7", count: int = 3, seed: int = 11, **request: Any) -> CanvasSet:
    """A generated set, not audited."""
    return generate_canvas_set({"shapes": shapes, "count": count, "seed": seed, **request})


def set_with_a_wrong_reference() -> CanvasSet:
    """Ten canvases; the first one's expected answer to existence is wrong."""
    canvas_set = make_canvas_set("7", 10)
    question = Question.objects.filter(task_name="existence").earliest("pk")
    wrong = "No" if question.answer == "Yes" else "Yes"
    Question.objects.filter(pk=question.pk).update(answer=wrong)
    question.tasks.update(expected_output=wrong)
    return canvas_set


def canvas_run(canvas_set: CanvasSet, model: str = "baseline/solver", **request: Any) -> Run:
    """A run on a set, executed until it ended."""
    dataset = Dataset.objects.get(canvas_set=canvas_set)
    run = start_run({"dataset": dataset.slug, "model": model, **request})
    while work_on_run_once(run.pk):  # more than once on a slow machine, where the time of a job ends before the run
        pass
    run.refresh_from_db()
    return run


def accept_images(settings: Any) -> None:
    """Configure the loopback model as one that accepts images."""
    config = settings.CODEFORGE
    model = config.models["loop/model"].model_copy(update={"sees_pictures": True})
    settings.CODEFORGE = config.model_copy(update={"models": {**config.models, "loop/model": model}})
