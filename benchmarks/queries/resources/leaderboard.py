"""Models ranked over several datasets, as other programs read them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

from benchmarks.analysis.matrices import Cell
from benchmarks.analysis.overall_ranks import Column, OverallRow
from benchmarks.queries.overall_leaderboard import Overall
from benchmarks.queries.resources.base import Reader, Resource
from benchmarks.statistics.ranking import MeanRank


@dataclass(frozen=True, slots=True)
class OverallCell:
    """The latest full run of a model on a dataset."""

    dataset: str
    run: int
    metric: str
    mean: float | None
    """Strict mean"""
    low: float | None
    high: float | None
    n: int
    total: int | None
    """Results that the metric applies to"""

    @classmethod
    def of(cls, column: Column, cell: Cell) -> Self:
        numbers = cell.mean, cell.low, cell.high, cell.n, cell.total
        return cls(column.dataset.slug, cell.run.pk, column.metric, *numbers)


@dataclass(frozen=True, kw_only=True)
class OverallRowResource(Resource):
    """A model, by how it answers, over all datasets; it has a rank or a reason why not."""

    model: str
    differs: str | Literal[""]
    """The parameters of its answers in which the rows differ; empty if they do not"""
    rank: int | None
    mean_rank: MeanRank | None
    reason: str | Literal[""]
    scores: Sequence[OverallCell]

    @classmethod
    def of(cls, row: OverallRow, reader: Reader, **given: Any) -> Self:
        """Given are the ``columns`` of its cells."""
        cells = zip(given["columns"], row.cells, strict=True)
        scores = [OverallCell.of(column, cell) for column, cell in cells if cell is not None]
        return super().of(row, reader, scores=scores)


@dataclass(frozen=True, kw_only=True)
class OverallResource(Resource):
    datasets: Sequence[str]
    datasets_missing: int
    """How many more datasets could show the ranks on others like them; 0 if these are enough"""
    results: Sequence[OverallRowResource]

    @classmethod
    def of(cls, row: Overall, reader: Reader, **given: Any) -> Self:
        return cls(
            datasets=[column.dataset.slug for column in row.columns],
            datasets_missing=row.datasets_missing,
            results=[OverallRowResource.of(each, reader, columns=row.columns) for each in row.rows],
        )
