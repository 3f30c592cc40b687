"""The estimate of the score on all tasks, of a run that asked only a drawn part of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from benchmarks.analysis.score_table import read_scores
from benchmarks.engine.summary.means import range_of
from benchmarks.models import Run
from benchmarks.presentation.numbers import n_of
from benchmarks.statistics.subset import Stratum, Subset, estimate
from benchmarks.summary import Breakdown, MetricNumbers
from benchmarks.summary import Subset as Drawn

METHOD = "subset-regression"
PART = "of the drawn tasks, not of all tasks"


def with_estimates(
    run: Run, metrics: Mapping[str, MetricNumbers], breakdown: Breakdown
) -> tuple[dict[str, MetricNumbers], Breakdown, Drawn]:
    """Replace the means of scores from 0 to 1 by estimates for all tasks, and mark all other means as of a part.

    A metric with too few scores has no estimate.
    """
    design = run.subset_design
    subset = Subset(design["predictions"], [Stratum(**stratum) for stratum in design["strata"]])
    n_tasks, drawn = subset.n_tasks, subset.drawn
    estimates = dict(metrics)
    for metric, numbers in metrics.items():
        if range_of(metric) != (0.0, 1.0):
            continue
        tasks, scores = read_scores(run, metric, "task").scored.means("task")
        means = dict(zip(tasks, scores.tolist(), strict=True))
        estimated = estimate(subset, [means.get(design["tasks"][place]) for place in drawn])
        note = f"estimated from {n_of(estimated.n, n_tasks)} tasks" if estimated else "too few scores for an estimate"
        mean, low, high = (estimated.mean, estimated.low, estimated.high) if estimated else (None, None, None)
        estimates[metric] = replace(numbers, mean=mean, low=low, high=high, method=METHOD, note=note)
    return estimates, breakdown.noted(PART), Drawn(len(drawn), n_tasks, design["n_all"])
