"""Means corrected by labels: of judges whose errors are known, at the limits, and with more labels."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.statistics.prediction_powered import FEWEST, CorrectedMean, corrected_difference, corrected_mean
from tests.benches.statistics.people import study


def simulated(judge: tuple[float, float], rate: float = 0.7, sizes: tuple[int, int] = (640, 120)) -> CorrectedMean:
    return study(np.random.default_rng(3), rate, judge, sizes)


def test_in_simulated_studies_the_corrected_mean_covers_the_truth_and_is_narrower_than_labels_alone() -> None:
    random = np.random.default_rng(11)
    for judge, correlation in (((0.3, 0.05), 0.0), ((0.05, 0.2), 0.0), ((0.1, 0.1), 0.3)):
        found = [study(random, 0.7, judge, (400, 80), correlation) for _ in range(700)]
        covered = np.mean([each.low <= 0.7 <= each.high for each in found])
        assert 0.93 <= covered <= 0.98, judge
        assert np.mean([each.half_width / each.labels.half_width for each in found if each.labels.half_width]) < 0.9
        assert abs(np.mean([each.mean for each in found]) - 0.7) < 0.01, judge
        misled = np.mean([(each.judge.low or 0) <= 0.7 <= (each.judge.high or 1) for each in found])
        assert misled < 0.85, judge


def test_a_perfect_judge_is_used_fully_and_a_worthless_one_not_at_all() -> None:
    perfect = simulated((0.0, 0.0))
    assert perfect.slope == 1
    assert perfect.mean == pytest.approx(perfect.judge.mean)
    judged = [1.0] * 200
    worthless = corrected_mean(judged, {place: float(place % 2) for place in range(60)})
    assert worthless is not None
    assert worthless.slope == 0
    assert (worthless.mean, worthless.low, worthless.high) == (0.5, worthless.labels.low, worthless.labels.high)


def test_few_labels_that_all_agree_do_not_make_the_judge_certain() -> None:
    judged = [float(place % 5 > 0) for place in range(400)]
    found = corrected_mean(judged, {place: judged[place] for place in range(FEWEST)})
    assert found is not None
    assert found.mean == pytest.approx(0.8)
    assert found.half_width > 0.1


def test_a_mean_at_the_end_of_the_scale_keeps_an_interval_inside_it() -> None:
    for value in (0.0, 1.0):
        found = corrected_mean([value] * 100, dict.fromkeys(range(30), value))
        assert found is not None
        assert found.mean == value
        assert 0 <= found.low < found.high <= 1
        assert value in {found.low, found.high}


def test_graded_scores_are_narrower_than_verdicts_of_the_same_mean() -> None:
    random = np.random.default_rng(5)
    people = random.choice([0.25, 0.5, 0.75, 1.0], size=300)
    judged = np.clip(people + random.choice([-0.25, 0, 0.25], size=300), 0, 1).tolist()
    graded = corrected_mean(judged, {place: float(people[place]) for place in range(80)})
    verdicts = simulated((0.15, 0.15), 0.62, (300, 80))
    assert graded is not None
    assert graded.half_width < 0.6 * verdicts.half_width
    assert graded.low < people.mean() < graded.high


def test_a_skewed_judge_of_a_good_model_does_not_make_intervals_of_few_labels_too_narrow() -> None:
    """One interval about residuals holds in 93.0% of these studies, and is as wide as that of the labels."""
    random = np.random.default_rng(8)
    found = [study(random, 0.9, (0.1, 0.1), (640, 40)) for _ in range(2_500)]
    assert np.mean([each.low <= 0.9 <= each.high for each in found]) >= 0.94
    assert np.mean([each.half_width / (each.labels.half_width or 1) for each in found]) < 0.85


def test_with_all_answers_labeled_the_interval_of_verdicts_is_that_of_the_labels() -> None:
    found = simulated((0.1, 0.2), 0.7, (200, 200))
    assert found.mean == pytest.approx(found.labels.mean)
    assert (found.low, found.high) == pytest.approx((found.labels.low, found.labels.high), abs=0.001)


def test_more_labels_narrow_the_interval_down_to_that_of_labels_of_all() -> None:
    found = simulated((0.3, 0.05))
    widths = [found.half_width_with(n) for n in (40, 120, 240, 640, 10_000)]
    assert widths == sorted(widths, reverse=True)
    assert widths[1] == pytest.approx(found.half_width)
    assert widths[3] == widths[4]
    assert widths[3] == pytest.approx(1.96 * (found.mean * (1 - found.mean) / 640) ** 0.5, rel=0.1)


def test_more_labels_for_a_difference_are_the_fewest_that_would_show_it() -> None:
    better, worse = simulated((0.3, 0.05), 0.75), simulated((0.3, 0.05), 0.68)
    found = corrected_difference(better, worse)
    assert found.difference == better.mean - worse.mean
    assert found.low < 0 < found.high
    assert not found.is_clear
    each = (found.more_labels or 0) // 2
    assert each > 0
    widths = [
        np.hypot(*(mean.half_width_with(mean.n_labels + labels) for mean in (better, worse)))
        for labels in (each, each - 1)
    ]
    assert widths[0] < found.difference <= widths[1]
    assert corrected_difference(worse, better).low == -found.high
    assert corrected_difference(better, better).more_labels is None
    clear = corrected_difference(simulated((0.1, 0.1), 0.9), simulated((0.1, 0.1), 0.4))
    assert (clear.is_clear, clear.more_labels) == (True, 0)


def test_the_interval_of_a_difference_of_corrected_means_covers_and_is_cautious_on_shared_tasks() -> None:
    random = np.random.default_rng(17)
    covered: dict[str, list[bool]] = {"different tasks": [], "shared tasks": []}
    for _ in range(300):
        for name, shared in (("different tasks", False), ("shared tasks", True)):
            ease = random.random((2, 300))
            means = []
            for number, rate in enumerate((0.75, 0.6)):
                right = ease[0 if shared else number] < rate
                judged = np.where(right, random.random(300) >= 0.05, random.random(300) < 0.3).astype(float)
                drawn = random.choice(300, 60, replace=False).tolist()
                found = corrected_mean(judged.tolist(), {place: float(right[place]) for place in drawn})
                assert found is not None
                means.append(found)
            difference = corrected_difference(*means)
            covered[name].append(difference.low <= 0.15 <= difference.high)
    assert 0.92 <= np.mean(covered["different tasks"]) <= 0.985
    assert np.mean(covered["shared tasks"]) >= 0.94


def test_too_few_labels_give_nothing_and_wrong_places_an_error() -> None:
    judged = [1.0, 0.0] * 50
    assert corrected_mean(judged, dict.fromkeys(range(FEWEST - 1), 1.0)) is None
    assert corrected_mean([], {}) is None
    for places in ([-1, 3], [3, 100]):
        with pytest.raises(ValueError, match="label judged answers"):
            corrected_mean(judged, dict.fromkeys(places, 1.0))
    with pytest.raises(ValueError, match="value 0 is 2"):
        corrected_mean([2.0], {})
