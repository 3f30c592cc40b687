"""How long asking takes: from how quickly the models answered before, and from the limits that are configured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.engine.reach import limits_of
from benchmarks.models import Run, RunStatus
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
    ended = Run.objects.filter(model=model, status__in=(RunStatus.COMPLETED, RunStatus.COMPLETED_WITH_ERRORS))
    summaries = ended.order_by("-id").values_list("summary", flat=True)[:EARLIER_RUNS]
    seen = [latency for summary in summaries if (latency := summary.get("latency_ms"))]
    if not seen:
        return UNSEEN_SECONDS
    low, usual, high = sorted(
        sum(latency[name] for latency in seen) / len(seen) / 1000 for name in ("p50", "mean", "p95")
    )
    return Range(low, usual, high)
