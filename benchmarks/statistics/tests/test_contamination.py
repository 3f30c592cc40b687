import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.proportion import confint_proportions_2indep

from benchmarks.statistics.contamination import Sample, published_against_fresh


def sample(right, n):
    return Sample([1] * right + [0] * (n - right))


def test_newcombes_own_example():
    """Newcombe (1998), Stat. Med. 17:873, example a: 56/70 less 48/80 is 0.0524 to 0.3339 by method 10."""
    found = published_against_fresh({"all": (sample(56, 70), sample(48, 80))})
    assert (round(found.low, 4), round(found.high, 4)) == (0.0524, 0.3339)


def test_one_stratum_gets_the_newcombe_interval_of_statsmodels():
    for first, second in (((30, 60), (20, 60)), ((5, 40), (7, 35)), ((95, 100), (80, 90))):
        found = published_against_fresh({"all": (sample(*first), sample(*second))})
        expected = confint_proportions_2indep(*first, *second, method="newcomb", compare="diff")
        assert (found.low, found.high) == pytest.approx(expected, abs=1e-9), (first, second)


@given(st.integers(0, 50), st.integers(0, 50))
@settings(max_examples=60, deadline=None)
def test_the_p_value_is_that_of_the_interval_that_just_reaches_zero(right_published, right_fresh):
    strata = {"all": (sample(right_published, 50), sample(right_fresh, 50))}
    p_value = published_against_fresh(strata).p_value
    if 1e-8 < p_value < 0.999:
        inside = published_against_fresh(strata, confidence=1 - p_value * 0.999)
        outside = published_against_fresh(strata, confidence=1 - min(p_value * 1.001, 0.9999))
        assert inside.low <= 0 <= inside.high
        assert outside.low > 0 or outside.high < 0


def test_missing_scores_count_against_whichever_set_gains():
    known, unknown = [1.0] * 60 + [0.0] * 40, [1.0] * 40 + [0.0] * 60
    few, many = ("c",) * 2, ("c",) * 25
    for missing, holds in ((few, True), (many, False)):
        higher = published_against_fresh({"all": (Sample(known), Sample(unknown, unscored=missing))})
        assert higher.low > 0
        assert (higher.is_higher, higher.is_undone_by_missing) == (holds, not holds)
        assert (higher.n_missing, higher.is_lower) == (len(missing), False)
        lower = published_against_fresh({"all": (Sample(unknown, unscored=missing), Sample(known))})
        assert lower.high < 0
        assert (lower.is_lower, lower.is_undone_by_missing) == (holds, not holds)
    worst = published_against_fresh({"all": (Sample(known), Sample(unknown, unscored=many))})
    filled = published_against_fresh({"all": (Sample(known), Sample([*unknown, *[1.0] * 25]))})
    assert worst.low_missing == pytest.approx(filled.low)


def test_a_stratum_without_any_score_in_one_set_counts_in_the_worst_case():
    strata = {"3": (sample(75, 100), sample(50, 100)), "4": (sample(75, 100), Sample([], unscored=["c"] * 100))}
    found = published_against_fresh(strata)
    assert found.left_out == ("4",)
    assert found.is_undone_by_missing


def test_strata_have_the_same_weight_so_an_uneven_mix_is_not_contamination():
    strata = {
        "easy": (sample(90, 100), sample(18, 20)),
        "hard": (sample(4, 20), sample(20, 100)),
    }
    found = published_against_fresh(strata)
    assert found.difference == pytest.approx(0)
    assert found.p_value == 1.0
    assert found.low < 0 < found.high
    assert (found.n_published, found.n_fresh) == (120, 120)


def test_a_clear_lead_on_the_published_set_is_above_zero():
    found = published_against_fresh({n: (sample(90, 100), sample(60, 100)) for n in "abc"})
    assert found.difference == pytest.approx(0.3)
    assert found.p_value < 0.001
    assert found.low > 0


def test_a_lead_on_the_fresh_set_is_below_zero():
    found = published_against_fresh({"a": (sample(30, 100), sample(70, 100))})
    assert found.high < 0


def test_shared_canvases_make_the_difference_less_certain():
    values = [1] * 60 + [0] * 40
    canvases = [place // 10 for place in range(100)]
    plain = published_against_fresh({"a": (Sample(values), sample(40, 100))})
    clustered = published_against_fresh({"a": (Sample(values, canvases), sample(40, 100))})
    assert clustered.high - clustered.low > plain.high - plain.low
    assert clustered.p_value > plain.p_value


def test_a_stratum_of_one_set_only_is_named_and_left_out():
    found = published_against_fresh({"both": (sample(5, 10), sample(5, 10)), "one": (sample(5, 10), Sample([]))})
    assert found.left_out == ("one",)
    assert found.n_published == 10


def test_samples_without_common_strata_have_no_difference():
    found = published_against_fresh({"one": (sample(5, 10), Sample([]))})
    assert (found.difference, found.p_value) == (None, None)
