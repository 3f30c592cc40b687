import math
from functools import partial
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq, minimize_scalar
from scipy.stats import binom, multinomial, permutation_test, ttest_1samp, ttest_rel
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests

from benchmarks.statistics.paired import compare, holm, paired_score_bounds
from benchmarks.statistics.permutation import DRAWS, sign_flip_test

pairs_of_scores = st.lists(
    st.tuples(st.floats(0, 1).map(lambda v: round(v, 2)), st.floats(0, 1).map(lambda v: round(v, 2))),
    min_size=1,
    max_size=40,
)


def run(scores):
    return dict(enumerate(scores))


def table_run(both, only_a, only_b, neither):
    """Two 0/1 runs with this two by two table."""
    a = [1] * both + [1] * only_a + [0] * only_b + [0] * neither
    b = [1] * both + [0] * only_a + [1] * only_b + [0] * neither
    return run(a), run(b)


def test_zeros_and_ones_get_the_exact_mcnemar_test_of_statsmodels():
    for cells in ((30, 5, 14, 20), (0, 1, 8, 3), (100, 9, 9, 2), (10, 12, 0, 0), (400, 60, 20, 20)):
        both, only_a, only_b, neither = cells
        found = compare(*table_run(*cells))
        expected = mcnemar([[both, only_a], [only_b, neither]], exact=True).pvalue
        assert found.p_value == pytest.approx(expected, abs=1e-12), cells
        assert (found.n_changed, found.n_better, found.n_worse) == (only_a + only_b, only_b, only_a), cells
        assert found.method == "exact McNemar test"


def tango_statistic(only_b, only_a, n, delta):
    """The score statistic, with the nuisance share maximized by search instead of by Tango's closed form."""

    def loss(q):
        shares = (q + delta, q, 1 - 2 * q - delta)
        counts = (only_b, only_a, n - only_a - only_b)
        return -sum(c * math.log(max(s, 1e-300)) for s, c in zip(shares, counts, strict=True) if c)

    low, high = max(0.0, -delta), (1 - delta) / 2
    q = minimize_scalar(loss, bounds=(low, high), method="bounded", options={"xatol": 1e-12}).x
    return (only_b - only_a - n * delta) / math.sqrt(n * (2 * q + delta * (1 - delta)))


def test_the_interval_of_zeros_and_ones_inverts_tangos_score_test():
    z = 1.959963984540054
    for only_a, only_b, n in ((5, 14, 69), (9, 9, 120), (3, 20, 50), (1, 4, 400)):
        statistic = partial(tango_statistic, only_b, only_a, n)
        difference = (only_b - only_a) / n
        low = brentq(lambda d, statistic=statistic: statistic(d) - z, -0.9, difference)
        high = brentq(lambda d, statistic=statistic: statistic(d) + z, difference, 0.9)
        found = paired_score_bounds(only_b / n, only_a / n, z * z / n)
        assert found == pytest.approx((low, high), abs=1e-6), (only_a, only_b, n)


def test_no_change_at_all_still_has_an_interval():
    scores = run([1, 0] * 50)
    found = compare(scores, scores)
    edge = 1.959963984540054**2 / (100 + 1.959963984540054**2)
    assert (found.low, found.high) == pytest.approx((-edge, edge), abs=1e-9)
    assert (found.p_value, found.n_changed, found.effect_size) == (1.0, 0, 0.0)
    assert found.detectable_difference > 0.05


def test_graded_differences_get_the_exact_permutation_test_of_scipy():
    rng = np.random.default_rng(4)
    a, b = rng.random(11), np.clip(rng.random(11) + 0.2, 0, 1)
    expected = permutation_test(
        (b, a), lambda x, y: np.mean(x - y), permutation_type="samples", n_resamples=np.inf
    ).pvalue
    found = compare(run(a), run(b))
    assert found.p_value == pytest.approx(expected, abs=1e-9)
    assert found.method == "sign-flip permutation test on task differences (exact)"


def test_the_exact_tail_on_a_grid_is_that_of_enumerating_every_pattern():
    signs = np.array(list(product((1, -1), repeat=12)))
    for step in (0.5, 0.25, 0.1, 0.01, 1 / 3, 1 / 7):
        differences = np.random.default_rng(9).integers(-3, 6, 12) * step
        reached = np.abs(signs @ differences) >= abs(differences.sum()) - 1e-9
        assert sign_flip_test(differences.tolist()).p_value == pytest.approx(reached.mean(), abs=1e-9), step


def test_random_patterns_approximate_the_exact_tail_and_never_reach_zero():
    rng = np.random.default_rng(2)
    differences = rng.normal(0.05, 0.2, 60)
    found = sign_flip_test(differences.tolist(), seed=7)
    assert "Monte Carlo" in found.method
    assert found.p_value == pytest.approx(ttest_rel(differences, np.zeros(60)).pvalue, abs=0.02)
    assert 0 < sign_flip_test([1 + value for value in differences]).p_value < 1 / (DRAWS + 1)
    many = rng.normal(0.01, 0.2, 3_000)  # only the largest ones are flipped at random
    assert sign_flip_test(many.tolist()).p_value == pytest.approx(ttest_1samp(many, 0).pvalue, rel=0.03)
    assert 0 < sign_flip_test((1 + many).tolist()).p_value < 1e-300
    assert found == sign_flip_test(differences.tolist()[::-1], seed=7)


def test_results_of_one_canvas_are_flipped_together():
    a, b = run([0] * 12), run([1] * 6 + [0] * 6)
    canvases = {task: task // 3 for task in range(12)}
    assert compare(a, b).p_value == pytest.approx(2 * binom.cdf(0, 6, 0.5))
    clustered = compare(a, b, canvases)
    assert clustered.p_value == pytest.approx(0.5)
    assert clustered.n_clusters == 4
    assert clustered.high - clustered.low > compare(a, b).high - compare(a, b).low


def test_the_note_says_that_few_canvases_cannot_show_a_difference():
    a, b = run([0] * 40), run([1] * 40)
    found = compare(a, b, {task: task // 10 for task in range(40)})
    assert found.note == "4 independent pairs are too few to show a difference: the smallest possible p-value is 0.12"
    assert not found.is_clear


def test_the_standardized_effect_of_graded_scores_is_the_paired_t_statistic_over_root_n():
    rng = np.random.default_rng(1)
    a, b = rng.random(30), rng.random(30)
    found = compare(run(a), run(b))
    assert found.effect_size == pytest.approx(ttest_rel(b, a).statistic / math.sqrt(30), abs=1e-9)
    assert found.effect_size_name == "Cohen's d_z"


def test_the_effect_of_zeros_and_ones_is_the_share_of_better_tasks_minus_one_half():
    found = compare(*table_run(50, 5, 15, 30))
    assert (found.effect_size, found.effect_size_name) == (0.25, "Cohen's g")


def test_many_graded_scores_get_the_usual_t_interval_of_the_difference():
    rng = np.random.default_rng(8)
    a = rng.random(5000)
    b = np.clip(a + rng.normal(0.02, 0.2, 5000), 0, 1)
    found = compare(run(a), run(b))
    low, high = ttest_rel(b, a).confidence_interval()
    assert (found.low, found.high) == pytest.approx((low, high), abs=2e-4)


def test_tasks_without_a_score_are_left_out_and_bound_the_difference_both_ways():
    a = {"one": 1.0, "two": 0.0, "three": None, "four": 1.0, "alone": 1.0}
    b = {"one": 1.0, "two": 1.0, "three": 1.0, "four": None, "other": 0.0, "another": None}
    found = compare(a, b)
    assert (found.n_shared, found.n_missing, found.n_only_a, found.n_only_b) == (2, 2, 1, 2)
    assert found.difference == 0.5
    assert found.worst_case == pytest.approx((0 + 1 + (1 - 1) + (0 - 1)) / 4)
    assert found.best_case == pytest.approx((0 + 1 + (1 - 0) + (1 - 1)) / 4)


def test_a_run_whose_wrong_answers_have_no_verdict_is_not_better_for_it():
    """170 and 180 of 200 right; without a verdict on 25 of its wrong answers, the first has 170 of 175."""
    a, b = run([1] * 150 + [0] * 30 + [1] * 20), run([1] * 180 + [0] * 20)
    honest = compare(b, a)
    broken = compare(b, a | dict.fromkeys(range(150, 175)))
    assert not honest.is_clear
    assert broken.difference > 0 > broken.worst_case
    assert (broken.p_value < 0.05, broken.p_missing, broken.p_decisive) == (True, 1.0, 1.0)
    assert broken.is_undone_by_missing
    assert not broken.is_clear
    assert broken.low <= 0 <= broken.high


def test_a_difference_that_no_missing_score_could_turn_stays_clear():
    a, b = run([0] * 60 + [1] * 40), run([1] * 95 + [None] * 5)
    found = compare(a, b)
    assert found.is_clear
    assert not found.is_undone_by_missing
    assert found.p_missing == compare(a, run([1] * 95 + [0] * 5)).p_value


def test_missing_scores_count_against_the_run_that_gains_whichever_it_is():
    a, b = run([1] * 20 + [0] * 5), run([0] * 14 + [None] * 6 + [1] * 5)
    worse = compare(a, b)
    assert worse.difference < 0
    assert worse.p_missing == compare(a, run([0] * 14 + [1] * 6 + [1] * 5)).p_value


def test_repeats_without_a_score_bound_their_task():
    """Of three repeats two have a score, 1 and 0: the third makes the task 1/3 or 2/3."""
    found = compare(run([0.5, 0.0]), run([0.5, 1.0]), unscored=({0: 1 / 3}, {}))
    assert found.n_missing == 0
    assert found.worst_case == pytest.approx((0.5 - 2 / 3 + 1) / 2)
    assert found.best_case == pytest.approx((0.5 - 1 / 3 + 1) / 2)
    assert found.p_missing is not None


def test_nothing_missing_changes_nothing():
    found = compare(run([1, 0, 1]), run([0, 0, 1]))
    assert (found.p_missing, found.p_decisive) == (None, found.p_value)


def test_runs_without_a_shared_score_are_not_compared():
    found = compare({"a": 1.0, "b": None}, {"b": 1.0})
    assert (found.difference, found.p_value, found.low, found.is_clear) == (None, None, None, False)
    assert found.note == "no task has a score in both runs"
    assert (found.worst_case, found.best_case) == (0.0, 1.0)


def test_a_score_out_of_range_is_rejected():
    with pytest.raises(ValueError, match="task 'x' has score 3"):
        compare({"x": 3.0}, {"x": 1.0})


def test_the_detectable_difference_is_detected_with_the_power_it_claims():
    """If the detectable difference is true, the exact test finds it in 80% of simulated runs."""
    found = compare(*table_run(210, 72, 72, 126))
    delta, n = found.detectable_difference, 480
    rng = np.random.default_rng(12)
    up, down = 0.15 + delta / 2, 0.15 - delta / 2
    draws = rng.multinomial(n, [up, down, 1 - up - down], 4000)
    p_values = np.minimum(1, 2 * binom.cdf(draws[:, :2].min(axis=1), draws[:, :2].sum(axis=1), 0.5))
    assert np.mean(p_values <= 0.05) == pytest.approx(0.8, abs=0.04)


@pytest.mark.parametrize("comparisons", [1, 10])
@pytest.mark.parametrize(("n", "changed"), [(12, 0), (12, 1), (20, 2), (20, 6), (30, 3), (30, 9), (60, 18)])
def test_few_tasks_detect_only_what_the_exact_test_can_show(n, changed, comparisons):
    """With the least discordance that is needed for the difference, or that of the data, the power is 80% or more."""
    a = run([0.0] * n)
    b = a | dict.fromkeys(list(a)[:changed], 1.0)
    found = compare(a, b)
    delta = found.detectable(comparisons)
    share = max(delta, changed / n)
    up, down = (share + delta) / 2, (share - delta) / 2
    counts = np.arange(n + 1)
    chance = multinomial.pmf(
        [[better, worse, n - better - worse] for better in counts for worse in counts], n, [up, down, 1 - share]
    )
    p_values = [
        min(1.0, 2 * binom.cdf(min(better, worse), better + worse, 0.5)) for better in counts for worse in counts
    ]
    power = math.fsum(p for p, p_value in zip(chance, p_values, strict=True) if p_value <= 0.05 / comparisons)
    assert power >= 0.79


@given(pairs_of_scores, st.booleans())
@settings(max_examples=150, deadline=None)
def test_swapping_the_runs_mirrors_the_comparison(scores, grouped):
    a, b = run([first for first, _ in scores]), run([second for _, second in scores])
    clusters = {task: task // 3 for task in a} if grouped else None
    forth, back = compare(a, b, clusters), compare(b, a, clusters)
    assert back.difference == pytest.approx(-forth.difference, abs=1e-9)
    assert (back.low, back.high) == pytest.approx((-forth.high, -forth.low), abs=1e-6)
    assert back.p_value == pytest.approx(forth.p_value, abs=1e-9)
    assert (back.n_better, back.n_worse) == (forth.n_worse, forth.n_better)
    assert (back.worst_case, back.best_case) == pytest.approx((-forth.best_case, -forth.worst_case))


def test_clusters_that_happen_to_agree_do_not_detect_every_difference():
    same, varied = run([0.5] * 14), run([1.0, 0.0] * 7)
    found = compare(same, varied, dict(zip(same, "aabbccddeeffgg", strict=True)))
    assert compare(same, varied).detectable_difference < found.detectable_difference <= 1


@given(pairs_of_scores, st.booleans())
@settings(max_examples=150, deadline=None)
def test_the_bounds_contain_the_difference_and_stay_in_range(scores, grouped):
    a, b = run([first for first, _ in scores]), run([second for _, second in scores])
    found = compare(a, b, {task: task // 3 for task in a} if grouped else None)
    assert -1 <= found.low <= found.difference + 1e-9
    assert found.difference - 1e-9 <= found.high <= 1
    assert 0 < found.p_value <= 1
    assert found.high > found.low
    assert (found.detectable_difference is None) == found.is_hopeless
    assert found.is_hopeless or 0 < found.detectable_difference <= 1


def test_holm_gives_the_p_values_of_statsmodels():
    for p_values in ([0.3], [0.04, 0.01, 0.04], [0.0, 1.0, 0.02, 0.02, 0.013, 0.6, 0.001]):
        expected = multipletests(p_values, method="holm")[1].tolist()
        assert holm(p_values) == pytest.approx(expected, abs=1e-12), p_values
    assert holm([]) == []
