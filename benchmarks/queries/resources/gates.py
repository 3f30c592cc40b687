"""Gates and their series, as other programs read them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar, Literal, Self

from benchmarks.analysis.gates import Gated
from benchmarks.models import GateCheck, GateSeries
from benchmarks.presentation.comparisons import series_sentence
from benchmarks.queries.resources.base import Reader, Resource
from benchmarks.statistics.margins import NIGHTS
from benchmarks.statistics.self_check import SelfCheck

Outcome = Literal["pass", "worse", "undecided", "missing"]


@dataclass(frozen=True, kw_only=True)
class GateCheckResource(Resource):
    described_by: ClassVar = GateCheck

    number: int
    period: int
    run: int | None
    against: int | None
    metric: str
    margin: float
    difference: float | None
    low: float | None
    high: float | None
    n: int
    n_missing: int
    verdict: Outcome
    """`pass`, `worse`, `undecided`, or `missing`: undecided only because of missing scores"""
    sentence: str
    created_at: datetime

    @classmethod
    def of(cls, row: GateCheck, reader: Reader, **given: Any) -> Self:
        return super().of(row, reader, run=row.run_id, against=row.against_id, **given)


@dataclass(frozen=True, kw_only=True)
class GateSeriesResource(Resource):
    described_by: ClassVar = GateSeries

    name: str
    schedule: int | None
    dataset: str
    version: str
    period: int
    begun_at: datetime
    counted: int
    most: int
    """Checks that share the 5% of false alarms"""
    used_up: bool
    """Whether more were counted, so that the bound holds no longer"""
    sentence: str
    checks: list[GateCheckResource]
    """The latest 200, those of earlier periods too"""

    @classmethod
    def of(cls, row: GateSeries, reader: Reader, **given: Any) -> Self:
        checks = [GateCheckResource.of(each, reader) for each in row.latest_checks]
        own = {"most": NIGHTS, "used_up": row.counted > NIGHTS, "sentence": series_sentence(row.name, row.counted)}
        return super().of(row, reader, schedule=row.schedule_id, checks=checks, **own, **given)


@dataclass(frozen=True, kw_only=True)
class GateResource(Resource):
    """A run held against an earlier one. Differences are scores from 0 to 1, `run` minus `against`."""

    run: int
    against: int
    metric: str
    margin: float
    verdict: Outcome
    """`pass`, `worse`, `undecided`, or `missing`: undecided only because of missing scores"""
    difference: float | None
    low: float | None
    """One-sided 95% bound, missing scores counted against a pass"""
    high: float | None
    """One-sided bound, missing scores counted against `worse`; wrong with 5%, in a series with 0.05%"""
    n: int
    n_missing: int
    more_tasks: int | None
    """How many more tasks decide it, if the difference stays as it is"""
    sentence: str
    series: str | None
    number: int | None
    """Its place in the series, from 1"""
    used_up: bool
    """Whether the series has more checks than share its 5% of false alarms"""

    @classmethod
    def of(cls, row: Gated, reader: Reader, **given: Any) -> Self:
        check, counted = row.check, row.counted
        own = {name: getattr(check, name) for name in ("metric", "margin", "more_tasks", "sentence")}
        return cls(
            **own,
            verdict=check.verdict.value,
            run=check.run.pk,
            against=check.against.pk,
            difference=check.edges.difference,
            low=check.edges.low_missing,
            high=check.edges.high_missing,
            n=check.edges.n,
            n_missing=check.edges.n_missing,
            series=counted.series.name if counted else None,
            number=counted.number if counted else None,
            used_up=counted is not None and counted.number > NIGHTS,
        )


@dataclass(frozen=True, kw_only=True)
class RepeatsOutlookResource(Resource):
    """What a gate says of an unchanged system, from 0 to 1, if every task of both runs is asked so many times."""

    repeats: int
    half_width: float
    """Of the 90% interval of the difference, in scores from 0 to 1"""
    passes: float
    called_worse: float


@dataclass(frozen=True, kw_only=True)
class SelfCheckResource(Resource):
    """A run against itself, by its repeats."""

    run: int
    margin: float
    n_tasks: int
    """Tasks with a score in every repeat"""
    repeats: int
    flip_rate: float
    """Share of tasks that two repeats score differently, by 0.5 or more"""
    flipping_tasks: int
    verdicts: dict[str, int]
    """Outcome of a gate → how many pairs of repeats, each held against the other, have it"""
    outlooks: list[RepeatsOutlookResource]

    @classmethod
    def of(cls, row: SelfCheck, reader: Reader, **given: Any) -> Self:
        verdicts = {verdict.value: count for verdict, count in row.verdicts.items()}
        outlooks = [RepeatsOutlookResource.of(each, reader) for each in row.outlooks]
        return super().of(row, reader, verdicts=verdicts, outlooks=outlooks, **given)
