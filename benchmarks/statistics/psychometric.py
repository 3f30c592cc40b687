"""The difficulty at which a model is half way between guessing and perfect: a psychometric curve and its threshold.

The share right at difficulty x is

    P(x) = γ + (1 - γ - λ) / (1 + exp(slope · (x - threshold) - κ))

with the guess rate γ, known, and the lapse rate λ, the share missed however easy the task, fitted between 0 and a
limit. κ is such that at the threshold the chance-corrected share (P - γ) / (1 - γ) is one half, lapses included.
Sources: Wichmann & Hill (2001), Percept. Psychophys. 63:1293, for the model and the lapse rate; Venzon & Moolgavkar
(1988), Appl. Stat. 37:87, for the interval from the profile likelihood.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from benchmarks.statistics.distributions import two_sided_z
from benchmarks.statistics.intervals import score_bounds

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_TINY = 1e-12
_LOG_SLOPES = (math.log(1e-3), math.log(200.0))
"""With the tested range as the unit: the steepest falls from right to wrong within a twentieth of it."""
_PLACES = (-2.0, 3.0)
_CLOSING = 0.6
_STEPS = (-1.0, -0.5, 0.0, 0.5, 1.0)
_ROUNDS = 300


class ThresholdStatus(StrEnum):
    """What could be said. Only ``FITTED`` has a threshold."""

    FITTED = "fitted"
    TOO_FEW = "too_few"
    BEYOND = "beyond"
    """Better than half way at every difficulty tried: the threshold is harder than the hardest."""
    BEFORE = "before"
    """Worse than half way at every difficulty tried: the threshold is easier than the easiest."""
    FLAT = "flat"
    """Difficulty makes no difference that can be told, or the model does better with it."""


@dataclass(frozen=True, slots=True)
class Level:
    """The sum of the scores of ``n`` results at one difficulty."""

    difficulty: float
    right: float
    n: int
    design_effect: float = 1.0
    """By what clusters multiply the variance at this level: n counts as n / design_effect independent results."""


@dataclass(frozen=True, slots=True)
class Threshold:
    """The fitted curve. A bound that the data leave open is ``None``, and the note says so."""

    status: ThresholdStatus
    threshold: float | None
    low: float | None
    high: float | None
    slope: float | None
    lapse: float | None
    n: int
    note: str = ""
    confidence: float = 0.95


def share_right(difficulty: float, *, threshold: float, slope: float, lapse: float, guess_rate: float) -> float:
    """The fitted curve at a difficulty."""
    height = 1 - guess_rate - lapse
    at_threshold = (1 - guess_rate) / 2 / height
    exponent = slope * (difficulty - threshold) - math.log(at_threshold / (1 - at_threshold))
    return guess_rate + height / (1 + math.exp(min(exponent, 700.0)))


def fit_threshold(
    levels: Sequence[Level], guess_rate: float = 0.0, *, lapse_limit: float = 0.06, confidence: float = 0.95
) -> Threshold:
    """Fit the curve to the scores by difficulty. Harder is a larger ``difficulty``.

    ``lapse_limit`` 0 fits no lapses. Raises ``ValueError`` for impossible counts or rates.
    """
    _check(levels, guess_rate, lapse_limit)
    used = sorted((level for level in levels if level.n), key=lambda level: level.difficulty)
    n = sum(level.n for level in used)
    if len({level.difficulty for level in used}) < 2:
        note = "a threshold needs scored results at two difficulties or more"
        return Threshold(ThresholdStatus.TOO_FEW, None, None, None, None, None, n, note, confidence)
    curve = _Curve(used, guess_rate, lapse_limit)
    best = curve.best()
    critical = two_sided_z(confidence) ** 2  # the χ² quantile with one degree of freedom
    if 2 * (curve.flat_loss() - best.loss) < critical:
        return _without_slope(used, guess_rate, n, confidence)
    low, high = curve.bounds(best, critical / 2)
    if not 0 <= best.place <= 1:
        return _outside(curve, best.place, (low, high), n, confidence)
    note = " and ".join(words for words in (_open(low, "lower"), _open(high, "upper")) if words)
    return Threshold(
        ThresholdStatus.FITTED,
        curve.difficulty(best.place),
        None if low is None else curve.difficulty(low),
        None if high is None else curve.difficulty(high),
        best.slope / curve.span,
        best.lapse,
        n,
        note,
        confidence,
    )


def _check(levels: Sequence[Level], guess_rate: float, lapse_limit: float) -> None:
    if not 0 <= guess_rate < 1:
        raise ValueError(f"guess rate {guess_rate!r}: give the expected score of a guess, at least 0 and below 1")
    if not 0 <= lapse_limit < (1 - guess_rate) / 2:
        raise ValueError(
            f"lapse limit {lapse_limit!r}: give a share below {(1 - guess_rate) / 2}, half way to guessing"
        )
    for level in levels:
        if not 0 <= level.right <= level.n or level.design_effect <= 0 or not math.isfinite(level.difficulty):
            raise ValueError(
                f"{level!r}: right lies between 0 and n, the design effect above 0, the difficulty is finite"
            )


def _open(bound: float | None, name: str) -> str:
    return f"no {name} bound can be told" if bound is None else ""


def _without_slope(levels: Sequence[Level], guess_rate: float, n: int, confidence: float) -> Threshold:
    """Where no slope is seen, the overall score may still lie clearly above or below half way."""
    half_way = (1 + guess_rate) / 2
    mean = math.fsum(level.right for level in levels) / n
    weight = math.fsum(level.n / level.design_effect for level in levels)
    low, high = score_bounds(mean, two_sided_z(confidence) ** 2 / weight)
    easiest, hardest = levels[0].difficulty, levels[-1].difficulty
    if low > half_way:
        status, note = ThresholdStatus.BEYOND, f"better than half way at every difficulty up to {hardest:g}"
    elif high < half_way:
        status, note = ThresholdStatus.BEFORE, f"worse than half way at every difficulty from {easiest:g}"
    else:
        status, note = ThresholdStatus.FLAT, "no fall of the score with difficulty can be told"
    return Threshold(status, None, None, None, None, None, n, note, confidence)


def _outside(
    curve: _Curve, place: float, bounds: tuple[float | None, float | None], n: int, confidence: float
) -> Threshold:
    """A threshold outside the difficulties tried is not named; the bound on the tested side is."""
    low, high = (None if bound is None else curve.difficulty(bound) for bound in bounds)
    if place > 1:
        note = f"better than half way up to the hardest, {curve.difficulty(1):g}"
        return Threshold(ThresholdStatus.BEYOND, None, low, None, None, None, n, note, confidence)
    note = f"worse than half way from the easiest, {curve.difficulty(0):g}"
    return Threshold(ThresholdStatus.BEFORE, None, None, high, None, None, n, note, confidence)


@dataclass(frozen=True, slots=True)
class _Fit:
    place: float
    slope: float
    lapse: float
    loss: float


class _Curve:
    """The likelihood of the levels, with difficulties rescaled so that the easiest is 0 and the hardest 1."""

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
        """Minus the log likelihood of every combination of the three one-dimensional arrays, in three dimensions."""
        import numpy as np

        place = places[:, None, None, None]
        slope = np.exp(log_slopes)[None, :, None, None]
        height = (1 - self.guess_rate - lapses)[None, None, :, None]
        at_threshold = (1 - self.guess_rate) / 2 / height
        exponent = np.clip(slope * (self.x - place) - np.log(at_threshold / (1 - at_threshold)), -700, 700)
        share = np.clip(self.guess_rate + height / (1 + np.exp(exponent)), _TINY, 1 - _TINY)
        return np.asarray(-(np.log(share) @ self.right + np.log1p(-share) @ self.wrong))

    def flat_loss(self) -> float:
        right, wrong = float(self.right.sum()), float(self.wrong.sum())
        share = right / (right + wrong)
        return -sum(count * math.log(part) for count, part in ((right, share), (wrong, 1 - share)) if count)

    def best(self) -> _Fit:
        """The maximum of the likelihood, from a coarse grid over everything that could be."""
        import numpy as np

        axes = [np.linspace(-1, 2, 31), np.linspace(*_LOG_SLOPES, 25), np.linspace(0, self.lapse_limit, 4)]
        return self._search(axes, _PLACES, close=1e-9)

    def bounds(self, best: _Fit, rise: float) -> tuple[float | None, float | None]:
        """Where the profile of the loss over the threshold has risen by ``rise`` on either side."""
        import numpy as np

        def excess(place: float) -> float:
            axes = [np.array([place]), np.linspace(*_LOG_SLOPES, 49), np.linspace(0, self.lapse_limit, 4)]
            # Near its least the loss is flat, so that a coarser search gives it to ten digits.
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
        """The least loss: a grid that follows its best point and closes in along every axis where that is inside."""
        import numpy as np

        limits = (place_limits, _LOG_SLOPES, (0.0, self.lapse_limit))
        reaches = [float(axis[1] - axis[0]) if axis.size > 1 else 0.0 for axis in axes]
        for _ in range(_ROUNDS):
            loss = self.loss(*axes)
            at = np.unravel_index(int(np.argmin(loss)), loss.shape)
            centres = [float(axis[place]) for axis, place in zip(axes, at, strict=True)]
            if max(reaches) < close:
                break
            for number, (axis, centre, limit) in enumerate(zip(axes, centres, limits, strict=True)):
                if axis[0] < centre < axis[-1] or centre in limit:
                    reaches[number] *= _CLOSING
            axes = [
                np.array(sorted({min(max(centre + reach * step, limit[0]), limit[1]) for step in _STEPS}))
                for centre, reach, limit in zip(centres, reaches, limits, strict=True)
            ]
        return _Fit(centres[0], math.exp(centres[1]), centres[2], float(loss[at]))
