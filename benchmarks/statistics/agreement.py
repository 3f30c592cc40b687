"""Cohen's κ: the agreement of two raters, such as a judge and a person, beyond what chance would produce.

Sources: Cohen (1960), Educ. Psychol. Meas. 20:37; Fleiss, Cohen & Everitt (1969), Psychol. Bull. 72:323, for the
standard error; Yang & Zhou (2014), Stat. Med. 33:2612, for clusters; Wilson (1927), JASA 22:209, for the interval.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from benchmarks.statistics.intervals import score_bounds
from benchmarks.statistics.spread import score_factor, spread_of, two_sided_z

FEW = 40
"""With fewer items, or clusters of them, the interval covers too rarely, and the note says that the sample is small."""


@dataclass(frozen=True, slots=True)
class Kappa:
    """κ with bounds in [-1, 1]; ``None`` if it is undefined, and then the note says why."""

    kappa: float | None
    low: float | None
    high: float | None
    n: int
    agreement: float | None
    """The observed share of agreement."""
    expected_agreement: float | None
    """The share that two raters with the same frequencies of verdicts would reach by chance."""
    n_clusters: int | None = None
    """How many clusters the items fall into; ``None`` if they are treated as independent."""
    note: str = ""


def cohen_kappa(
    first: Sequence[Hashable],
    second: Sequence[Hashable],
    *,
    clusters: Sequence[Hashable] | None = None,
    confidence: float = 0.95,
) -> Kappa:
    """Agreement of two raters' verdicts on the same items, in the same order.

    ``clusters`` names, item by item, what each shares with others, such as its canvas. Clusters change the bounds of κ,
    not κ itself. Raises ``ValueError`` for sequences of different length.
    """
    if len({len(first), len(second), len(first if clusters is None else clusters)}) > 1:
        names = "" if clusters is None else f" and {len(clusters)} cluster names"
        raise ValueError(f"{len(first)} and {len(second)} verdicts{names}: give one of each for every item")
    n = len(first)
    if n == 0:
        return Kappa(None, None, None, 0, None, None, note="no item was rated by both")
    items = list(zip(first, second, strict=True))
    rows = {verdict: count / n for verdict, count in Counter(first).items()}
    columns = {verdict: count / n for verdict, count in Counter(second).items()}
    observed = sum(row == column for row, column in items) / n
    expected = math.fsum(share * columns.get(verdict, 0.0) for verdict, share in rows.items())
    if 1 - expected < 1e-12:
        note = "undefined, because both raters always gave the same verdict"
        return Kappa(None, None, None, n, observed, expected, note=note)
    kappa = (observed - expected) / (1 - expected)

    def influence(row: Hashable, column: Hashable) -> float:
        """What an item adds to κ·(1 - expected), to first order, times n; the mean over all items is 0."""
        chance = columns.get(row, 0.0) + rows.get(column, 0.0)
        return (row == column) - chance * (1 - kappa) - kappa + expected * (1 - kappa)

    spread = spread_of([influence(*item) for item in items], clusters)
    units, unit = (n, "item") if clusters is None else (spread.n_clusters, "cluster")
    notes = [f"small sample: {units} {unit}{'s' * (units != 1)}"] if units < FEW else []
    if 0 < observed < 1 and spread.degrees > 0:
        factor = score_factor(spread, observed * (1 - observed), confidence)
    else:
        notes.append("the ratings do not vary, so the bounds come from the observed agreement")
        factor = two_sided_z(confidence) ** 2 * spread.concentration
    # κ ± t · error covers too rarely near 1. The score interval of the agreement, with the variance of κ, covers.
    low, high = ((bound - expected) / (1 - expected) for bound in score_bounds(observed, factor))
    n_clusters = None if clusters is None else units
    return Kappa(kappa, max(-1.0, low), min(1.0, high), n, observed, expected, n_clusters, "; ".join(notes))
