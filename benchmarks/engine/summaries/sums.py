"""Sums of scores, taken by the database: by cell of a run, and by cluster where results share a canvas or a task."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

from django.db import connection
from django.db.models import Count, F, Max, Q, Sum

from benchmarks.models import Outcome, Run

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
