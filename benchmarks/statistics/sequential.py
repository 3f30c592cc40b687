"""Intervals that stay valid although a run looks at them all the time and stops when they are narrow enough.

An ordinary 95% interval that determines when to stop covers less than 95%. These are confidence sequences: with 95%
probability the true mean is inside at every look at once, so any rule for stopping, and any rule for where to add the
next canvas, leaves them valid. The unit is the canvas: its mean score, whatever the dependence inside it.

Source: Waudby-Smith & Ramdas (2024), J. R. Stat. Soc. B 86:1, the hedged capital process (their theorem 3) with its
predictable plug-in bets: for every mean m a gambler bets against it, fairly if m is true; m is out once the gambler has
multiplied the stake by 1/α, which by Ville's inequality happens to the true mean with probability at most α.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks.statistics.intervals import Interval, no_interval, sample_note

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

GRID = 1_000
"""Number of steps between candidate means from 0 to 1; bounds are rounded outward to the next candidate."""
_BOLDEST = 0.75
"""No bet risks more than this share of the capital, whatever the canvas scores."""
_BLOCK = 512
CAP_REACHED = "the maximum of {} canvases is reached, and some intervals are still wider than the target"


def confidence_sequence(unit_means: Sequence[float], *, confidence: float = 0.95, aim: float | None = None) -> Interval:
    """The interval after these units, in the order in which they were generated, valid at every stop.

    ``unit_means`` contains one mean score in [0, 1] for each canvas. ``aim`` is the half-width at which the run stops:
    bets tuned to it reach it soonest; without it they are tuned for all lengths equally. It must be fixed before the
    first look. Raises ``ValueError`` for a mean outside [0, 1].
    """
    import numpy as np

    values = np.asarray(unit_means, dtype=float)
    if values.size == 0:
        return no_interval(confidence=confidence)
    if not np.all((values >= 0) & (values <= 1)):
        raise ValueError("the mean score of a unit is a number in [0, 1]; leave out units without a score")
    evidence = _strongest_evidence(values, 1 - confidence, aim)
    kept = np.flatnonzero(evidence < math.log(2 / (1 - confidence)))
    if not kept.size:  # Every mean was ruled out at some look, which happens with at most 1 - confidence.
        kept = np.array([np.argmin(evidence)])
    low, high = max(0, int(kept[0]) - 1) / GRID, min(GRID, int(kept[-1]) + 1) / GRID
    mean = float(values.mean())
    n = int(values.size)
    return Interval(mean, min(low, mean), max(high, mean), n, n, "confidence sequence", sample_note(n), confidence)


def _strongest_evidence(values: NDArray[np.float64], alpha: float, aim: float | None) -> NDArray[np.float64]:
    """For every candidate mean the largest log capital so far of two gamblers, one betting on more and one on less."""
    import numpy as np

    candidates = np.linspace(0, 1, GRID + 1)
    most_upward = _BOLDEST / np.maximum(candidates, 1e-12)
    most_downward = _BOLDEST / np.maximum(1 - candidates, 1e-12)
    bets = _bets(values, alpha, aim)
    upward, downward = np.zeros(GRID + 1), np.zeros(GRID + 1)
    peak = np.zeros(GRID + 1)
    for start in range(0, values.size, _BLOCK):  # blocks bound the memory of canvases × candidates
        bet = bets[start : start + _BLOCK, None]
        surprise = values[start : start + _BLOCK, None] - candidates
        rising = upward + np.cumsum(np.log1p(np.minimum(bet, most_upward) * surprise), axis=0)
        falling = downward + np.cumsum(np.log1p(-np.minimum(bet, most_downward) * surprise), axis=0)
        peak = np.maximum(peak, np.maximum(rising, falling).max(axis=0))
        upward, downward = rising[-1], falling[-1]
    return peak


def _bets(values: NDArray[np.float64], alpha: float, aim: float | None) -> NDArray[np.float64]:
    """The size of every bet, from the units before it only: this keeps the game fair."""
    import numpy as np

    times = np.arange(1, values.size + 1)
    means = (0.5 + np.cumsum(values)) / (times + 1)
    variances = (0.25 + np.cumsum((values - means) ** 2)) / (times + 1)
    known = np.concatenate([[0.25], variances[:-1]])
    if aim is not None:
        # A sequence of half-width √(2·log(2/α)·variance / t) reaches the aim at a t for which the best bet is this one.
        return np.asarray(aim / known)
    return np.asarray(np.sqrt(2 * math.log(2 / alpha) / (known * times * np.log(times + 1))))


@dataclass(frozen=True, slots=True)
class AdaptiveRule:
    """When a canvas run stops: every stratum within ``target_half_width``, or at ``cap`` canvases each."""

    target_half_width: float
    cap: int
    batch: int = 10
    """Canvases added to a stratum at a time."""
    confidence: float = 0.95

    def __post_init__(self) -> None:
        if not 0 < self.target_half_width < 0.5:
            raise ValueError(f"target half-width {self.target_half_width!r}: give a share between 0 and 0.5")
        if self.cap < 1 or self.batch < 1:
            raise ValueError("cap and batch are at least 1")


@dataclass(frozen=True, slots=True)
class Decision:
    """The result of one look."""

    intervals: Mapping[str, Interval]
    """By stratum. With the rule's confidence, all of them hold together and at every look."""
    overall: Interval
    """The plain average over the strata, valid in the same sense."""
    add: Mapping[str, int]
    """Canvases to add next, by stratum; empty if the run is finished."""
    reason: str


def decide(strata: Mapping[str, Sequence[float]], rule: AdaptiveRule) -> Decision:
    """Decide where the next canvases go: to the stratum below its cap whose interval is the widest.

    ``strata`` maps every planned stratum, such as a number of shapes, to its canvases' mean scores in the order in
    which they were generated, empty if there are none yet. Raises ``ValueError`` without any stratum.
    """
    if not strata:
        raise ValueError("no strata: give at least one, with or without scores")
    confidence = 1 - (1 - rule.confidence) / len(strata)  # Bonferroni, so that all strata hold together
    intervals = {
        name: confidence_sequence(means, confidence=confidence, aim=rule.target_half_width)
        for name, means in strata.items()
    }
    overall = _average(list(intervals.values()), rule.confidence)
    fresh = {name: min(rule.batch, rule.cap) for name, means in strata.items() if not len(means)}
    if fresh:
        return Decision(intervals, overall, fresh, "strata without canvases come first")
    open_widths = {
        name: interval.half_width
        for name, interval in intervals.items()
        if interval.half_width is not None and interval.half_width > rule.target_half_width
    }
    if not open_widths:
        return Decision(intervals, overall, {}, "every interval meets the target")
    below_cap = {name: width for name, width in open_widths.items() if len(strata[name]) < rule.cap}
    if not below_cap:
        return Decision(intervals, overall, {}, CAP_REACHED.format(rule.cap))
    widest = max(below_cap, key=below_cap.__getitem__)
    batch = min(rule.batch, rule.cap - len(strata[widest]))
    return Decision(intervals, overall, {widest: batch}, f"widest interval: {widest}")


def _average(intervals: Sequence[Interval], confidence: float) -> Interval:
    """The average of bounds that hold together, which is a bound on the average of the means."""
    n = sum(interval.n for interval in intervals)
    begun = [interval for interval in intervals if interval.mean is not None]
    if len(begun) < len(intervals):
        note = "some numbers of shapes have no scored results yet"
        return Interval(None, None, None, n, n, "average of confidence sequences", note, confidence)
    mean, low, high = (
        math.fsum(bound for bound in bounds if bound is not None) / len(intervals)
        for bounds in zip(*((interval.mean, interval.low, interval.high) for interval in intervals), strict=True)
    )
    return Interval(mean, low, high, n, n, "average of confidence sequences", sample_note(n), confidence)
