"""Strengths, ranks, win rates, cycles and position bias on judgements whose truth is known."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest

from benchmarks.statistics.cycles import cycles
from benchmarks.statistics.paired import holm
from benchmarks.statistics.permutation import sign_flip_test
from benchmarks.statistics.preference import Choice, Judgement, Preference, position_bias
from tests.benches.statistics.preference import CYCLE, Design, judged

APART = (1.2, 0.4, -0.4, -1.2)


def both_ways(task: int, winner: int, loser: int) -> list[Judgement]:
    return [Judgement(task, winner, loser, "first"), Judgement(task, loser, winner, "second")]


def test_planted_strengths_ties_and_position_are_recovered() -> None:
    design = Design("large", APART, 3_000, tie=0.8, position=0.4)
    fit = Preference(4, judged(np.random.default_rng(1), design))
    assert fit.strengths == pytest.approx(APART, abs=0.06)
    assert fit.position == pytest.approx(0.4, abs=0.05)
    win, tie, loss = fit.probability(1, 2)
    assert win / loss == pytest.approx(math.exp(0.8), rel=0.06)
    assert tie / math.sqrt(win * loss) == pytest.approx(0.8, abs=0.05)


@pytest.mark.parametrize("spread", [0.0, 1.0])
def test_intervals_cover_the_planted_strengths(spread: float) -> None:
    design, random = Design("5 equal", (0.0,) * 5, 40, spread=spread), np.random.default_rng(2)
    bounds = [fit.bounds(0) for fit in (Preference(5, judged(random, design)) for _ in range(200))]
    covered = sum((low or 0) <= 0 <= (high or 0) for low, high in bounds)
    assert 0.91 <= covered / 200 <= 0.99


def test_judgements_about_one_task_are_not_independent() -> None:
    once = [given for task in range(40) for given in both_ways(task, task % 2, 1 - task % 2)]
    ten_times = [given for given in once for _ in range(10)]
    (low, high), (low_again, high_again) = Preference(2, once).bounds(0), Preference(2, ten_times).bounds(0)
    assert None not in (low, high, low_again, high_again)
    assert high_again - low_again > 0.95 * (high - low)  # type: ignore[operator]


def test_a_candidate_that_always_wins_has_a_finite_strength_and_a_wide_interval() -> None:
    fit = Preference(2, [given for task in range(30) for given in both_ways(task, 0, 1)])
    first, second = fit.results()
    assert first.value == pytest.approx(-second.value)
    assert 1 < first.value < 5
    assert first.low is not None
    assert first.high is not None
    assert 0 < first.low < first.high - 1.5
    assert (first.rank_low, first.rank_high, second.rank_low) == (1, 1, 2)
    assert first.wins.mean == 1


@pytest.mark.parametrize(("tasks", "separated"), [(5, False), (6, True), (30, True)])
def test_a_candidate_that_always_wins_is_above_from_six_tasks(tasks: int, separated: bool) -> None:
    fit = Preference(2, [given for task in range(tasks) for given in both_ways(task, 0, 1)])
    assert fit.p_adjusted(0, 1) == pytest.approx(2 ** (1 - tasks))
    assert fit.is_above(0, 1) is separated


def test_the_test_is_that_of_the_tasks_differences_of_points() -> None:
    given = judged(np.random.default_rng(9), Design("3", (0.5, 0.0, -0.5), 25, spread=1.0))
    fit = Preference(3, given)
    pairs = list(combinations(range(3), 2))
    expected = []
    for a, b in pairs:
        points = {(task, own): 0.0 for task in range(25) for own in (a, b)}
        for each in given:
            for own in {a, b} & {each.first, each.second}:
                points[each.task, own] += each.points_of(own)  # type: ignore[index]
        expected.append(sign_flip_test([points[task, a] - points[task, b] for task in range(25)]).p_value)
    assert [fit.p_adjusted(a, b) for a, b in pairs] == pytest.approx(holm(expected), abs=1e-9)


def test_what_others_show_of_two_candidates_counts_in_their_test() -> None:
    given = [each for task in range(20) for each in (both_ways(task, 0, 1) if task % 2 else both_ways(task, 1, 2))]
    assert Preference(3, given).is_above(0, 2)


@pytest.mark.parametrize("choice", ["first", "tie", "second"])
def test_equal_verdicts_throughout_leave_the_candidates_equal(choice: Choice) -> None:
    fit = Preference(2, [Judgement(task, a, 1 - a, choice) for task in range(20) for a in (0, 1)])
    assert fit.strengths == pytest.approx([0, 0], abs=1e-6)
    assert not fit.is_above(0, 1)
    assert fit.wins_of(0, 1).mean == 0.5


def test_ranks_are_ranges_where_strengths_are_not_apart() -> None:
    fit = Preference(3, judged(np.random.default_rng(8), Design("two close", (0.1, 0.0, -2.5), 60)))
    assert [(each.rank_low, each.rank_high) for each in fit.results()] == [(1, 2), (1, 2), (3, 3)]


def test_a_bias_for_a_position_does_not_change_strengths_and_is_found() -> None:
    given = judged(np.random.default_rng(4), Design("biased", (0.8, -0.8), 400, position=1.5))
    found = position_bias(given)
    assert found.is_clear
    assert (found.first.mean or 0) > 0.6
    assert Preference(2, given).strengths == pytest.approx((0.8, -0.8), abs=0.2)
    fair = position_bias(judged(np.random.default_rng(5), Design("fair", (2.0, -2.0), 100, position=0.0)))
    assert not fair.is_clear
    assert (fair.consistent or 0) > 0.5


def test_identical_answers_do_not_dilute_a_bias_for_a_position() -> None:
    chosen = [Judgement(task, *order, "first") for task in range(20) for order in ((0, 1), (1, 0))]
    same = [Judgement(task, *order, "tie", identical=True) for task in range(20, 80) for order in ((0, 1), (1, 0))]
    assert position_bias(chosen + same) == position_bias(chosen)
    assert position_bias(same).first.n == 0


def test_position_bias_needs_both_orders() -> None:
    found = position_bias([Judgement(task, 0, 1, "first") for task in range(50)])
    assert (found.first.n, found.consistent, found.is_clear) == (0, None, False)


def test_cycles_are_counted_and_compared_with_chance() -> None:
    random = np.random.default_rng(6)
    planted = Preference(4, judged(random, Design("cycle", (0.0, 0.0, 0.0, -2.0), 60, leads=CYCLE)))
    found = cycles(planted)
    assert (found.n_triples, found.n_cycles, found.largest[0].members) == (4, 1, (0, 1, 2))
    assert found.is_clear
    assert not cycles(Preference(4, judged(random, Design("apart", APART, 60)))).is_clear


def test_without_three_compared_pairs_there_is_no_triple() -> None:
    assert cycles(Preference(3, both_ways(1, 0, 1) + both_ways(2, 1, 2))).n_triples == 0
    assert cycles(Preference(3, [])).n_triples == 0


def test_candidates_that_were_never_compared_are_named_apart() -> None:
    fit = Preference(4, both_ways(1, 0, 1) + both_ways(2, 2, 3))
    assert not fit.is_connected
    assert fit.groups == [[0, 1], [2, 3]]
    many = [each for task in range(20) for each in (*both_ways(task, 0, 1), *both_ways(task, 2, 3))]
    assert Preference(4, many).is_above(0, 1)
    assert not any(Preference(4, many).p_adjusted(a, b) < 1 for a in (0, 1) for b in (2, 3))


def test_the_next_pairs_are_those_least_known() -> None:
    given = judged(np.random.default_rng(7), Design("4 close", (0.3, 0.1, -0.1, -0.3), 60))
    given = [each for each in given if {each.first, each.second} != {0, 3}]
    pairs = Preference(4, given).next_pairs(2)
    assert (pairs[0].a, pairs[0].b) == (0, 3)
    assert pairs[0].gain > pairs[1].gain > 0


def test_one_task_has_strengths_without_intervals() -> None:
    fit = Preference(2, both_ways(1, 0, 1))
    assert fit.bounds(0) == (None, None)
    assert not fit.is_above(0, 1)


@pytest.mark.parametrize("pair", [(0, 2), (-1, 0), (1, 1)])
def test_a_judgement_about_another_candidate_is_refused(pair: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="does not name two of 2 candidates"):
        Preference(2, [Judgement(1, *pair, "tie")])
