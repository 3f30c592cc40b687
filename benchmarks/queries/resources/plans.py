"""Estimates of runs and experiments, and sizes of runs, as other programs read them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from benchmarks.queries.resources.base import Reader, Resource


@dataclass(frozen=True, kw_only=True)
class Outlook(Resource):
    """What a score estimated from a part of the tasks can show."""

    n: int
    """Tasks that are drawn"""
    n_tasks: int
    n_models: int
    """Models whose results the draw rests on"""
    saved: float
    """Share of the requests of a full run"""
    half_width: float
    """Expected half width of the 95% interval"""
    sentence: str


@dataclass(frozen=True, kw_only=True)
class _Totals(Resource):
    """What requests take; a cost is ``null`` if a price is unknown."""

    requests: int
    judge_requests: int
    cost_low: float | None
    cost_high: float | None
    known_low: float
    """The part of the cost that has a price"""
    known_high: float
    unpriced: list[str]
    """Models without a price"""
    seconds_low: float
    seconds_high: float


@dataclass(frozen=True, kw_only=True)
class Plan(_Totals):
    """The estimate of a run."""

    tokens_in_low: int
    tokens_in_high: int
    tokens_out_low: int
    tokens_out_high: int
    subset: Outlook | None
    """Of a run with ``subset``"""
    warnings: list[str]
    """Prompts that may exceed the context window of the model"""

    @classmethod
    def of(cls, row: Any, reader: Reader, **given: Any) -> Self:
        return super().of(row, reader, subset=row.subset and Outlook.of(row.subset, reader), **given)


@dataclass(frozen=True, kw_only=True)
class ExperimentPlan(_Totals):
    """The estimate of an experiment."""

    runs: int
    candidates: int
    """Models × variants"""
    detectable: dict[str, float | None]
    """Dataset → the difference between two candidates that it shows with 80% power; null: none"""
    subsets: dict[str, Outlook]
    """With ``subset``: dataset → what a run shows"""
    warnings: list[str]
    """Prompts that may exceed the context window of a model"""

    @classmethod
    def of(cls, row: Any, reader: Reader, **given: Any) -> Self:
        subsets: Mapping[str, object] = row.subsets
        outlooks = {dataset: Outlook.of(each, reader) for dataset, each in subsets.items()}
        return super().of(row, reader, subsets=outlooks, **given)


@dataclass(frozen=True, kw_only=True)
class Size(Resource):
    tasks: int
    clusters: int
    """Canvases, if tasks share them"""
    repeats: int
    needed: str
    """The size as a sentence"""
    discordance: float
    """Expected share of tasks on which both runs differ"""
    assuming: str
    """The assumptions as a sentence"""
    tasks_there: int
    detectable: float | None
    """Smallest difference that the existing tasks detect; null: none"""
    available: str
    """The same as a sentence"""
    fewer_tasks: list[Outlook]
    """What scores estimated from a part of all tasks can show"""
    plan: Plan
    """The estimate of a run of that size"""

    @classmethod
    def of(cls, row: Any, reader: Reader, **given: Any) -> Self:
        return super().of(
            row,
            reader,
            **{name: getattr(row.size, name) for name in ("tasks", "clusters", "repeats")},
            discordance=row.design.discordance,
            tasks_there=row.tasks,
            fewer_tasks=[Outlook.of(each, reader) for each in row.fewer_tasks],
            plan=Plan.of(row.plan, reader),
            **given,
        )
