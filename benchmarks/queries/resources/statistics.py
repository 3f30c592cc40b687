"""The statistics of a run, as other programs read them: parts of its summary, described in ``benchmarks.summary``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any, ClassVar, Self

from benchmarks.models import Run, RunStatus
from benchmarks.queries.contamination import ContaminationCheck, contamination_check
from benchmarks.queries.resources.base import Reader, Resource
from benchmarks.summary import Adaptive, Canvases, Chance, Counted, Expected, Readable, Reliability, Threshold


@dataclass(frozen=True, slots=True)
class MetricStatistics(Counted):
    readable: Readable = field(default_factory=Readable)


@dataclass(frozen=True, kw_only=True)
class ContaminationResource(Resource):
    """Published minus fresh, in scores from 0 to 1; numbers are ``null`` until both runs have ended."""

    published: int
    """The run on the published set"""
    fresh: int
    """The run on fresh tasks"""
    difference: float | None
    low: float | None
    high: float | None
    p_value: float | None
    n_published: int | None
    n_fresh: int | None
    n_missing: int | None
    """Results of both runs without a score"""
    low_missing: float | None
    """The lower bound if every missing score were 0 in the published set and 1 in the fresh one"""
    high_missing: float | None
    """The upper bound with the reverse"""
    left_out: Sequence[str]
    """Numbers of shapes, or levels, with scores in one of the runs only"""
    sentence: str

    @classmethod
    def of(cls, row: ContaminationCheck, reader: Reader, **given: Any) -> Self:
        measured = row.measured
        counts = ("n_published", "n_fresh", "n_missing")
        names = ("difference", "low", "high", "low_missing", "high_missing", "p_value", *counts)
        return cls(
            published=row.published.pk,
            fresh=row.fresh.pk,
            **{name: getattr(measured, name, None) for name in names},
            left_out=measured.left_out if measured else (),
            sentence=row.sentence,
        )


@dataclass(frozen=True, kw_only=True)
class StatisticsResource(Resource):
    """The statistics of a run's scores, computed when the run ended."""

    described_by: ClassVar = Run

    id: int
    status: RunStatus
    summarized_at: datetime | None
    metrics: Mapping[str, MetricStatistics]
    fault_rates: Mapping[str, Expected]
    """Outcome, of ``refused``, ``truncated`` and ``unparsable`` → its share of all answers"""
    breakdown: Mapping[str, object]
    """Facet → level → metric → mean, and the surface over shapes and classes"""
    chance: Mapping[str, Chance]
    thresholds: Sequence[Threshold]
    reliability: Mapping[str, Reliability]
    repeats_same_seed: bool
    """Whether every repeat was sent with one seed, so that repeats may be copies of each other"""
    adaptive: Adaptive | None
    canvases: Sequence[Canvases]
    contamination: ContaminationResource | None

    @classmethod
    def of(cls, row: Run, reader: Reader, **given: Any) -> Self:
        numbers, check = row.numbers, contamination_check(row)
        shown = [each.name for each in fields(MetricStatistics)]
        return super().of(
            row,
            reader,
            metrics={
                name: MetricStatistics(**{key: getattr(metric, key) for key in shown})
                for name, metric in numbers.metrics.items()
            },
            fault_rates=numbers.fault_rates or {},
            chance=numbers.chance or {},
            thresholds=numbers.thresholds or (),
            reliability=numbers.reliability or {},
            adaptive=numbers.adaptive,
            canvases=numbers.canvases or (),
            contamination=ContaminationResource.of(check, reader) if check else None,
        )
