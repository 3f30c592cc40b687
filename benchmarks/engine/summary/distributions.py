"""How scores and durations are spread over a run's results."""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import Avg, Count, Max, Q, QuerySet

from benchmarks.engine.summary.means import range_of
from benchmarks.models import Outcome, Result, ResultState, Run

BINS = 10


def histogram(run: Run, metric: str, highest: float) -> dict[str, Sequence[float]]:
    """Edges of equal bins, and how many values lie in each; a value on an edge belongs above it, the highest below."""
    low, high = range_of(metric)
    width = ((highest if high is None else high) - low) / BINS or 1.0
    edges = [low + width * edge for edge in range(BINS + 1)]
    counted = run.scores.filter(metric=metric, value__isnull=False).aggregate(
        **{f"bin_{place}": Count("pk", filter=_inside(edges, place)) for place in range(BINS)}
    )
    return {"edges": edges, "counts": [counted[f"bin_{place}"] for place in range(BINS)]}


def _inside(edges: Sequence[float], place: int) -> Q:
    above = Q(value__gte=edges[place]) if place else Q()
    return above & Q(value__lt=edges[place + 1]) if place < BINS - 1 else above


def latency(run: Run) -> dict[str, float]:
    """Of answers that were really asked for; from the cache they took no time that says anything."""
    asked = Result.objects.filter(
        run=run, state__in=(ResultState.DONE, ResultState.ANSWERED), cached=False, duration_ms__isnull=False
    ).order_by()
    found = asked.aggregate(n=Count("pk"), mean=Avg("duration_ms"), max=Max("duration_ms"))
    if not found["n"]:
        return {}
    return {
        "mean": found["mean"],
        "p50": _quantile(asked, found["n"], 0.5),
        "p95": _quantile(asked, found["n"], 0.95),
        "max": found["max"],
    }


def _quantile(asked: QuerySet[Result], n: int, share: float) -> float:
    """Linear interpolation between the closest ranks (type 7 of Hyndman and Fan)."""
    place = (n - 1) * share
    below = int(place)
    ranked = asked.order_by("duration_ms").values_list("duration_ms", flat=True)[below : below + 2]
    times = [time for time in ranked if time is not None]
    return times[0] + (times[-1] - times[0]) * (place - below)


def error_kinds(run: Run) -> dict[str, int]:
    """How many results ended in an error of each kind; a cancelled one is no error."""
    failed = run.results.filter(state=ResultState.ERROR).exclude(outcome=Outcome.CANCELLED).order_by()
    return dict(failed.values_list("error_kind").annotate(n=Count("id")))


def outcomes(run: Run) -> dict[str, int]:
    counted = run.results.exclude(outcome="").order_by().values_list("outcome").annotate(n=Count("id"))
    return dict(counted)
