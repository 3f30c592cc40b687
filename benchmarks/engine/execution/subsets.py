"""Draws of a part of a dataset's tasks by the results of earlier runs, and what such a part can show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import TYPE_CHECKING

from django.db.models import QuerySet

from benchmarks.analysis.score_table import read_scores
from benchmarks.asking import key_of, values_of
from benchmarks.metrics.registered_metrics import parts_of
from benchmarks.models import COMPLETED, OF_MODELS, DatasetVersion, Run, Task
from benchmarks.presentation.numbers import n_of, percent, plural, points
from benchmarks.providers.model_names import is_baseline
from benchmarks.run_parameters import RUN_PARAMETERS, Decides
from benchmarks.statistics import subset as statistics
from tasks_app.models import Question

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MOST_RUNS = 60
"""The latest runs that a draw looks at."""
MOST_TASKS = 20_000
"""The design of a draw is stored with the run."""


@dataclass(frozen=True, slots=True)
class Outlook:
    """What a part of ``n`` of ``n_tasks`` tasks can show, drawn by the results of ``n_models`` models: the expected
    half width of the 95% interval around the score of a full run, in scores from 0 to 1."""

    n: int
    n_tasks: int
    n_models: int
    half_width: float

    @property
    def saved(self) -> float:
        """The share of the requests of a full run."""
        return 1 - self.n / self.n_tasks

    @property
    def sentence(self) -> str:
        drawn = f"by the results of {plural(self.n_models, 'model')}"
        return (
            f"Estimates the score on all tasks from {n_of(self.n, self.n_tasks)}, drawn "
            f"{drawn if self.n_models else 'at random, without earlier results'}: saves {percent(self.saved)} of the "
            f"requests, with an interval of about ±{points(self.half_width)} points around the score of a full run."
        )


def design_of(run: Run) -> dict[str, object]:
    """A new draw for a run that is not stored yet, as ``Run.subset_design``."""
    tasks, values = _earlier_scores(run)
    subset = _draw(values, run.subset or 0)
    return {
        "n_all": tasks_to_draw_from(run.dataset_version, run.task_classes, run.split, include_doubtful=True).count(),
        "tasks": tasks,
        "predictions": [round(prediction, 4) for prediction in subset.predictions],
        "strata": [asdict(stratum) for stratum in subset.strata],
    }


def outlooks(run: Run, sizes: Sequence[int]) -> list[Outlook]:
    """What parts of these sizes can show, for a run that is not stored yet."""
    tasks, values = _earlier_scores(run)
    return [Outlook(n, len(tasks), len(values), _draw(values, n).expected_half_width) for n in sizes]


def tasks_to_draw_from(
    version: DatasetVersion, task_classes: Sequence[str], split: str, *, include_doubtful: bool
) -> QuerySet[Task]:
    """The tasks of these classes and this split (none: all) whose scores count in a full run, in order."""
    tasks = version.tasks.order_by("position")
    if task_classes:
        tasks = tasks.filter(group__in=task_classes)
    if split:
        tasks = tasks.filter(split=split)
    if include_doubtful:
        return tasks
    return tasks.exclude(is_doubtful=True).exclude(question__audit__in=Question.DOUBTS)


def tasks_of_estimate(run: Run) -> QuerySet[Task]:
    """The tasks that an estimate of the run is about, in order."""
    return tasks_to_draw_from(run.dataset_version, run.task_classes, run.split, include_doubtful=run.include_doubtful)


def _earlier_scores(run: Run) -> tuple[list[int], NDArray[np.float64]]:
    """The ids of the tasks that the estimate is about, and a row of scores on them for each earlier model."""
    import numpy as np

    ids = list(tasks_of_estimate(run).values_list("pk", flat=True))
    place_of = {task: place for place, task in enumerate(ids)}
    earlier = _latest_runs(run)
    values = np.full((len(earlier), len(ids)), np.nan)
    for row, other in zip(values, earlier, strict=True):
        for task, mean in zip(*read_scores(*other, "task").means("task"), strict=True):
            if task in place_of:
                row[place_of[task]] = mean
    return ids, values


def _draw(values: NDArray[np.float64], n: int) -> statistics.Subset:
    import numpy as np

    # Unseeded: whoever knows the draw before could tune a model to it.
    return statistics.draw(values, n, np.random.default_rng())


def _latest_runs(run: Run) -> list[tuple[Run, str]]:
    """The latest run of each model, baselines excluded, that asked all tasks of the version in the same way, with the
    metric that tells about the run: the headline if its parts score the run too, else the first one of the run."""
    question = values_of(run, Decides.QUESTION)
    # A run on more of the tasks tells about these too.
    wider = [name for name in question if RUN_PARAMETERS[name].selects]
    left_out = [combination for n in range(len(wider) + 1) for combination in combinations(wider, n)]
    asked = [{name: value for name, value in question.items() if name not in names} for names in left_out]
    same = Run.objects.filter(
        OF_MODELS,
        dataset_version=run.dataset_version,
        status__in=COMPLETED,
        limit=None,
        subset=None,
        question_key__in=map(key_of, [*asked, *({**each, "include_doubtful": True} for each in asked)]),
    ).order_by("-pk")
    latest: dict[str, tuple[Run, str]] = {}
    for other in same.only("pk", "model", "metrics", "headline")[:MOST_RUNS]:
        is_alike = set(parts_of(other.headline)) <= set(run.metrics)
        if (is_alike or run.metrics[0] in other.metrics) and not is_baseline(other.model):
            latest.setdefault(other.model, (other, other.headline if is_alike else run.metrics[0]))
    return list(latest.values())
