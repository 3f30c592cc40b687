"""An adaptive run as its stopping rule sees it: canvases by number of shapes, and where more are needed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Avg

from benchmarks.engine.summary.means import plain
from benchmarks.models import Run
from benchmarks.statistics.intervals import Interval
from benchmarks.statistics.sequential import AdaptiveRule, decide

LEAST_BATCH = 10
STRATUM = "n_shapes"
ORDINARY = "an ordinary interval, and this run chose its own length: it is a little too narrow"


@dataclass(frozen=True, slots=True)
class Look:
    """What the rule says of a run's results: intervals that hold at every look at once, and what to add."""

    intervals: Mapping[str, Interval]
    overall: Interval
    add: Mapping[str, int]
    reason: str
    without_scores: tuple[str, ...]
    """Strata that were asked and brought no score at all: no more is spent on them."""


def strata_of(run: Run) -> list[str]:
    """The numbers of shapes of the run's canvas set."""
    canvas_set = run.dataset.canvas_set
    assert canvas_set is not None, "only runs on canvas sets are adaptive"
    return [str(number) for number in range(canvas_set.shapes_low, canvas_set.shapes_high + 1)]


def asked_of(run: Run) -> dict[str, int]:
    """How many canvases of each number of shapes the run asked about so far."""
    asked = run.adaptive.get("asked", {})
    return {stratum: asked.get(stratum, 0) for stratum in strata_of(run)}


def batch_of(run: Run) -> int:
    """Canvases added at a time: at least ten, and enough to keep all requests in flight busy."""
    return max(LEAST_BATCH, run.concurrency // max(1, len(run.task_classes) * run.repeats))


def look(run: Run) -> Look:
    """Apply the rule to the run's first metric. The unit is the canvas: the mean over all that was scored about it."""
    asked = asked_of(run)
    left = (run.max_canvases or 0) - sum(asked.values())
    means = _canvas_means(run)
    silent = tuple(stratum for stratum, number in asked.items() if number and not means.get(stratum))
    strata = {stratum: means.get(stratum, []) for stratum in asked if stratum not in silent}
    if not strata:
        nothing = Interval(None, None, None, 0, None, "none", "no scored results")
        return Look({}, nothing, {}, "nothing that was asked has a score", silent)
    rule = AdaptiveRule(run.target_half_width or 0.0, max(run.max_canvases or 0, 1), batch_of(run))
    decision = decide(strata, rule)
    add: dict[str, int] = {}
    for stratum, number in decision.add.items():
        if granted := min(number, left - sum(add.values())):
            add[stratum] = granted
    reason = decision.reason
    if decision.add and not add:
        reason = f"the cap of {run.max_canvases} canvases is reached, with intervals still wider than the target"
    return Look(decision.intervals, decision.overall, add, reason, silent)


def adaptive_numbers(run: Run) -> dict[str, Any]:
    """What a page tells of an adaptive run."""
    found = look(run)
    return {
        "target_half_width": run.target_half_width,
        "max_canvases": run.max_canvases,
        "canvases": sum(asked_of(run).values()),
        "strata": [
            {STRATUM: int(stratum), "asked": asked_of(run)[stratum], **plain(interval)}
            for stratum, interval in found.intervals.items()
        ],
        "overall": plain(found.overall),
        "reached": not found.add and not found.without_scores and _all_within(found, run.target_half_width or 0.0),
        "reason": found.reason,
        "without_scores": list(found.without_scores),
    }


def made_honest(run: Run, numbers: Mapping[str, Any], summary: dict[str, Any], breakdown: dict[str, Any]) -> None:
    """Put the intervals that allow for stopping where the ordinary ones of the first metric stand, and mark the rest.

    The mean over the run becomes the plain average over the numbers of shapes: the rule asked most where it was
    least sure, and a mean over all results would lean there.
    """
    first = run.metrics[0]
    for numbers_of in summary["metrics"].values():
        _mark(numbers_of)
    for facet, levels in breakdown.items():
        for by_metric in levels if facet == "surface" else levels.values():
            for one in [by_metric] if facet == "surface" else by_metric.values():
                _mark(one)
    summary["metrics"][first] |= numbers["overall"]
    by_shapes = breakdown.get(STRATUM, {})
    for stratum in numbers["strata"]:
        if level := by_shapes.get(str(stratum[STRATUM]), {}).get(first):
            level |= {name: stratum[name] for name in numbers["overall"]}


def _mark(interval: dict[str, Any]) -> None:
    if interval["low"] is not None:
        interval["note"] = "; ".join(filter(None, (interval["note"], ORDINARY)))


def _all_within(found: Look, target: float) -> bool:
    return all(
        interval.half_width is not None and interval.half_width <= target for interval in found.intervals.values()
    )


def _canvas_means(run: Run) -> dict[str, list[float]]:
    """By number of shapes the canvases' mean scores, in the order in which they were drawn."""
    canvas = "result__task__question__canvas__number"
    rows = (
        run.scores.filter(metric=run.metrics[0], value__isnull=False)
        .order_by("result__n_shapes", canvas)
        .values_list("result__n_shapes", canvas)
        .annotate(mean=Avg("value"))
    )
    means: dict[str, list[float]] = {}
    for n_shapes, _, mean in rows.iterator(chunk_size=5_000):
        means.setdefault(str(n_shapes), []).append(min(1.0, max(0.0, mean)))
    return means
