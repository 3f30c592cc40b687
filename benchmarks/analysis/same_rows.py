"""Which rows of a matrix are the same within a margin, over its datasets."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from itertools import combinations

from benchmarks.analysis.kept import kept_for
from benchmarks.analysis.matrices import Row
from benchmarks.analysis.score_table import edges_of, metric_of, task_scores
from benchmarks.models import Run
from benchmarks.statistics.margins import LEVEL, Edges
from benchmarks.statistics.ranking import mean_of_intervals

_FORMAT = 1
"""Goes up when ``Edges`` changes, so that no old one is read."""


def pair_edges(rows: Sequence[Row], metric: str) -> list[Edges]:
    """For each pair of rows, in the order of ``combinations``, the one-sided bounds of the second minus the first over
    the datasets, of which each weighs the same; each bound is wrong with ``LEVEL`` over all pairs (Bonferroni)."""
    members = [run for row in rows for run in row.runs]
    return kept_for(f"row-edges:{_FORMAT}:{metric}", members, lambda: _pair_edges(rows, metric))


def _pair_edges(rows: Sequence[Row], metric: str) -> list[Edges]:
    scores = cache(lambda run: task_scores(run, metric_of(run, metric)))
    pairs = list(combinations(rows, 2))
    level = LEVEL / max(len(pairs), 1)

    def bounds(a: Run, b: Run) -> Edges:
        return edges_of(scores(a), scores(b), level)

    return [_averaged([bounds(*runs) for runs in zip(a.runs, b.runs, strict=True)]) for a, b in pairs]


def _averaged(parts: Sequence[Edges]) -> Edges:
    """The bounds of the average difference: chance adds up by squares, what is missing in full."""
    n, missing = sum(part.n for part in parts), sum(part.n_missing for part in parts)
    known = [
        (part.difference, part.low, part.high, part.low_missing, part.high_missing)
        for part in parts
        if part.difference is not None
        and part.low is not None
        and part.high is not None
        and part.low_missing is not None
        and part.high_missing is not None
    ]
    if len(known) < len(parts):
        return Edges(n, missing)
    difference, low, high = mean_of_intervals([bounds[:3] for bounds in known])
    below = math.fsum(low - low_missing for _, low, _, low_missing, _ in known) / len(known)
    above = math.fsum(high_missing - high for _, _, high, _, high_missing in known) / len(known)
    return Edges(n, missing, difference, low, high, low - below, high + above)
