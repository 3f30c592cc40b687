"""Cohen's κ: how far two raters, such as a judge and a person, agree beyond what their habits alone would bring about.

Sources: Cohen (1960), Educ. Psychol. Meas. 20:37; Cohen (1968), Psychol. Bull. 70:213, for weights; Fleiss, Cohen &
Everitt (1969), Psychol. Bull. 72:323, for the standard error; Yang & Zhou (2014), Stat. Med. 33:2612, for clusters.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from benchmarks.statistics.distributions import two_sided_t, two_sided_z
from benchmarks.statistics.intervals import FEW, score_bounds
from benchmarks.statistics.spread import spread_of


class Weighting(StrEnum):
    """How much of an agreement two neighbouring verdicts are. Ordered categories are needed for all but ``NONE``."""

    NONE = "none"
    LINEAR = "linear"
    QUADRATIC = "quadratic"


_CREDIT: dict[Weighting, Callable[[float], float]] = {
    Weighting.NONE: lambda distance: float(distance == 0),
    Weighting.LINEAR: lambda distance: 1 - distance,
    Weighting.QUADRATIC: lambda distance: 1 - distance**2,
}


@dataclass(frozen=True, slots=True)
class Kappa:
    """κ with bounds in [-1, 1]; ``None`` where it is not defined, and the note says why."""

    kappa: float | None
    low: float | None
    high: float | None
    n: int
    agreement: float | None
    """The observed share of agreement (weighted, if weights were asked for)."""
    expected_agreement: float | None
    """The share that two raters with these habits would reach without looking."""
    n_clusters: int | None = None
    """How many clusters the items fall into; ``None`` where they were taken as independent."""
    note: str = ""


def cohen_kappa(
    first: Sequence[Hashable],
    second: Sequence[Hashable],
    *,
    categories: Sequence[Hashable] | None = None,
    weighting: Weighting = Weighting.NONE,
    clusters: Sequence[Hashable] | None = None,
    confidence: float = 0.95,
) -> Kappa:
    """Agreement of two raters' verdicts on the same items, given in the same order.

    ``categories`` lists the possible verdicts in their order; needed with weights, where unseen ones count as steps.
    ``clusters`` names, item by item, what each shares with others, such as its canvas; κ is the same, its bounds are
    not. Raises ``ValueError`` for sequences of different length and for weights without categories.
    """
    if len({len(first), len(second), len(first if clusters is None else clusters)}) > 1:
        given = "" if clusters is None else f" in {len(clusters)} clusters"
        raise ValueError(f"{len(first)} verdicts against {len(second)}{given}: give as many of each, item by item")
    if categories is None:
        if weighting is not Weighting.NONE:
            raise ValueError(f"{weighting} weights need the categories in their order")
        categories = list(dict.fromkeys([*first, *second]))
    n = len(first)
    if n == 0:
        return Kappa(None, None, None, 0, None, None, note="no item was rated by both")
    places = {category: place for place, category in enumerate(categories)}
    items = [(places[one], places[other]) for one, other in zip(first, second, strict=True)]
    return _kappa(items, len(categories), weighting, clusters, confidence)


Cell = tuple[int, int]
"""The places of two verdicts among the categories."""


def _kappa(
    items: Sequence[Cell], size: int, weighting: Weighting, clusters: Sequence[Hashable] | None, confidence: float
) -> Kappa:
    n = len(items)
    cells = {cell: number / n for cell, number in Counter(items).items()}
    rows, columns = [0.0] * size, [0.0] * size
    for (row, column), share in cells.items():
        rows[row] += share
        columns[column] += share

    def credit(row: int, column: int) -> float:
        return _CREDIT[weighting](abs(row - column) / max(1, size - 1))

    observed = math.fsum(share * credit(*cell) for cell, share in cells.items())
    expected = math.fsum(
        rows[row] * columns[column] * credit(row, column) for row in range(size) for column in range(size)
    )
    if 1 - expected < 1e-12:
        note = "both raters gave one and the same verdict throughout, so agreement beyond chance is not defined"
        return Kappa(None, None, None, n, observed, expected, note=note)
    kappa = (observed - expected) / (1 - expected)
    row_credit = [math.fsum(columns[at] * credit(row, at) for at in range(size)) for row in range(size)]
    column_credit = [math.fsum(rows[at] * credit(at, column) for at in range(size)) for column in range(size)]

    def influence(cell: Cell) -> float:
        """What an item in the cell adds to κ, to first order, times n; the mean over all items is 0."""
        row, column = cell
        own = credit(row, column) - (row_credit[row] + column_credit[column]) * (1 - kappa)
        return (own - kappa + expected * (1 - kappa)) / (1 - expected)

    influences = {cell: influence(cell) for cell in cells}
    if clusters is None:
        variance = math.fsum(share * influences[cell] ** 2 for cell, share in cells.items()) / n
        error = _Error(n, variance, two_sided_z(confidence), "item")
    else:
        spread = spread_of([influences[cell] for cell in items], clusters)
        quantile = two_sided_t(confidence, spread.degrees) if spread.degrees else math.inf
        error = _Error(spread.n_clusters, spread.variance_of_mean, quantile, "cluster")
    low, high, note = _bounds(kappa, error, (observed, expected), confidence)
    n_clusters = None if clusters is None else error.units
    return Kappa(kappa, low, high, n, observed, expected, n_clusters, note)


@dataclass(frozen=True, slots=True)
class _Error:
    """How far κ may be off: its variance, by how many independent units, and the quantile that goes with it."""

    units: int
    variance: float
    quantile: float
    unit: str


def _bounds(kappa: float, error: _Error, agreement: tuple[float, float], confidence: float) -> tuple[float, float, str]:
    """κ plus and minus its standard error; where the raters never differ, Wilson's bounds for the agreement instead."""
    few = f"only {error.units} {error.unit}{'s' * (error.units != 1)}" if error.units < FEW else ""
    if error.units > 1 and error.variance > 1e-15:
        half = error.quantile * math.sqrt(error.variance)
        return max(-1.0, kappa - half), min(1.0, kappa + half), few
    observed, expected = agreement
    z = two_sided_z(confidence)
    low, high = ((bound - expected) / (1 - expected) for bound in score_bounds(observed, z * z / error.units))
    unspread = "no spread to estimate an error from: bounds from the observed agreement"
    return max(-1.0, low), min(1.0, high), f"{few}; {unspread}" if few else unspread
