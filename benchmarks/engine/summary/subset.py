"""The estimate of the score on all tasks, of a run that asked only a drawn part of them."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import Any

from benchmarks.analysis.score_table import read_scores
from benchmarks.engine.summary.means import range_of
from benchmarks.models import Run
from benchmarks.presentation.numbers import n_of
from benchmarks.statistics.subset import Stratum, Subset, estimate

METHOD = "subset-regression"
PART = "of the drawn tasks, not of all tasks"


def use_estimates(run: Run, summary: dict[str, Any], breakdown: Mapping[str, Any]) -> None:
    """Replace the means of scores from 0 to 1 by estimates for all tasks, and mark all other means as of a part.

    ``summary["subset"]`` says how many of how many tasks were drawn. A metric with too few scores has no estimate.
    """
    design = run.subset_design
    subset = Subset(design["predictions"], [Stratum(**stratum) for stratum in design["strata"]])
    n_tasks, drawn = subset.n_tasks, subset.drawn
    summary["subset"] = {"n": len(drawn), "n_tasks": n_tasks, "n_all": design["n_all"]}
    levels = chain.from_iterable(facet.values() for name, facet in breakdown.items() if name != "surface")
    for numbers in (*chain.from_iterable(level.values() for level in levels), *breakdown["surface"]):
        numbers["note"] = "; ".join(filter(None, (numbers["note"], PART)))
    for metric, numbers in summary["metrics"].items():
        if range_of(metric) != (0.0, 1.0):
            continue
        tasks, scores = read_scores(run, metric, "task").scored.means("task")
        means = dict(zip(tasks, scores.tolist(), strict=True))
        estimated = estimate(subset, [means.get(design["tasks"][place]) for place in drawn])
        note = f"estimated from {n_of(estimated.n, n_tasks)} tasks" if estimated else "too few scores for an estimate"
        numbers |= {
            **({name: getattr(estimated, name, None) for name in ("mean", "low", "high")}),
            "method": METHOD,
            "note": note,
        }
