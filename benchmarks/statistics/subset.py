"""Estimate the score of a full run from a part of its tasks, with the scores of other models on all of them.

The prediction of a task is the mean of the other models' scores and one further score of ½. Tasks are put into strata
of similar predictions, and the part is drawn at random in each: more where the prediction is uncertain, since an answer
there says most about a new model (Neyman's allocation). The estimate is the combined regression estimator: the
stratified mean, corrected by what the drawn tasks' predictions miss of all tasks' predictions.

The interval rests on the random draw alone, never on the prediction: a bad one makes it wider, not wrong. It holds the
score that the same answers would give on all tasks, so the part that was asked is certain (finite population). It is
the score interval of ``intervals`` with the variance of the residuals. In each stratum, the variance predicted for half
an answer is added, because its drawn tasks may all have equal residuals by chance. Where all drawn tasks score 0, or
all 1, the bound is exact instead: the number of other tasks that the draw misses with a chance of 2.5%.

Sources: Cochran (1977), Sampling Techniques, 5.5 and 7.10; Särndal, Swensson & Wretman (1992), Model Assisted Survey
Sampling, 6.4; arXiv:2603.19160 on these as prediction-powered inference; arXiv:2402.14992 (tinyBenchmarks).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks.statistics.intervals import score_bounds
from benchmarks.statistics.spread import two_sided_t

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FEWEST = 20
"""A part of fewer tasks has no useful interval."""
STRATA = 4
FEWEST_OF_STRATUM = 4
_PER_STRATUM = 8
"""A small part has fewer strata, so that each has about this number of drawn tasks."""
_MOST_SLOPE = 1.5


@dataclass(frozen=True, slots=True)
class Stratum:
    """Places of its tasks and of the drawn ones."""

    tasks: Sequence[int]
    drawn: Sequence[int]


@dataclass(frozen=True, slots=True)
class Subset:
    """The strata, and the prediction of every task."""

    predictions: Sequence[float]
    strata: Sequence[Stratum]

    @property
    def drawn(self) -> list[int]:
        return sorted(place for stratum in self.strata for place in stratum.drawn)

    @property
    def expected_half_width(self) -> float:
        """Of the 95% interval, if the predictions are right."""
        variance = 0.0
        for stratum in self.strata:
            size, drawn = len(stratum.tasks), len(stratum.drawn)
            spread = math.fsum(self.predictions[at] * (1 - self.predictions[at]) for at in stratum.tasks) / size
            variance += size**2 * (1 - drawn / size) * spread / drawn
        return two_sided_t(0.95, max(1, len(self.drawn) - len(self.strata))) * math.sqrt(variance) / self.n_tasks

    @property
    def n_tasks(self) -> int:
        return len(self.predictions)


@dataclass(frozen=True, slots=True)
class SubsetEstimate:
    """The estimated score of a full run with its 95% interval, from ``n`` of ``n_tasks`` tasks."""

    mean: float
    low: float
    high: float
    n: int
    n_tasks: int


def draw(values: NDArray[np.float64], n: int, random: np.random.Generator) -> Subset:
    """Draw ``n`` tasks. ``values`` has a row for each other model (none: a simple random part) and a column for each
    task, not a number where there is no score.

    Raises ``ValueError`` unless ``n`` is at least ``FEWEST`` and less than the number of tasks.
    """
    import numpy as np

    n_tasks = values.shape[1]
    if not FEWEST <= n < n_tasks:
        raise ValueError(f"{n} of {n_tasks} tasks: draw at least {FEWEST}, and fewer than there are")
    known = ~np.isnan(values)
    predictions = (np.where(known, values, 0.0).sum(axis=0) + 0.5) / (known.sum(axis=0) + 1)
    order = np.lexsort((random.random(n_tasks), predictions))
    count = max(1, min(STRATA, n // _PER_STRATUM)) if len(values) else 1
    parts = np.array_split(order, count)
    spreads = [math.sqrt(float((predictions[part] * (1 - predictions[part])).mean())) for part in parts]
    sizes = _allocation([len(part) * spread for part, spread in zip(parts, spreads, strict=True)], parts, n)
    return Subset(
        predictions.tolist(),
        [
            Stratum(part.tolist(), sorted(random.choice(part, size, replace=False).tolist()))
            for part, size in zip(parts, sizes, strict=True)
        ],
    )


def _allocation(weights: Sequence[float], parts: Sequence[NDArray[np.int64]], n: int) -> list[int]:
    """``n`` tasks in proportion to the weights: at least ``FEWEST_OF_STRATUM`` of each part, at most all of it."""
    sizes = [FEWEST_OF_STRATUM if len(parts) > 1 else 0] * len(parts)
    for _ in range(n - sum(sizes)):
        open_parts = [at for at, part in enumerate(parts) if sizes[at] < len(part)]
        sizes[max(open_parts, key=lambda at: weights[at] / (sizes[at] + 0.5))] += 1
    return sizes


def estimate(subset: Subset, scores: Sequence[float | None]) -> SubsetEstimate | None:
    """The score of a full run, from ``scores`` in the order of ``subset.drawn``; ``None`` for one without a score.

    Drawn tasks without a score count as not drawn. ``None`` if a stratum has fewer than two scores.
    """
    import numpy as np

    score_of = {place: score for place, score in zip(subset.drawn, scores, strict=True) if score is not None}
    predictions = np.array(subset.predictions)
    strata = [(np.array(stratum.tasks), [at for at in stratum.drawn if at in score_of]) for stratum in subset.strata]
    if any(len(drawn) < 2 for _, drawn in strata):
        return None
    y = [np.array([score_of[at] for at in drawn]) for _, drawn in strata]
    f = [predictions[drawn] for _, drawn in strata]
    # Of a stratum of N tasks of which n are drawn: the factor of the sum of squared deviations in the variance.
    factors = [
        len(tasks) ** 2 / len(drawn) / (len(drawn) - 1) * (1 - len(drawn) / len(tasks)) for tasks, drawn in strata
    ]
    slope = _slope(y, f, factors)
    total = variance = 0.0
    degrees = 0
    for (tasks, drawn), own_y, own_f in zip(strata, y, f, strict=True):
        size, n = len(tasks), len(drawn)
        total += size * float(own_y.mean() + slope * (predictions[tasks].mean() - own_f.mean()))
        residuals = own_y - slope * own_f
        prior = float((predictions[tasks] * (1 - predictions[tasks])).mean())
        spread = (float(((residuals - residuals.mean()) ** 2).sum()) + prior / 2) / (n - 0.5)
        variance += size**2 * (1 - n / size) * spread / n
        # A stratum that is drawn whole has no variance. The half answers make up for the slope's degree of freedom.
        degrees += n - 1 if n < size else 0
    n_tasks, n_scored = subset.n_tasks, len(score_of)
    mean = min(1.0, max(0.0, total / n_tasks))
    if not variance:
        return SubsetEstimate(mean, mean, mean, n_scored, n_tasks)
    inside = min(max(mean, 0.5 / n_tasks), 1 - 0.5 / n_tasks)
    factor = two_sided_t(0.95, degrees) ** 2 * variance / n_tasks**2 / (inside * (1 - inside))
    low, high = score_bounds(mean, factor)
    # Tasks that were not asked score at least 0 and at most 1.
    known = math.fsum(score_of.values())
    if (extreme := {*score_of.values()}) in ({0.0}, {1.0}):
        mean = extreme.pop()
        missed = _most_missed([(len(tasks), len(drawn)) for tasks, drawn in strata]) / n_tasks
        low, high = (1 - missed, 1.0) if mean else (0.0, missed)
    low, high = max(low, known / n_tasks), min(high, (known + n_tasks - n_scored) / n_tasks)
    return SubsetEstimate(min(max(mean, low), high), low, high, n_scored, n_tasks)


def _most_missed(strata: Sequence[tuple[int, int]]) -> int:
    """How many tasks can differ although none of the drawn ones does, with a chance of at least 2.5%.

    ``strata`` are (tasks, drawn). The chance is hypergeometric in each. One more task in a stratum multiplies it by the
    share of the remaining tasks that is not drawn, which falls with every task, so the most are found one by one.
    """
    left = [(size - drawn, size) for size, drawn in strata]  # not drawn, of all, without those that differ
    chance, missed = 1.0, 0
    while True:
        place = max(range(len(left)), key=lambda at: left[at][0] / left[at][1] if left[at][1] else 0.0)
        outside, size = left[place]
        if not outside or chance * outside / size < 0.025:
            return missed
        chance *= outside / size
        left[place] = outside - 1, size - 1
        missed += 1


def _slope(y: Sequence[NDArray[np.float64]], f: Sequence[NDArray[np.float64]], factors: Sequence[float]) -> float:
    """The combined slope of scores on predictions: the one of the smallest variance, from 0 to ``_MOST_SLOPE``."""
    shared = squared = 0.0
    for own_y, own_f, factor in zip(y, f, factors, strict=True):
        deviations = own_f - own_f.mean()
        shared += factor * float((deviations * (own_y - own_y.mean())).sum())
        squared += factor * float((deviations**2).sum())
    return min(max(shared / squared, 0.0), _MOST_SLOPE) if squared > 1e-9 else 0.0
