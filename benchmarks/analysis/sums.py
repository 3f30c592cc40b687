"""What the database sums of the scores of runs: by cell of a run, and by cluster if results share a canvas or a task.

No score is read, so a run of any size needs no memory. Read as a ``ScoreTable``, the scores of 300,000 results by two
metrics took as much of the processor as these sums (2.0 s), and 35 MB.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

from django.db import connection
from django.db.models import Count, Exists, F, Max, OuterRef, Q, QuerySet, Sum

from benchmarks.analysis.score_table import FETCHED, IN_DOUBT, LEFT_OUT
from benchmarks.metrics.base import FAULTS
from benchmarks.metrics.deciding import deciding_name, is_deciding
from benchmarks.models import UNSCORED, Result, Run, Score
from benchmarks.statistics.intervals import Moments

ADDED = ("n", "total", "squares", "cubes", "fourths", "graded", "zeros", "readable_total", "results")

_VALUE = F("value")
_MOMENTS = {
    "rows_there": Count("pk"),
    "n": Count("value"),
    "total": Sum("value"),
    "squares": Sum(_VALUE * _VALUE),
    "cubes": Sum(_VALUE * _VALUE * _VALUE),
    "fourths": Sum(_VALUE * _VALUE * _VALUE * _VALUE),
    "graded": Count("pk", filter=Q(value__isnull=False) & ~Q(value__in=(0.0, 1.0))),
    "zeros": Count("pk", filter=Q(value=0.0)),
    "highest": Max("value"),
}


class Cell(NamedTuple):
    """The results of one metric that agree in everything a run is broken down by."""

    metric: str
    difficulty: str
    group: str
    n_shapes: int | None


@dataclass(slots=True)
class Sums(Moments):
    """What intervals need from the values, how many results there are, and which status their scores have."""

    highest: float | None = None
    readable_total: float = 0.0
    """The sum over answers without a fault."""
    statuses: Counter[str] = field(default_factory=Counter)
    results: int = 0
    """All results, also those that have no score yet or never get one."""

    @property
    def expected(self) -> int:
        """The N of every mean: the results that the metric applies to and whose reference is not in doubt."""
        return self.results - sum(self.statuses[status] for status in LEFT_OUT)

    def add(self, other: Sums) -> None:
        for name in ADDED:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.highest = max((value for value in (self.highest, other.highest) if value is not None), default=None)
        self.statuses.update(other.statuses)


def headline_of(run: Run) -> str:
    """The metric of the run's score: the first that can decide an outcome if it applies to every task, else what those
    that decide some task make together; the run's first metric if none decides anything."""
    names = [metric.name for metric in run.deciding_metrics()]
    if not names:
        return run.first_deciding
    others = run.scores.filter(metric=names[0], value__isnull=True, status=Score.Status.NOT_APPLICABLE)
    if not others.exists():
        return names[0]
    parts = [name for place, name in enumerate(names) if _decides(run, name, names[:place])]
    return deciding_name(parts) if parts else names[0]


def _decides(run: Run, metric: str, earlier: Sequence[str]) -> bool:
    """Whether there is a result to which the metric applies, and none of the ``earlier`` ones does."""
    applies = Score.objects.filter(run=run).exclude(status__in=LEFT_OUT)
    decided = Exists(applies.filter(metric__in=earlier, result=OuterRef("result")))
    return applies.filter(~decided, metric=metric).exists()


def scored_rows(run: Run, metric: str) -> tuple[QuerySet[Any], str]:
    """The rows whose ``value`` is a score by the metric, and the prefix of the fields of their results."""
    if is_deciding(metric):
        return run.results.filter(value__isnull=False), ""
    return run.scores.filter(metric=metric, value__isnull=False), "result__"


def doubtful_results(run: Run) -> QuerySet[Result]:
    """The results that have no score because of a doubtful expected answer."""
    return run.results.filter(IN_DOUBT, value__isnull=True)


def summed_cells(run: Run) -> dict[Cell, Sums]:
    """The sums of every cell of a run, in a few queries."""
    cells: dict[Cell, Sums] = {}
    for metric, *facets, sums in score_sums(run, "difficulty", "group", "n_shapes"):
        cells.setdefault(Cell(metric, *facets), Sums()).add(sums)
    results = run.results.order_by().values_list("difficulty", "group", "n_shapes").annotate(n=Count("pk"))
    for *facets, n in results:
        for metric in run.all_metrics:
            cells.setdefault(Cell(metric, *facets), Sums()).results = n
    return cells


def score_sums(run: Run, *fields: str) -> Iterator[tuple[Any, ...]]:
    """The sums of scores by metric, fields of the result and status: metric, fields, sums."""
    names = [f"result__{field}" for field in fields]
    rows = run.scores.order_by().values_list("metric", *names, "status").annotate(**_MOMENTS)
    for row in rows.iterator(chunk_size=FETCHED):
        keys, (status, rows_there, n, total, *others) = row[: 1 + len(fields)], row[1 + len(fields) :]
        sums = Sums() if total is None else Sums(n, total, *others)
        sums.readable_total = total if total is not None and status == Score.Status.SCORED else 0.0
        sums.statuses[status] = rows_there
        yield *keys, sums
    if is_deciding(run.headline):
        yield from _task_sums(run, fields)


def _task_sums(run: Run, fields: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    """The same for the headline of several metrics, whose values are in the results themselves."""
    rows = run.results.order_by().values_list(*fields, "outcome").annotate(**_MOMENTS)
    for row in rows.iterator(chunk_size=FETCHED):
        keys, (outcome, rows_there, n, total, *others) = row[: len(fields)], row[len(fields) :]
        sums = Sums() if total is None else Sums(n, total, *others)
        status = outcome if outcome in FAULTS else Score.Status.SCORED
        sums.readable_total = total if total is not None and status == Score.Status.SCORED else 0.0
        sums.statuses[status] = n
        if outcome in UNSCORED:
            sums.statuses[outcome] = rows_there - n
        yield run.headline, *keys, sums
    for *keys, n in doubtful_results(run).order_by().values_list(*fields).annotate(n=Count("pk")):
        yield run.headline, *keys, Sums(statuses=Counter({Score.Status.DOUBTFUL: n}))


def added(cells: Mapping[Cell, Sums], key: Callable[[Cell], Any]) -> dict[Any, Sums]:
    """The cells summed by ``key``; cells whose key is ``None`` are left out."""
    groups: dict[Any, Sums] = {}
    for cell, sums in cells.items():
        if (name := key(cell)) is not None:
            groups.setdefault(name, Sums()).add(sums)
    return groups


def expected_weight(run: Run, metric: str) -> float:
    """The weights of the tasks of all results that the metric applies to and whose reference is not in doubt."""
    weight: float = run.results.aggregate(all=Sum("task__weight"))["all"] or 0.0
    if is_deciding(metric):
        return weight - (doubtful_results(run).aggregate(left=Sum("task__weight"))["left"] or 0.0)
    left_out = run.scores.filter(metric=metric, status__in=LEFT_OUT)
    return weight - (left_out.aggregate(left=Sum("result__task__weight"))["left"] or 0.0)


def cluster_counts(run: Run, metric: str, facets: Sequence[str]) -> Iterator[tuple[tuple[Any, ...], int, float, int]]:
    """At each level of ``facets``: size, sum, and how many clusters have both there, as ``(level, size, sum, count)``.

    Rows of the same level come in any number and order, and none is stored.
    """
    rows, at = scored_rows(run, metric)
    levels = {f"level_{place}": F(f"{at}{name}") for place, name in enumerate(facets)}
    clusters = (
        rows.order_by().values(**levels, in_cluster=F(f"{at}cluster")).annotate(size=Count("pk"), subtotal=Sum("value"))
    )
    # Django cannot group a grouped query again, so the outer query is SQL. It keeps the rows few: most clusters of a
    # run have one of a handful of sizes and sums.
    statement, parameters = clusters.query.sql_with_params()
    keys = ", ".join((*levels, "size", "subtotal"))
    with connection.chunked_cursor() as cursor:
        cursor.execute(f"SELECT {keys}, COUNT(*) FROM ({statement}) AS clusters GROUP BY {keys}", list(parameters))
        while rows := cursor.fetchmany(FETCHED):
            for *level, size, subtotal, count in rows:
                yield tuple(level), size, subtotal, count


class ClusterPart(NamedTuple):
    """What one cluster has in one cell of one metric."""

    cluster: str
    n_shapes: int | None
    group: str
    n: int
    total: float
    squares: float


def cluster_parts(run: Run, metric: str) -> Iterator[list[ClusterPart]]:
    """Every cluster of a run with its parts, one cluster after the other."""
    for _, rows in groupby(cluster_sums(run, metric, "n_shapes", "group"), key=itemgetter(0)):
        yield [ClusterPart(*row) for row in rows]


def cluster_sums(run: Run, metric: str, *fields: str) -> Iterator[tuple[Any, ...]]:
    """The scores of each cluster that agree in ``fields`` of their results, one cluster after the other: cluster,
    fields, number, sum and sum of squares."""
    rows, at = scored_rows(run, metric)
    names = [f"{at}{name}" for name in ("cluster", *fields)]
    sums = {"n": Count("pk"), "total": Sum("value"), "squares": Sum(_VALUE * _VALUE)}
    grouped = rows.order_by(names[0]).values_list(*names).annotate(**sums)
    yield from grouped.iterator(chunk_size=FETCHED)
