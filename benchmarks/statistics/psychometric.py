"""The difficulty at which a model is halfway between guessing and perfect: a psychometric curve and its threshold.

The share of correct answers at difficulty x is

    P(x) = γ + (1 - γ - λ) / (1 + exp(slope · (x - threshold) - κ))

with the known guess rate γ and the lapse rate λ, the share missed however easy the task, fitted between 0 and a limit.
κ is such that at the threshold the corrected share (P - γ) / (1 - γ) is one half, including lapses.
Sources: Wichmann & Hill (2001), Percept. Psychophys. 63:1293, for the model and the lapse rate; Venzon & Moolgavkar
(1988), Appl. Stat. 37:87, for the interval from the profile likelihood.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from benchmarks.statistics.intervals import score_bounds
from benchmarks.statistics.spread import two_sided_z

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

MAX_LAPSES = 0.2
"""A narrower limit gives narrower intervals, which miss the threshold of models that lapse more often."""
_TINY = 1e-12
_LOG_SLOPES = (math.log(1e-3), math.log(200.0))
"""With the tested range as the unit: the steepest curve falls from correct to wrong within a twentieth of it."""
_PLACES = (-2.0, 3.0)
"""Limits of the threshold, with the easiest level at 0 and the hardest at 1."""
_CLOSING = 0.6
"""Factor by which the search grid shrinks along an axis in each round."""
_STEPS = (-1.0, -0.5, 0.0, 0.5, 1.0)
_ROUNDS = 300
ABOVE = "above {:g}, the hardest level in the fit"
BELOW = "below {:g}, the easiest level in the fit"
PROBABLY_ABOVE = "probably above {:g}, the hardest level in the fit"
PROBABLY_BELOW = "probably below {:g}, the easiest level in the fit"


class ThresholdStatus(StrEnum):
    """The result of a fit. Only ``FITTED`` has a threshold."""

    FITTED = "fitted"
    TOO_FEW = "too_few"
    BEYOND = "beyond"
    """Above the midpoint at every level tested: the threshold is beyond the hardest."""
    BEFORE = "before"
    """Below the midpoint at every level tested: the threshold is before the easiest."""
    FLAT = "flat"
    """The score does not decrease significantly with difficulty."""


@dataclass(frozen=True, slots=True)
class Level:
    """The sum of the scores of ``n`` results at one difficulty."""

    difficulty: float
    right: float
    n: int
    design_effect: float = 1.0
    """Factor of clusters on the variance at this level: n counts as n / design_effect independent results."""


@dataclass(frozen=True, slots=True)
class Threshold:
    """The fitted curve. A bound that the data leave open is ``None``, and the note says so."""

    status: ThresholdStatus
    n: int
    note: str = ""
    confidence: float = 0.95
    threshold: float | None = None
    low: float | None = None
    high: float | None = None
    slope: float | None = None
    lapse: float | None = None


def share_right(difficulty: float, *, threshold: float, slope: float, lapse: float, guess_rate: float) -> float:
    """The value of the fitted curve at a difficulty."""
    height = 1 - guess_rate - lapse
    at_threshold = (1 - guess_rate) / 2 / height
    exponent = slope * (difficulty - threshold) - math.log(at_threshold / (1 - at_threshold))
    return guess_rate + height / (1 + math.exp(min(exponent, 700.0)))


def fit_threshold(
    levels: Sequence[Level], guess_rate: float = 0.0, *, lapse_limit: float | None = None, confidence: float = 0.95
) -> Threshold:
    """Fit the curve to the scores by difficulty; a larger ``difficulty`` is harder.

    ``lapse_limit`` 0 fits no lapses; by default it is ``MAX_LAPSES``, or less if lapses would reach halfway down to
    guessing. Raises ``ValueError`` for impossible counts or rates.
    """
    if lapse_limit is None:
        lapse_limit = max(0.0, min(MAX_LAPSES, (1 - guess_rate) / 4))
    _check(levels, guess_rate, lapse_limit)
    used = sorted((level for level in levels if level.n), key=lambda level: level.difficulty)
    n = sum(level.n for level in used)
    if len({level.difficulty for level in used}) < 2:
        note = "unknown: needs scores at two or more levels of difficulty"
        return Threshold(ThresholdStatus.TOO_FEW, n, note, confidence)
    curve = _Curve(used, guess_rate, lapse_limit)
    best = curve.best()
    critical = two_sided_z(confidence) ** 2  # the χ² quantile with one degree of freedom
    if 2 * (curve.flat_loss() - best.loss) < critical:
        return _without_slope(used, guess_rate, n, confidence)
    low, high = (None if bound is None else curve.difficulty(bound) for bound in curve.bounds(best, critical / 2))
    # A threshold outside the levels tested is an extrapolation: it is not named, only the bound on the tested side.
    if best.place > 1:
        note = ABOVE if low is not None and low > curve.difficulty(1) else PROBABLY_ABOVE
        return Threshold(ThresholdStatus.BEYOND, n, note.format(curve.difficulty(1)), confidence, low=low)
    if best.place < 0:
        note = BELOW if high is not None and high < curve.difficulty(0) else PROBABLY_BELOW
        return Threshold(ThresholdStatus.BEFORE, n, note.format(curve.difficulty(0)), confidence, high=high)
    unknown = [name for name, bound in (("lower", low), ("upper", high)) if bound is None]
    return Threshold(
        ThresholdStatus.FITTED,
        n,
        f"{' and '.join(unknown)} bound unknown" if unknown else "",
        confidence,
        threshold=curve.difficulty(best.place),
        low=low,
        high=high,
        slope=best.slope / curve.span,
        lapse=best.lapse,
    )


def _check(levels: Sequence[Level], guess_rate: float, lapse_limit: float) -> None:
    if not 0 <= guess_rate < 1:
        raise ValueError(f"guess rate {guess_rate!r}: give the expected score of a guess, at least 0 and below 1")
    if not 0 <= lapse_limit < (1 - guess_rate) / 2:
        raise ValueError(f"lapse limit {lapse_limit!r}: give a share below {(1 - guess_rate) / 2}, halfway to guessing")
    for level in levels:
        if not 0 <= level.right <= level.n or level.design_effect <= 0 or not math.isfinite(level.difficulty):
            raise ValueError(
                f"{level!r}: right is between 0 and n, the design effect is above 0, the difficulty is finite"
            )


def _without_slope(levels: Sequence[Level], guess_rate: float, n: int, confidence: float) -> Threshold:
    """Without a significant slope, the score at every level may still be significantly above or below the midpoint.

    Each level has its own interval: that all of them are on one side is claimed only if each of them is.
    """
    midpoint, z_squared = (1 + guess_rate) / 2, two_sided_z(confidence) ** 2
    bounds = [score_bounds(level.right / level.n, z_squared * level.design_effect / level.n) for level in levels]
    if all(low > midpoint for low, _ in bounds):
        return Threshold(ThresholdStatus.BEYOND, n, ABOVE.format(levels[-1].difficulty), confidence)
    if all(high < midpoint for _, high in bounds):
        return Threshold(ThresholdStatus.BEFORE, n, BELOW.format(levels[0].difficulty), confidence)
    return Threshold(ThresholdStatus.FLAT, n, "no significant decrease with difficulty", confidence)


@dataclass(frozen=True, slots=True)
class _Fit:
    place: float
    slope: float
    lapse: float
    loss: float


class _Curve:
    """The likelihood of the levels, with difficulties scaled so that the easiest is 0 and the hardest 1."""

    def __init__(self, levels: Sequence[Level], guess_rate: float, lapse_limit: float) -> None:
        import numpy as np

        self.start = levels[0].difficulty
        self.span = levels[-1].difficulty - self.start
        self.guess_rate = guess_rate
        self.lapse_limit = lapse_limit
        self.x = np.array([(level.difficulty - self.start) / self.span for level in levels])
        self.right = np.array([level.right / level.design_effect for level in levels])
        self.wrong = np.array([(level.n - level.right) / level.design_effect for level in levels])

    def difficulty(self, place: float) -> float:
        return self.start + self.span * place

    def loss(self, places: Floats, log_slopes: Floats, lapses: Floats) -> Floats:
        """Minus the log likelihood, for every combination of the three one-dimensional arrays, as a 3-d array."""
        import numpy as np

        place = places[:, None, None, None]
        slope = np.exp(log_slopes)[None, :, None, None]
        height = (1 - self.guess_rate - lapses)[None, None, :, None]
        at_threshold = (1 - self.guess_rate) / 2 / height
        # Clipped where the curve is flat anyway, so that exp does not overflow and log does not see 0.
        exponent = np.clip(slope * (self.x - place) - np.log(at_threshold / (1 - at_threshold)), -700, 700)
        share = np.clip(self.guess_rate + height / (1 + np.exp(exponent)), _TINY, 1 - _TINY)
        return np.asarray(-(np.log(share) @ self.right + np.log1p(-share) @ self.wrong))

    def flat_loss(self) -> float:
        right, wrong = float(self.right.sum()), float(self.wrong.sum())
        share = right / (right + wrong)
        return -sum(count * math.log(part) for count, part in ((right, share), (wrong, 1 - share)) if count)

    def best(self) -> _Fit:
        """The maximum of the likelihood, searched from a coarse grid over all possible curves."""
        import numpy as np

        axes = [np.linspace(-1, 2, 31), np.linspace(*_LOG_SLOPES, 25), np.linspace(0, self.lapse_limit, 4)]
        return self._search(axes, _PLACES, close=1e-9)

    def bounds(self, best: _Fit, rise: float) -> tuple[float | None, float | None]:
        """Where the profile of the loss over the threshold has risen by ``rise`` on either side."""
        import numpy as np

        def excess(place: float) -> float:
            axes = [np.array([place]), np.linspace(*_LOG_SLOPES, 49), np.linspace(0, self.lapse_limit, 4)]
            # Near its minimum the loss is flat, so a coarser search already gives it to ten digits.
            return self._search(axes, (place, place), close=1e-5).loss - best.loss - rise

        return self._crossing(excess, best.place, -1.0), self._crossing(excess, best.place, 1.0)

    @staticmethod
    def _crossing(excess: Callable[[float], float], place: float, direction: float) -> float | None:
        """The first place beyond ``place`` where ``excess`` turns positive, within one range beyond those tested."""
        from scipy.optimize import brentq

        step, inner = 0.02, place
        limit = 2.0 if direction > 0 else -1.0
        while (limit - inner) * direction > 0:
            outer = inner + direction * step
            if excess(outer) > 0:
                return float(brentq(excess, inner, outer, xtol=1e-7))
            inner, step = outer, step * 1.5
        return None

    def _search(self, axes: Sequence[Floats], place_limits: tuple[float, float], close: float) -> _Fit:
        """The minimum of the loss: a grid follows its best point and shrinks along each axis where that is inside."""
        import numpy as np

        limits = (place_limits, _LOG_SLOPES, (0.0, self.lapse_limit))
        reaches = [float(axis[1] - axis[0]) if axis.size > 1 else 0.0 for axis in axes]
        for _ in range(_ROUNDS):
            loss = self.loss(*axes)
            at = np.unravel_index(int(np.argmin(loss)), loss.shape)
            centers = [float(axis[place]) for axis, place in zip(axes, at, strict=True)]
            if max(reaches) < close:
                break
            for number, (axis, center, limit) in enumerate(zip(axes, centers, limits, strict=True)):
                if axis[0] < center < axis[-1] or center in limit:
                    reaches[number] *= _CLOSING
            axes = [
                np.array(sorted({min(max(center + reach * step, limit[0]), limit[1]) for step in _STEPS}))
                for center, reach, limit in zip(centers, reaches, limits, strict=True)
            ]
        return _Fit(centers[0], math.exp(centers[1]), centers[2], float(loss[at]))
