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

from benchmarks.statistics.intervals import Bounded, Interval, independent_difference, interval_by_confidence

_BISECTIONS = 40
_SMALLEST_P = 1e-9
_Pair = tuple[Callable[[float], Interval], Callable[[float], Interval]]
"""The intervals of the published and of the fresh set in one stratum, by confidence."""


@dataclass(frozen=True, slots=True)
class Sample:
    """Scores in [0, 1] of one stratum of one set, with their canvases if several scores share one."""

    values: Sequence[float]
    clusters: Sequence[Hashable] | None = None
    unscored: Sequence[Hashable] = ()
    """The clusters of the results that should have a score and have none"""

    def with_missing(self, value: float) -> Sample:
        """The sample with this value for every missing score."""
        clusters = None if self.clusters is None else [*self.clusters, *self.unscored]
        return Sample([*self.values, *(value for _ in self.unscored)], clusters)


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
    n_missing: int = 0
    """Results of both sets that should have a score and have none"""
    low_missing: float | None = None
    """The lower bound with every missing score 0 in the published set and 1 in the fresh one; ``high_missing`` is the
    upper bound with the reverse. Equal to ``low`` and ``high`` if nothing is missing."""
    high_missing: float | None = None

    @property
    def is_higher(self) -> bool:
        """Whether the published set is significantly easier, whatever the missing scores are."""
        return self.low_missing is not None and self.low_missing > 0

    @property
    def is_lower(self) -> bool:
        return self.high_missing is not None and self.high_missing < 0

    @property
    def is_undone_by_missing(self) -> bool:
        """Whether there would be a significant difference if it were not for the missing scores."""
        excludes_zero = self.low is not None and self.high is not None and (self.low > 0 or self.high < 0)
        return excludes_zero and not self.is_higher and not self.is_lower


def published_against_fresh(strata: Mapping[str, tuple[Sample, Sample]], *, confidence: float = 0.95) -> Contamination:
    """Compare a (published, fresh) pair of samples for every stratum; all strata have the same weight."""
    used = {name: pair for name, (old, new) in strata.items() if (pair := _intervals(old, new))}
    pairs = list(used.values())
    of_published = {name: published(confidence) for name, (published, _) in used.items()}
    of_fresh = {name: fresh(confidence) for name, (_, fresh) in used.items()}
    difference, low, high = _difference(pairs, confidence) if pairs else (None, None, None)
    low_missing, high_missing = low, high
    n_missing = sum(len(sample.unscored) for samples in strata.values() for sample in samples)
    if n_missing and low is not None and high is not None:
        lows, highs = (
            [pair for old, new in strata.values() if (pair := _intervals(old.with_missing(a), new.with_missing(b)))]
            for a, b in ((0.0, 1.0), (1.0, 0.0))
        )
        # What is missing only widens.
        low_missing = min(low, _difference(lows, confidence)[1])
        high_missing = max(high, _difference(highs, confidence)[2])
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
        n_missing=n_missing,
        low_missing=low_missing,
        high_missing=high_missing,
    )


def _intervals(published: Sample, fresh: Sample) -> _Pair | None:
    """``None`` unless both have values."""
    if not published.values or not fresh.values:
        return None
    old, new = (interval_by_confidence(sample.values, sample.clusters) for sample in (published, fresh))
    return old, new


def _difference(pairs: Sequence[_Pair], confidence: float) -> Bounded:
    """The average difference with its bounds: the squared distances to the bounds add up, separately on each side."""
    difference = below = above = 0.0
    for published, fresh in pairs:
        own, low, high = independent_difference(_bounds(published(confidence)), _bounds(fresh(confidence)))
        difference += own
        below += (own - low) ** 2
        above += (high - own) ** 2
    size = len(pairs)
    return difference / size, (difference - math.sqrt(below)) / size, (difference + math.sqrt(above)) / size


def _bounds(interval: Interval) -> Bounded:
    if interval.mean is None or interval.low is None or interval.high is None:
        raise ValueError("a sample without scores has no interval")
    return interval.mean, interval.low, interval.high


def _p_value(pairs: Sequence[_Pair], difference: float) -> float:
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
