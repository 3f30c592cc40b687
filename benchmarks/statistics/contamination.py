"""Whether a model knows a published set: its score there compared with its score on a fresh set of the same difficulty.

The two sets contain different tasks, so nothing is paired. Within every stratum (a number of shapes, a task class) the
two means are subtracted, and the differences are averaged over the strata, so that an uneven mix cannot look like
knowledge. Sources: Newcombe (1998), Stat. Med. 17:873, method 10, for the difference of two score intervals; Zou &
Donner (2008), Stat. Med. 27:1693, for the extension to sums of any intervals.
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
    """Scores in [0, 1] of one stratum of one set, with their canvases if several scores share one."""

    values: Sequence[float]
    clusters: Sequence[Hashable] | None = None


@dataclass(frozen=True, slots=True)
class Contamination:
    """Published minus fresh: above zero, the published set is easier for this model than a fresh one of its kind."""

    published: Mapping[str, Interval]
    fresh: Mapping[str, Interval]
    n_published: int
    n_fresh: int
    left_out: tuple[str, ...]
    """Strata without scores in one of the two sets."""
    confidence: float
    difference: float | None = None
    """``None``, like all that follows, if no stratum has scores in both sets."""
    low: float | None = None
    high: float | None = None
    p_value: float | None = None
    """Two-sided: one minus the confidence at which the interval just reaches zero."""


def published_against_fresh(strata: Mapping[str, tuple[Sample, Sample]], *, confidence: float = 0.95) -> Contamination:
    """Compare a (published, fresh) pair of samples for every stratum; all strata have the same weight."""
    used = {
        name: tuple(interval_by_confidence(sample.values, sample.clusters) for sample in samples)
        for name, samples in strata.items()
        if all(sample.values for sample in samples)
    }
    pairs = [(published, fresh) for published, fresh in used.values()]
    of_published = {name: published(confidence) for name, (published, _) in used.items()}
    of_fresh = {name: fresh(confidence) for name, (_, fresh) in used.items()}
    difference, low, high = _difference(pairs, confidence) if pairs else (None, None, None)
    return Contamination(
        of_published,
        of_fresh,
        n_published=sum(interval.n for interval in of_published.values()),
        n_fresh=sum(interval.n for interval in of_fresh.values()),
        left_out=tuple(name for name in strata if name not in used),
        confidence=confidence,
        difference=difference,
        low=low,
        high=high,
        p_value=None if difference is None else _p_value(pairs, difference),
    )


def _difference(pairs: _Pairs, confidence: float) -> tuple[float, float, float]:
    """The average difference with its bounds: the squared distances to the bounds add up, separately on each side."""
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
    """The smallest α whose interval excludes zero, by bisection: a higher confidence gives a wider interval."""
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
