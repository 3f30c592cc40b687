"""What a run would take, before anything is spent: requests, tokens, a range of cost, and how long it goes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.conf import settings
from django.db.models import Avg, QuerySet
from django.db.models.functions import Length

from benchmarks.engine.pricing import Price, price_of
from benchmarks.metrics.registered_metrics import REGISTERED_METRICS
from benchmarks.models import Result, Run, RunStatus, Task
from benchmarks.services.pace import Load, duration_range
from benchmarks.services.run_request import validated

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
