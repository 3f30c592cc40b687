"""Krippendorff's α: the agreement of any number of raters beyond chance, with ratings missing anywhere.

α = 1 - D_o / D_e compares the disagreement within items, D_o, with that of any two ratings, D_e. Ratings become points
whose squared distance is their disagreement, so one formula serves three levels: a coordinate for each value (nominal),
the middle rank (ordinal), the rating itself (interval).

The bounds are quantiles of the posterior of α, with a weight for each item as in the Bayesian bootstrap. Ratings that
have not occurred yet decide whether α is low, above all if nearly all ratings are equal. Items stand for them as in
Jeffreys's prior of two raters and two values: half an item for each kind, both raters choose the one value, both the
other, or each another. With more values, each is chosen by both with the same share of one item. Simulated coverage:
``tests/benches/statistics/people.py``.

Sources: Krippendorff (2011), Computing Krippendorff's Alpha-Reliability; Hayes & Krippendorff (2007), Commun. Methods
Meas. 1:77; Rubin (1981), Ann. Stat. 9:130, for the Bayesian bootstrap; Jeffreys (1946), Proc. R. Soc. A 186:453, for
the prior.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from enum import StrEnum

DRAWS = 2_000
FEW = 100
"""With fewer items the interval covers too rarely, and the note says that the sample is small."""
_CHUNK = 200_000
_UNSEEN = 0.5
_FEW_RARE = 10


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
    contents: dict[Hashable, _Content] = {}
    for (name, values), each in zip(items, disagreements, strict=True):
        contents.setdefault(name, _Content()).add(values, each)
    low, high = _posterior_bounds(list(contents.values()), sorted(total), points, confidence)
    notes = [f"small sample: {n} item{'s' * (n != 1)}"] if n < FEW else []
    if len(contents) == 1 < n:
        notes.append("all items are one cluster, so the bounds say little")
    rare = n_ratings - max(total.values())
    if rare < _FEW_RARE and level is Level.NOMINAL:
        notes.append(f"{rare} of {n_ratings} ratings differ from the most frequent one, so the interval is wide")
    return Alpha(alpha, max(-1.0, min(low, alpha)), min(1.0, max(high, alpha)), n, n_ratings, "; ".join(notes))


class _Content:
    """What a cluster of items adds to α: its ratings, and the sum over them of the disagreement within their item."""

    def __init__(self) -> None:
        self.ratings: Counter[float] = Counter()
        self.disagreement = 0.0

    def add(self, values: Counter[float], disagreement: float) -> None:
        self.ratings.update(values)
        self.disagreement += values.total() * disagreement


def _posterior_bounds(
    clusters: Sequence[_Content], values: Sequence[float], points: dict[float, float] | None, confidence: float
) -> tuple[float, float]:
    """The quantiles of α if every cluster, and those not yet seen, get random weights."""
    import numpy as np

    equal = Counter((round(each.disagreement, 9), *(each.ratings[value] for value in values)) for each in clusters)
    # A cluster that has not been seen is as large as those that have, on average.
    size = sum(each.ratings.total() for each in clusters) / len(clusters)
    k = len(values)
    apart = math.fsum(_mean_distances(Counter(values), points).values()) / (k - 1)
    unseen = [(0.0, *(size * (value == own) for value in values)) for own in values]
    rows = np.array([*equal, *unseen, (size * apart, *([size / k] * k))])
    shapes = np.array([*equal.values(), *([2 * _UNSEEN / k] * k), _UNSEEN])
    at = None if points is None else np.array([points[value] for value in values])
    random, found = np.random.default_rng(0), []
    chunk = max(1, _CHUNK // len(shapes))
    for begin in range(0, DRAWS, chunk):
        weights = random.standard_gamma(shapes, size=(min(chunk, DRAWS - begin), len(shapes)))
        within, *counts = (weights @ rows).T
        shares = np.array(counts) / sum(counts)
        expected = 1 - (shares**2).sum(axis=0) if at is None else 2 * (at**2 @ shares - (at @ shares) ** 2)
        found.append(1 - within / sum(counts) / expected)
    low, high = np.quantile(np.concatenate(found), ((1 - confidence) / 2, (1 + confidence) / 2))
    return float(low), float(high)


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
