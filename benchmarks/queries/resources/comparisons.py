"""Comparisons of runs on their shared tasks, as other programs read them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from benchmarks.analysis.comparisons import Compared, common_metrics
from benchmarks.models import Run, RunStatus
from benchmarks.queries.resources.base import Reader, Resource
from benchmarks.summary import Mean


@dataclass(frozen=True, slots=True)
class Interval(Mean):
    """A mean with its 95% interval, all ``null`` if there is none; ``note`` states its limits."""


@dataclass(frozen=True, kw_only=True)
class ComparedRun(Resource):
    described_by: ClassVar = Run

    id: int
    model: str
    dataset: str
    dataset_version: int
    added_canvases: int
    status: RunStatus

    @classmethod
    def of(cls, row: Run, reader: Reader, **given: Any) -> Self:
        return super().of(row, reader, dataset=row.dataset.slug, dataset_version=row.dataset_version.number, **given)


@dataclass(frozen=True, kw_only=True)
class ComparisonResource(Resource):
    """Run ``b`` minus run ``a`` on their shared tasks (those of identical content), in scores from 0 to 1."""

    a: int
    b: int
    metric: str
    n_shared: int
    """Tasks with a score in both runs"""
    n_missing: int
    """Shared tasks without a score in both"""
    n_only_a: int
    n_only_b: int
    n_clusters: int | None
    n_changed: int
    n_better: int
    n_worse: int
    interval_a: Interval | None
    """On the shared tasks"""
    interval_b: Interval | None
    """On the shared tasks"""
    difference: float | None
    low: float | None
    high: float | None
    p_value: float | None
    p_missing: float | None
    """With the missing scores counted against the run that gains; ``null`` if nothing is missing"""
    p_adjusted: float | None
    """The larger of both, Holm-adjusted for ``family_size`` comparisons"""
    family_size: int
    is_clear: bool
    regression: bool
    """Whether ``b`` is significantly worse"""
    margin: float
    """Within which the runs count as the same, as a score from 0 to 1"""
    same: bool
    """Whether both are the same within the margin, whatever the missing scores are"""
    low_same: float | None
    """One-sided 95% bound over the family, missing scores counted against"""
    high_same: float | None
    same_sentence: str
    worst_case: float | None
    best_case: float | None
    effect_size: float | None
    effect_size_name: str
    detectable_difference: float | None
    """That is significant with 80% power in this family; ``null`` if none is"""
    method: str
    note: str
    sentence: str
    missing_sentence: str
    scope_sentence: str
    """Tasks of one run only, and differing settings"""

    @classmethod
    def of(cls, row: Compared, reader: Reader, **given: Any) -> Self:
        own = (
            *("metric", "p_adjusted", "family_size", "is_clear", "margin", "detectable_difference"),
            *("sentence", "same_sentence", "missing_sentence", "scope_sentence"),
        )
        intervals = {name: getattr(row.comparison, name) for name in ("interval_a", "interval_b")}
        return super().of(
            row.comparison,
            reader,
            a=row.a.pk,
            b=row.b.pk,
            regression=row.is_drop,
            same=row.is_same,
            low_same=row.edges.low_missing,
            high_same=row.edges.high_missing,
            **{name: getattr(row, name) for name in own},
            **{name: each and Interval.of(each) for name, each in intervals.items()},
            **given,
        )


@dataclass(frozen=True, kw_only=True)
class Comparisons(Resource):
    runs: list[ComparedRun]
    metrics: list[str]
    """Scores that all these runs have"""
    comparisons: list[ComparisonResource]

    @classmethod
    def of(cls, row: Sequence[Run], reader: Reader, *, comparisons: Sequence[Compared] = (), **given: Any) -> Self:
        return cls(
            runs=[ComparedRun.of(run, reader) for run in row],
            metrics=common_metrics(row),
            comparisons=[ComparisonResource.of(each, reader) for each in comparisons],
        )
