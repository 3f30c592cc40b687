"""Experiments and their matrix, as other programs read them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar, Self, TypedDict

from benchmarks.models import Experiment
from benchmarks.queries import experiments as reads
from benchmarks.queries.interval_covers import IntervalCovers, covers_of
from benchmarks.queries.matrix import average_rows, averaged_models, matrix, matrix_rows
from benchmarks.queries.resources.base import Reader, Resource, Url
from benchmarks.queries.resources.runs import Progress
from benchmarks.statistics.margins import MARGIN


class Cell(TypedDict):
    """A run in the matrix. Rank and group are those of its model and variant over all datasets of the matrix."""

    model: str
    variant: str
    differs: str
    """The parameters in which its row differs from others; empty if in none"""
    dataset: str
    run: int
    status: str
    mean: float | None
    """Strict mean"""
    low: float | None
    high: float | None
    n: int
    total: int | None
    """Results that the metric applies to"""
    coverage: float | None
    subset: int | None
    """Number of tasks from which the score on all tasks is estimated"""
    rank: list[int] | None
    """Lowest and highest rank that the tests allow"""
    group: str | None
    """Letters; candidates that share one are not significantly different"""
    best: float | None
    """Chance of being the best"""
    cost_usd: float | None
    latency_ms: float | None
    """Median"""


class AverageBounds(TypedDict):
    mean: float
    low: float
    high: float


class VarianceShares(TypedDict):
    """What makes up the variance of single scores; the sum is 1."""

    tasks: float
    variants: float
    rest: float


class AveragedModel(TypedDict):
    """A model over all variants, which are taken as a sample. Its intervals and ranks hold for others like them."""

    model: str
    mean: float | None
    """Plain average of the datasets"""
    low: float | None
    high: float | None
    datasets: dict[str, AverageBounds]
    variants: dict[str, float]
    """Mean of each variant over the datasets"""
    variance: VarianceShares | None
    rank: list[int] | None
    group: str | None
    best: float | None
    reason: str
    """Why it has no rank; else empty"""


@dataclass(frozen=True, kw_only=True)
class ExperimentResource(Resource):
    described_by: ClassVar = Experiment

    id: int
    url: Url
    """Its page"""
    name: str
    description: str
    tags: list[str]
    status: str
    progress: Progress
    budget_usd: float | None
    cost_usd: float | None
    runs: list[int]
    """IDs"""
    request: Any
    created_at: datetime

    @classmethod
    def of(cls, row: Experiment, reader: Reader, **given: Any) -> Self:
        members = list(row.runs.all())
        state = reads.progress(members)
        return super().of(
            row,
            reader,
            url=Url(f"{reader.site}/experiments/{row.pk}"),
            status=state.status,
            progress=Progress.of(state),
            cost_usd=state.cost_usd,
            runs=sorted(run.pk for run in members),
            **given,
        )


@dataclass(frozen=True, kw_only=True)
class ExperimentDetail(ExperimentResource):
    verdict: str
    """Who leads, by how much, and which differences are not significant"""
    same_sentence: str
    """Which rows are the same within the margin, by two one-sided tests of all pairs"""
    interval_covers: IntervalCovers
    matrix: list[Cell]
    averages: list[AveragedModel] | None
    """The models over all variants, if the experiment averages them; the verdict is then on these"""

    @classmethod
    def of(
        cls,
        row: Experiment,
        reader: Reader,
        *,
        metric: str = "",
        dataset: str = "",
        variants: str = "",
        margin: float = MARGIN,
        **given: Any,
    ) -> Self:
        """The matrix by one metric, or of one dataset, if they are named; ``variants`` as in ``averages_variants``."""
        members = reads.experiment_runs(row)
        grid = matrix(members, metric, dataset, margin=margin)
        models = averaged_models(grid) if reads.averages_variants(row, variants) else None
        verdict = grid.verdict if models is None else " ".join(models.said)
        averages = None if models is None else average_rows(models)
        covers = covers_of(members, over_variants=models is not None)
        said = {"verdict": verdict, "same_sentence": grid.same_sentence, "interval_covers": covers}
        return super().of(row, reader, **said, matrix=matrix_rows(grid), averages=averages, **given)
