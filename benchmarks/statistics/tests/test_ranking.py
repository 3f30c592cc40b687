"""Rankings: groups, ranks and chances on scores whose truth is known."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from benchmarks.statistics.paired import compare, holm
from benchmarks.statistics.permutation import sign_flip_test
from benchmarks.statistics.ranking import (
    LEVEL,
    MeanRank,
    Ranking,
    Scores,
    datasets_needed,
    mean_of_intervals,
    mean_rank_places,
    mean_ranks,
)
from tests.benches.statistics.missing import ATTACKS, Attack, draw
from tests.benches.statistics.rankings import DESIGNS, SKILLS, Design, false_separations, leaderboard, simulated

NAN = float("nan")


def ranking(*rows: Sequence[float]) -> Ranking:
    return Ranking([Scores(np.array(rows, dtype=float), np.arange(len(rows[0])))])


def right_of(n: int, right: int) -> list[float]:
    return [1.0] * right + [0.0] * (n - right)


def test_groups_and_ranks_follow_from_the_tests_of_all_pairs() -> None:
    places = ranking(right_of(100, 52), right_of(100, 90), right_of(100, 50)).places()
    assert [place.group for place in places] == ["B", "A", "B"]
    assert [(place.rank_low, place.rank_high) for place in places] == [(2, 3), (1, 1), (2, 3)]
    assert places[1].best == 1.0


def test_groups_overlap_where_only_the_ends_differ() -> None:
    places = ranking(right_of(60, 40), right_of(60, 36), right_of(60, 32)).places()
    assert [place.group for place in places] == ["A", "A B", "B"]
    assert [(place.rank_low, place.rank_high) for place in places] == [(1, 2), (1, 3), (2, 3)]


def test_two_rows_share_a_letter_exactly_if_their_difference_is_not_significant() -> None:
    random = np.random.default_rng(4)
    for _ in range(20):
        rates = random.uniform(0.3, 0.7, (9, 1))
        ranked = ranking(*random.binomial(1, rates, (9, 80)).astype(float))
        letters = [set(place.group.split()) for place in ranked.places()]
        for a in range(9):
            for b in range(a):
                assert bool(letters[a] & letters[b]) == (ranked.p_adjusted(a, b) > LEVEL)


def test_p_values_are_those_of_the_comparison_of_two_runs_with_holm_over_all_pairs() -> None:
    random = np.random.default_rng(5)
    rows = random.binomial(1, 0.5, (4, 60)).astype(float)
    clusters = np.arange(60) // 4
    ranked = Ranking([Scores(rows, clusters)])
    names = dict(enumerate(clusters.tolist()))
    pairs = [(a, b) for a in range(4) for b in range(a + 1, 4)]
    single = [compare(dict(enumerate(rows[b])), dict(enumerate(rows[a])), names) for a, b in pairs]
    adjusted = holm([found.p_value or 0.0 for found in single])
    for (a, b), found, p_adjusted in zip(pairs, single, adjusted, strict=True):
        difference = ranked.difference(a, b)
        assert difference.p_adjusted == pytest.approx(p_adjusted)
        assert (difference.mean, difference.low, difference.high) == pytest.approx(
            (found.difference, found.low, found.high)
        )


def test_datasets_count_alike_whatever_their_size() -> None:
    small, large = np.array([[1.0] * 20, [0.0] * 20]), np.array([[0.0] * 300 + [1.0] * 100, [1.0] * 100 + [0.0] * 300])
    ranked = Ranking([Scores(small, np.arange(20)), Scores(large, np.arange(400))])
    assert ranked.means.tolist() == [0.625, 0.125]
    assert ranked.difference(0, 1).mean == pytest.approx(0.5)


def test_tasks_without_a_score_are_left_out_of_the_pair_alone() -> None:
    ranked = ranking([1, 1, NAN, 1, 1, 1, 1, 1, 1, 1], [0, 0, 0, NAN, 0, 0, 0, 0, 0, 0], [0] * 9 + [NAN])
    assert ranked.means.tolist() == [1.0, 0.0, 0.0]
    assert ranked.p_adjusted(0, 1) == pytest.approx(3 * sign_flip_test([1.0] * 8).p_value)
    assert ranked.p_adjusted(1, 2) == 1.0


def test_what_is_missing_counts_as_zero_in_the_order_and_against_the_one_that_gains() -> None:
    """The first has 0.895 on what is scored and at least 0.850; the second 0.880 on all."""
    first = [1.0] * 170 + [0.0] * 20 + [NAN] * 10
    values = np.array([first, right_of(200, 176)])
    missing = np.isnan(values).astype(float)
    ranked = Ranking([Scores(values, np.arange(200), missing)])
    assert ranked.means.tolist() == [0.85, 0.88]
    assert ranked.order == [1, 0]
    assert not ranked.is_above(0, 1)
    assert mean_ranks([Scores(values, np.arange(200), missing)])[1].mean == 1.0


def test_the_p_value_with_missing_scores_is_that_of_the_comparison_of_two_runs() -> None:
    random = np.random.default_rng(4)
    values = random.integers(0, 2, (2, 60)).astype(float)
    values[0, :25], values[1, :25] = 1.0, 0.0
    missing = np.zeros((2, 60))
    missing[0, 40:43], missing[1, 55:] = 1.0, 0.5
    values[0, 40:43] = NAN
    ranked = Ranking([Scores(values, np.arange(60), missing)])
    first, second = ({k: None if np.isnan(v) else v for k, v in enumerate(row.tolist())} for row in values)
    found = compare(second, first, unscored=(dict(enumerate(missing[1].tolist())), {}))
    assert ranked.p_adjusted(0, 1) == pytest.approx(found.p_decisive)
    assert ranked.difference(0, 1).mean == pytest.approx(found.difference)


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_no_answer_without_a_verdict_gains_a_rank_or_a_claim(attack: Attack) -> None:
    random = np.random.default_rng(11)
    for _ in range(100):
        drawn = draw(random, attack)
        assert not (drawn.attacked.order[0] == 1 and drawn.honest.order[0] == 0)
        assert not (drawn.attacked.is_above(1, 0) and not drawn.honest.is_above(1, 0))


def test_candidates_that_share_no_task_are_not_separated() -> None:
    ranked = ranking([1, 1, 1, NAN, NAN, NAN], [NAN, NAN, NAN, 0, 0, 0])
    assert ranked.p_adjusted(0, 1) == 1.0
    assert {place.group for place in ranked.places()} == {"A"}


def test_equal_candidates_share_the_chance_of_being_the_best() -> None:
    places = ranking(right_of(50, 25), right_of(50, 25)).places()
    assert [place.best for place in places] == [0.5, 0.5]


def test_one_candidate_is_its_own_ranking() -> None:
    [place] = ranking(right_of(10, 5)).places()
    assert (place.group, place.rank_low, place.rank_high, place.best) == ("A", 1, 1, 1.0)


def test_the_average_of_intervals_is_narrower_than_each() -> None:
    mean, low, high = mean_of_intervals([(0.5, 0.4, 0.6), (0.7, 0.6, 0.8)])
    assert mean == pytest.approx(0.6)
    assert (low, high) == pytest.approx((0.6 - 0.0707, 0.6 + 0.0707), abs=1e-3)


@pytest.mark.parametrize("design", [DESIGNS[0], DESIGNS[2], DESIGNS[3]], ids=lambda design: design.name)
def test_equal_candidates_are_rarely_separated(design: Design) -> None:
    random = np.random.default_rng(11)
    wrong = sum(false_separations(simulated(random, design), design.gains) > 0 for _ in range(40))
    assert wrong <= 7, "2 of 40 are expected at most, with a standard error of 1.4"


def test_the_mean_rank_averages_the_ranks_on_each_dataset_whatever_their_sizes() -> None:
    first = Scores(np.array([right_of(40, 38), right_of(40, 20), right_of(40, 2)]), np.arange(40))
    second = Scores(np.array([right_of(400, 10), right_of(400, 390), right_of(400, 200)]), np.arange(400))
    ranks = mean_ranks([first, second])
    assert [(rank.mean, rank.low, rank.high) for rank in ranks] == [(2.0, 2.0, 2.0), (1.5, 1.5, 1.5), (2.5, 2.5, 2.5)]
    assert {(rank.rank_low, rank.rank_high) for rank in ranks} == {(1, 3)}, "two datasets say nothing of others"


def test_equal_means_share_their_ranks() -> None:
    same = Scores(np.array([right_of(50, 25), right_of(50, 25), right_of(50, 1)]), np.arange(50))
    ranks = mean_ranks([same])
    assert [(rank.mean, rank.low, rank.high) for rank in ranks] == [(1.5, 1, 2), (1.5, 1, 2), (3.0, 3, 3)]


def test_only_mean_ranks_whose_ranges_do_not_overlap_are_in_order() -> None:
    ranges = ((1.0, 1.67), (1.33, 2.33), (2.33, 2.67), (2.8, 3.0))
    ranks = [MeanRank((low + high) / 2, low, high, 1, 4) for low, high in ranges]
    assert mean_rank_places(ranks) == [(1, 2), (1, 3), (2, 3), (4, 4)]
    assert mean_rank_places([]) == []


def test_a_model_that_wins_on_every_dataset_is_first_on_others_once_there_are_enough() -> None:
    """With fewer datasets, the smallest possible p-value is above 5% after Holm's correction."""
    needed = datasets_needed(3)
    dataset = Scores(np.array([right_of(40, 20), right_of(40, 38), right_of(40, 2)]), np.arange(40))
    places = [(rank.rank_low, rank.rank_high) for rank in mean_ranks([dataset] * needed)]
    assert (needed, places) == (7, [(2, 2), (1, 1), (3, 3)])
    assert {(rank.rank_low, rank.rank_high) for rank in mean_ranks([dataset] * (needed - 1))} == {(1, 3)}


@pytest.mark.parametrize("name", SKILLS)
def test_the_ranges_of_all_models_hold_together(name: str) -> None:
    skills, unlike = SKILLS[name]
    random = np.random.default_rng(7)
    missed = wrong = 0
    for _ in range(25):
        board = leaderboard(random, skills, unlike, 8, 60)
        missed += not all(row.low <= true <= row.high for row, true in zip(board.found, board.here, strict=True))
        pairs = [(a, b) for a in range(5) for b in range(5) if skills[a] <= skills[b] and a != b]
        wrong += any(board.found[a].rank_high < board.found[b].rank_low for a, b in pairs)
    assert missed + wrong <= 5, "at most 2.5 of 50 are expected"
