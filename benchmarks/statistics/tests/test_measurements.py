"""The t interval of measurements against SciPy and statsmodels."""

from __future__ import annotations

import random

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import stats

from benchmarks.statistics.intervals import Moments, measurement_interval
from benchmarks.statistics.spread import cluster_sums, counted

RANDOM = random.Random(3)
LATENCIES = [RANDOM.lognormvariate(5, 0.6) for _ in range(60)]


def _of(values, clusters=None):
    sums = None if clusters is None else counted(cluster_sums(values, clusters))
    return measurement_interval(Moments.of((value, 1) for value in values), sums)


def test_independent_measurements_have_students_interval():
    found = _of(LATENCIES)
    low, high = stats.t.interval(0.95, len(LATENCIES) - 1, np.mean(LATENCIES), stats.sem(LATENCIES))
    assert (found.low, found.mean, found.high) == pytest.approx((low, np.mean(LATENCIES), high), rel=1e-9)
    assert (found.method, found.n_clusters) == ("t", None)


def test_measurements_in_equal_clusters_have_the_interval_of_the_cluster_means():
    clusters = [place // 6 for place in range(60)]
    means = np.reshape(LATENCIES, (10, 6)).mean(axis=1)
    low, high = stats.t.interval(0.95, 9, means.mean(), stats.sem(means))
    found = _of(LATENCIES, clusters)
    assert (found.low, found.high) == pytest.approx((low, high), rel=1e-9)
    assert (found.method, found.n_clusters) == ("t-clustered", 10)
    assert found.note == "small sample: 10 independent groups"


def test_uneven_clusters_are_no_more_certain_than_in_cluster_robust_regression():
    clusters = [place % 17 % 5 + 5 * (place % 3) for place in range(60)]
    found = _of(LATENCIES, clusters)
    fitted = sm.OLS(LATENCIES, np.ones(60)).fit(
        cov_type="cluster", cov_kwds={"groups": clusters, "use_correction": False}
    )
    assert found.half_width > stats.t.ppf(0.975, 100) * fitted.bse[0]


def test_each_measurement_in_a_cluster_of_its_own_is_independent():
    assert _of(LATENCIES, range(60)) == _of(LATENCIES)


def test_the_lower_bound_of_a_duration_is_not_below_zero():
    assert _of([0.0, 0.0, 0.0, 900.0]).low == 0.0


def test_a_single_measurement_or_cluster_has_no_bounds():
    for values, clusters in (([7.0], None), ([7.0, 8.0], ["a", "a"])):
        found = _of(values, clusters)
        assert (found.mean, found.low, found.high) == (sum(values) / len(values), None, None)


def test_no_measurements_have_no_mean():
    assert measurement_interval(Moments()).mean is None
