"""Scores over time, as other programs read them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self

from benchmarks.queries.history import History, Point
from benchmarks.queries.resources.base import Reader, Resource


@dataclass(frozen=True, kw_only=True)
class PointResource(Resource):
    run: int
    created_at: datetime
    version: str
    """Of the dataset"""
    is_new_version: bool
    """Whether the run before asked another version"""
    mean: float
    """Strict mean"""
    low: float | None
    high: float | None
    n: int
    n_expected: int | None

    @classmethod
    def of(cls, row: Point, reader: Reader, **given: Any) -> Self:
        run = row.run
        numbers = {name: getattr(row.numbers, name) for name in ("low", "high", "n", "n_expected")}
        return super().of(row, reader, run=run.pk, created_at=run.created_at, version=run.version_label, **numbers)


@dataclass(frozen=True, kw_only=True)
class HistoryResource(Resource):
    """The full runs of one model on one dataset, asked in the same way, oldest first."""

    dataset: str
    model: str
    metric: str
    """The first of each run"""
    setting: str
    """How the model was asked; empty if in one way only"""
    points: Sequence[PointResource]
    """At most 60"""

    @classmethod
    def of(cls, row: History, reader: Reader, **given: Any) -> Self:
        points = [PointResource.of(point, reader) for point in row.points]
        return super().of(row, reader, dataset=row.dataset.slug, points=points)
