"""Whether a model knows a published set: its score there against its score on a fresh set of the same difficulties.

The two sets are different tasks, so nothing is paired. Within every stratum (a number of shapes, a task class) the two
means are subtracted, and the differences are averaged over the strata, so that an uneven mix cannot pass for knowledge.
Sources: Newcombe (1998), Stat. Med. 17:873, method 10, for the difference of two score intervals; Zou & Donner (2008),
Stat. Med. 27:1693, for carrying the rule over to sums of any intervals.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.statistics.intervals import Interval, interval_by_confidence

_BISECTIONS = 40
_SMALLEST_P = 1e-9
_Pairs = Sequence[tuple[Callable[[float], Interval], Callable[[float], Interval]]]
"""For every stratum the intervals of the published and of the fresh set, by confidence."""


@dataclass(frozen=True, slots=True)
class Sample:
    """Scores in [0, 1] of one stratum of one set, with their canvases where several share one."""

    values: Sequence[float]
    clusters: Sequence[Hashable] | None = None


@dataclass(frozen=True, slots=True)
class Contamination:
    """Published minus fresh: above zero, the published set is easier for this model than a fresh one of its kind."""

    published: Mapping[str, Interval]
    fresh: Mapping[str, Interval]
    difference: float | None
    low: float | None
    high: float | None
    p_value: float | None
    """Two-sided; the confidence at which the interval just reaches zero, subtracted from one."""
    n_published: int
    n_fresh: int
    left_out: tuple[str, ...]
    """Strata without scores in one of the two sets."""
    verdict: str
    confidence: float


def published_against_fresh(strata: Mapping[str, tuple[Sample, Sample]], *, confidence: float = 0.95) -> Contamination:
    """Compare a (published, fresh) pair of samples for every stratum, all strata counting alike."""
    used = {
        name: (
            interval_by_confidence(published.values, published.clusters),
            interval_by_confidence(fresh.values, fresh.clusters),
        )
        for name, (published, fresh) in strata.items()
        if published.values and fresh.values
    }
    left_out = tuple(name for name in strata if name not in used)
    of_published = {name: published(confidence) for name, (published, _) in used.items()}
    of_fresh = {name: fresh(confidence) for name, (_, fresh) in used.items()}
    counts = (sum(one.n for one in of_published.values()), sum(one.n for one in of_fresh.values()))
    if not used:
        verdict = "nothing to compare: no stratum has scores in both sets"
        return Contamination(of_published, of_fresh, None, None, None, None, *counts, left_out, verdict, confidence)
    pairs = list(used.values())
    difference, low, high = _difference(pairs, confidence)
    return Contamination(
        of_published,
        of_fresh,
        difference,
        low,
        high,
        _p_value(pairs, difference),
        *counts,
        left_out,
        _verdict(low, high),
        confidence,
    )


def _difference(pairs: _Pairs, confidence: float) -> tuple[float, float, float]:
    """The average difference with its bounds: distances to the bounds add up in squares, each on its own side."""
    difference = below = above = 0.0
    for published, fresh in pairs:
        first, first_low, first_high = _bounds(published(confidence))
        second, second_low, second_high = _bounds(fresh(confidence))
        difference += first - second
        below += (first - first_low) ** 2 + (second_high - second) ** 2
        above += (first_high - first) ** 2 + (second - second_low) ** 2
    size = len(pairs)
    return difference / size, (difference - math.sqrt(below)) / size, (difference + math.sqrt(above)) / size


def _bounds(interval: Interval) -> tuple[float, float, float]:
    if interval.mean is None or interval.low is None or interval.high is None:
        raise ValueError("a sample without scores has no interval")
    return interval.mean, interval.low, interval.high


def _p_value(pairs: _Pairs, difference: float) -> float:
    """The smallest α whose interval excludes zero, by bisection: wider confidence, wider interval."""
    if difference == 0:
        return 1.0

    def excludes_zero(alpha: float) -> bool:
        _, low, high = _difference(pairs, 1 - alpha)
        return low > 0 or high < 0

    if excludes_zero(_SMALLEST_P):
        return _SMALLEST_P
    small, large = _SMALLEST_P, 1.0
    for _ in range(_BISECTIONS):
        middle = (small + large) / 2
        small, large = (small, middle) if excludes_zero(middle) else (middle, large)
    return large


def _verdict(low: float, high: float) -> str:
    if low > 0:
        return "the published set is easier for this model than a fresh one: it may have been trained on it"
    if high < 0:
        return "the fresh set is easier for this model than the published one: no sign of contamination"
    return "no difference between the published and the fresh set can be told"
