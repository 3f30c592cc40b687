"""Runs ranked by corrected means, as other programs read them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from benchmarks.analysis.corrected_ranks import CorrectedPlace
from benchmarks.queries.resources.base import Reader, Resource


@dataclass(frozen=True, kw_only=True)
class CorrectedRankResource(Resource):
    """A run by its judge's mean after correction by people's labels."""

    run: int
    model: str
    rank: list[int] | None
    """The lowest and the highest that the tests allow; null without a rank"""
    mean: float | None
    low: float | None
    high: float | None
    judge_alone: float | None
    n_labels: int
    n_judged: int
    coverage: float
    """Share of the expected answers that have a verdict"""
    reason: str
    """Why it has no rank"""

    @classmethod
    def of(cls, row: CorrectedPlace, reader: Reader, **given: Any) -> Self:
        means = row.means
        return super().of(
            row,
            reader,
            run=row.run.pk,
            model=row.run.model,
            rank=list(row.ranks) if row.ranks else None,
            mean=means.mean if means else None,
            low=means.low if means else None,
            high=means.high if means else None,
            judge_alone=means.judge.mean if means else None,
            **given,
        )
