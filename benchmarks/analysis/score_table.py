"""The scores of runs by one metric, in columns: whatever is computed from single scores reads them here.

Means of a run are not read but summed by the database (``analysis/sums.py``): a run of a million results then
needs no memory, also while it is in progress and its summary is written again and again.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from django.db.models import Case, Exists, F, FilteredRelation, OuterRef, Q, QuerySet, Value, When

from benchmarks.analysis.kept import kept_for
from benchmarks.metrics.base import FAULTS
from benchmarks.metrics.deciding import is_deciding
from benchmarks.models import UNSCORED, Outcome, Result, Run, Score
from benchmarks.statistics.margins import Edges, edges
from benchmarks.statistics.paired import Comparison, TaskScores, compare
from benchmarks.statistics.panel import Verdict
from benchmarks.statistics.ranking import Scores

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vector = tuple[NDArray[np.int64], NDArray[np.float64]]

OfResult = Literal["result", "run", "task", "content", "cluster", "group", "difficulty", "n_shapes", "canvas", "repeat"]
OfScore = Literal["value", "status", "passes_at", "verdicts", "judge_calls", "instead_of", "first_wrong_step"]
OfKnownAnswer = Literal["question", "phrasing", "correct", "first", "second"]
Column = OfResult | OfScore | OfKnownAnswer


class OfTasks(NamedTuple):
    """By task: the mean score of a run over its repeats (``None`` without any), the cluster, and of a task of which
    some repeats have a score the share of those without one, if any."""

    scores: TaskScores[Hashable]
    clusters: dict[Hashable, Hashable]
    unscored: dict[Hashable, float]


FETCHED = 5_000
"""Rows that are fetched from the database at a time."""
LEFT_OUT = (Score.Status.NOT_APPLICABLE, Score.Status.DOUBTFUL)
"""Statuses of scores that no mean is expected to contain: the task's doing, never that of an answer."""
IN_DOUBT = Exists(Score.objects.filter(result=OuterRef("pk"), value__isnull=True, status=Score.Status.DOUBTFUL))
"""Of a result: whether a metric set it aside because of a doubtful expected answer."""
_PATHS: Mapping[Column, str] = {
    "result": "pk",
    "run": "run",
    "task": "task",
    "content": "task__content_hash",
    "cluster": "cluster",
    "group": "group",
    "difficulty": "difficulty",
    "n_shapes": "n_shapes",
    "canvas": "task__question__canvas__number",
    "repeat": "repeat",
    "question": "task__known_answer__question",
    "phrasing": "task__known_answer__phrasing",
    "correct": "task__known_answer__correct",
    "first": "task__known_answer__first",
    "second": "task__known_answer__second",
}
_SCORE_PATHS: Mapping[Column, str] = {
    "value": "value",
    "status": "status",
    "passes_at": "detail__passes_at",
    "verdicts": "detail__verdicts_of",
    "judge_calls": "judge__calls",
    "instead_of": "detail__instead_of",
    "first_wrong_step": "detail__first_wrong_step",
}
_INTEGERS = frozenset({"result", "run", "task", "repeat", "position"})
_FLOATS = frozenset({"value", "passes_at", "first_wrong_step"})
"""``None`` becomes NaN."""


@dataclass(frozen=True, slots=True)
class ScoreTable:
    """One row for each result, in the order of the runs' results. ``value`` is the score, NaN without one.

    ``status`` is that of the score, ``None`` where there is none. ``cluster`` names the results that share a
    canvas or a task, ``content`` the tasks that are equal in all runs. ``passes_at`` is the score that passes where it
    is the task's own, else NaN; ``instead_of`` the judge in whose place another gave the score; ``first_wrong_step``
    what the judge named, 0 for none, NaN if it did not see the steps. Numbers are arrays of
    numbers; all other columns hold Python objects, with ``None`` for what is not there, and equal texts are one object.
    """

    columns: Mapping[Column, NDArray[Any]]

    def __len__(self) -> int:
        return len(self.value)

    def __getitem__(self, name: Column) -> NDArray[Any]:
        return self.columns[name]

    @property
    def value(self) -> NDArray[np.float64]:
        return self.columns["value"]

    def rows(self, *names: Column) -> Iterator[tuple[Any, ...]]:
        """The rows as tuples of these columns, by default of all as they were asked for, in plain Python values."""
        return zip(*(self.columns[name].tolist() for name in names or self.columns), strict=True)

    def where(self, chosen: NDArray[np.bool_]) -> ScoreTable:
        return ScoreTable({name: column[chosen] for name, column in self.columns.items()})

    @property
    def scored(self) -> ScoreTable:
        """The rows with a score."""
        import numpy as np

        return self.where(~np.isnan(self.value))

    def means(self, name: Column) -> tuple[list[Any], NDArray[np.float64]]:
        """What a column holds, each once in the order of the rows, and the mean score of each; NaN without any."""
        import numpy as np

        places: dict[Any, int] = {}
        at = np.array([places.setdefault(key, len(places)) for key in self[name].tolist()], dtype=np.int64)
        known = ~np.isnan(self.value)
        sums = np.bincount(at[known], weights=self.value[known], minlength=len(places))
        counts = np.bincount(at[known], minlength=len(places))
        with np.errstate(invalid="ignore"):
            return list(places), sums / counts


def read_scores(runs: Run | Sequence[int], metric: str, *columns: Column, where: Q | None = None) -> ScoreTable:
    """These columns, and at last ``value``, of a run or of the runs with these ids, of the results that meet ``where``.

    A metric that several make together has no rows of its own: its values are those of the results, and it has only
    their columns and ``status``.
    """
    import numpy as np

    names: list[Column] = [*columns, "value"]
    ids = [runs.pk] if isinstance(runs, Run) else list(runs)
    # The rows are ordered here: PostgreSQL would plan for the first rows of an ordered cursor and take a hundred times
    # as long for all of them. The condition, which all meet, has SQLite read them in the order in which they lie.
    results = Result.objects.filter(where or Q(), run__in=ids, position__gte=0).order_by()
    rows, paths = _of_several(results) if is_deciding(metric) else _of_one(results, ids, metric)
    read = _in_columns(
        ["run", "position", *names],
        rows.values_list("run_id", "position", *(paths.get(name) or _PATHS[name] for name in names)),
    )
    order = np.lexsort((read["position"], read["run"]))
    return ScoreTable({name: read[name][order] for name in names})


def _of_one(
    results: QuerySet[Result], runs: Sequence[int], metric: str
) -> tuple[QuerySet[Any, Any], Mapping[str, str]]:
    """The results with their scores by one metric, and where the columns of the scores are."""
    # With the runs, PostgreSQL finds the scores in one index, and need not look through those of all runs.
    scores = FilteredRelation("scores", condition=Q(scores__run__in=runs, scores__metric=metric))
    return results.annotate(score=scores), {name: f"score__{path}" for name, path in _SCORE_PATHS.items()}


def _of_several(results: QuerySet[Result]) -> tuple[QuerySet[Any, Any], Mapping[str, str]]:
    """The results with what several metrics decide together."""
    status = Case(
        When(value__isnull=False, outcome__in=FAULTS, then=F("outcome")),
        When(value__isnull=False, then=Value(Score.Status.SCORED)),
        When(IN_DOUBT, then=Value(Score.Status.DOUBTFUL)),
        When(outcome=Outcome.ANSWERED, then=Value(Score.Status.NOT_APPLICABLE)),
        When(outcome__in=UNSCORED, then=F("outcome")),
    )
    return results.annotate(score_status=status), {"value": "value", "status": "score_status"}


def _in_columns(names: Sequence[str], rows: QuerySet[Any, tuple[Any, ...]]) -> dict[str, NDArray[Any]]:
    import numpy as np

    shared: dict[str, str] = {}
    parts = [[_column(name, (), shared)] for name in names]
    read = rows.iterator(FETCHED)
    while batch := list(islice(read, FETCHED)):
        for name, part, values in zip(names, parts, zip(*batch, strict=True), strict=True):
            part.append(_column(name, values, shared))
    return {name: np.concatenate(part) for name, part in zip(names, parts, strict=True)}


def _column(name: str, values: Sequence[Any], shared: dict[str, str]) -> NDArray[Any]:
    """``shared`` holds the texts that equal ones become, which saves most of their memory."""
    import numpy as np

    if name in _INTEGERS:
        return np.array(values, dtype=np.int64)
    if name in _FLOATS:
        return np.array(values, dtype=np.float64)
    objects: Iterable[Any]
    if name == "verdicts":
        objects = (_verdicts(stored or (), shared) for stored in values)
    else:
        objects = (shared.setdefault(value, value) if isinstance(value, str) else value for value in values)
    return np.fromiter(objects, dtype=object, count=len(values))


def _verdicts(stored: Sequence[Mapping[str, Any]], shared: dict[str, str]) -> tuple[Verdict, ...]:
    """None if one stands in another judge's place, which says nothing about how the judges agree."""
    if any("instead_of" in row for row in stored):
        return ()
    return tuple(
        Verdict(shared.setdefault(row["judge"], row["judge"]), row["value"], row["reordered"]) for row in stored
    )


def task_scores(run: Run, metric: str) -> OfTasks:
    """The scores of a run by the content hash of each task, of all results of which a score is expected."""
    import numpy as np

    table = read_scores(run, metric, "content", "cluster", "status")
    table = table.where(~np.isin(table["status"], LEFT_OUT))
    tasks, means = table.means("content")
    scores = {task: None if math.isnan(mean) else mean for task, mean in zip(tasks, means.tolist(), strict=True)}
    asked, without = Counter(table["content"].tolist()), Counter(table["content"][np.isnan(table.value)].tolist())
    unscored = {task: n / asked[task] for task, n in without.items() if n < asked[task]}
    return OfTasks(scores, dict(table.rows("content", "cluster")), unscored)


def joined_clusters(clusterings: Iterable[Mapping[Hashable, Hashable]]) -> dict[Hashable, Hashable]:
    """Task → cluster, where tasks that any of these has in one cluster are in one: versions of a dataset can say
    differently what belongs together."""
    joined: dict[Hashable, Hashable] = {}

    def root(task: Hashable) -> Hashable:
        while joined[task] != task:
            joined[task] = task = joined[joined[task]]
        return task

    for clusters in clusterings:
        first: dict[Hashable, Hashable] = {}
        for task, name in clusters.items():
            joined.setdefault(task, task)
            joined[root(task)] = root(first.setdefault(name, task))
    return {task: root(task) for task in joined}


def compare_scores(first: OfTasks, second: OfTasks, tasks: Sequence[Hashable] | None = None) -> Comparison:
    """The second run compared with the first, on all their common tasks or on some of them."""
    a, b = first.scores, second.scores
    if tasks is not None:
        a, b = {task: a[task] for task in tasks}, {task: b[task] for task in tasks}
    return compare(a, b, joined_clusters([first.clusters, second.clusters]), unscored=(first.unscored, second.unscored))


def edges_of(first: OfTasks, second: OfTasks, level: float, level_high: float | None = None) -> Edges:
    """The one-sided bounds of the second run minus the first on their common tasks."""
    unscored = (first.unscored, second.unscored)
    clusters = joined_clusters([first.clusters, second.clusters])
    return edges(first.scores, second.scores, clusters, unscored=unscored, level=level, level_high=level_high)


def score_vector(run: Run, metric: str) -> Vector:
    """The ids of a run's tasks, ascending, and the mean score of each over its repeats; cached once the run ended."""
    return kept_for(f"task-scores:2:{metric}", [run], lambda: _vector(run, metric))


def _vector(run: Run, metric: str) -> Vector:
    import numpy as np

    tasks, means = read_scores(run, metric, "task").means("task")
    ids = np.array(tasks, dtype=np.int64)
    order = np.argsort(ids)
    return ids[order], means[order]


def metric_of(run: Run, metric: str) -> str:
    """The chosen metric if the run has it, else its headline."""
    return metric if metric in run.all_metrics else run.headline


def scores_of(members: Sequence[Run], metric: str, read: Callable[[Run, str], OfTasks] = task_scores) -> Scores:
    """The scores of runs on one dataset, by task of identical content."""
    import numpy as np

    columns: dict[Hashable, int] = {}
    clusters: dict[Hashable, int] = {}
    of_columns: list[int] = []
    rows = [read(run, metric_of(run, metric)) for run in members]
    joined = joined_clusters(row.clusters for row in rows)
    for row in rows:
        for task in row.scores:
            if task not in columns:
                columns[task] = len(columns)
                of_columns.append(clusters.setdefault(joined[task], len(clusters)))
    values = np.full((len(rows), len(columns)), np.nan)
    missing = np.zeros(values.shape)
    for place, row in enumerate(rows):
        for task, value in row.scores.items():
            at = place, columns[task]
            values[at], missing[at] = (np.nan, 1.0) if value is None else (value, row.unscored.get(task, 0.0))
    return Scores(values, np.array(of_columns, dtype=np.int64), missing if missing.any() else None)
