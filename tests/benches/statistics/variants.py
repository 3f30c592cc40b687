"""Means over variants: what the intervals of models contain, and how often equal models are called different."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from benchmarks.statistics.crossed import Answers, crossed
from benchmarks.statistics.intervals import mean_interval
from benchmarks.statistics.ranking import Scores, averaged, difference_p_value
from tests.benches.statistics.report import share, table

DRAWS = 1_000
TASKS = (20, 50, 200)
VARIANTS = (3, 5, 10)
SPREADS = {"none": 0.0, "small": 0.2, "large": 0.6}
"""Standard deviation of the variants on the scale of probits, where that of the tasks is 1."""
_SKILL = 1.0


def averages(random: np.random.Generator) -> Iterator[str]:
    rows = []
    for n_variants in VARIANTS:
        for name, spread in SPREADS.items():
            for n_tasks in TASKS:
                drawn = [_covers(random, n_tasks, n_variants, spread) for _ in range(DRAWS)]
                rate = sum(_is_false(random, n_tasks, n_variants, spread) for _ in range(DRAWS)) / DRAWS
                alone = sum(found[1] for found in drawn) / DRAWS
                covered = sum(found[0] for found in drawn) / DRAWS
                rows.append([n_variants, name, n_tasks, share(covered), share(alone), share(rate)])
    heads = ["variants", "their effect", "tasks", "covered", "by an interval for these variants alone", "equal models"]
    yield table(heads, rows)


def _drawn(
    random: np.random.Generator, tasks: NDArray[np.float64], n_variants: int, spread: float
) -> NDArray[np.float64]:
    """The answers of one model, whose variants are its own: a row for each variant."""
    chances = norm.cdf(_SKILL + tasks + random.normal(0, spread, (n_variants, 1)))
    return (random.random(chances.shape) < chances).astype(float)


def _covers(random: np.random.Generator, n_tasks: int, n_variants: int, spread: float) -> tuple[bool, bool]:
    """Whether the interval contains the mean over all tasks and variants, and whether one for these variants does."""
    values = _drawn(random, random.normal(size=n_tasks), n_variants, spread)
    truth = norm.cdf(_SKILL / math.sqrt(2 + spread**2))
    found, own = crossed([Answers(values, np.arange(n_tasks))]), mean_interval(values.mean(axis=0).tolist())
    assert found is not None
    assert own.mean is not None
    assert own.low is not None
    assert own.high is not None
    _, low, high = found.widened(own.mean, own.low, own.high)
    return low <= truth <= high, own.low <= truth <= own.high


def _is_false(random: np.random.Generator, n_tasks: int, n_variants: int, spread: float) -> bool:
    """Whether two models of equal skill, whose variants suit each of them by chance, are called different."""
    tasks = random.normal(size=n_tasks)
    models = [_drawn(random, tasks, n_variants, spread) for _ in range(2)]
    variants = [Scores(np.stack(each), np.arange(n_tasks)) for each in zip(*models, strict=True)]
    return difference_p_value([averaged(variants)], 0, 1) <= 0.05
