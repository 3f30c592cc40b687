"""Draws of a part of a dataset's tasks by the results of earlier runs, and what such a part can show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from django.db.models import QuerySet

from benchmarks.models import DatasetVersion, Run, Task
from benchmarks.presentation.numbers import n_of, percent, plural, points
from benchmarks.queries.task_analysis import scores_of_models
from benchmarks.statistics import subset as statistics
from tasks_app.models import Question

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
    values, models = scores_of_models(run.dataset_version, run.metrics[0], ids)
    # Unseeded: whoever knows the draw before could tune a model to it.
    return ids, statistics.draw(values, run.subset or 0, np.random.default_rng()), len(models)
