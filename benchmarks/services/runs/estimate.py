"""How long asking takes: from how quickly the models answered before, and from the limits that are configured.

What earlier runs tell about how far the next two will differ.

What a run would take, before anything is spent: requests, tokens, a range of cost, and how long it goes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.conf import settings
from django.db.models import Avg, QuerySet
from django.db.models.functions import Length

from benchmarks.engine.execution.budget import Price, price_of
from benchmarks.engine.execution.model_clients import limits_of
from benchmarks.metrics.registered_metrics import REGISTERED_METRICS
from benchmarks.models import COMPLETED, Dataset, Result, Run, RunStatus, Score, Task
from benchmarks.services.runs.start import validated
from benchmarks.statistics.planning import Limits, Range, together, workload

EARLIER_RUNS = 5
UNSEEN_SECONDS = Range(0.5, 2.0, 15.0)
"""An answer of a model that was never asked here: a word from a quick one, or a reasoned page from a slow one."""
BASELINE_SECONDS = Range(0.0002, 0.0005, 0.002)
"""Built-in models answer at once; this is the bookkeeping."""


@dataclass(frozen=True, slots=True)
class Load:
    """What one model is to be asked, altogether. Token counts are a low and a high estimate of the sum."""

    model: str
    requests: int
    tokens_in: tuple[float, float]
    tokens_out: tuple[float, float]


def duration_range(loads: Sequence[Load], concurrency: int) -> Range:
    """Seconds for all loads, such as a model's and its judge's, with so many requests of each in flight."""
    workloads = [
        workload(
            load.requests,
            _for_one(load.tokens_in, load.requests),
            _for_one(load.tokens_out, load.requests),
            _limits(load.model, concurrency),
        )
        for load in loads
        if load.requests
    ]
    return together(workloads).seconds if workloads else Range(0.0, 0.0, 0.0)


def _for_one(total: tuple[float, float], requests: int) -> Range:
    low, high = (tokens / requests for tokens in total)
    return Range(low, (low + high) / 2, high)


def _limits(model: str, concurrency: int) -> Limits:
    limits = limits_of(model)
    return Limits(
        concurrency=min(concurrency, limits.max_in_flight or concurrency),
        seconds_per_request=seconds_for_answer(model),
        requests_per_minute=limits.requests_per_minute,
        tokens_per_minute=limits.tokens_per_minute,
    )


def seconds_for_answer(model: str) -> Range:
    """Median, mean and 95th percentile of the model's latest runs, whichever way round they lie."""
    if model.startswith("baseline/"):
        return BASELINE_SECONDS
    ended = Run.objects.filter(model=model, status__in=COMPLETED)
    summaries = ended.order_by("-id").values_list("summary", flat=True)[:EARLIER_RUNS]
    seen = [latency for summary in summaries if (latency := summary.get("latency_ms"))]
    if not seen:
        return UNSEEN_SECONDS
    low, usual, high = sorted(
        sum(latency[name] for latency in seen) / len(seen) / 1000 for name in ("p50", "mean", "p95")
    )
    return Range(low, usual, high)


LOOKED_AT = 20
FEWEST_TASKS = 20
"""Two runs that share fewer tasks tell too little about the share on which they differ."""
MOST_RESULTS = 20_000
"""Larger runs would take longer to compare than somebody waits for a plan."""


@dataclass(frozen=True, slots=True)
class Pilot:
    """Two earlier runs, and on how many of the tasks that they share their scores differ."""

    a: Run
    b: Run
    n_shared: int
    n_changed: int

    @property
    def discordance(self) -> float:
        """Above 0 also where nothing differed: the next two may."""
        return max(self.n_changed, 1) / self.n_shared


def latest_pilot(dataset: Dataset, model: str, metric: str) -> Pilot | None:
    """The latest run of the model (or of any) beside the latest of another model, each task asked once.

    ``None`` where the dataset has no two such runs, or they are too small or too large.
    """
    earlier = Run.objects.filter(
        dataset=dataset, status__in=COMPLETED, repeats=1, total__range=(FEWEST_TASKS, MOST_RESULTS)
    ).exclude(model__startswith="baseline/")
    found = [run for run in earlier.order_by("-pk")[:LOOKED_AT] if metric in run.metrics]
    one = next((run for run in found if run.model == model), next(iter(found), None))
    other = next((run for run in found if one is not None and run.model != one.model), None)
    if one is None or other is None:
        return None
    a, b = sorted((one, other), key=lambda run: run.pk)
    first, second = _values(a, metric), _values(b, metric)
    shared = [task for task in first if task in second]
    changed = sum(first[task] != second[task] for task in shared)
    return Pilot(a, b, len(shared), changed) if len(shared) >= FEWEST_TASKS else None


def _values(run: Run, metric: str) -> dict[str, float | None]:
    """Content hash of each scored task → its score."""
    scored = Score.objects.filter(run=run, metric=metric, value__isnull=False).order_by()
    return dict(scored.values_list("result__task__content_hash", "value").iterator(chunk_size=5_000))


CHARACTERS_PER_TOKEN = (5.0, 2.5)
"""English prose has about four characters a token; code, numbers and other languages fewer. Low and high bound."""
TOKENS_OUT = (20, 600)
"""Where neither an earlier run of the model nor ``max_tokens`` says more: a word, or a reasoned page."""
JUDGE_FRAME = (700, 1_500)
JUDGE_TOKENS_OUT = (60, 400)


@dataclass(frozen=True, slots=True)
class RunPlan:
    """Totals over the whole run, judge included. Costs in US dollars, ``None`` where a price is not known.

    The duration, in seconds, is that at the limits and with the speed of answers known now.
    """

    requests: int
    judge_requests: int
    tokens_in_low: int
    tokens_in_high: int
    tokens_out_low: int
    tokens_out_high: int
    cost_low: float | None
    cost_high: float | None
    seconds_low: float
    seconds_high: float

    def times(self, factor: float) -> RunPlan:
        """The plan of ``factor`` times as many tasks alike."""
        counts = ("requests", "judge_requests", "tokens_in_low", "tokens_in_high", "tokens_out_low", "tokens_out_high")
        return replace(
            self,
            **{name: round(getattr(self, name) * factor) for name in counts},
            cost_low=None if self.cost_low is None else self.cost_low * factor,
            cost_high=None if self.cost_high is None else self.cost_high * factor,
            seconds_low=self.seconds_low * factor,
            seconds_high=self.seconds_high * factor,
        )


def plan_run(data: Any) -> RunPlan:
    """Plan the run that ``start_run`` would start from the same data; an adaptive one at its longest.

    Raises ``InvalidRequest`` as that does.
    """
    request = validated(data)
    tasks = tasks_asked(request)
    n_tasks = tasks.count()
    repeats = request["repeats"]
    requests = n_tasks * repeats
    judged = [name for name in request["metrics"] if REGISTERED_METRICS[name].judged]
    judge_requests = requests * len(judged)
    characters = _characters(tasks, request)
    price = price_of(request["model"])
    judge_price = price_of(request["judge_model"]) if judged else Price(0.0, 0.0)
    out = _tokens_out(request)
    bounds, asking_tokens, judging_tokens = [], [], []
    for bound in (0, 1):
        tokens_in = round(characters / CHARACTERS_PER_TOKEN[bound]) * repeats
        tokens_out = out[bound] * requests
        judge_in = judge_requests * JUDGE_FRAME[bound] + len(judged) * (tokens_in + tokens_out)
        judge_out = judge_requests * JUDGE_TOKENS_OUT[bound]
        asking, judging = price.cost(tokens_in, tokens_out), judge_price.cost(judge_in, judge_out)
        cost = None if asking is None or judging is None else asking + judging
        bounds.append((tokens_in + judge_in, tokens_out + judge_out, cost))
        asking_tokens.append((tokens_in, tokens_out))
        judging_tokens.append((judge_in, judge_out))
    (in_low, out_low, cost_low), (in_high, out_high, cost_high) = bounds
    loads = [_load(request["model"], requests, asking_tokens)]
    if judged:
        loads.append(_load(request["judge_model"], judge_requests, judging_tokens))
    concurrency = request.get("concurrency") or settings.CODEFORGE.benchmark.default_concurrency
    seconds = duration_range(loads, concurrency)
    costs = (cost_low, cost_high)
    plan = RunPlan(requests, judge_requests, in_low, in_high, out_low, out_high, *costs, seconds.low, seconds.high)
    return plan if request.get("max_canvases") is None else plan.times(_growth(request))


def _growth(request: Mapping[str, Any]) -> float:
    """The most canvases that an adaptive run may ask about, as a multiple of those there are."""
    canvases: int = request["dataset"].canvas_set.count
    most: int = request["max_canvases"]
    return most / max(1, canvases)


def _load(model: str, requests: int, tokens: Sequence[tuple[int, int]]) -> Load:
    (in_low, out_low), (in_high, out_high) = tokens
    return Load(model, requests, (in_low, in_high), (out_low, out_high))


def tasks_asked(request: Mapping[str, Any]) -> QuerySet[Task]:
    """The tasks that a run of the validated request would ask, in order."""
    tasks = Task.objects.filter(version=request["dataset"].current_version_id).order_by("position")
    if request.get("tasks"):
        tasks = tasks.filter(group__in=request["tasks"])
    return tasks[: request["limit"]] if request.get("limit") else tasks


def _characters(tasks: QuerySet[Task], request: Mapping[str, Any]) -> float:
    """Characters of all prompts; canvas prompts are measured by a full description of average length."""
    measured = tasks.annotate(size=Length("input")).values_list("size", "n_shapes", "context")
    system = len(request.get("system_prompt") or "")
    total = 0.0
    for size, n_shapes, context in measured.iterator():
        canvas = 80 * n_shapes * n_shapes + 300 if n_shapes else 0
        total += size + system + sum(map(len, context)) + canvas
    return total


def _tokens_out(request: Mapping[str, Any]) -> tuple[int, int]:
    """From what the model said in its latest runs of the dataset, where there are any; never above ``max_tokens``."""
    earlier = Run.objects.filter(
        dataset=request["dataset"], model=request["model"], status=RunStatus.COMPLETED
    ).order_by("-id")[:3]
    said = Result.objects.filter(run__in=list(earlier), cached=False).aggregate(mean=Avg("tokens_out"))["mean"]
    low, high = (round(said * 0.7), round(said * 1.5) + 1) if said else TOKENS_OUT
    cap = request.get("max_tokens")
    return (min(low, cap), min(high, cap)) if cap else (low, high)
