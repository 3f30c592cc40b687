import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.statistics.chance import Group, chance_corrected, corrected_score
from benchmarks.statistics.intervals import mean_interval


@pytest.mark.parametrize(
    ("score", "guess", "corrected"), [(0.5, 0.5, 0), (1, 0.5, 1), (0.75, 0.5, 0.5), (0, 0.125, -1 / 7)]
)
def test_guessing_earns_nothing_and_all_right_earns_one(score, guess, corrected):
    assert corrected_score(score, guess) == pytest.approx(corrected)


def test_each_group_is_corrected_with_its_own_guess_rate_and_keeps_its_raw_interval():
    values = [1] * 30 + [0] * 20
    found = chance_corrected({"existence": Group(values, 0.5), "coordinate": Group(values, 0.125)})
    raw = mean_interval(values)
    assert found.raw["existence"] == found.raw["coordinate"] == raw
    assert found.corrected["existence"].mean == pytest.approx(0.2)
    assert found.corrected["coordinate"].low == pytest.approx((raw.low - 0.125) / 0.875)


def test_groups_count_alike_whatever_their_size():
    found = chance_corrected({"a": Group([1] * 99 + [0], 0.5), "b": Group([1, 0] * 5, 0.0)})
    assert found.average.mean == pytest.approx((0.98 + 0.5) / 2)


def test_one_group_without_guessing_is_averaged_to_its_own_interval():
    rng = np.random.default_rng(3)
    values, clusters = rng.integers(0, 2, 120).tolist(), [place // 6 for place in range(120)]
    average, alone = chance_corrected({"a": Group(values, 0.0, clusters)}).average, mean_interval(values, clusters)
    assert (average.mean, average.low, average.high) == pytest.approx((alone.mean, alone.low, alone.high), abs=1e-9)


def test_one_guessable_group_is_averaged_to_its_corrected_interval():
    values = np.random.default_rng(5).random(200).tolist()
    found = chance_corrected({"a": Group(values, 0.25)})
    assert (found.average.low, found.average.high) == pytest.approx(
        (found.corrected["a"].low, found.corrected["a"].high), abs=1e-9
    )


def test_independent_groups_add_their_variances():
    rng = np.random.default_rng(6)
    groups = {name: Group(rng.random(4000).tolist(), guess) for name, guess in (("a", 0.5), ("b", 0.125), ("c", 0.0))}
    variance = sum(np.var(group.values) / 4000 / (1 - group.guess_rate) ** 2 for group in groups.values()) / 9
    average = chance_corrected(groups).average
    assert average.half_width == pytest.approx(1.96 * variance**0.5, rel=0.002)


def test_groups_asked_on_the_same_canvases_are_not_taken_as_independent():
    rng = np.random.default_rng(7)
    canvases = rng.random(60)
    values = (canvases > 0.4).astype(float).tolist()
    shared = {name: Group(values, 0.0, list(range(60))) for name in "abcd"}
    apart = {name: Group(values, 0.0, [(name, canvas) for canvas in range(60)]) for name in "abcd"}
    assert chance_corrected(shared).average.half_width > 1.9 * chance_corrected(apart).average.half_width
    assert chance_corrected(shared).average.n_clusters == 60


def test_a_group_without_scores_is_named_and_left_out():
    found = chance_corrected({"a": Group([1, 0], 0.5), "empty": Group([], 0.5)})
    assert found.left_out == ("empty",)
    assert found.corrected["empty"].mean is None
    assert found.average.mean == 0.0


def test_no_scores_at_all_have_no_average():
    assert chance_corrected({"a": Group([], 0.5)}).average.mean is None


def test_all_right_everywhere_is_one_with_room_below():
    average = chance_corrected({"a": Group([1] * 30, 0.5), "b": Group([1] * 30, 0.0)}).average
    assert (average.mean, average.high) == (1.0, 1.0)
    assert average.low < 0.97
    assert "all scores are equal" in average.note


@pytest.mark.parametrize("guess", [-0.1, 1.0, 1.5])
def test_an_impossible_guess_rate_is_refused(guess):
    with pytest.raises(ValueError, match="guess rate"):
        Group([1], guess)


@given(
    st.lists(
        st.tuples(st.lists(st.sampled_from([0, 0.5, 1]), min_size=1, max_size=20), st.floats(0, 0.9)),
        min_size=1,
        max_size=4,
    )
)
@settings(max_examples=100, deadline=None)
def test_the_average_lies_between_its_bounds_and_those_in_range(groups):
    found = chance_corrected({str(place): Group(values, guess) for place, (values, guess) in enumerate(groups)})
    floor = sum(corrected_score(0, guess) for _, guess in groups) / len(groups)
    assert floor - 1e-9 <= found.average.low <= found.average.mean + 1e-9
    assert found.average.mean - 1e-9 <= found.average.high <= 1 + 1e-9
