"""Krippendorff's α against published values, and its bounds."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest

from benchmarks.statistics.alpha import Level, alpha_of
from benchmarks.statistics.reliability import krippendorff_alpha
from tests.benches.statistics.people import alphas, rare_values

# Krippendorff (2011), Computing Krippendorff's Alpha-Reliability, section C: four raters, 12 items, 0 for no rating.
RATERS = (
    (1, 2, 3, 3, 2, 1, 4, 1, 2, 0, 0, 0),
    (1, 2, 3, 3, 2, 2, 4, 1, 2, 5, 0, 3),
    (0, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, 0),
    (1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, 0),
)
ITEMS = [[float(value) or None for value in item] for item in zip(*RATERS, strict=True)]
# Section A: two raters, ten items, two values.
TWO = list(zip((0, 1, 0, 0, 0, 0, 0, 0, 1, 0), (1, 1, 1, 0, 0, 1, 0, 0, 0, 0), strict=True))


def test_alpha_is_that_of_the_published_examples() -> None:
    for level, published in ((Level.NOMINAL, 0.743), (Level.ORDINAL, 0.815), (Level.INTERVAL, 0.849)):
        found = alpha_of(ITEMS, level)
        assert found.alpha == pytest.approx(published, abs=0.0005), level
        assert (found.n_items, found.n_ratings) == (11, 40), level
    assert alpha_of(TWO, Level.NOMINAL).alpha == pytest.approx(0.095, abs=0.0005)


def test_two_values_have_one_alpha_on_every_level_which_is_that_of_repeats() -> None:
    sums = [(2, sum(item), sum(item), 1) for item in TWO]
    for level in Level:
        assert alpha_of(TWO, level).alpha == pytest.approx(krippendorff_alpha(sums)), level


def test_without_pairs_or_differences_alpha_is_undefined_and_says_why() -> None:
    for ratings, note in (
        ([], "no item was rated twice"),
        ([[1.0, None], [0.0]], "no item was rated twice"),
        ([[1.0, 1.0], [1.0, 1.0]], "undefined, because all ratings are equal"),
    ):
        found = alpha_of(ratings)
        assert (found.alpha, found.low, found.note) == (None, None, note)
    with pytest.raises(ValueError, match="2 items with 1 cluster names"):
        alpha_of([[1.0, 1.0], [0.0, 0.0]], clusters=["a"])


def test_full_agreement_of_few_items_is_still_uncertain() -> None:
    few, many = ([[1.0, 1.0], [0.0, 0.0]] * n for n in (10, 200))
    assert alpha_of(few).alpha == alpha_of(many).alpha == 1
    low, high = alpha_of(few).low, alpha_of(many).low
    assert low is not None
    assert high is not None
    assert 0.5 < low < 0.8 < high < 1


def test_items_that_share_a_canvas_count_as_one() -> None:
    random = np.random.default_rng(2)
    rated = [[float(a), float(a ^ (random.random() < 0.2))] for a in random.integers(2, size=60)]
    once = alpha_of(rated)
    fourfold = alpha_of(rated * 4, clusters=[*range(60)] * 4)
    as_if_new = alpha_of(rated * 4)
    assert fourfold.low is not None
    assert as_if_new.low is not None
    assert fourfold.low == pytest.approx(once.low, abs=0.02)
    assert as_if_new.low > fourfold.low + 0.05


def test_one_disagreement_among_equal_ratings_leaves_alpha_open_and_says_why() -> None:
    found = alpha_of([[1.0, 1.0]] * 59 + [[1.0, 0.0]], Level.NOMINAL)
    assert found.alpha == pytest.approx(0, abs=1e-9)
    assert found.low is not None
    assert found.high is not None
    assert found.low < 0
    assert found.high > 0.5
    assert "1 of 120 ratings" in found.note


@pytest.mark.parametrize(("bench", "studies"), [(alphas, 12), (rare_values, 300)])
def test_the_simulation_covers_as_the_documents_say(bench: Callable[..., Iterator[str]], studies: int) -> None:
    summary = list(bench(np.random.default_rng(4), studies=studies))[-1]
    mean = float(summary.split("mean ")[1].split("%")[0])
    assert 92 <= mean <= 98, summary


def test_fewer_than_100_items_are_a_small_sample():
    """At 30, 40 and 60 items, intervals of some ratings contained α in 90 to 93%; at 120, in 93.1% or more."""
    agreed = [[0.0, 0.0], [1.0, 1.0]] * 49
    assert alpha_of([*agreed, [0.0, 1.0]], Level.NOMINAL).note == "small sample: 99 items"
    assert alpha_of([*agreed, [0.0, 1.0], [0.0, 1.0]], Level.NOMINAL).note == ""
