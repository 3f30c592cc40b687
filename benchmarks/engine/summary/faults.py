"""How often a run's answers are refused, cut off or unreadable, with intervals."""

from __future__ import annotations

from collections import Counter

from django.db.models import Count, Q

from benchmarks.models import LOST, Outcome, Run
from benchmarks.statistics.intervals import Moments, interval_from_moments
from benchmarks.summary import Expected

FAULTS = (Outcome.REFUSED, Outcome.TRUNCATED, Outcome.UNPARSABLE)
NO_ANSWER = ("", *LOST, Outcome.CANCELLED)


def fault_rates(run: Run) -> dict[str, Expected]:
    """Outcome → its share of all answers, for the faults that occur. The N of its n are the run's results.

    Clusters are those of its scores.
    """
    answers = run.results.exclude(outcome__in=NO_ANSWER).order_by()
    counted = {str(fault): Count("pk", filter=Q(outcome=fault)) for fault in FAULTS}
    rows = answers.values_list("cluster" if run.has_clusters else "outcome").annotate(n=Count("pk"), **counted)
    clusters: dict[str, Counter[tuple[int, int]]] = {str(fault): Counter() for fault in FAULTS}
    for _, n, *faults in rows.iterator():
        for fault, count in zip(clusters, faults, strict=True):
            clusters[fault][n, count] += 1
    return {fault: _rate(sizes, run) for fault, sizes in clusters.items() if any(count for _, count in sizes)}


def _rate(sizes: Counter[tuple[int, int]], run: Run) -> Expected:
    """From (answers, those with the fault) → number of clusters that have both."""
    n = sum(size * clusters for (size, _), clusters in sizes.items())
    faults = sum(count * clusters for (_, count), clusters in sizes.items())
    moments = Moments.of([(1.0, faults), (0.0, n - faults)])
    grouped = [(size, float(count), clusters) for (size, count), clusters in sizes.items()]
    interval = interval_from_moments(moments, grouped if run.has_clusters else None)
    return Expected.of(interval, n_expected=run.total)
