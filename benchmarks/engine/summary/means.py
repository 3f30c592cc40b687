"""Sums of scores, taken by the database: by cell of a run, and by cluster where results share a canvas or a task.

Means with their intervals: of a run's metrics, and by difficulty, task class and number of shapes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

from django.db import connection
from django.db.models import Count, F, Max, Q, Sum

from benchmarks.metrics.registered_metrics import metric_named
from benchmarks.models import Outcome, Run, Score
from benchmarks.statistics.intervals import Clusters, Interval, interval_from_moments
from benchmarks.statistics.measurements import measurement_interval
from benchmarks.statistics.spread import ClusteredSpread

FACETS = ("difficulty", "group", "n_shapes")
FETCHED = 5_000


class Cell(NamedTuple):
    """The results of one metric that are alike in everything a run is broken down by."""

    metric: str
    difficulty: str
    group: str
    n_shapes: int | None


@dataclass(slots=True)
class Sums:
    """What intervals need to know of scored values, and how many results have no score, by status."""

    n: int = 0
    total: float = 0.0
    squares: float = 0.0
    cubes: float = 0.0
    fourths: float = 0.0
    graded: int = 0
    """How many values are neither 0 nor 1."""
    highest: float | None = None
    truncated: int = 0
    """How many values are of answers that were cut off at the token limit, and so may be lower than they should."""
    refused: int = 0
    unscored: Counter[str] = field(default_factory=Counter)

    def add(self, other: Sums) -> None:
        self.n += other.n
        self.total += other.total
        self.squares += other.squares
        self.cubes += other.cubes
        self.fourths += other.fourths
        self.graded += other.graded
        self.truncated += other.truncated
        self.refused += other.refused
        self.highest = max((value for value in (self.highest, other.highest) if value is not None), default=None)
        self.unscored.update(other.unscored)

    @property
    def mean(self) -> float:
        return self.total / self.n

    @property
    def squared_deviations(self) -> float:
        """The sum of the squared distances from the mean."""
        return max(0.0, self.squares - self.total**2 / self.n)


def summed_cells(run: Run) -> dict[Cell, Sums]:
    """The sums of every cell of a run, in one query."""
    value, scored = F("value"), Q(value__isnull=False)
    rows = (
        run.scores.order_by()
        .values_list("metric", "result__difficulty", "result__group", "result__n_shapes", "status")
        .annotate(
            n=Count("pk"),
            total=Sum("value"),
            squares=Sum(value * value),
            cubes=Sum(value * value * value),
            fourths=Sum(value * value * value * value),
            graded=Count("pk", filter=scored & ~Q(value__in=(0.0, 1.0))),
            highest=Max("value"),
            truncated=Count("pk", filter=scored & Q(result__outcome=Outcome.TRUNCATED)),
            refused=Count("pk", filter=scored & Q(result__outcome=Outcome.REFUSED)),
        )
    )
    cells: dict[Cell, Sums] = {}
    for *names, status, n, total, squares, cubes, fourths, graded, highest, truncated, refused in rows:
        found = cells.setdefault(Cell(*names), Sums())
        if total is None:
            found.unscored[status] += n
        else:
            found.add(Sums(n, total, squares, cubes, fourths, graded, highest, truncated, refused))
    return cells


def added(cells: Iterable[tuple[Cell, Sums]], key: Callable[[Cell], Any]) -> dict[Any, Sums]:
    """The cells put together by ``key``; those whose key is ``None`` are left out."""
    found: dict[Any, Sums] = {}
    for cell, sums in cells:
        if (name := key(cell)) is not None:
            found.setdefault(name, Sums()).add(sums)
    return found


def cluster_counts(run: Run, metric: str, *facets: str) -> Iterator[tuple[tuple[Any, ...], int, float, int]]:
    """At each level of ``facets``: size, sum, and how many clusters have both there, as ``(level, size, sum, count)``.

    The database may answer with any number of rows for one level; none is kept.
    """
    levels = {f"level_{place}": F(f"result__{name}") for place, name in enumerate(facets)}
    clusters = (
        run.scores.filter(metric=metric, value__isnull=False)
        .order_by()
        .values(**levels, in_cluster=F("result__cluster"))
        .annotate(size=Count("pk"), subtotal=Sum("value"))
    )
    statement, parameters = clusters.query.sql_with_params()
    keys = ", ".join((*levels, "size", "subtotal"))
    counted = f"SELECT {keys}, COUNT(*) FROM ({statement}) AS clusters GROUP BY {keys}"
    for *level, size, subtotal, count in _streamed(counted, parameters):
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
    """Every cluster of a run with its parts, one after the other."""
    parts = (
        run.scores.filter(metric=metric, value__isnull=False)
        .order_by("result__cluster")
        .values_list("result__cluster", "result__n_shapes", "result__group")
        .annotate(n=Count("pk"), total=Sum("value"), squares=Sum(F("value") * F("value")))
    )
    for _, rows in groupby(parts.iterator(chunk_size=FETCHED), key=itemgetter(0)):
        yield [ClusterPart(*row) for row in rows]


def _streamed(statement: str, parameters: Iterable[Any]) -> Iterator[tuple[Any, ...]]:
    """The rows of a statement as the database hands them out, never all at once."""
    with connection.chunked_cursor() as cursor:
        cursor.execute(statement, list(parameters))
        while rows := cursor.fetchmany(FETCHED):
            yield from rows


Facets = tuple[str, ...]
Level = tuple[Any, ...]
Means = dict[tuple[str, Facets, Level], Interval]
"""Metric, facets and the level of each of them → the mean there. Of the whole run both are empty."""

WHOLE: Facets = ()
SURFACE: Facets = ("n_shapes", "group")
TOGETHER: tuple[tuple[Facets, tuple[Facets, ...]], ...] = (
    (("difficulty",), (("difficulty",),)),
    (("n_shapes",), (WHOLE, ("n_shapes",))),
    (SURFACE, (("group",), SURFACE)),
)
"""What is told by clusters counted at which level. A canvas has one number of shapes, so counts by it add up."""
TOGETHER_BY_TASK: tuple[tuple[Facets, tuple[Facets, ...]], ...] = ((("difficulty",), (WHOLE, ("difficulty",))),)
"""The same outside canvas sets, where a cluster is a task."""


def has_clusters(run: Run) -> bool:
    """Whether results of the run share canvases or, where it repeats, tasks."""
    return run.repeats > 1 or run.has_canvases


def means_of(run: Run, cells: Mapping[Cell, Sums]) -> Means:
    """All means of a run: of the whole, by difficulty, task class, number of shapes, and by the latter two together."""
    sums = {
        (metric, facets, level): found
        for facets in (WHOLE, ("difficulty",), ("group",), ("n_shapes",), SURFACE)
        for (metric, level), found in added(cells.items(), partial(_level, facets)).items()
        if metric in run.metrics
    }
    if not has_clusters(run):
        return {key: interval_of(key[0], found) for key, found in sums.items()}
    gathered = {key: ClusteredSpread(found.n, found.total / found.n) for key, found in sums.items() if found.n}
    for metric in run.metrics:
        _gather(run, metric, gathered)
    return {key: interval_of(key[0], found, gathered.get(key, ())) for key, found in sums.items()}


def _gather(run: Run, metric: str, gathered: Mapping[tuple[str, Facets, Level], ClusteredSpread]) -> None:
    """Give the clusters of a metric to every mean they belong to."""
    for counted, told in TOGETHER if run.has_canvases else TOGETHER_BY_TASK:
        for level, size, subtotal, count in cluster_counts(run, metric, *counted):
            named = dict(zip(counted, level, strict=True))
            for facets in told:
                if found := gathered.get((metric, facets, tuple(named[name] for name in facets))):
                    found.add(size, subtotal, count)


def _level(facets: Facets, cell: Cell) -> tuple[str, Level] | None:
    level = tuple(getattr(cell, name) for name in facets)
    return None if None in level or "" in level else (cell.metric, level)


def interval_of(metric: str, sums: Sums, clusters: Clusters | None = None) -> Interval:
    """A score's interval, or the t interval of a measurement such as a latency."""
    low, high = range_of(metric)
    if (low, high) != (0.0, 1.0):
        return measurement_interval(sums.n, sums.total, sums.squares, clusters=clusters, lowest=low)
    return interval_from_moments(
        sums.n,
        sums.total,
        sums.squares,
        binary=not sums.graded,
        clusters=clusters,
        total_of_cubes=sums.cubes,
        total_of_fourths=sums.fourths,
    )


def range_of(metric: str) -> tuple[float, float | None]:
    """Lowest and highest value of a metric of some run."""
    found = metric_named(metric)
    return (0.0, 1.0) if found is None else found.range


def plain(interval: Interval) -> dict[str, Any]:
    """An interval as it is stored."""
    return {
        "mean": interval.mean,
        "n": interval.n,
        "low": interval.low,
        "high": interval.high,
        "n_clusters": interval.n_clusters,
        "method": interval.method,
        "note": interval.note,
    }


def metric_numbers(run: Run, cells: Mapping[Cell, Sums], means: Means) -> dict[str, dict[str, Any]]:
    """Each metric of the run: its mean, how many results have none, by the reason, and how many of those in the mean
    were cut off or refused."""
    sums = added(cells.items(), lambda cell: cell.metric)
    numbers = {}
    for metric in run.metrics:
        found = sums.get(metric, Sums())
        mean = means.get((metric, WHOLE, ())) or interval_of(metric, found, () if has_clusters(run) else None)
        numbers[metric] = {
            **plain(mean),
            "n_not_applicable": found.unscored[Score.Status.NOT_APPLICABLE],
            "n_unparsable": found.unscored[Score.Status.UNPARSABLE],
            "n_judge_error": found.unscored[Score.Status.JUDGE_ERROR],
            "n_metric_error": found.unscored[Score.Status.METRIC_ERROR],
            "n_missing": max(run.total - found.n - found.unscored.total(), 0),
            "n_truncated": found.truncated,
            "n_refused": found.refused,
        }
    return numbers


def breakdown_of(run: Run, means: Means) -> dict[str, Any]:
    """By each facet that the run has: level → metric → its mean; and the surface over shapes and task classes."""
    breakdown: dict[str, Any] = {}
    for facet in FACETS:
        levels: dict[str, dict[str, Any]] = {}
        for metric, (level,), mean in _ordered(run, means, (facet,)):
            levels.setdefault(str(level), {})[metric] = plain(mean)
        if levels:
            breakdown[facet] = levels
    breakdown["surface"] = [
        {"n_shapes": n_shapes, "group": group, "metric": metric, **plain(mean)}
        for metric, (n_shapes, group), mean in _ordered(run, means, SURFACE)
    ]
    return breakdown


def _ordered(run: Run, means: Means, facets: Facets) -> list[tuple[str, Level, Interval]]:
    """By level, easy before hard and few shapes before many, then by the run's metrics."""
    known = {name: place for place, name in enumerate(("easy", "medium", "hard", *run.metrics))}

    def order(row: tuple[str, Level, Interval]) -> tuple[Any, ...]:
        metric, level, _ = row
        return (*((known.get(name, 0), name) for name in level), known[metric])

    found = [(metric, level, mean) for (metric, of, level), mean in means.items() if of == facets]
    return sorted(found, key=order)
