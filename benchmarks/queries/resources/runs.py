"""Runs and their results, as other programs read them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, make_dataclass
from datetime import datetime
from typing import Any, ClassVar, Literal, NotRequired, Self, TypedDict

from benchmarks import codec
from benchmarks.models import Outcome, Result, ResultState, Run, RunKind, RunStatus, Score
from benchmarks.presentation.sentences import headline_numbers
from benchmarks.queries.interval_covers import IntervalCovers, covers_of
from benchmarks.queries.resources.base import Reader, Resource, Url, type_of
from benchmarks.run_parameters import RUN_PARAMETERS, Kind, RunParameter
from benchmarks.summary import TIMES, Failure, Readable

STORED = [row for row in RUN_PARAMETERS.values() if row.field and row.name != "allow_self_judging"]
"""The parameters that are fields of a run; the others are in its ``parameters``."""


@dataclass(frozen=True, kw_only=True)
class Progress:
    total: int
    done: int
    errors: int
    judging: bool
    """Whether all answers are there and verdicts are still to come"""

    @classmethod
    def of(cls, counted: Any) -> Self:
        return cls(total=counted.total, done=counted.done, errors=counted.errors, judging=counted.is_judging)


class Weighted(TypedDict):
    """The mean in which a task counts by its weight, with its 95% interval."""

    mean: float | None
    low: float | None
    high: float | None
    n: int
    n_effective: float
    """Number of tasks of equal weight that would give an equally narrow interval"""
    if_missing_wrong: float | None
    """With every missing score counted as 0"""


class Mean(TypedDict):
    """A strict mean with its 95% interval: an unparsable, cut off or refused answer counts as 0. Means are ``null`` if
    nothing is scored, and the others before the first summary."""

    mean: float | None
    low: float | None
    high: float | None
    n: int
    n_clusters: int | None
    """Canvases, clusters of tasks, or tasks of a run with repeats; ``null`` if no results belong together"""
    n_expected: int | None
    """Results that the metric applies to"""
    n_no_answer: int | None
    """Results without a score because there is no answer: the endpoint failed, or nothing was sent"""
    n_no_verdict: int | None
    """Answers without a score: the judge or another metric gave none"""
    n_not_applicable: int | None
    """Results whose task lacks what the metric needs; they are in no mean of it"""
    coverage: float | None
    """n / n_expected"""
    if_missing_wrong: float | None
    """The mean with every missing score counted as 0, by which rankings are ordered; ``null`` of a measurement"""
    readable: Readable | None
    weighted: NotRequired[Weighted]
    """Only if the weights of the tasks differ"""


class Times(TypedDict, total=False):
    """Quantiles of answered requests; empty if nothing was measured."""

    n: int
    mean: float
    p50: float
    p95: float
    max: float


@dataclass(frozen=True, kw_only=True)
class _Run(Resource):
    described_by: ClassVar = Run

    id: int
    url: Url
    """Its page"""
    kind: RunKind
    """How its answers came about, and what it measures"""
    dataset_version: int
    added_canvases: int
    import_format: str
    status: RunStatus
    error_message: str
    name: str
    tags: list[str]
    notes: str
    pinned: bool
    baseline: bool
    self_judged: bool
    parameters: Any
    """What is sent with every request, such as ``temperature`` and ``system_prompt``"""
    seed_per_repeat: bool
    """Whether repeat r sends seed + r − 1; runs until 0.1.0 sent one seed with every repeat"""
    model_params: Any
    judge_settings: Any
    rubrics: Any
    judge_trial: Any | None
    adjustments: dict[str, dict[str, str]]
    """Parameters that requests omit because the model or the judge refuses them: name → sentence"""
    fresh_of: int | None
    rescored_from: int | None
    progress: Progress
    waits_until: datetime | None
    """Until when the endpoint asked the workers to wait"""
    headline: str
    """Key of ``summary`` with the score of the run: the metric that decides every task, or ``task:`` and those that do
    together, of each task the first that applies"""
    summary: dict[str, Mean]
    interval_covers: IntervalCovers
    reported: dict[str, float]
    """Numbers of the whole run that the tool of an import reports and no single results give, such as
    ``lm-eval:bleu``"""
    outcomes: dict[str, int]
    error_kinds: dict[str, int]
    """Number of results that ended in an error, by kind"""
    failures: Sequence[Failure]
    cost_usd: float | None
    judge_cost_usd: float | None
    tokens_in: int | None
    tokens_out: int | None
    reasoning_tokens: int | None
    """Part of tokens_out"""
    cached_tokens: int | None
    """Part of tokens_in"""
    user_tokens_in: int | None
    user_tokens_out: int | None
    user_cost_usd: float | None
    judge_tokens_in: int | None
    judge_tokens_out: int | None
    latency_ms: Times
    first_token_ms: Times
    tokens_per_second: Times
    code_version: str
    created_at: datetime
    started_at: datetime | None
    completed_at: datetime | None
    duration_seconds: float | None
    """Time in preparation and running so far, without pauses and the time before a retry; ``null`` before that."""
    texts_pruned_at: datetime | None

    @classmethod
    def of(cls, row: Run, reader: Reader, **given: Any) -> Self:
        numbers = row.numbers
        return super().of(
            row,
            reader,
            url=Url(f"{reader.site}/runs/{row.pk}"),
            dataset_version=row.dataset_version.number,
            fresh_of=row.fresh_of_id,
            progress=Progress.of(row),
            waits_until=getattr(row, "waits_until", None),
            summary=headline_numbers(numbers, row.all_metrics),
            interval_covers=covers_of([row]),
            outcomes=numbers.outcomes,
            error_kinds=numbers.error_kinds,
            failures=numbers.failures,
            reasoning_tokens=numbers.tokens.reasoning,
            cached_tokens=numbers.tokens.cached,
            **{name: {} for name in TIMES} | codec.stored(dict(numbers.times)),
            **{parameter.name: getattr(row, parameter.field) for parameter in STORED} | {"dataset": row.dataset.slug},
            **given,
        )


def _parameter(row: RunParameter) -> tuple[str, Any, Any]:
    kind = list[str] if row.kind is Kind.NAMES else type_of(Run._meta.get_field(row.field))
    return row.name, str if row.name == "dataset" else kind, field(metadata={"text": row.description})


RunResource: type[_Run] = make_dataclass(
    "RunResource", map(_parameter, STORED), bases=(_Run,), frozen=True, kw_only=True
)
"""A run with its parameters, each a field of the name that requests give it."""


class ToolCall(TypedDict):
    name: str
    arguments: dict[str, object] | None
    raw: str
    malformed: bool


@dataclass(frozen=True, kw_only=True)
class StepResource(Resource):
    """One thing that an agent did for a result."""

    position: int
    """From 1, in the order in which it happened"""
    kind: Literal["message", "reasoning", "tool_call", "model_call", "state", "score", "error"]
    name: str
    """Of the tool, model or scorer; the role of a message"""
    agent: str
    """Which agent of several did it"""
    depth: int
    """How many agents handed the work on"""
    failed: bool
    text: str
    arguments: object
    """Of a tool call"""
    result: object
    """What a tool returned, a state's changes or a score's value"""
    error: str
    """Why a call failed"""
    at: datetime | None
    duration_ms: float | None
    tokens_in: int | None
    tokens_out: int | None

    @classmethod
    def of(cls, row: Any, reader: Reader, **given: Any) -> Self:
        step = row.step
        own = {"position": row.position, "failed": row.failed}
        texts = {name: getattr(step, name) for name in ("text", "arguments", "result", "error")}
        return super().of(row, reader, **own, **texts)


@dataclass(frozen=True, kw_only=True)
class ResultResource(Resource):
    described_by: ClassVar = Result

    id: int
    task_id: str
    task_name: str
    repeat: int
    seed: int | None
    """What this repeat sends as its seed"""
    difficulty: str
    group: str
    n_shapes: int | None
    state: ResultState
    input: str
    labels: list[str]
    """Tags, split and metadata of a task, such as `tags: math` and `source: gsm8k`."""
    expected_output: str
    other_answers: list[str]
    """Texts that are accepted besides the expected output; empty if there are none."""
    actual_output: str | None
    """``null`` if there is none, or if it was pruned (see ``texts_pruned_at`` of the run)."""
    outcome: Outcome | Literal[""]
    failure: str
    score: float | None
    """By the metric that decides the outcome; none if no metric applies"""
    scores: dict[str, float | None]
    errors: dict[str, str]
    """Metric → why it has no value, or why the answer scores 0 without being read. The error of a failed request is in
    ``error_message`` instead."""
    error_kind: str
    error_message: str
    tool_calls: list[ToolCall]
    retrieved: list[str] | None
    """Passages that a system under test looked up; ``null`` if it does not say"""
    duration_ms: float | None
    first_token_ms: float | None
    tokens_per_second: float | None
    tokens_in: int | None
    tokens_out: int | None
    reasoning_tokens: int | None
    cached_tokens: int | None
    cost_usd: float | None
    judge_cost_usd: float | None
    user_cost_usd: float | None
    cached: bool
    attempts: int
    finish_reason: str
    response_model: str
    finished_at: datetime | None
    notes: list[str]
    """What a reader of the answer must know, such as parameters that were not sent."""
    judge_notes: dict[str, list[str]]
    """Metric → what a reader of the judge's verdict must know, such as parameters that were not sent."""

    @classmethod
    def of(cls, row: Result, reader: Reader, **given: Any) -> Self:
        run, task, scores = row.run, row.task, list(row.scores.all())
        transcript = row.transcript if hasattr(row, "transcript") else None
        unscored = [score for score in scores if score.status != Score.Status.SCORED]
        judged = {score.metric: (score.judge or {}).get("notes") for score in scores}
        return super().of(
            row,
            reader,
            task_id=task.task_id,
            task_name=task.name,
            seed=run.sent_seed(row.repeat),
            input=task.input,
            labels=task.labels or [],
            expected_output=task.expected_output,
            other_answers=task.other_answers or [],
            actual_output=transcript.actual_output if transcript and not run.texts_pruned_at else None,
            score=row.value,
            scores={score.metric: score.value for score in scores},
            errors={score.metric: score.reason or f"(reason {run.texts_pruned})" for score in unscored},
            tool_calls=[*transcript.tool_calls] if transcript else [],
            retrieved=transcript.retrieved if transcript else None,
            notes=[*transcript.notes] if transcript else [],
            judge_notes={metric: [*notes] for metric, notes in judged.items() if notes},
        )
