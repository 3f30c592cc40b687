"""Means over tasks and variants that are both samples."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from benchmarks.statistics.crossed import Answers, crossed
from benchmarks.statistics.intervals import mean_interval
from benchmarks.statistics.ranking import Ranking, Scores, averaged, difference_p_value


def _answers(values: NDArray[np.float64]) -> Answers:
    return Answers(values, np.arange(values.shape[1]))


def test_the_variance_is_that_of_tasks_plus_that_of_variants() -> None:
    values = np.random.default_rng(3).random((4, 25))
    found = crossed([_answers(values)])
    assert found is not None
    of_tasks, of_variants = np.var(values.mean(axis=0), ddof=1) / 25, np.var(values.mean(axis=1), ddof=1) / 4
    assert found.mean == pytest.approx(values.mean())
    assert found.variance == pytest.approx(of_tasks + of_variants)
    assert found.degrees == pytest.approx(found.variance**2 / (of_tasks**2 / 24 + of_variants**2 / 3), rel=0.2)
    assert found.p_value == pytest.approx(2 * stats.t.sf(found.mean / math.sqrt(found.variance), found.degrees))


def test_the_shares_are_those_of_a_two_way_analysis_of_variance() -> None:
    random = np.random.default_rng(5)
    of_tasks, of_variants = random.normal(0, 2, 2000), random.normal(0, 1, 200)
    values = of_tasks + of_variants[:, None] + random.normal(0, 1, (200, 2000))
    found = crossed([_answers(values)])
    assert found is not None
    assert found.shares is not None
    assert found.shares.tasks == pytest.approx(4 / 6, abs=0.03)
    assert found.shares.variants == pytest.approx(1 / 6, abs=0.03)
    assert found.shares.rest == pytest.approx(1 / 6, abs=0.03)


def test_no_score_that_varies_has_no_shares_and_no_width() -> None:
    found = crossed([_answers(np.ones((3, 10)))])
    assert found is not None
    assert found.shares is None
    assert found.widened(1.0, 0.7, 1.0) == (1.0, 0.7, 1.0)
    assert found.p_value == 0.0


def test_a_dataset_without_a_task_that_has_all_scores_has_no_mean() -> None:
    values = np.array([[1.0, np.nan], [np.nan, 1.0], [1.0, 1.0]])
    assert crossed([_answers(np.ones((3, 5))), _answers(values)]) is None


def test_the_interval_holds_for_other_variants_where_one_for_these_alone_does_not() -> None:
    random = np.random.default_rng(8)
    hits = alone = 0
    for _ in range(300):
        chances = stats.norm.cdf(1 + random.normal(0, 1, 100) + random.normal(0, 0.4, (5, 1)))
        values = (random.random((5, 100)) < chances).astype(float)
        found = crossed([_answers(values)])
        assert found is not None
        own = mean_interval(values.mean(axis=0).tolist())
        truth = stats.norm.cdf(1 / math.sqrt(2 + 0.4**2))
        _, low, high = found.widened(own.mean, own.low, own.high)
        hits += low <= truth <= high
        alone += own.low <= truth <= own.high
    assert hits / 300 > 0.9
    assert alone / 300 < 0.85


def _scores(*rows: NDArray[np.float64], missing: NDArray[np.float64] | None = None) -> Scores:
    values = np.array(rows)
    return Scores(values, np.arange(values.shape[1]), missing)


def test_a_lead_that_one_of_three_variants_makes_is_no_claim_on_others() -> None:
    ones, zeros = np.ones(60), np.zeros(60)
    half = np.tile([0.0, 1.0], 30)
    variants = [_scores(ones, zeros), _scores(half, half), _scores(half, half)]
    mean = averaged(variants)
    assert difference_p_value([Scores(mean.values, mean.clusters)], 0, 1) < 0.001, "for these variants alone"
    assert difference_p_value([mean], 0, 1) > 0.05
    ranking = Ranking([mean])
    difference = ranking.difference(0, 1)
    assert difference.low < 0 < difference.high
    assert {(place.rank_low, place.rank_high) for place in ranking.places()} == {(1, 2)}
    assert 0.5 < ranking.places()[0].best < 1, "a sample of the variants may lack the first"


def test_a_lead_in_every_variant_is_one() -> None:
    random = np.random.default_rng(1)
    variants = [
        _scores((random.random(60) < 0.9).astype(float), (random.random(60) < 0.4).astype(float)) for _ in range(4)
    ]
    assert difference_p_value([averaged(variants)], 0, 1) < 0.001


def test_what_a_variant_lacks_is_a_share_of_what_is_missing() -> None:
    whole = _scores(np.array([1.0, 1.0]), np.array([0.0, 1.0]))
    lacking = _scores(np.array([np.nan, 1.0]), np.array([0.0, 1.0]), missing=np.array([[1.0, 0.0], [0.0, 0.0]]))
    mean = averaged([whole, lacking, whole, lacking])
    assert mean.values.tolist() == [[1.0, 1.0], [0.0, 1.0]]
    assert mean.missing is not None
    assert mean.missing.tolist() == [[0.5, 0.0], [0.0, 0.0]]
    assert mean.means.tolist() == [0.75, 0.5], "the missing half counts as 0"


def test_missing_scores_of_variants_carry_no_claim() -> None:
    good, bad = np.tile([1.0, 1.0, 1.0, 0.0], 20), np.tile([1.0, 1.0, 0.0, 0.0], 20)
    hidden = np.where(np.arange(80) % 2 == 0, np.nan, good)
    missing = np.array([np.isnan(hidden).astype(float), np.zeros(80)])
    clear = averaged([_scores(good, bad)] * 3)
    assert difference_p_value([clear], 0, 1) < 0.001
    undone = averaged([_scores(hidden, bad, missing=missing)] * 3)
    assert difference_p_value([undone], 0, 1) == 1.0
