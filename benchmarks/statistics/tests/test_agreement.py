import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.inter_rater import cohens_kappa

from benchmarks.statistics.agreement import cohen_kappa

verdicts = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=60)


def two_raters(table):
    cells = [(i, j) for i, row in enumerate(table) for j, number in enumerate(row) for _ in range(number)]
    return [i for i, _ in cells], [j for _, j in cells]


def test_kappa_is_that_of_statsmodels_and_its_bounds_tend_to_those_of_its_standard_error():
    for table in ([[20, 5], [10, 15]], [[44, 5, 1], [7, 20, 3], [9, 5, 6]], [[1, 2], [3, 44]]):
        expected = cohens_kappa(np.array(table))
        assert cohen_kappa(*two_raters(table)).kappa == pytest.approx(expected.kappa, abs=1e-9), table
        large = np.array(table) * 400
        half = 1.959963984540054 * cohens_kappa(large).std_kappa
        found = cohen_kappa(*two_raters(large))
        assert found.high == pytest.approx(expected.kappa + half, abs=half / 20), table
        assert found.low == pytest.approx(expected.kappa - half, abs=half / 20), table


def test_the_bounds_contain_the_true_kappa_as_often_as_they_say():
    rng = np.random.default_rng(8)
    for n, error, share, lowest in ((30, 0.1, 0.5, 0.93), (100, 0.05, 0.9, 0.92), (100, 0.02, 0.5, 0.92)):
        agreement = 1 - error
        positive = share * agreement + (1 - share) * error
        expected = share * positive + (1 - share) * (1 - positive)
        truth = (agreement - expected) / (1 - expected)
        first = rng.random((400, n)) < share
        second = first ^ (rng.random((400, n)) < error)
        found = [cohen_kappa(*raters) for raters in zip(first.tolist(), second.tolist(), strict=True)]
        hits = [kappa.low <= truth <= kappa.high for kappa in found if kappa.kappa is not None]
        assert np.mean(hits) >= lowest, (n, error, share)


def test_full_agreement_is_1_with_a_lower_bound_below():
    found = cohen_kappa([0, 1] * 10, [0, 1] * 10)
    assert (found.kappa, found.high) == (1.0, 1.0)
    assert 0.5 < found.low < 0.8
    assert (
        found.note == "small sample: 20 items; the ratings do not vary, so the bounds come from the observed agreement"
    )


def test_raters_with_the_same_verdict_throughout_have_no_kappa():
    found = cohen_kappa([1] * 50, [1] * 50)
    assert (found.kappa, found.low, found.agreement) == (None, None, 1.0)
    assert "undefined" in found.note


def test_no_items_have_no_kappa():
    assert cohen_kappa([], []).kappa is None


def test_raters_of_different_numbers_of_items_are_rejected():
    with pytest.raises(ValueError, match="2 and 1 verdicts"):
        cohen_kappa([1, 0], [1])


def test_clusters_of_one_item_have_nearly_the_bounds_of_independent_items():
    first, second = two_raters([[200, 50], [100, 150]])
    alone = cohen_kappa(first, second)
    found = cohen_kappa(first, second, clusters=range(500))
    assert (found.kappa, found.n_clusters, alone.n_clusters) == (alone.kappa, 500, None)
    assert found.low == pytest.approx(alone.low, abs=2e-3)
    assert found.high == pytest.approx(alone.high, abs=2e-3)


def test_copies_inside_a_cluster_add_no_information():
    first, second = two_raters([[40, 10], [20, 30]])
    once = cohen_kappa(first, second, clusters=range(100))
    for copies in (4, 25):
        many = cohen_kappa(
            [verdict for verdict in first for _ in range(copies)],
            [verdict for verdict in second for _ in range(copies)],
            clusters=[cluster for cluster in range(100) for _ in range(copies)],
        )
        assert (many.n, many.n_clusters) == (100 * copies, 100)
        for name in ("kappa", "low", "high"):
            assert getattr(many, name) == pytest.approx(getattr(once, name), abs=1e-3), (copies, name)


def test_the_clustered_error_is_that_of_the_jackknife_over_clusters():
    rng = np.random.default_rng(3)
    clusters = rng.integers(0, 60, 900)
    tendency = rng.random(60)[clusters]
    first = rng.integers(0, 2, 900)
    second = np.where(rng.random(900) < tendency, first, 1 - first)
    found = cohen_kappa(list(first), list(second), clusters=list(clusters))
    left_out = [cohen_kappa(list(first[clusters != left]), list(second[clusters != left])).kappa for left in range(60)]
    jackknife = np.sqrt(59 / 60 * np.sum((np.array(left_out) - np.mean(left_out)) ** 2))
    assert (found.high - found.low) / 2 == pytest.approx(2.0 * jackknife, rel=0.05)
    alone = cohen_kappa(list(first), list(second))
    assert found.high - found.low > 1.5 * (alone.high - alone.low)


def test_full_agreement_in_clusters_has_the_bounds_of_as_many_items():
    clustered = cohen_kappa([0, 1] * 100, [0, 1] * 100, clusters=[item // 10 for item in range(200)])
    alone = cohen_kappa([0, 1] * 10, [0, 1] * 10)
    assert (clustered.low, clustered.high) == (pytest.approx(alone.low), 1.0)
    assert clustered.note.startswith("small sample: 20 clusters")


def test_a_single_cluster_has_wide_bounds_and_a_note():
    found = cohen_kappa([0, 1, 1, 0], [0, 1, 0, 0], clusters=["canvas"] * 4)
    assert found.kappa == pytest.approx(0.5)
    assert found.high - found.low > 1.2
    assert found.note.startswith("small sample: 1 cluster;")


@given(verdicts)
@settings(max_examples=100)
def test_kappa_does_not_depend_on_the_order_of_the_raters_and_is_within_its_bounds(pairs):
    first, second = [one for one, _ in pairs], [other for _, other in pairs]
    found, swapped = cohen_kappa(first, second), cohen_kappa(second, first)
    if found.kappa is None:
        assert swapped.kappa is None
        return
    assert swapped.kappa == pytest.approx(found.kappa)
    assert -1 <= found.low <= found.kappa + 1e-9
    assert found.kappa - 1e-9 <= found.high <= 1


def test_fewer_than_40_items_are_a_small_sample():
    """At 30 items with 90% of one value, 91.8% of the intervals contained κ; from 40 on, 93.8% or more."""
    notes = [cohen_kappa([0, 1] * n, [1, 1, *[0, 1] * (n - 1)]).note for n in (19, 20)]
    assert notes == ["small sample: 38 items", ""]
