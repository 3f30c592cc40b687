"""The analysis of tasks, as other programs read it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

from benchmarks.analysis.task_analysis import FLAGS, TaskAnalysis
from benchmarks.queries.resources.base import Reader, Resource
from benchmarks.queries.task_analysis.pages import AnalysisPage
from benchmarks.queries.task_analysis.pages import AnalyzedTask as Row


@dataclass(frozen=True, slots=True)
class AnalyzedModel:
    model: str
    mean: float
    """Over its tasks, each averaged over repeats"""
    strong: bool
    """Whether it belongs to the better half of the models"""


@dataclass(frozen=True, slots=True)
class Effective:
    tasks: float
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class Separation:
    better: str
    worse: str
    difference: float | None
    """Smallest difference between the two detected with 80% power; null: none"""


@dataclass(frozen=True, slots=True)
class Flag:
    flag: Literal[*FLAGS]  # type: ignore[valid-type]  # the keys of a table
    detail: str


@dataclass(frozen=True, slots=True)
class AnalyzedTask:
    task: str
    """The task's id"""
    name: str
    doubtful: bool
    """Whether its expected answer is marked as doubtful"""
    right: Mapping[str, float | None]
    """Model → mean score"""
    discrimination: float | None
    """Correlation over models with the score on all other tasks; null: too few models"""
    flags: Sequence[Flag]
    duplicate_of: str | None
    """Id of an earlier task of equal or similar text"""

    @classmethod
    def of(cls, row: Row, models: Sequence[str]) -> Self:
        return cls(
            task=row.task.task_id,
            name=row.task.name,
            doubtful=row.task.is_doubtful,
            right=dict(zip(models, row.shares, strict=True)),
            discrimination=row.discrimination,
            flags=[Flag(kind, detail) for kind, detail in row.flags],
            duplicate_of=row.duplicate_of.task_id if row.duplicate_of else None,
        )


@dataclass(frozen=True, kw_only=True)
class TaskAnalysisResource(Resource):
    """The analysis of a version with one page of its tasks, flagged ones first."""

    dataset: str
    version: int
    metric: str | Literal[""]
    """Empty without a comparable run"""
    runs: int
    """Comparable runs: the latest of each model in one setting, no baselines"""
    models: Sequence[AnalyzedModel]
    effective_tasks: Effective | None
    detectable_differences: Sequence[Separation]
    flagged: Mapping[str, int]
    """Flag → number of tasks"""
    count: int
    """Tasks that match"""
    page: int
    pages: int
    tasks: Sequence[AnalyzedTask]

    @classmethod
    def of(cls, row: TaskAnalysis, reader: Reader, **given: Any) -> Self:
        """Given are ``dataset``, ``version`` and the ``page`` of its tasks, an ``AnalysisPage``."""
        page: AnalysisPage = given.pop("page")
        effective = row.effective
        models = [model.name for model in row.models]
        return cls(
            metric=row.metric,
            runs=len(row.models),
            models=[AnalyzedModel(model.name, model.mean, model.strong) for model in row.models],
            effective_tasks=Effective(effective.tasks, effective.low, effective.high) if effective else None,
            detectable_differences=[
                Separation(each.better.name, each.worse.name, each.difference) for each in row.separations
            ],
            flagged={kind: len(places) for kind, places in row.flags.items()},
            count=page.count,
            page=page.number,
            pages=page.pages,
            tasks=[AnalyzedTask.of(task, models) for task in page.rows],
            **given,
        )
