"""Draws of a part of a dataset's tasks by the results of earlier runs, and what such a part can show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from django.db.models import Avg, QuerySet

from benchmarks.models import COMPLETED, DatasetVersion, Run, Score, Task
from benchmarks.presentation.numbers import n_of, percent, plural, points
from benchmarks.statistics import subset as statistics
from tasks_app.models import Question

MOST_RUNS = 60
"""The latest runs that a draw looks at."""
MOST_TASKS = 20_000
"""The design of a draw is stored with the run."""


def design_of(run: Run) -> dict[str, Any]:
    """A new draw for a run that is not stored yet, as ``Run.subset_design``."""
    tasks, subset, _ = _drawn(run)
    return {
        "n_all": tasks_to_draw_from(run.dataset_version, run.task_classes, include_doubtful=True).count(),
        "tasks": tasks,
        "predictions": [round(prediction, 4) for prediction in subset.predictions],
        "strata": [asdict(stratum) for stratum in subset.strata],
    }


def outlook(run: Run) -> str:
    """What the estimate of a run that is not stored yet saves, and how wide its interval will be."""
    tasks, subset, n_models = _drawn(run)
    n = len(subset.drawn)
    basis = f"by the results of {plural(n_models, 'model')}" if n_models else "at random, without earlier results"
    return (
        f"Estimates the score on all tasks from {n_of(n, len(tasks))}, drawn {basis}: saves "
        f"{percent(1 - n / len(tasks))} of the requests, with an interval of about "
        f"±{points(subset.expected_half_width)} points around the score of a full run."
    )


def tasks_to_draw_from(
    version: DatasetVersion, task_classes: Sequence[str], *, include_doubtful: bool
) -> QuerySet[Task]:
    """The tasks of these classes (none: all) whose scores count in a full run, in order."""
    tasks = version.tasks.order_by("position")
    if task_classes:
        tasks = tasks.filter(group__in=task_classes)
    if include_doubtful:
        return tasks
    return tasks.exclude(is_doubtful=True).exclude(question__audit__in=Question.DOUBTS)


def _drawn(run: Run) -> tuple[list[int], statistics.Subset, int]:
    """The ids of the tasks that the estimate is about, the draw, and the number of models that it rests on."""
    import numpy as np

    tasks = tasks_to_draw_from(run.dataset_version, run.task_classes, include_doubtful=run.include_doubtful)
    ids = list(tasks.values_list("pk", flat=True))
    place_of = {task: place for place, task in enumerate(ids)}
    earlier = _latest_runs(run)
    values = np.full((len(earlier), len(ids)), np.nan)
    for row, other in zip(values, earlier, strict=True):
        scores = Score.objects.filter(run=other, metric=run.metrics[0], value__isnull=False).order_by()
        for task, mean in scores.values_list("result__task").annotate(mean=Avg("value")):
            if task in place_of:
                row[place_of[task]] = mean
    # Unseeded: whoever knows the draw before could tune a model to it.
    return ids, statistics.draw(values, run.subset or 0, np.random.default_rng()), len(earlier)


def _latest_runs(run: Run) -> list[int]:
    """The latest run of each model, baselines excluded, that asked all tasks of the version in the same way."""
    same = Run.objects.filter(
        dataset_version=run.dataset_version,
        status__in=COMPLETED,
        representation=run.representation,
        few_shot=run.few_shot,
        limit=None,
        subset=None,
        calibration__isnull=True,
    ).order_by("-pk")
    latest: dict[str, int] = {}
    for pk, model, metrics in same.values_list("pk", "model", "metrics")[:MOST_RUNS]:
        if run.metrics[0] in metrics and not model.startswith("baseline/"):
            latest.setdefault(model, pk)
    return list(latest.values())
