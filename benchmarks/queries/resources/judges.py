"""Calibrations and preference runs, as other programs read them. Both are runs in which only a judge is asked."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar, Self

from benchmarks.analysis.preferences import peoples_choices
from benchmarks.codec import stored
from benchmarks.models import Run, RunStatus
from benchmarks.queries.judges import agreement_of, answers_to_judge
from benchmarks.queries.preferences import Candidate, candidates_of, judgements_to_make, numbers_of, pooled_numbers
from benchmarks.queries.resources.base import Reader, Resource


@dataclass(frozen=True, kw_only=True)
class JudgingResource(Resource):
    described_by: ClassVar = Run

    id: int
    judge_model: str
    seed: int
    concurrency: int
    status: RunStatus
    error_message: str
    total: int
    done: int
    errors: int
    tokens_in: int | None
    tokens_out: int | None
    cost_usd: float | None
    created_at: datetime
    completed_at: datetime | None

    @classmethod
    def of(cls, row: Run, reader: Reader, **given: Any) -> Self:
        spent = {"tokens_in": row.judge_tokens_in, "tokens_out": row.judge_tokens_out, "cost_usd": row.judge_cost_usd}
        return super().of(row, reader, **spent, **given)


@dataclass(frozen=True, kw_only=True)
class CalibrationResource(JudgingResource):
    metric: str
    canvas_set: str | None
    questions: int
    repeats: int
    phrasings: list[str]
    total: int
    """Answers to judge, counting repeats"""

    @classmethod
    def of(cls, row: Run, reader: Reader, **given: Any) -> Self:
        canvas_set = row.dataset.known_answers_of
        return super().of(
            row,
            reader,
            metric=row.metrics[0],
            canvas_set=canvas_set and canvas_set.slug,
            total=answers_to_judge(row),
            **{name: (row.calibration or {})[name] for name in ("questions", "phrasings", "seed")},
            **given,
        )


@dataclass(frozen=True, kw_only=True)
class CalibrationDetail(CalibrationResource):
    numbers: dict[str, object]
    """Confusion, kappa, accuracy, false accepts and rejects, accuracy by phrasing, length bias, spread. Empty until the
    calibration has completed"""
    code_version: str

    @classmethod
    def of(cls, row: Run, reader: Reader, **given: Any) -> Self:
        return super().of(row, reader, numbers=stored(agreement_of(row)) or {}, **given)


@dataclass(frozen=True, kw_only=True)
class PreferenceResource(JudgingResource):
    dataset: str
    version: int
    experiment: int | None
    candidates: list[Candidate]
    criteria: str
    tasks: int | None
    pairs_per_task: int | None
    only_new: bool
    budget_usd: float | None
    total: int
    """Judgements: each pair in both orders"""

    @classmethod
    def of(cls, row: Run, reader: Reader, **given: Any) -> Self:
        names = ("dataset", "version", "experiment", "criteria", "tasks", "pairs_per_task", "only_new", "seed")
        return super().of(
            row,
            reader,
            candidates=candidates_of(row),
            total=judgements_to_make(row),
            **{name: (row.preference or {})[name] for name in names},
            **given,
        )


@dataclass(frozen=True, kw_only=True)
class PreferenceDetail(PreferenceResource):
    numbers: dict[str, object]
    """Strengths with intervals and ranks, win rates of pairs, position bias, cycles, pairs to ask next. Candidates are
    numbered from 0. Empty until the run has completed"""
    pooled: dict[str, object] | None
    """Numbers over this and all other preference runs with the same dataset, judge and criteria and no other
    candidates, and runs, their ids; null if there are none. Each pair and order counts once"""
    people: dict[str, object] | None
    """What people chose between the same pairs, as in numbers, with agreement of the judge with people, kappa, and
    alpha of people with each other; null if there are none. Choices of open blind reviews are excluded unless the
    caller may see who labeled"""
    code_version: str

    @classmethod
    def of(cls, row: Run, reader: Reader, **given: Any) -> Self:
        choices = peoples_choices(row, reader.sees_reviewers)
        people = choices.as_json() if choices else None
        numbers, pooled = stored(numbers_of(row)) or {}, stored(pooled_numbers(row))
        return super().of(row, reader, numbers=numbers, pooled=pooled, people=people, **given)
