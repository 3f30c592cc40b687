import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.statistics.sequential import GRID, AdaptiveRule, confidence_sequence, decide

unit_means = st.lists(st.integers(0, 6).map(lambda right: right / 6), min_size=1, max_size=80)


def betting_by_hand(values, alpha):
    """The hedged capital process, one candidate and one unit at a time."""
    kept = []
    for step in range(GRID + 1):
        mean = step / GRID
        up = down = peak = 1.0
        total, squares = 0.5, 0.25
        variance = 0.25
        for time, value in enumerate(values, start=1):
            bet = math.sqrt(2 * math.log(2 / alpha) / (variance * time * math.log(time + 1)))
            up *= 1 + min(bet, 0.75 / mean if mean else math.inf) * (value - mean)
            down *= 1 - min(bet, 0.75 / (1 - mean) if mean < 1 else math.inf) * (value - mean)
            peak = max(peak, up, down)
            total += value
            squares += (value - total / (time + 1)) ** 2
            variance = squares / (time + 1)
        if peak / 2 < 1 / alpha:
            kept.append(step)
    return max(0, kept[0] - 1) / GRID, min(GRID, kept[-1] + 1) / GRID


@pytest.mark.parametrize(("seed", "n", "alpha"), [(1, 30, 0.05), (2, 60, 0.1), (3, 8, 0.05)])
def test_the_bounds_are_those_of_the_capital_followed_by_hand(seed, n, alpha):
    values = (np.random.default_rng(seed).binomial(6, 0.7, n) / 6).tolist()
    found = confidence_sequence(values, confidence=1 - alpha)
    assert (found.low, found.high) == betting_by_hand(values, alpha)


def test_a_long_run_is_followed_across_blocks():
    values = (np.random.default_rng(4).binomial(6, 0.7, 540) / 6).tolist()
    found = confidence_sequence(values)
    assert (found.low, found.high) == betting_by_hand(values, 0.05)


@given(unit_means, st.lists(st.integers(0, 6).map(lambda right: right / 6), max_size=20), st.sampled_from([None, 0.03]))
@settings(max_examples=60, deadline=None)
def test_more_units_never_take_a_bound_back(before, after, aim):
    earlier = confidence_sequence(before, aim=aim)
    later = confidence_sequence(before + after, aim=aim)
    assert later.low >= earlier.low - 1e-9 or later.low == later.mean
    assert later.high <= earlier.high + 1e-9 or later.high == later.mean


@given(unit_means)
@settings(max_examples=60, deadline=None)
def test_the_bounds_stay_in_range_and_mirror_with_the_scores(values):
    found, mirrored = confidence_sequence(values), confidence_sequence([1 - value for value in values])
    assert 0 <= found.low <= found.mean <= found.high <= 1
    assert (mirrored.low, mirrored.high) == pytest.approx((1 - found.high, 1 - found.low), abs=1.5 / GRID)


def test_stopping_at_the_aim_is_sooner_with_bets_tuned_to_it():
    values = (np.random.default_rng(5).binomial(6, 0.7, 1000) / 6).tolist()

    def stops_at(aim):
        return next(n for n in range(20, 1000, 20) if confidence_sequence(values[:n], aim=aim).half_width <= 0.03)

    assert stops_at(0.03) < stops_at(None)


def test_no_units_have_no_bounds():
    assert confidence_sequence([]).mean is None


def test_a_mean_out_of_range_is_rejected():
    with pytest.raises(ValueError, match="leave out units without a score"):
        confidence_sequence([0.5, math.nan])


def test_strata_without_canvases_come_first():
    decision = decide({"2 shapes": [], "4 shapes": [1.0] * 50, "8 shapes": []}, AdaptiveRule(0.05, cap=100, batch=10))
    assert decision.add == {"2 shapes": 10, "8 shapes": 10}
    assert decision.overall.mean is None


def test_the_next_canvases_go_to_the_widest_interval():
    rng = np.random.default_rng(6)
    strata = {"easy": [1.0] * 60, "middling": rng.integers(0, 2, 60).tolist(), "hard": [0.0] * 60}
    decision = decide(strata, AdaptiveRule(0.01, cap=100, batch=25))
    widths = {name: interval.half_width for name, interval in decision.intervals.items()}
    assert max(widths, key=widths.get) == "middling"
    assert decision.add == {"middling": 25}


def test_a_batch_never_passes_the_cap():
    decision = decide({"only": [1.0, 0.0] * 45}, AdaptiveRule(0.01, cap=97, batch=25))
    assert decision.add == {"only": 7}


def test_a_run_within_its_target_is_finished():
    decision = decide({"a": [1.0] * 200, "b": [0.0] * 200}, AdaptiveRule(0.05, cap=500))
    assert (decision.add, decision.reason) == ({}, "every interval meets the target")


def test_a_run_at_its_cap_is_finished_and_the_reason_says_that_it_missed_the_target():
    decision = decide({"a": [1.0, 0.0] * 50}, AdaptiveRule(0.01, cap=100))
    assert decision.add == {}
    assert "the maximum of 100 canvases is reached" in decision.reason


def test_the_overall_interval_is_the_average_of_strata_that_hold_together():
    strata = {"a": [1.0, 0.5] * 50, "b": [0.0, 0.5] * 50}
    decision = decide(strata, AdaptiveRule(0.05, cap=100))
    alone = [confidence_sequence(values, confidence=0.975, aim=0.05) for values in strata.values()]
    assert decision.overall.mean == pytest.approx(0.5)
    assert decision.overall.low == pytest.approx(sum(one.low for one in alone) / 2)
    assert decision.overall.high == pytest.approx(sum(one.high for one in alone) / 2)


def test_an_impossible_rule_is_rejected():
    for wrong in ({"target_half_width": 0.0}, {"target_half_width": 0.6}, {"cap": 0}, {"batch": 0}):
        with pytest.raises(ValueError, match=r"give a share|at least 1"):
            AdaptiveRule(**{"target_half_width": 0.05, "cap": 100, **wrong})


def test_a_run_without_strata_is_rejected():
    with pytest.raises(ValueError, match="at least one"):
        decide({}, AdaptiveRule(0.05, cap=10))
