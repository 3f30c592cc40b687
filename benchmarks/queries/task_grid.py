"""Tasks against several runs: who answered what, filtered by where they differ.

The scores of a run are read once and kept in the cache until it gets new numbers. Filtering and sorting happen on these
arrays, so a page reads only the results of its own tasks, however long the dataset is. Tasks of different versions are
one row if they have identical content.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from django.db.models import Q, QuerySet
from django.db.models.functions import Left

from benchmarks.analysis.score_table import metric_of, score_vector
from benchmarks.models import DatasetVersion, Result, Run, Score, Task
from benchmarks.queries.results import failed_for
from benchmarks.queries.runs import reference_first
from benchmarks.statistics.task_analysis import RIGHT

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from benchmarks.analysis.score_table import Vector

MOST_RUNS = 12
PAGE_SIZE = 50
PREVIEW = 120
MOST_SEARCHED = 10_000
"""Questions of a version that are searched for a text; names are all searched."""
SHOWN = {
    "": "All tasks",
    "disagree": "They disagree",
    "all_wrong": "All wrong",
    "only": "Only the chosen run is right",
    "only_wrong": "Only the chosen run is wrong",
    "lost": "Right in the reference run, now wrong",
    "worse": "The chosen run is worse than the reference run",
    "flagged": "Marked as doubtful",
}
_OF_ONE_RUN = ("only", "only_wrong", "lost", "worse")
"""Those of ``SHOWN`` that are about the chosen run, which of two runs may all be the same tasks."""
SORTS = {"": "Task order", "difficulty": "Hardest first", "disagreement": "Most disagreement first"}


@dataclass(frozen=True, slots=True)
class TaskGridFilters:
    """``show`` is a key of ``SHOWN``. ``baseline`` is by default that of ``reference_first``, ``run`` the next one.
    ``text`` is searched for in the name and the input of a task, ``group`` is its group or task class. A result has
    the ``outcome`` and the ``reason``, one of ``run`` if that is given.
    """

    show: str = ""
    sort: str = ""
    run: int | None = None
    baseline: int | None = None
    text: str = ""
    group: str = ""
    outcome: str = ""
    reason: str = ""


class TaskCell(NamedTuple):
    """The first result of a run for a task, ``None`` if it has none, and its mean score over repeats."""

    result: Any
    score: float | None

    @property
    def is_right(self) -> bool:
        return self.score is not None and self.score >= RIGHT


@dataclass(frozen=True, slots=True)
class TaskRow:
    """A task with a cell for each run, and in how many of them it is right."""

    task: Any
    cells: Sequence[TaskCell]
    right: int


class Answer(NamedTuple):
    """What a run answered first, with its score by the chosen metric; ``None`` where there is none."""

    run: Run
    result: Result | None
    score: Score | None


@dataclass(frozen=True, slots=True)
class OpenTask:
    """One task with everything that the runs answered. The first answer of each run comes with its full text."""

    task: Task
    answers: Sequence[Answer]


@dataclass(frozen=True, slots=True)
class TaskPage:
    """Page ``number`` of the ``count`` tasks that match. ``counts`` has the number of all tasks for each of ``SHOWN``,
    ``alike`` those of it that show the same tasks as one before; ``right`` how many tasks each run has right, ``alone``
    how many of them no other."""

    rows: Sequence[TaskRow]
    number: int
    pages: int
    count: int
    total: int
    all_right: int
    right: Sequence[int]
    alone: Sequence[int]
    counts: Mapping[str, int]
    alike: frozenset[str]

    @property
    def all_wrong(self) -> int:
        return self.counts["all_wrong"]

    @property
    def disagree(self) -> int:
        return self.counts["disagree"]


def task_page(
    runs: Sequence[Run],
    metric: str,
    filters: TaskGridFilters,
    number: int = 1,
    *,
    size: int = PAGE_SIZE,
    preview: int = PREVIEW,
    containing: int | None = None,
) -> TaskPage:
    """One page of the tasks of runs, of which the first ``MOST_RUNS`` are shown: the one ``containing`` a task, if it
    matches, else page ``number``.

    Of several repeats, the score is the mean and the answer the first one, cut to ``preview`` characters.
    """
    import numpy as np

    columns = list(runs[:MOST_RUNS])
    tasks, values = _grid(columns, metric)
    grid = _Grid(values)
    kinds = _kinds(columns, tasks, grid, filters)
    at = np.flatnonzero(kinds.get(filters.show, kinds[""]) & _selected(columns, tasks, filters))
    if filters.sort == "difficulty":
        at = at[np.argsort(grid.n_right[at], kind="stable")]
    elif filters.sort == "disagreement":
        at = at[np.argsort(-grid.spread[at], kind="stable")]
    places = np.flatnonzero(tasks[at] == containing)
    if len(places):
        number = int(places[0]) // size + 1
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
        right=[int(np.count_nonzero(own)) for own in grid.right],
        alone=[int(np.count_nonzero(own & (grid.n_right == 1))) for own in grid.right],
        counts={name: int(np.count_nonzero(matching)) for name, matching in kinds.items()},
        alike=frozenset(
            name
            for place, name in enumerate(_OF_ONE_RUN)
            if any(np.array_equal(kinds[name], kinds[before]) for before in _OF_ONE_RUN[:place])
        ),
    )


def open_task(runs: Sequence[Run], metric: str, pk: int) -> OpenTask | None:
    """All answers to one task; ``None`` if none of the runs has it."""
    versions = {run.dataset_version_id for run in runs}
    task = Task.objects.select_related("version__dataset").filter(pk=pk, version__in=versions).first()
    if task is None:
        return None
    same = Result.objects.filter(run__in=[run.pk for run in runs], repeat=1, task__content_hash=task.content_hash)
    results = {result.run_id: result for result in same.select_related("transcript").prefetch_related("scores")}
    answers = []
    for run in runs:
        result = results.get(run.pk)
        scores = {} if result is None else {score.metric: score for score in result.scores.all()}
        answers.append(Answer(run, result, scores.get(metric_of(run, metric))))
    return OpenTask(task, answers)


class SharedTasks(NamedTuple):
    """How many of the tasks with a score in both of two runs each of them has right."""

    both: int
    only_a: int
    only_b: int
    neither: int


def shared_tasks(a: Run, b: Run, metric: str) -> SharedTasks:
    import numpy as np

    _, values = _grid([a, b], metric)
    scored = ~np.isnan(values).any(axis=0)
    first, second = values[:, scored] >= RIGHT
    parts = (first & second, first & ~second, ~first & second, ~first & ~second)
    return SharedTasks(*(int(np.count_nonzero(part)) for part in parts))


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


def chosen_runs(runs: Sequence[Run], filters: TaskGridFilters) -> tuple[Run, Run]:
    """The chosen run and the reference run, of at least one run."""
    by_id = {run.pk: run for run in runs}
    baseline = by_id.get(filters.baseline or 0) or reference_first(runs)[0]
    other = next((run for run in runs if run is not baseline), baseline)
    return by_id.get(filters.run or 0, other), baseline


def _kinds(
    columns: Sequence[Run], tasks: NDArray[np.int64], grid: _Grid, filters: TaskGridFilters
) -> dict[str, NDArray[np.bool_]]:
    """Which tasks each of ``SHOWN`` shows. Where a run has no score, it is neither right nor wrong."""
    import numpy as np

    every = np.ones(len(tasks), dtype=bool)
    if not columns:
        return dict.fromkeys(SHOWN, every)
    own, base = map(columns.index, chosen_runs(columns, filters))
    wrong = grid.values < RIGHT  # not true without a score
    doubtful = Task.objects.filter(version__in={run.dataset_version_id for run in columns}, is_doubtful=True)
    return {
        "": every,
        "disagree": grid.spread > 0,
        "all_wrong": grid.is_wrong,
        "only": np.logical_and(grid.right[own], grid.n_right == 1),
        "only_wrong": np.logical_and(wrong[own], grid.n_right == len(columns) - 1) & (len(columns) > 1),
        "lost": np.logical_and(grid.right[base], wrong[own]),
        "worse": np.less(grid.values[own], grid.values[base] - 1e-9),
        "flagged": _among(tasks, doubtful),
    }


def _among(tasks: NDArray[np.int64], chosen: QuerySet[Task]) -> NDArray[np.bool_]:
    import numpy as np

    return np.isin(tasks, np.fromiter(chosen.order_by().values_list("pk", flat=True), dtype=np.int64))


def _selected(columns: Sequence[Run], tasks: NDArray[np.int64], filters: TaskGridFilters) -> NDArray[np.bool_]:
    """Which tasks have the group, the text, and a result with the outcome and the reason."""
    import numpy as np

    if not (filters.text or filters.group or filters.outcome or filters.reason):
        return np.ones(len(tasks), dtype=bool)
    versions = {run.dataset_version_id for run in columns}
    selected = Task.objects.filter(version__in=versions)
    if filters.group:
        selected = selected.filter(group=filters.group)
    if filters.text:
        words = Q(input__icontains=filters.text, position__lt=MOST_SEARCHED)
        selected = selected.filter(Q(name__icontains=filters.text) | words)
    if filters.outcome or filters.reason:
        ended = Result.objects.filter(run__in=[run.pk for run in columns if filters.run in (None, run.pk)])
        ended = ended.filter(outcome=filters.outcome) if filters.outcome else ended
        ended = ended.filter(failed_for(filters.reason)) if filters.reason else ended
        # A row may be named by the task of another version with identical content.
        selected = selected.filter(content_hash__in=ended.order_by().values("task__content_hash"))
    return _among(tasks, selected)


def groups_of(runs: Sequence[Run]) -> list[str]:
    """The groups, or task classes, of the tasks of runs."""
    versions = DatasetVersion.objects.filter(pk__in={run.dataset_version_id for run in runs})
    return sorted({group for facets in versions.values_list("facets", flat=True) for group in facets.get("group", ())})


def _grid(columns: Sequence[Run], metric: str) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The tasks of all runs in the order of the dataset, and a row of scores for each run."""
    import numpy as np

    vectors = [score_vector(run, metric_of(run, metric)) for run in columns]
    if len({run.dataset_version_id for run in columns}) > 1:
        vectors = _by_content(columns, vectors)
    tasks = vectors[0][0] if vectors else np.zeros(0, dtype=np.int64)
    if not all(np.array_equal(known, tasks) for known, _ in vectors):
        tasks = np.unique(np.concatenate([known for known, _ in vectors]))  # numbered in the order of their version
    values = np.full((len(vectors), len(tasks)), np.nan)
    for row, (known, scores) in zip(values, vectors, strict=True):
        row[np.searchsorted(tasks, known)] = scores
    return tasks, values


def _by_content(columns: Sequence[Run], vectors: Sequence[Vector]) -> list[Vector]:
    """The vectors with each task named by the first task of identical content."""
    import numpy as np

    versions = {run.dataset_version_id for run in columns}
    hashes = dict(Task.objects.filter(version__in=versions).order_by().values_list("pk", "content_hash"))
    names: dict[str, int] = {}
    for known, _ in vectors:
        for task in known.tolist():
            names.setdefault(hashes[task], task)
    merged = []
    for known, scores in vectors:
        same, places = np.unique([names[hashes[task]] for task in known.tolist()], return_index=True)
        merged.append((same.astype(np.int64), scores[places]))
    return merged


def _rows(columns: Sequence[Run], ids: Sequence[int], values: NDArray[np.float64], preview: int) -> list[TaskRow]:
    """The tasks with their results, in two queries."""
    import numpy as np

    fields = ("task_id", "name", "difficulty", "group", "version", "content_hash")
    texts = {"expected_preview": Left("expected_output", preview), "input_preview": Left("input", preview)}
    tasks: Mapping[int, Task] = Task.objects.only(*fields).annotate(**texts).in_bulk(list(ids))
    versions = {run.dataset_version_id for run in columns}
    names = {task.content_hash: pk for pk, task in tasks.items()}
    same = {pk: pk for pk in ids}
    if len(versions) > 1:
        alike = Task.objects.filter(version__in=versions, content_hash__in=names)
        same = {pk: names[content] for pk, content in alike.values_list("pk", "content_hash")}
    # Named tuples: 600 instances of a model take longer than the whole query.
    results = (
        Result.objects.filter(run__in=[run.pk for run in columns], task__in=same, repeat=1)
        .annotate(answer=Left("transcript__actual_output", preview), error=Left("error_message", preview))
        .values_list("pk", "run_id", "task_id", "state", "outcome", "answer", "error", named=True)
        .order_by()
    )
    by_place = {(same[result.task_id], result.run_id): result for result in results}
    return [
        TaskRow(
            tasks[pk],
            [
                TaskCell(by_place.get((pk, run.pk)), None if np.isnan(value) else float(value))
                for run, value in zip(columns, of_task, strict=True)
            ],
            int(np.count_nonzero(of_task >= RIGHT)),
        )
        for pk, of_task in zip(ids, values.T, strict=True)
    ]
