"""Cohen's κ: the agreement of two raters, such as a judge and a person, beyond what chance would produce.

Sources: Cohen (1960), Educ. Psychol. Meas. 20:37; Fleiss, Cohen & Everitt (1969), Psychol. Bull. 72:323, for the
standard error; Yang & Zhou (2014), Stat. Med. 33:2612, for clusters.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from benchmarks.statistics.intervals import FEW, score_bounds
from benchmarks.statistics.spread import spread_of, two_sided_t, two_sided_z


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
        """What an item adds to κ, to first order, times n; the mean over all items is 0."""
        chance = columns.get(row, 0.0) + rows.get(column, 0.0)
        return ((row == column) - chance * (1 - kappa) - kappa + expected * (1 - kappa)) / (1 - expected)

    influences = [influence(*item) for item in items]
    if clusters is None:
        units, unit = n, "item"
        variance = math.fsum(value**2 for value in influences) / n**2
        quantile = two_sided_z(confidence)
    else:
        spread = spread_of(influences, clusters)
        units, unit, variance = spread.n_clusters, "cluster", spread.variance_of_mean
        quantile = two_sided_t(confidence, spread.degrees) if spread.degrees else math.inf
    notes = [f"small sample: {units} {unit}{'s' * (units != 1)}"] if units < FEW else []
    if units > 1 and variance > 1e-15:
        half = quantile * math.sqrt(variance)
        low, high = kappa - half, kappa + half
    else:
        # Raters that never differ leave no spread: Wilson's bounds of the agreement stand in for it.
        notes.append("no spread to estimate an error from: bounds from the observed agreement")
        z = two_sided_z(confidence)
        low, high = ((bound - expected) / (1 - expected) for bound in score_bounds(observed, z * z / units))
    n_clusters = None if clusters is None else units
    return Kappa(kappa, max(-1.0, low), min(1.0, high), n, observed, expected, n_clusters, "; ".join(notes))
