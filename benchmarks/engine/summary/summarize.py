"""A run's numbers, computed from its rows: per metric, by difficulty, task class and number of shapes.

Written while a run goes (now and then) and when it ends, and read by every page; no page ever aggregates over results.
Means come from scored results only. What was not scored is counted beside them, by its reason. What is dear to compute
(corrected for chance, thresholds, reliability) is computed at the end only.
"""

from __future__ import annotations

from typing import Any

from benchmarks.engine.summary.adaptive import adaptive_numbers, made_honest
from benchmarks.engine.summary.agreement import agreement_numbers
from benchmarks.engine.summary.chance import chance_numbers, guess_rates
from benchmarks.engine.summary.distributions import error_kinds, histogram, latency, outcomes
from benchmarks.engine.summary.means import added, breakdown_of, means_of, metric_numbers, summed_cells
from benchmarks.engine.summary.reliability import reliability_numbers
from benchmarks.engine.summary.thresholds import threshold_numbers
from benchmarks.models import Run, RunStatus


def summarize(run: Run, *, live: bool = False) -> tuple[dict[str, Any], dict[str, Any]]:
    """The run's ``summary`` and ``breakdown`` as its pages read them; of a live run without what is dear."""
    cells = summed_cells(run)
    means = means_of(run, cells)
    highest = {
        metric: sums.highest
        for metric, sums in added(cells.items(), lambda cell: cell.metric).items()
        if metric in run.metrics and sums.highest is not None
    }
    summary: dict[str, Any] = {
        "metrics": metric_numbers(run, cells, means),
        "outcomes": outcomes(run),
        "error_kinds": error_kinds(run) if run.errors else {},
        "latency_ms": latency(run),
        "histograms": {metric: histogram(run, metric, value) for metric, value in highest.items()},
    }
    if not live:
        guesses = guess_rates(run)
        summary |= {
            "chance": chance_numbers(run, cells, means, guesses),
            "thresholds": threshold_numbers(run, cells, guesses),
            "reliability": reliability_numbers(run),
        }
        if run.is_calibration and run.status == RunStatus.RUNNING:  # not of a run that was canceled or has failed
            summary["agreement"] = agreement_numbers(run)
    breakdown = breakdown_of(run, means)
    if run.target_half_width is not None:
        summary["adaptive"] = adaptive_numbers(run)
        made_honest(run, summary["adaptive"], summary, breakdown)
    return summary, breakdown
