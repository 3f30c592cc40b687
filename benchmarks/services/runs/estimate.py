"""Estimate a run before anything is spent: requests, tokens, a range of cost, and a duration.

The duration follows from the latency of the models' earlier runs and from the configured limits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.db.models import QuerySet
from django.db.models.functions import Length

from benchmarks.engine.execution.budget import Price, price_of
from benchmarks.engine.execution.model_clients import limits_of
from benchmarks.engine.execution.preparing import chosen_tasks
from benchmarks.engine.execution.subsets import Outlook, outlooks
from benchmarks.metrics.registered_metrics import REGISTERED_METRICS
from benchmarks.models import COMPLETED, Run, RunStatus, Task
from benchmarks.services.runs.start import run_of, validated
from benchmarks.statistics.planning import Limits, Range, together, workload

EARLIER_RUNS = 5
UNSEEN_SECONDS = Range(0.5, 2.0, 15.0)
"""Latency of a model without earlier runs: from a word of a fast model to a reasoned page of a slow one."""
BASELINE_SECONDS = Range(0.0002, 0.0005, 0.002)
"""Built-in models answer at once; this is the time to store their results."""
CHARACTERS_PER_TOKEN = (5.0, 2.5)
"""English prose has about four characters per token; code, numbers and other languages fewer. Low and high estimate."""
TOKENS_OUT = (20, 600)
"""If neither an earlier run of the model nor ``max_tokens`` says more: a word, or a reasoned page."""
JUDGE_FRAME = (700, 1_500)
"""Tokens of a judge's instructions."""
JUDGE_TOKENS_OUT = (60, 400)


@dataclass(frozen=True, slots=True)
class Load:
    """The requests to one model and a low and a high estimate of their tokens in total."""

    model: str
    requests: int
    tokens_in: Sequence[float]
    tokens_out: Sequence[float]


@dataclass(frozen=True, slots=True)
class RunPlan:
    """Totals of a full run, including its judge. Costs are in US dollars, ``None`` if a price is unknown.

    The duration, in seconds, assumes the current limits and latencies. ``subset`` is what a run from a part can show.
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
    subset: Outlook | None = None

    def times(self, factor: float) -> RunPlan:
        """The plan for ``factor`` times as many tasks of the same kind."""
        values = {name: getattr(self, name) for name in self.__slots__}
        scaled = {name: value * factor for name, value in values.items() if value is not None}
        return replace(
            self, **{name: round(new) if isinstance(values[name], int) else new for name, new in scaled.items()}
        )


def plan_run(data: Any) -> RunPlan:
    """Plan the run that ``start_run`` would start from the same data; an adaptive run with all canvases it may add.

    Raises ``InvalidRequest`` as ``start_run`` does.
    """
    request = validated(data)
    plan, run = plan_of(request), run_of(request)
    return replace(plan, subset=outlooks(run, [run.subset])[0]) if run.subset else plan


def plan_of(request: Mapping[str, Any]) -> RunPlan:
    """The plan of a validated request, without what a subset can show."""
    tasks = tasks_of(request)
    n_tasks, repeats = tasks.count(), request["repeats"]
    requests = n_tasks * repeats
    n_judged = sum(REGISTERED_METRICS[name].judged for name in request["metrics"])
    judge_requests = requests * n_judged
    characters = _characters(tasks, request)
    tokens_in = [round(characters / per_token) * repeats for per_token in CHARACTERS_PER_TOKEN]
    tokens_out = [tokens * requests for tokens in _tokens_out(request)]
    judge_in = [
        judge_requests * frame + n_judged * (prompt + answer)
        for frame, prompt, answer in zip(JUDGE_FRAME, tokens_in, tokens_out, strict=True)
    ]
    judge_out = [judge_requests * tokens for tokens in JUDGE_TOKENS_OUT]
    price, judge_price = price_of(request["model"]), price_of(request["judge_model"]) if n_judged else Price(0.0, 0.0)
    costs = []
    for low_or_high in zip(tokens_in, tokens_out, judge_in, judge_out, strict=True):
        parts = price.cost(*low_or_high[:2]), judge_price.cost(*low_or_high[2:])
        costs.append(None if None in parts else sum(filter(None, parts)))
    loads = [Load(request["model"], requests, tokens_in, tokens_out)]
    if n_judged:
        loads.append(Load(request["judge_model"], judge_requests, judge_in, judge_out))
    seconds = duration_range(loads, request["concurrency"])
    tokens_in_low, tokens_in_high = (own + judge for own, judge in zip(tokens_in, judge_in, strict=True))
    tokens_out_low, tokens_out_high = (own + judge for own, judge in zip(tokens_out, judge_out, strict=True))
    tokens = (tokens_in_low, tokens_in_high, tokens_out_low, tokens_out_high)
    plan = RunPlan(requests, judge_requests, *tokens, costs[0], costs[1], seconds.low, seconds.high)
    if request["max_canvases"] is None:
        return plan
    return plan.times(request["max_canvases"] / max(1, request["dataset"].canvas_set.count))


def tasks_of(request: Mapping[str, Any]) -> QuerySet[Task]:
    """The tasks of a run of the validated request, in order; those of all canvases for an adaptive run."""
    run = run_of(request)
    run.target_half_width = None
    return chosen_tasks(run)


def _characters(tasks: QuerySet[Task], request: Mapping[str, Any]) -> float:
    """Characters of all prompts; a canvas counts as a full description of average length."""
    total = 0.0
    frame = len(request["system_prompt"]) + len(request["prompt_template"])
    measured = tasks.annotate(size=Length("input")).values_list("size", "n_shapes", "context")
    for size, n_shapes, context in measured.iterator():
        canvas = 80 * n_shapes * n_shapes + 300 if n_shapes else 0
        total += size + frame + sum(map(len, context)) + canvas
    return total


def _tokens_out(request: Mapping[str, Any]) -> tuple[int, int]:
    """Low and high estimate per answer, from the model's latest runs of the dataset; at most ``max_tokens``."""
    same = Run.objects.filter(dataset=request["dataset"], model=request["model"], status=RunStatus.COMPLETED)
    # Cached responses cost no tokens, and would lower the mean.
    known = same.filter(use_cache=False, tokens_out__gt=0, done__gt=0).order_by("-id")
    latest = known.values_list("tokens_out", "done")[:3]
    mean = sum(tokens or 0 for tokens, _ in latest) / max(1, sum(done for _, done in latest))
    low, high = (round(mean * 0.7), round(mean * 1.5) + 1) if mean else TOKENS_OUT
    most = request["max_tokens"] or high
    return min(low, most), min(high, most)


def duration_range(loads: Sequence[Load], concurrency: int) -> Range:
    """Seconds for all loads together, such as those of a model and its judge, at this concurrency for each."""
    workloads = []
    for load in loads:
        if load.requests:
            limits = limits_of(load.model)
            at_once = Limits(
                concurrency=min(concurrency, limits.max_in_flight or concurrency),
                seconds_per_request=seconds_for_answer(load.model),
                requests_per_minute=limits.requests_per_minute,
                tokens_per_minute=limits.tokens_per_minute,
            )
            n = load.requests
            sums = (load.tokens_in, load.tokens_out)
            tokens_in, tokens_out = (Range(low / n, (low + high) / 2 / n, high / n) for low, high in sums)
            workloads.append(workload(n, tokens_in, tokens_out, at_once))
    return together(workloads).seconds if workloads else Range(0.0, 0.0, 0.0)


def seconds_for_answer(model: str) -> Range:
    """Median, mean and 95th percentile of the latency in the model's latest runs, in ascending order."""
    if model.startswith("baseline/"):
        return BASELINE_SECONDS
    ended = Run.objects.filter(model=model, status__in=COMPLETED)
    summaries = ended.order_by("-id").values_list("summary", flat=True)[:EARLIER_RUNS]
    latencies = [latency for summary in summaries if (latency := summary.get("latency_ms"))]
    if not latencies:
        return UNSEEN_SECONDS
    means = (sum(latency[name] for latency in latencies) / len(latencies) / 1000 for name in ("p50", "mean", "p95"))
    return Range(*sorted(means))
