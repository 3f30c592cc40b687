import math
import random

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom
from statsmodels.stats.proportion import proportion_confint

from benchmarks.statistics.intervals import Moments, interval_from_moments, mean_interval
from benchmarks.statistics.spread import cluster_sums, counted, two_sided_t, two_sided_z

scores = st.lists(st.floats(0, 1).map(lambda value: round(value, 3)), min_size=1, max_size=60)


def test_zeros_and_ones_get_the_wilson_interval_of_statsmodels():
    for right, n in ((5, 10), (25, 30), (5, 100), (52, 100), (995, 1000)):
        for confidence in (0.8, 0.95, 0.99):
            interval = mean_interval([1] * right + [0] * (n - right), confidence=confidence)
            expected = proportion_confint(right, n, alpha=1 - confidence, method="wilson")
            assert (interval.low, interval.high) == pytest.approx(expected, abs=1e-9), (right, n, confidence)
            assert interval.method == "wilson"


def test_few_zeros_or_ones_get_bounds_at_least_as_wide_as_clopper_and_pearsons():
    for right, n in ((0, 10), (1, 10), (8, 10), (10, 10), (4, 100), (999, 1000), (1, 1)):
        for confidence in (0.8, 0.95, 0.99):
            interval = mean_interval([1] * right + [0] * (n - right), confidence=confidence)
            both = [proportion_confint(right, n, alpha=1 - confidence, method=each) for each in ("wilson", "beta")]
            lows, highs = zip(*both, strict=True)
            assert (interval.low, interval.high) == pytest.approx((min(lows), max(highs)), abs=1e-9), (right, n)


def test_few_wrong_canvases_get_the_bounds_of_as_many_independent_answers():
    """Korn and Graubard (1998): each canvas of ten is answered alike, so that it counts as one answer."""
    interval = mean_interval([0] * 10 + [1] * 190, [place // 10 for place in range(200)])
    assert (interval.low, interval.high) == pytest.approx(proportion_confint(19, 20, method="beta"), abs=1e-9)


@pytest.mark.parametrize("n", [5, 10, 15, 30, 100])
def test_the_intervals_of_zeros_and_ones_cover_at_every_rate(n: int):
    """Exact, by summing over every possible count. Only a few rates fall below 93%, and none below 92%."""
    intervals = [interval_from_moments(Moments(n, right, right)) for right in range(n + 1)]
    rates = np.arange(0.5, 0.9995, 0.005)
    holds = np.array([[each.low <= rate <= each.high for rate in rates] for each in intervals])
    covered = (binom.pmf(np.arange(n + 1)[:, None], n, rates) * holds).sum(axis=0)
    assert covered.min() > 0.92
    assert np.mean(covered < 0.93) < 0.02


def test_the_wilson_interval_of_newcombes_first_example():
    """Newcombe (1998), Stat. Med. 17:857, table I: 81 of 263 gives 0.2553 to 0.3662 by the score method."""
    interval = mean_interval([1] * 81 + [0] * 182)
    assert (round(interval.low, 4), round(interval.high, 4)) == (0.2553, 0.3662)


def test_the_bounds_of_graded_scores_solve_the_score_equation_with_a_t_quantile():
    values = [0.0, 0.35, 0.5, 0.55, 0.7, 1.0, 0.4, 0.6]
    interval = mean_interval(values)
    variance_of_mean = np.var(values, ddof=1) / len(values)
    factor = two_sided_t(0.95, len(values) - 1) ** 2 * variance_of_mean / (interval.mean * (1 - interval.mean))
    for bound in (interval.low, interval.high):
        assert (interval.mean - bound) ** 2 == pytest.approx(factor * bound * (1 - bound), rel=1e-9)


def test_half_a_zero_stands_for_those_that_graded_scores_do_not_hold_yet():
    """Twenty scores near 0.8 say nothing of a fault that one answer in twenty has."""
    values = [1.0, *np.linspace(0.7, 0.9, 19).tolist()]
    mean = np.mean(values)
    variance = (np.var(values) * 20 + 0.5 * mean**2) / 20
    interval = mean_interval(values)
    assert interval.low < 0.72 < mean_interval([0.8] * 18 + [0.7, 0.0]).high
    assert (interval.high - interval.low) / 2 > 1.96 * math.sqrt(variance / 20)
    assert mean_interval(values, [place // 2 for place in range(20)]).low < 0.72


@pytest.mark.parametrize("zeros", [0.0, 0.02, 0.05, 0.1, 0.2])
@pytest.mark.parametrize("n", [10, 20, 50])
def test_graded_scores_with_rare_zeros_are_covered(zeros: float, n: int):
    random = np.random.default_rng(17)
    drawn = np.where(random.random((400, n)) < zeros, 0.0, random.beta(20, 3, (400, n)))
    truth = (1 - zeros) * 20 / 23
    held = [interval.low <= truth <= interval.high for interval in map(mean_interval, drawn.tolist())]
    assert np.mean(held) > 0.92


def test_many_graded_scores_get_the_usual_t_interval():
    values = np.random.default_rng(3).beta(4, 3, 20_000).tolist()
    interval = mean_interval(values)
    half = two_sided_t(0.95, 19_999) * np.std(values, ddof=1) / math.sqrt(20_000)
    assert (interval.low, interval.high) == pytest.approx((interval.mean - half, interval.mean + half), abs=1e-5)


def test_the_variance_of_equal_clusters_is_that_of_statsmodels():
    rng = np.random.default_rng(11)
    clusters = np.repeat(np.arange(40), 6)
    values = (rng.random(240) < np.repeat(rng.beta(2, 2, 40), 6)).astype(float)
    interval = mean_interval(values.tolist(), clusters.tolist())
    fit = sm.OLS(values, np.ones(240)).fit(cov_type="cluster", cov_kwds={"groups": clusters})
    # statsmodels scales by G/(G-1) · (N-1)/(N-k); for a regression on a constant the second is one, so this is CR2.
    factor = two_sided_t(0.95, 39) ** 2 * fit.bse[0] ** 2 / (interval.mean * (1 - interval.mean))
    assert (interval.mean - interval.low) ** 2 == pytest.approx(factor * interval.low * (1 - interval.low), rel=1e-6)


def test_the_clustered_variance_and_its_degrees_are_the_matrix_formulas_of_bell_and_mccaffrey():
    """With clusters of equal weight in the variance, so that none of them costs further degrees of freedom."""
    sizes = [1, 1, 3, 3, 4, 5, 6, 6, 7, 8, 9, 3, 5, 6, 4, 4, 5, 6, 7, 2]
    clusters = np.repeat(np.arange(len(sizes)), sizes)
    n = len(clusters)
    values = 0.5 + np.array([(-1) ** cluster * 0.5 / size for cluster, size in enumerate(sizes)])[clusters]
    annihilator = np.eye(n) - 1 / n
    weights = []
    for cluster in range(len(sizes)):
        rows = annihilator[clusters == cluster]
        eigenvalues, vectors = np.linalg.eigh(rows[:, clusters == cluster])
        kept = eigenvalues > 1e-10
        root = (vectors[:, kept] / np.sqrt(eigenvalues[kept])) @ vectors[:, kept].T
        weights.append(rows.T @ root @ np.ones(sizes[cluster]) / n)
    covariance = np.array(weights) @ np.array(weights).T
    degrees = np.trace(covariance) ** 2 / np.sum(covariance**2)
    variance = sum(float(weight @ values) ** 2 for weight in weights)
    interval = mean_interval(values.tolist(), clusters.tolist())
    factor = two_sided_t(0.95, degrees) ** 2 * variance / (interval.mean * (1 - interval.mean))
    assert (interval.mean - interval.low) ** 2 == pytest.approx(factor * interval.low * (1 - interval.low), rel=1e-6)


def test_answers_that_vary_with_their_canvas_count_as_one_answer_per_canvas():
    right_canvases = [1] * 30 + [0] * 20
    together = mean_interval(
        [value for value in right_canvases for _ in range(6)], [c for c in range(50) for _ in "abcdef"]
    )
    alone = mean_interval(right_canvases)
    assert together.low == pytest.approx(alone.low, abs=0.005)
    assert together.high == pytest.approx(alone.high, abs=0.005)
    assert (together.n, together.n_clusters, alone.n_clusters) == (300, 50, None)


def test_one_failed_canvas_among_thirty_widens_the_interval_beyond_what_its_variance_alone_would():
    values = [1.0] * (29 * 18) + [0.0] * 18
    clusters = [place // 18 for place in range(30 * 18)]
    interval = mean_interval(values, clusters)
    single = mean_interval([1.0] * 29 + [0.0])
    assert (interval.low, interval.high) == pytest.approx((single.low, single.high))


def test_no_values_have_no_mean_and_no_bounds():
    interval = mean_interval([])
    assert (interval.mean, interval.low, interval.high, interval.half_width) == (None, None, None, None)
    assert interval.note == "no scored results"


def test_equal_scores_never_have_an_interval_of_width_zero_and_the_note_says_why():
    for value, n in ((0.0, 5), (1.0, 5), (0.7, 40), (0.1, 3)):
        for clusters in (None, [place // 2 for place in range(n)]):
            interval = mean_interval([value] * n, clusters)
            assert interval.high - interval.low > 0.05, (value, n, clusters)
            assert interval.method == "wilson" or "all scores are equal" in interval.note, (value, n, clusters)


def test_the_note_says_which_sample_is_small():
    for values, clusters, note in (
        ([1], None, "small sample: 1 result"),
        ([1, 0, 1], None, "small sample: 3 results"),
        ([1, 0] * 40, [place // 10 for place in range(80)], "small sample: 8 independent groups"),
        ([0.5, 1.0] * 40, [0] * 80, "small sample: 1 independent group"),
        (
            [1, 0] * 60,
            [*range(60), *(60 + place // 10 for place in range(60))],
            "small sample: 66 independent groups of unequal size, worth 7 equal ones",
        ),
        ([1, 0] * 5, [place // 5 for place in range(10)], "small sample: 10 results, 2 independent groups"),
        ([1, 0] * 40, None, ""),
    ):
        assert mean_interval(values, clusters).note == note


def test_clusters_of_one_value_each_change_nothing_but_the_count():
    values = [1, 0, 1, 1, 0, 1]
    clustered, plain = mean_interval(values, list("abcdef")), mean_interval(values)
    assert (clustered.low, clustered.high, clustered.method) == (plain.low, plain.high, plain.method)


def test_a_score_outside_its_range_is_rejected():
    for value in (-0.01, 1.01, math.nan, math.inf):
        with pytest.raises(ValueError, match="value 1 is"):
            mean_interval([0.5, value])


def test_too_few_cluster_names_are_rejected():
    with pytest.raises(ValueError, match="2 values with 1 cluster names"):
        mean_interval([0, 1], ["a"])


def test_cluster_sums_without_all_values_are_rejected():
    with pytest.raises(ValueError, match="the clusters contain 2 values, not 3"):
        interval_from_moments(Moments(3, 1.0, 1.0), [(2, 1.0, 1)])


def test_an_impossible_confidence_is_rejected():
    for confidence in (0, 1, 95):
        with pytest.raises(ValueError, match="confidence"):
            mean_interval([0, 1], confidence=confidence)


@given(scores, st.booleans())
@settings(max_examples=200, deadline=None)
def test_the_sums_of_a_run_give_the_interval_of_its_values(values, grouped):
    clusters = [place % 7 for place in range(len(values))] if grouped else None
    moments = Moments(len(values), *(sum(value**power for value in values) for power in (1, 2, 3, 4)))
    moments.graded = sum(value not in (0, 1) for value in values)
    moments.zeros = values.count(0)
    sums = reversed(counted(cluster_sums(values, clusters))) if clusters else None
    from_sums = interval_from_moments(moments, sums)
    from_values = mean_interval(values, clusters)
    assert (from_sums.low, from_sums.high) == pytest.approx((from_values.low, from_values.high), abs=1e-6)


@given(scores, st.integers(1, 8))
@settings(max_examples=200, deadline=None)
def test_the_bounds_stay_in_range_and_around_the_mean(values, cluster_size):
    interval = mean_interval(values, [place // cluster_size for place in range(len(values))])
    assert 0 <= interval.low <= interval.mean <= interval.high <= 1
    assert interval.high > interval.low


@given(scores, st.integers(1, 8))
@settings(max_examples=200, deadline=None)
def test_counting_wrong_instead_of_right_mirrors_the_interval(values, cluster_size):
    clusters = [place // cluster_size for place in range(len(values))]
    right, wrong = mean_interval(values, clusters), mean_interval([1 - value for value in values], clusters)
    assert (wrong.low, wrong.high) == pytest.approx((1 - right.high, 1 - right.low), abs=1e-6)


@given(scores, st.randoms(use_true_random=False))
@settings(max_examples=100, deadline=None)
def test_the_order_of_the_results_does_not_matter(values, shuffler: random.Random):
    order = list(range(len(values)))
    shuffler.shuffle(order)
    before = mean_interval(values, [place // 3 for place in range(len(values))])
    after = mean_interval([values[place] for place in order], [place // 3 for place in order])
    assert (after.low, after.high) == pytest.approx((before.low, before.high), abs=1e-9)


@given(st.integers(0, 50), st.integers(1, 50))
def test_more_right_answers_raise_both_bounds(right, wrong):
    lower = mean_interval([1] * right + [0] * wrong)
    higher = mean_interval([1] * (right + 1) + [0] * (wrong - 1))
    assert higher.low > lower.low or (lower.low == 0 == higher.low)
    assert higher.high > lower.high or higher.high == 1


def test_a_wider_confidence_gives_a_wider_interval():
    values = [0.1, 0.9, 0.5, 0.6, 0.7]
    assert mean_interval(values, confidence=0.99).half_width > mean_interval(values, confidence=0.9).half_width


def test_the_normal_quantile_of_95_percent():
    assert two_sided_z(0.95) == pytest.approx(1.959963984540054, abs=1e-12)
