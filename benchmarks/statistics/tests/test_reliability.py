import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.inter_rater import fleiss_kappa

from benchmarks.statistics.intervals import mean_interval
from benchmarks.statistics.reliability import judge_spread, judge_spread_of_sums, pass_at_k, pass_hat_k
from tests.support.statistics import alpha, reliability


@given(st.integers(1, 9).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, n))))
def test_pass_at_k_and_pass_hat_k_match_enumeration(case):
    n, right, k = case
    draws = list(combinations([1] * right + [0] * (n - right), k))
    assert pass_at_k(n, right, k) == pytest.approx(np.mean([any(draw) for draw in draws]))
    assert pass_hat_k(n, right, k) == pytest.approx(np.mean([all(draw) for draw in draws]))


def test_pass_at_k_of_many_repeats_is_the_product_of_the_paper():
    """Chen et al. (2021), figure 3: 1 - Π (1 - k / i) over i from n - c + 1 to n."""
    expected = 1 - math.prod(1 - 10 / i for i in range(200 - 13 + 1, 201))
    assert pass_at_k(200, 13, 10) == pytest.approx(expected, abs=1e-12)


def test_impossible_counts_are_rejected():
    for counts in ((3, 4, 1), (3, -1, 1), (3, 1, 0), (3, 1, 4)):
        with pytest.raises(ValueError, match=r"give a number|k is at least"):
            pass_at_k(*counts)


def test_pass_at_k_rises_and_pass_hat_k_falls_with_k():
    chances = [(pass_at_k(8, 5, k), pass_hat_k(8, 5, k)) for k in range(1, 9)]
    assert chances == sorted(chances, key=lambda pair: pair[0])
    assert [all_pass for _, all_pass in chances] == sorted((p for _, p in chances), reverse=True)


REPEATS = {"steady": [True] * 4, "hopeless": [False] * 4, "flips": [True, False, True, True], "once": [True]}


def test_a_run_with_repeats_is_summarized_over_tasks():
    found = reliability(REPEATS)
    assert (found.n_tasks, found.n_repeated) == (4, 3)
    assert found.pass_at[2] == mean_interval([1, 0, 1])
    assert found.pass_hat[4] == mean_interval([1, 0, 0])
    assert set(found.pass_at) == {2, 4}
    assert found.flipped == mean_interval([0, 0, 1])
    assert found.agreement.mean == pytest.approx((1 + 1 + 3 / 6) / 3)


def test_tasks_that_share_a_canvas_are_clusters():
    repeats = {task: [task % 2 == 0, task % 3 == 0] for task in range(30)}
    found = reliability(repeats, {task: task // 5 for task in repeats})
    assert found.flipped.n_clusters == 6


def test_a_run_without_repeats_has_no_flips():
    found = reliability({1: [True], 2: [False]})
    assert (found.flipped.mean, found.agreement.mean, found.alpha) == (None, None, None)
    assert found.pass_at == {}


def test_an_empty_run_has_nothing():
    found = reliability({})
    assert (found.pass_at, found.n_tasks, found.alpha) == ({}, 0, None)


KRIPPENDORFF = [
    [1, 1, 1], [2, 2, 3, 2], [3, 3, 3, 3], [3, 3, 3, 3], [2, 2, 2, 2], [1, 2, 3, 4],
    [4, 4, 4, 4], [1, 1, 2, 1], [2, 2, 2, 2], [5, 5, 5], [1, 1], [3],
]  # fmt: skip


def test_krippendorffs_own_example():
    """Krippendorff (2011), example C/D: twelve units, four observers, missing data, interval α = 0.849."""
    assert alpha(KRIPPENDORFF) == pytest.approx(0.849, abs=0.0005)


def test_alpha_of_complete_zeros_and_ones_is_corrected_fleiss_kappa():
    ratings = np.random.default_rng(2).integers(0, 2, (25, 4))
    ratings[:10] = ratings[:10, :1]
    table = np.stack([(ratings == 0).sum(axis=1), (ratings == 1).sum(axis=1)], axis=1)
    kappa = fleiss_kappa(table)
    assert alpha(ratings.tolist()) == pytest.approx(kappa + (1 - kappa) / 100, abs=1e-12)


def test_alpha_is_undefined_if_nothing_differs():
    for units in ([], [[1]], [[1, 1], [1, 1]]):
        assert alpha(units) is None, units


def test_a_judges_spread_is_the_pooled_deviation_within_answers():
    scores = {"a": [0.5, 0.7, 0.6], "b": [0.9, 0.5], "c": [1.0]}
    found = judge_spread(scores)
    squares = 2 * np.var([0.5, 0.7, 0.6], ddof=1) + np.var([0.9, 0.5], ddof=1)
    assert found.deviation == pytest.approx(math.sqrt(squares / 3))
    assert found.widest == pytest.approx(0.4)
    assert found.n_answers == 2


def test_answers_judged_once_have_no_spread():
    assert judge_spread({"a": [1.0]}) == judge_spread({})
    assert judge_spread({}).deviation is None


def test_many_canvases_have_the_interval_of_their_values():
    repeats = {task: [bool((task * number + task // 3) % 3) for number in range(2 + task % 3)] for task in range(60)}
    by_canvas = {task: task // 4 for task in repeats}
    found = reliability(repeats, by_canvas)
    values = [pass_at_k(len(of_task), sum(of_task), 2) for of_task in repeats.values()]
    expected = mean_interval(values, list(by_canvas.values()))
    assert (found.pass_at[2].low, found.pass_at[2].high) == pytest.approx((expected.low, expected.high))
    assert found.alpha == pytest.approx(alpha([[float(value) for value in of_task] for of_task in repeats.values()]))


def test_sums_of_judge_scores_give_the_spread_of_the_scores():
    scores = {"a": [0.2, 0.4, 0.3], "b": [0.9, 0.9], "c": [0.5]}
    sums = [(len(v), sum(v), sum(x * x for x in v), max(v) - min(v)) for v in scores.values()]
    found, expected = judge_spread_of_sums(sums), judge_spread(scores)
    assert (found.deviation, found.alpha) == pytest.approx((expected.deviation, expected.alpha))
    assert (found.widest, found.n_answers) == (expected.widest, 2)
