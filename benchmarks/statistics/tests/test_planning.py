import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.power import TTestPower

from benchmarks.statistics.planning import (
    Limits,
    PairedDesign,
    Range,
    detectable_difference,
    tasks_needed,
    together,
    workload,
)
from tests.support.statistics import exact_power


@pytest.mark.parametrize(
    ("pairs", "lowest", "highest"),
    [
        (((0.05, 0.1), (0.05, 0.3), (0.1, 0.2), (0.1, 0.5), (0.2, 0.4)), 0.79, 0.86),
        (((0.08, 0.09), (0.05, 0.05), (0.1, 0.1), (0.3, 0.3), (0.5, 0.5)), 0.79, 0.91),
    ],
)
def test_the_planned_number_gives_the_exact_test_its_power(pairs, lowest, highest):
    for difference, discordance in pairs:
        n = tasks_needed(difference, PairedDesign(discordance=discordance)).tasks
        assert lowest <= exact_power(n, difference, discordance) <= highest, (difference, discordance)


def test_a_small_difference_needs_the_tasks_of_a_paired_t_test_in_statsmodels():
    design = PairedDesign(discordance=0.3, power=0.9)
    deviation = math.sqrt(0.3 - 0.02**2)
    expected = TTestPower().solve_power(effect_size=0.02 / deviation, alpha=0.05, power=0.9)
    assert tasks_needed(0.02, design).tasks == pytest.approx(expected, rel=0.01)


def test_tasks_on_shared_canvases_multiply_the_need_by_the_design_effect():
    alone = tasks_needed(0.05, PairedDesign())
    shared = tasks_needed(0.05, PairedDesign(tasks_per_cluster=6, cluster_correlation=0.2))
    assert shared.tasks / alone.tasks == pytest.approx(2.0, abs=0.03)
    assert shared.tasks == 6 * shared.clusters


def test_repeats_save_tasks_only_as_far_as_the_noise_is_between_repeats():
    once = tasks_needed(0.05, PairedDesign(noise_share=0.6)).tasks
    assert tasks_needed(0.05, PairedDesign(noise_share=0.0, repeats=5)).tasks == once
    assert tasks_needed(0.05, PairedDesign(noise_share=0.6, repeats=3)).tasks == pytest.approx(once * 0.6, rel=0.02)


designs = st.builds(
    PairedDesign,
    discordance=st.floats(0.3, 1),
    noise_share=st.floats(0, 1),
    repeats=st.integers(1, 5),
    tasks_per_cluster=st.integers(1, 18),
    cluster_correlation=st.floats(0, 1),
)


@given(st.floats(0.01, 0.3), designs)
@settings(max_examples=60)
def test_the_detectable_difference_of_the_planned_number_is_the_planned_one(difference, design):
    size = tasks_needed(difference, design)
    assert detectable_difference(size.tasks, design) <= difference + 1e-9
    fewer = detectable_difference(size.tasks - int(design.tasks_per_cluster), design)
    assert fewer is None or fewer >= difference - 1e-9


def test_a_handful_of_tasks_detects_nothing():
    assert detectable_difference(3) is None
    assert detectable_difference(0) is None


def test_few_tasks_detect_a_large_difference_with_the_power_of_the_exact_test():
    for n in range(6, 30):
        gap = detectable_difference(n)
        assert 0.79 <= exact_power(n, gap, max(gap, 0.3)) <= 0.91, n
    assert detectable_difference(5) is None, "five changes in one direction have p = 0.0625"
    assert detectable_difference(26, PairedDesign(confidence=1 - 0.05 / 6)) > detectable_difference(26) >= 0.3


@given(st.integers(6, 5000), designs)
@settings(max_examples=60)
def test_no_task_more_makes_the_detectable_difference_larger(n, design):
    fewer, more = detectable_difference(n, design), detectable_difference(n + 1, design)
    assert fewer is None or more <= fewer + 1e-9


@given(st.integers(50, 5000))
@settings(max_examples=40)
def test_more_tasks_detect_smaller_differences(n):
    assert detectable_difference(n + 50) < detectable_difference(n)


def test_impossible_differences_and_designs_are_rejected():
    for difference in (0, -0.1, 0.31):
        with pytest.raises(ValueError, match="give one above 0"):
            tasks_needed(difference)
    for wrong, message in (
        ({"discordance": 0}, "discordance"),
        ({"noise_share": 2}, "noise_share"),
        ({"cluster_correlation": -1}, "cluster_correlation"),
        ({"repeats": 0}, "at least 1"),
        ({"power": 0.3}, "power"),
    ):
        with pytest.raises(ValueError, match=message):
            PairedDesign(**wrong)


TOKENS_IN, TOKENS_OUT = Range(200, 300, 500), Range(10, 50, 400)


def test_tokens_and_cost_are_those_of_all_requests():
    plan = workload(1000, TOKENS_IN, TOKENS_OUT, Limits(10, Range(1, 2, 5)), price_in=2.5, price_out=10)
    assert (plan.tokens_in.usual, plan.tokens_out.high) == (300_000, 400_000)
    assert plan.cost.usual == pytest.approx(0.3 * 2.5 + 0.05 * 10)
    assert plan.cost.low < plan.cost.usual < plan.cost.high


def test_an_unknown_price_makes_the_cost_unknown_and_not_zero():
    for prices in ({}, {"price_in": 1.0}, {"price_out": 1.0}):
        assert workload(10, TOKENS_IN, TOKENS_OUT, Limits(1, Range(1, 1, 1)), **prices).cost is None, prices


def test_the_duration_is_that_of_the_tightest_limit():
    for limits, seconds, bottleneck in (
        (Limits(10, Range(1, 2, 5)), 200, "concurrency"),
        (Limits(10, Range(1, 2, 5), requests_per_minute=60), 1000, "requests per minute"),
        (Limits(10, Range(1, 2, 5), requests_per_minute=60, tokens_per_minute=10_500), 2000, "tokens per minute"),
        (Limits(1000, Range(1, 2, 5)), 2, "concurrency"),
    ):
        plan = workload(1000, TOKENS_IN, TOKENS_OUT, limits)
        assert (plan.seconds.usual, plan.bottleneck) == (pytest.approx(seconds), bottleneck), limits


def test_a_model_and_its_judge_add_up_and_an_unknown_price_makes_the_sum_unknown():
    model = workload(100, TOKENS_IN, TOKENS_OUT, Limits(1, Range(1, 1, 1)), price_in=1, price_out=1)
    judge = workload(300, TOKENS_IN, TOKENS_OUT, Limits(1, Range(1, 1, 1)), price_in=1, price_out=1)
    both = together([model, judge])
    assert both.requests == 400
    assert both.cost.usual == pytest.approx(4 * model.cost.usual)
    assert (both.seconds.low, both.seconds.usual, both.seconds.high) == (300, 300, 400)
    unpriced = workload(300, TOKENS_IN, TOKENS_OUT, Limits(1, Range(1, 1, 1)))
    assert together([model, unpriced]).cost is None
    with pytest.raises(ValueError, match="at least one"):
        together([])
