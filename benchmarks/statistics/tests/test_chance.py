import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.statistics.chance import GroupMean, Guess, Measured, corrected_average, corrected_interval, guess_of
from benchmarks.statistics.intervals import mean_interval
from tests.support.statistics import Group, average_above_guessing


def test_a_guess_scores_0_and_a_perfect_run_1_with_bounds_corrected_alike():
    for share, guess, corrected in ((0.5, 0.5, 0), (1, 0.5, 1), (0.75, 0.5, 0.5), (0, 0.125, -1 / 7)):
        raw = mean_interval([1] * int(40 * share) + [0] * int(40 - 40 * share))
        found = corrected_interval(raw, guess)
        assert found.mean == pytest.approx(corrected), (share, guess)
        assert found.low == pytest.approx((raw.low - guess) / (1 - guess)), (share, guess)


def test_groups_have_the_same_weight_whatever_their_size():
    average = average_above_guessing({"a": Group([1] * 99 + [0], 0.5), "b": Group([1, 0] * 5, 0.0)})
    assert average.mean == pytest.approx((0.98 + 0.5) / 2)


def test_the_average_of_a_single_group_is_its_own_corrected_interval():
    rng = np.random.default_rng(3)
    binary, clusters = rng.integers(0, 2, 120).tolist(), [place // 6 for place in range(120)]
    graded = [0.0, 1.0, *rng.random(198).tolist()]
    for values, guess, names in ((binary, 0.0, clusters), (graded, 0.25, list(range(200)))):
        parts: dict = {}
        for name, value in zip(names, values, strict=True):
            parts.setdefault(name, []).append(("a", 1, value, value**2))
        average = corrected_average({"a": GroupMean(len(values), np.mean(values), guess)}, parts.values())
        alone = corrected_interval(mean_interval(values, names), guess)
        bounds = (average.mean, average.low, average.high)
        assert bounds == pytest.approx((alone.mean, alone.low, alone.high), abs=1e-9), guess


def test_independent_groups_add_their_variances():
    rng = np.random.default_rng(6)
    groups = {name: Group(rng.random(4000).tolist(), guess) for name, guess in (("a", 0.5), ("b", 0.125), ("c", 0.0))}
    variance = sum(np.var(group.values) / 4000 / (1 - group.guess_rate) ** 2 for group in groups.values()) / 9
    assert average_above_guessing(groups).half_width == pytest.approx(1.96 * variance**0.5, rel=0.002)


def test_groups_on_the_same_canvases_are_not_treated_as_independent():
    rng = np.random.default_rng(7)
    values = (rng.random(60) > 0.4).astype(float).tolist()
    shared = average_above_guessing({name: Group(values, 0.0, list(range(60))) for name in "abcd"})
    apart = average_above_guessing({name: Group(values, 0.0) for name in "abcd"})
    assert shared.half_width > 1.9 * apart.half_width
    assert shared.n_clusters == 60


def test_no_scores_have_no_average():
    assert corrected_average({}, []).mean is None


def test_a_perfect_run_has_a_lower_bound_below_1():
    average = average_above_guessing({"a": Group([1] * 30, 0.5), "b": Group([1] * 30, 0.0)})
    assert (average.mean, average.high) == (1.0, 1.0)
    assert average.low < 0.97
    assert "all scores are equal" in average.note


@given(
    st.lists(
        st.tuples(st.lists(st.sampled_from([0, 0.5, 1]), min_size=1, max_size=20), st.floats(0, 0.9)),
        min_size=1,
        max_size=4,
    )
)
@settings(max_examples=100, deadline=None)
def test_the_average_is_between_its_bounds_and_those_are_in_range(groups):
    average = average_above_guessing({str(place): Group(*group) for place, group in enumerate(groups)})
    floor = sum(-guess / (1 - guess) for _, guess in groups) / len(groups)
    assert floor - 1e-9 <= average.low <= average.mean + 1e-9
    assert average.mean - 1e-9 <= average.high <= 1 + 1e-9


def test_a_frequent_answer_of_few_questions_is_no_better_than_a_known_guess_rate():
    assert guess_of(0.5, [Measured(0.6, 24)] * 2) == Guess(0.5)
    assert guess_of(0.5, [Measured(0.6, 400)]) == Guess(0.6, pytest.approx(0.0245, abs=1e-4))
    assert guess_of(None, [Measured(0.375, 24)]) == Guess(0.375, pytest.approx(0.0988, abs=1e-4))
    assert guess_of(None, []).rate == 1


def test_rates_of_several_canvas_sizes_are_pooled_by_the_questions_on_them():
    found = Measured.pooled([(Measured(0.2, 100), 10), (Measured(0.4, 900), 30)])
    error = math.hypot(0.25 * Measured(0.2, 100).error_at(0.35), 0.75 * Measured(0.4, 900).error_at(0.35))
    assert (found.score, found.error_at(found.score)) == pytest.approx((0.35, error))


def test_the_error_of_a_measured_guess_rate_widens_the_corrected_score():
    raw = mean_interval([1] * 30 + [0] * 30)
    known, measured = corrected_interval(raw, 0.3), corrected_interval(raw, 0.3, 0.05)
    assert measured.mean == known.mean
    assert known.mean - measured.low == pytest.approx(((known.mean - known.low) ** 2 + 0.1**2) ** 0.5, abs=1e-4)
    one = average_above_guessing({"a": Group([1, 0] * 30, 0.3, None, 0.05)})
    two = average_above_guessing({name: Group([1, 0] * 30, 0.3, None, 0.05) for name in "ab"})
    assert one.half_width > 1.3 * two.half_width


def test_always_yes_is_rarely_below_guessing():
    """The share of Yes in sets of 16 to 60 questions varies by chance."""
    rng = np.random.default_rng(8)
    below = 0
    for _ in range(4000):
        asked = int(rng.integers(16, 61))
        yes = int(rng.binomial(asked, 0.5))
        guess = guess_of(0.5, [Measured(max(yes, asked - yes) / asked, asked)])
        below += corrected_interval(mean_interval([1] * yes + [0] * (asked - yes)), guess.rate, guess.error).high < 0
    assert below / 4000 <= 0.03
