"""The tasks of one dataset against several runs: who answered what, filtered by where they differ.

The scores of a run are read once and kept in the cache until it gets new numbers. Filtering and sorting happen on these
arrays, so a page reads only the results of its own tasks, however long the dataset is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.core.cache import cache
from django.db.models import FilteredRelation, Q
from django.db.models.functions import Left

from benchmarks.models import TERMINAL, Result, Run, Task
from benchmarks.queries.matrix import metric_of
from benchmarks.queries.statistics import CACHE_SECONDS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MOST_RUNS = 12
PAGE_SIZE = 50
PREVIEW = 120
RIGHT = 0.999
"""Scores from here on are right; a mean of repeats is right only if all are."""
SHOWN = {
    "": "All tasks",
    "disagree": "They disagree",
    "all_wrong": "All wrong",
    "only": "Only the chosen run is right",
    "worse": "The chosen run is worse than the baseline",
}
SORTS = {"": "Task order", "difficulty": "Hardest first", "disagreement": "Most disagreement first"}
_CHUNK = 5_000


@dataclass(frozen=True, slots=True)
class TaskGridFilters:
    """``show`` is a key of ``SHOWN``; ``run`` is the chosen one, by default the first, and ``baseline`` likewise."""

    show: str = ""
    sort: str = ""
    run: int | None = None
    baseline: int | None = None


@dataclass(frozen=True, slots=True)
class TaskRow:
    """A task with the first result and the score of each run, ``None`` where there is none, and how many are right."""

    task: Any
    results: Sequence[Any]
    scores: Sequence[float | None]
    right: int

    @property
    def cells(self) -> list[tuple[Any, float | None]]:
        return list(zip(self.results, self.scores, strict=True))


@dataclass(frozen=True, slots=True)
class TaskPage:
    """Page ``number`` of the ``count`` tasks that match, with the counts of all tasks by kind."""

    rows: Sequence[TaskRow]
    number: int
    pages: int
    count: int
    total: int
    all_right: int
    all_wrong: int
    disagree: int


def task_page(
    runs: Sequence[Run],
    metric: str,
    filters: TaskGridFilters,
    number: int = 1,
    *,
    size: int = PAGE_SIZE,
    preview: int = PREVIEW,
) -> TaskPage:
    """One page of the tasks of runs of one dataset, of which the first ``MOST_RUNS`` are shown.

    Of several repeats, the score is the mean and the answer the first one, cut to ``preview`` characters.
    """
    import numpy as np

    columns = list(runs[:MOST_RUNS])
    tasks, values = _grid(columns, metric)
    grid = _Grid(values)
    at = np.flatnonzero(_matching(columns, grid, filters))
    if filters.sort == "difficulty":
        at = at[np.argsort(grid.n_right[at], kind="stable")]
    elif filters.sort == "disagreement":
        at = at[np.argsort(-grid.spread[at], kind="stable")]
    pages = max(1, -(-len(at) // size))
    number = min(max(number, 1), pages)
    shown = at[(number - 1) * size : number * size]
    return TaskPage(
        rows=_rows(columns, tasks[shown].tolist(), values[:, shown], preview),
        number=number,
        pages=pages,
        count=len(at),
        total=len(tasks),
        all_right=int(np.count_nonzero(grid.n_right == len(columns))) if columns else 0,
        all_wrong=int(np.count_nonzero(grid.is_wrong)),
        disagree=int(np.count_nonzero(grid.spread)),
    )


class _Grid:
    """What is known of each task from the scores, a row for each run. ``spread`` is the highest less the lowest."""

    def __init__(self, values: NDArray[np.float64]) -> None:
        import numpy as np

        self.values = values
        scored = ~np.isnan(values)
        self.right: NDArray[np.bool_] = np.where(scored, values, 0.0) >= RIGHT
        self.n_right: NDArray[np.int64] = self.right.sum(axis=0)
        highest = np.where(scored, values, -np.inf).max(axis=0, initial=-np.inf)
        lowest = np.where(scored, values, np.inf).min(axis=0, initial=np.inf)
        any_scored = highest >= lowest
        with np.errstate(invalid="ignore"):
            self.spread: NDArray[np.float64] = np.where(any_scored & (highest - lowest > 1e-9), highest - lowest, 0.0)
        self.is_wrong: NDArray[np.bool_] = np.logical_and(any_scored, self.n_right == 0)


def _matching(columns: Sequence[Run], grid: _Grid, filters: TaskGridFilters) -> NDArray[np.bool_]:
    import numpy as np

    places = {run.pk: place for place, run in enumerate(columns)}
    own, base = places.get(filters.run or 0, 0), places.get(filters.baseline or 0, 0)
    matching: NDArray[np.bool_] = np.ones(grid.values.shape[1], dtype=bool)
    if filters.show == "disagree":
        matching = grid.spread > 0
    elif filters.show == "all_wrong":
        matching = grid.is_wrong
    elif filters.show == "only" and columns:
        matching = np.logical_and(grid.right[own], grid.n_right == 1)
    elif filters.show == "worse" and columns:
        matching = np.less(grid.values[own], grid.values[base] - 1e-9)  # not true where one has no score
    return matching


def _grid(columns: Sequence[Run], metric: str) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The tasks of all runs in the order of the dataset, and a row of scores for each run."""
    import numpy as np

    vectors = [_vector(run, metric_of(run, metric)) for run in columns]
    # Tasks of a version are numbered in its order.
    tasks = np.unique(np.concatenate([known for known, _ in vectors])) if vectors else np.zeros(0, dtype=np.int64)
    values = np.full((len(vectors), len(tasks)), np.nan)
    for row, (known, scores) in zip(values, vectors, strict=True):
        row[np.searchsorted(tasks, known)] = scores
    return tasks, values


def _vector(run: Run, metric: str) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The ids of a run's tasks, ascending, and the mean score of each over its repeats; cached once the run ended."""
    key = f"task-scores:1:{run.pk}:{run.summarized_at.timestamp() if run.summarized_at else 0}:{metric}"
    stored: tuple[NDArray[np.int64], NDArray[np.float64]] | None = cache.get(key)
    if stored is None:
        stored = _read(run, metric)
        if run.status in TERMINAL:
            cache.set(key, stored, CACHE_SECONDS)
    return stored


def _read(run: Run, metric: str) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    import numpy as np

    rows = (
        Result.objects.filter(run=run)
        .annotate(score=FilteredRelation("scores", condition=Q(scores__metric=metric)))
        .order_by()
        .values_list("task_id", "score__value")
    )
    read = np.array([(task, np.nan if value is None else value) for task, value in rows.iterator(_CHUNK)], dtype=float)
    if not len(read):
        return np.zeros(0, dtype=np.int64), np.zeros(0)
    tasks, places = np.unique(read[:, 0].astype(np.int64), return_inverse=True)
    known = ~np.isnan(read[:, 1])
    sums = np.bincount(places[known], weights=read[known, 1], minlength=len(tasks))
    counts = np.bincount(places[known], minlength=len(tasks))
    with np.errstate(invalid="ignore", divide="ignore"):
        return tasks, sums / counts


def _rows(columns: Sequence[Run], ids: Sequence[int], values: NDArray[np.float64], preview: int) -> list[TaskRow]:
    """The tasks with their results, in two queries."""
    import numpy as np

    fields = ("task_id", "name", "difficulty", "group", "version")
    texts = {"expected_preview": Left("expected_output", preview), "input_preview": Left("input", preview)}
    tasks: Mapping[int, Task] = Task.objects.only(*fields).annotate(**texts).in_bulk(list(ids))
    results = (
        Result.objects.filter(run__in=[run.pk for run in columns], task__in=ids, repeat=1)
        .annotate(answer=Left("transcript__actual_output", preview), error_preview=Left("error_message", preview))
        .only("run", "task", "state", "outcome", "value")
    )
    by_place = {(result.task_id, result.run_id): result for result in results}
    return [
        TaskRow(
            tasks[pk],
            [by_place.get((pk, run.pk)) for run in columns],
            [None if np.isnan(value) else float(value) for value in of_task],
            int(np.count_nonzero(of_task >= RIGHT)),
        )
        for pk, of_task in zip(ids, values.T, strict=True)
    ]
