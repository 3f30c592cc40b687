"""The weighted mean and its interval."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.statistics.intervals import mean_interval
from benchmarks.statistics.weighted import WeightedPart, weighted_mean


def clusters(weights: list[float], values: list[float], repeats: int = 1) -> list[list[WeightedPart]]:
    return [
        [WeightedPart(repeats, repeats * weight, repeats * weight * value, repeats * weight * value**2)]
        for weight, value in zip(weights, values, strict=True)
    ]


def test_the_mean_and_its_variance_are_those_of_a_ratio() -> None:
    random = np.random.default_rng(1)
    weights, values = random.uniform(0.5, 4, 60).tolist(), random.random(60).tolist()
    result = weighted_mean(clusters(weights, values))
    mean = np.average(values, weights=weights)
    shares = np.array(weights) / sum(weights)
    variance = sum((shares * (np.array(values) - mean)) ** 2 / (1 - shares))
    assert result.interval.mean == pytest.approx(mean)
    low, high = result.interval.low, result.interval.high
    assert low is not None
    assert high is not None
    # The bounds are the roots of (mean - m)² = c·m·(1 - m), so both give the same c; t² lies a little above z².
    factor = (mean - low) ** 2 / (low * (1 - low))
    assert factor == pytest.approx((mean - high) ** 2 / (high * (1 - high)))
    assert 1.95**2 < factor * mean * (1 - mean) / variance < 2.1**2
    assert result.n_effective == pytest.approx(1 / sum(shares**2))


def test_equal_weights_give_the_strict_mean_and_nearly_its_interval() -> None:
    values = [1.0] * 70 + [0.0] * 30
    result, plain = weighted_mean(clusters([2.0] * 100, values)), mean_interval(values)
    assert result.n_effective == pytest.approx(100)
    assert result.interval.mean == pytest.approx(plain.mean)
    assert [result.interval.low, result.interval.high] == pytest.approx([plain.low, plain.high], abs=0.005)


def test_weights_of_any_unit_give_the_same_interval() -> None:
    random = np.random.default_rng(2)
    weights, values = random.uniform(0.5, 4, 50).tolist(), random.integers(0, 2, 50).astype(float).tolist()
    small, large = (weighted_mean(clusters([unit * w for w in weights], values)) for unit in (0.001, 200.0))
    assert small.interval.low == pytest.approx(large.interval.low)
    assert small.interval.high == pytest.approx(large.interval.high)


def test_tasks_of_one_cluster_that_are_answered_alike_count_once_whatever_their_weights() -> None:
    random = np.random.default_rng(4)
    values, heavier = random.integers(0, 2, 60).astype(float).tolist(), random.uniform(1, 3, 60).tolist()
    both = zip(clusters([1.0] * 60, values), clusters(heavier, values), strict=True)
    result = weighted_mean([*light, *heavy] for light, heavy in both)
    whole = weighted_mean(clusters([1 + weight for weight in heavier], values))
    assert (result.interval.n, result.interval.n_clusters) == (120, 60)
    assert result.n_effective == pytest.approx(whole.n_effective)
    assert [result.interval.low, result.interval.high] == pytest.approx([whole.interval.low, whole.interval.high])


def test_too_few_effective_tasks_have_a_mean_without_bounds() -> None:
    result = weighted_mean(clusters([100.0, *[1.0] * 50], [1.0, *[0.0] * 50]))
    assert (result.interval.low, result.interval.high) == (None, None)
    assert result.interval.mean == pytest.approx(100 / 150)
    assert result.interval.note == "51 scores count as 2 equal tasks: no interval"
    assert weighted_mean([]).interval.mean is None


@pytest.mark.parametrize(("light", "heavy"), [(0.8, 0.8), (0.9, 0.5), (0.6, 0.95)])
def test_the_interval_holds_also_if_heavy_tasks_score_otherwise(light: float, heavy: float) -> None:
    """The bench ``Weighted means`` has more cells of more draws."""
    random = np.random.default_rng(3)
    truth = (0.8 * light + 0.2 * 5 * heavy) / (0.8 + 0.2 * 5)
    hits = 0
    for _ in range(400):
        is_heavy = random.random(120) < 0.2
        weights, rates = np.where(is_heavy, 5.0, 1.0).tolist(), np.where(is_heavy, heavy, light)
        interval = weighted_mean(clusters(weights, random.binomial(1, rates).astype(float).tolist())).interval
        hits += interval.low is not None and interval.high is not None and interval.low <= truth <= interval.high
    assert 0.925 <= hits / 400 <= 0.985
