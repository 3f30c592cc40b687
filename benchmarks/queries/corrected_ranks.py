"""Which runs can be ranked by means that labels correct."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.analysis.corrected_ranks import CorrectedPlace, corrected_places
from benchmarks.metrics.registered_metrics import metric_named
from benchmarks.models import COMPLETED, Run
from benchmarks.presentation.ranks import listed

CORRECTED = "corrected"
"""The value of ``?judge=`` that shows corrected means."""


def can_correct(metric: str) -> bool:
    """Whether a judge gives the metric's scores, on a bounded scale."""
    known = metric_named(metric)
    return known is not None and known.judged and known.range[1] is not None


def corrected_ranks(runs: Sequence[Run], metric: str) -> list[CorrectedPlace]:
    """The completed ones of runs on one dataset by corrected mean. Raises ``ValueError`` for a metric that no judge
    scores, and for runs on several versions."""
    known = metric_named(metric)
    if known is None or not can_correct(metric):
        raise ValueError(f"{metric} is not scored by a judge, so there is nothing to correct.")
    if len({(run.dataset_version_id, run.added_canvases) for run in runs}) > 1:
        raise ValueError("Corrected means are ranked on one version of one dataset. Choose runs on the same.")
    return corrected_places([run for run in runs if run.status in COMPLETED], known)


def corrected_sentence(places: Sequence[CorrectedPlace]) -> str:
    """Who leads after correction, or what is missing."""
    ranked = [place for place in places if place.ranks]
    if not ranked:
        return "No run has enough labels for a corrected mean. The reason is beside each model."
    leaders = [place.run.model_label for place in ranked if place.ranks and place.ranks[0] == 1]
    if len(ranked) == 1:
        return f"Only {leaders[0]} has enough labels for a corrected mean."
    if ranked[0].ranks == (1, 1):
        return f"{leaders[0]} leads by corrected means, significantly ahead of every other run."
    if len(leaders) == 1:
        return f"{leaders[0]} has the highest corrected mean, but is not significantly ahead of every other run."
    return f"{listed(leaders)} lead by corrected means; the labels do not separate them."
