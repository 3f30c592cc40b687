"""An adaptive run as its stopping rule sees it: canvases by number of shapes, and where more are needed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from statistics import fmean

from django.db.models import Count

from benchmarks.analysis.score_table import read_scores
from benchmarks.models import Run
from benchmarks.statistics.intervals import Interval, no_interval
from benchmarks.statistics.sequential import CAP_REACHED, AdaptiveRule, decide
from benchmarks.summary import Adaptive, Breakdown, Expected, M, Mean, MetricNumbers, Stratum

MIN_BATCH = 10
STRATUM = "n_shapes"
ORDINARY = "ordinary interval, slightly too narrow because this run chose its own length"


@dataclass(frozen=True, slots=True)
class Look:
    """The rule applied to a run's results: intervals that hold together and at every look, and what to add."""

    intervals: Mapping[str, Interval]
    overall: Interval
    add: Mapping[str, int]
    reason: str
    without_scores: tuple[str, ...]
    """Strata that were used and have no score at all: no more canvases are spent on them."""


def strata_of(run: Run) -> list[str]:
    """The numbers of shapes of the run's canvas set."""
    canvas_set = run.dataset.canvas_set
    assert canvas_set is not None, "only runs on canvas sets are adaptive"
    return [str(number) for number in range(canvas_set.shapes_low, canvas_set.shapes_high + 1)]


def asked_of(run: Run) -> dict[str, int]:
    """How many canvases of each number of shapes the run has used so far."""
    canvases = run.adaptive.get("asked", {})
    return {stratum: canvases.get(stratum, 0) for stratum in strata_of(run)}


def batch_of(run: Run) -> int:
    """Canvases added at a time: at least ten, and enough to keep all requests in flight busy."""
    return max(MIN_BATCH, run.concurrency // max(1, len(run.task_classes) * run.repeats))


def look(run: Run) -> Look:
    """Apply the rule to the run's first metric. The unit is the canvas: the mean over all its scores."""
    canvases = asked_of(run)
    left = (run.max_canvases or 0) - sum(canvases.values())
    means = _canvas_means(run)
    silent = tuple(stratum for stratum, number in canvases.items() if number and not means.get(stratum))
    strata = {stratum: means.get(stratum, []) for stratum in canvases if stratum not in silent}
    if not strata:
        return Look({}, no_interval(), {}, "no result has a score", silent)
    rule = AdaptiveRule(run.target_half_width or 0.0, max(run.max_canvases or 0, 1), batch_of(run))
    decision = decide(strata, rule)
    add: dict[str, int] = {}
    for stratum, number in decision.add.items():
        if granted := min(number, left - sum(add.values())):
            add[stratum] = granted
    # The rule's cap is per stratum, but the run's maximum is for all strata together.
    reason = CAP_REACHED.format(run.max_canvases) if decision.add and not add else decision.reason
    return Look(decision.intervals, decision.overall, add, reason, silent)


def _canvas_means(run: Run) -> dict[str, list[float]]:
    """By number of shapes, the canvases' mean scores in the order in which they were generated."""
    table = read_scores(run, run.metrics[0], "cluster", "n_shapes", "canvas").scored
    canvases, scores = table.means("cluster")
    places = {cluster: (n_shapes, number) for cluster, n_shapes, number in table.rows("cluster", "n_shapes", "canvas")}
    means: dict[str, list[float]] = {}
    for (n_shapes, _), mean in sorted(zip(map(places.__getitem__, canvases), scores.tolist(), strict=True)):
        means.setdefault(str(n_shapes), []).append(min(1.0, max(0.0, mean)))
    return means


def adaptive_numbers(run: Run) -> Adaptive:
    latest = look(run)
    canvases = asked_of(run)
    target = run.target_half_width or 0.0
    is_within = all(
        interval.half_width is not None and interval.half_width <= target for interval in latest.intervals.values()
    )
    used = run.results.order_by().values_list("n_shapes").annotate(n=Count("cluster", distinct=True))
    expected = {str(n_shapes): n for n_shapes, n in used}
    return Adaptive(
        target_half_width=target,
        max_canvases=run.max_canvases or 0,
        canvases=sum(canvases.values()),
        strata=[
            Stratum.of(interval, n_expected=expected.get(stratum, 0), n_shapes=int(stratum), asked=canvases[stratum])
            for stratum, interval in latest.intervals.items()
        ],
        overall=Expected.of(latest.overall, n_expected=sum(expected.values())),
        reached=not latest.add and not latest.without_scores and is_within,
        reason=latest.reason,
        without_scores=latest.without_scores,
    )


def with_sequential_intervals(
    run: Run, adaptive: Adaptive, metrics: Mapping[str, MetricNumbers], breakdown: Breakdown
) -> tuple[dict[str, MetricNumbers], Breakdown]:
    """Replace the first metric's intervals by those that allow for stopping early, and mark all others as ordinary.

    The mean over the run becomes the plain average over the numbers of shapes: the rule adds most canvases where it is
    least certain, and a mean over all results would be biased toward them. What is missing therefore weighs more where
    there are few canvases. ``n`` still counts results, as its ``n_expected`` does; ``n_clusters`` counts canvases.
    """
    first = run.metrics[0]
    marked = {name: mean.noted(ORDINARY) if _is_bounded(mean) else mean for name, mean in metrics.items()}
    parts = breakdown.noted(ORDINARY, _is_bounded)
    strata = {str(stratum.n_shapes): stratum for stratum in adaptive.strata}
    levels = parts.facets.get(STRATUM, {})
    by_shapes = {
        level: {**means, first: _replaced(means[first], strata[level])} if level in strata and first in means else means
        for level, means in levels.items()
    }
    if by_shapes:
        parts = replace(parts, facets={**parts.facets, STRATUM: by_shapes})
    bounded = _with_bounds(marked[first], [means[first] for means in levels.values() if first in means])
    return marked | {first: _replaced(bounded, adaptive.overall)}, parts


def _with_bounds(mean: MetricNumbers, levels: Sequence[Expected]) -> MetricNumbers:
    """With the averages over the numbers of shapes that all missing scores could give; one without a score has any."""
    if not any(level.n < (level.n_expected or 0) for level in levels):
        return mean
    wrong, right = [level.if_missing_wrong for level in levels], [level.if_missing_right for level in levels]
    lowest = fmean(0.0 if value is None else value for value in wrong)
    highest = fmean(1.0 if value is None else value for value in right)
    return replace(mean, lowest=lowest, highest=highest)


def _is_bounded(mean: Mean) -> bool:
    return mean.low is not None


def _replaced(mean: M, by: Mean) -> M:
    """The numbers of another interval, for the same n."""
    names = (each.name for each in fields(Mean) if each.name != "n")
    return replace(mean, **{name: getattr(by, name) for name in names})
