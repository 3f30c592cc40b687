"""Krippendorff's α: the agreement of any number of raters beyond chance, with ratings missing anywhere.

α = 1 - D_o / D_e compares the disagreement within items, D_o, with that of any two ratings, D_e. Ratings become points
whose squared distance is their disagreement, so one formula serves three levels: a coordinate for each value (nominal),
the middle rank (ordinal), the rating itself (interval).

The bounds are those of the score interval for the agreement 1 - D_o, on the scale of α, as for Cohen's κ, with the
variance of the items' influence on α. Simulated coverage: ``tests/benches/statistics/people.py``.

Sources: Krippendorff (2011), Computing Krippendorff's Alpha-Reliability; Hayes & Krippendorff (2007), Commun. Methods
Meas. 1:77; Hampel (1974), JASA 69:383, for the influence; Wilson (1927), JASA 22:209, for the interval.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from benchmarks.statistics.intervals import FEW, score_bounds
from benchmarks.statistics.spread import score_factor, spread_of, two_sided_z


class Level(StrEnum):
    """What the distance of two ratings means."""

    NOMINAL = "nominal"
    ORDINAL = "ordinal"
    INTERVAL = "interval"


@dataclass(frozen=True, slots=True)
class Alpha:
    """α with bounds in [-1, 1]; ``None`` if it is undefined, and then the note says why."""

    alpha: float | None
    low: float | None
    high: float | None
    n_items: int
    """Items with at least two ratings; the others say nothing about agreement."""
    n_ratings: int
    """Ratings of these items."""
    note: str = ""


def alpha_of(
    ratings: Sequence[Sequence[float | None]],
    level: Level = Level.INTERVAL,
    clusters: Sequence[Hashable] | None = None,
    *,
    confidence: float = 0.95,
) -> Alpha:
    """α of the ratings of each item; ``None`` is a rating that is missing.

    ``clusters`` names, item by item, what it shares with others, such as its canvas. Raises ``ValueError`` for
    sequences of different length.
    """
    if clusters is not None and len(clusters) != len(ratings):
        raise ValueError(f"{len(ratings)} items with {len(clusters)} cluster names: give one name for every item")
    named = enumerate(ratings) if clusters is None else zip(clusters, ratings, strict=True)
    counted = ((name, Counter(value for value in item if value is not None)) for name, item in named)
    items = [(name, values) for name, values in counted if values.total() > 1]
    if not items:
        return Alpha(None, None, None, 0, 0, "no item was rated twice")
    total = sum((values for _, values in items), Counter[float]())
    n, n_ratings = len(items), total.total()
    if len(total) == 1:
        return Alpha(None, None, None, n, n_ratings, "undefined, because all ratings are equal")
    points = _points(total, level)
    disagreements = [_disagreement(values, points) for _, values in items]
    observed = (
        math.fsum(values.total() * each for (_, values), each in zip(items, disagreements, strict=True)) / n_ratings
    )
    expected = _disagreement(total, points)
    alpha = 1 - observed / expected
    # From here on in units of the largest distance, so that the agreement is from 0 to 1.
    largest = (max(points.values()) - min(points.values())) ** 2 if points else 1.0
    distances = _mean_distances(total, points)
    influences = [
        -(
            values.total() * (each - observed)
            - 2 * (1 - alpha) * math.fsum(count * (distances[value] - expected) for value, count in values.items())
        )
        * (n / n_ratings / largest)
        for (_, values), each in zip(items, disagreements, strict=True)
    ]
    agreement, chance = 1 - observed / largest, 1 - expected / largest
    spread = spread_of(influences, None if clusters is None else [name for name, _ in items])
    notes = [f"small sample: {n} item{'s' * (n != 1)}"] if n < FEW else []
    if 0 < agreement < 1 and spread.degrees > 0:
        factor = score_factor(spread, agreement * (1 - agreement), confidence)
    else:
        notes.append("the ratings do not vary, so the bounds come from the observed agreement")
        factor = two_sided_z(confidence) ** 2 * spread.concentration
    low, high = ((bound - chance) / (1 - chance) for bound in score_bounds(agreement, factor))
    return Alpha(alpha, max(-1.0, low), min(1.0, high), n, n_ratings, "; ".join(notes))


def _points(total: Counter[float], level: Level) -> dict[float, float] | None:
    """Value → the number whose squared distances are disagreements; ``None`` if all different values are as distant."""
    if level is Level.NOMINAL:
        return None
    if level is Level.INTERVAL:
        return {value: value for value in total}
    ranks, below = {}, 0
    for value in sorted(total):
        ranks[value] = below + total[value] / 2
        below += total[value]
    return ranks


def _disagreement(values: Counter[float], points: dict[float, float] | None) -> float:
    """The mean disagreement of two different ratings, drawn from ``values``."""
    n = values.total()
    distances = _mean_distances(values, points)
    return math.fsum(count * distances[value] for value, count in values.items()) / (n - 1)


def _mean_distances(values: Counter[float], points: dict[float, float] | None) -> dict[float, float]:
    """Value → its mean disagreement with all ``values``, itself among them."""
    n = values.total()
    if points is None:
        return {value: (n - count) / n for value, count in values.items()}
    mean = math.fsum(count * points[value] for value, count in values.items()) / n
    variance = math.fsum(count * (points[value] - mean) ** 2 for value, count in values.items()) / n
    return {value: (points[value] - mean) ** 2 + variance for value in values}
