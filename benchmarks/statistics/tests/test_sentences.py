import re

import pytest

from benchmarks.statistics.contamination import Sample, published_against_fresh
from benchmarks.statistics.intervals import mean_interval
from benchmarks.statistics.paired import compare
from benchmarks.statistics.sentences import (
    comparison_sentence,
    contamination_sentence,
    interval_sentence,
    missing_sentence,
    p_words,
    points,
    threshold_sentence,
)


def two_runs(gained, lost, n, missing=0):
    a = {task: float(gained <= task < gained + lost) for task in range(n)}
    b = {task: float(task < gained) for task in range(n)}
    b.update(dict.fromkeys(range(n - missing, n)))
    return a, b


def test_a_clear_difference_is_told_with_its_interval_and_what_changed():
    found = compare(*two_runs(28, 9, 480))
    sentence = comparison_sentence(found, "gpt-4o", "llama")
    assert (
        sentence
        == "llama is better by 4.0 points (1.6 to 6.7), p = 0.003, on 480 shared tasks; 37 changed, 28 for the better"
    )


def test_every_number_of_the_sentence_is_one_of_the_comparison():
    found = compare(*two_runs(40, 12, 333))
    numbers = [float(number) for number in re.findall(r"\d+(?:\.\d+)?", comparison_sentence(found))]
    assert numbers == [
        round(100 * found.difference, 1),
        round(100 * found.low, 1),
        round(100 * found.high, 1),
        round(found.p_value, 3) if found.p_value >= 0.001 else 0.001,
        found.n_shared,
        found.n_changed,
        found.n_better,
    ]


def test_the_sentence_names_whichever_run_is_ahead():
    a, b = two_runs(28, 9, 480)
    forth = comparison_sentence(compare(a, b), "first", "second")
    back = comparison_sentence(compare(b, a), "second", "first")
    assert forth == back
    assert forth.startswith("second is better")


def test_no_clear_difference_is_told_by_what_could_have_been_seen():
    found = compare(*two_runs(30, 24, 480))
    seen = f"{100 * found.detectable_difference:.1f}"
    expected = f"no difference can be told; 480 shared tasks could have shown one of {seen} points"
    assert comparison_sentence(found) == expected


def test_a_difference_that_fails_in_its_family_is_not_told():
    found = compare(*two_runs(28, 9, 480))
    assert comparison_sentence(found, p_adjusted=0.07, family_size=30).startswith("no difference can be told")
    assert "p = 0.003 (p = 0.041 among 15 comparisons)" in comparison_sentence(found, p_adjusted=0.041, family_size=15)


def test_too_few_pairs_are_said_so():
    sentence = comparison_sentence(compare({1: 0.0, 2: 0.0}, {1: 1.0, 2: 1.0}))
    assert sentence.startswith(
        "no difference can be told (only 2 independent pairs: no result could have p below 0.5); "
    )


def test_runs_that_share_nothing_cannot_be_compared():
    assert comparison_sentence(compare({}, {})) == "A and B cannot be compared: no task has a score in both runs"


def test_missing_scores_are_told_with_what_they_could_do():
    found = compare(*two_runs(28, 9, 480, missing=1))
    assert missing_sentence(found) == (
        "1 more common task without a score in A or B: counted in every possible way, "
        "B lies between 4.0 and 4.2 points from A"
    )
    assert missing_sentence(compare(*two_runs(28, 9, 480))) == ""


def test_an_interval_is_told_with_its_count_and_its_note():
    words = interval_sentence(mean_interval([1] * 40 + [0] * 24, [place // 4 for place in range(64)]))
    assert words.startswith("62.5 % (")
    assert words.endswith(") over 64 results on 16 canvases; only 16 independent groups of results")
    assert interval_sentence(mean_interval([1])) == "100.0 % (20.7 to 100.0) over 1 result; only 1 result"
    assert interval_sentence(mean_interval([])) == "no scored results"


@pytest.mark.parametrize(
    ("value", "words"),
    [(0.0004, "p < 0.001"), (0.001, "p = 0.001"), (0.0083, "p = 0.008"), (0.0499, "p = 0.050"), (0.32, "p = 0.32")],
)
def test_p_values_are_rounded_but_never_to_nothing(value, words):
    assert p_words(value) == words


@pytest.mark.parametrize(("value", "words"), [(0.042, "4.2"), (-0.042, "−4.2"), (-0.0001, "0.0"), (1, "100.0")])
def test_points_have_a_true_minus_sign_and_no_negative_zero(value, words):
    assert points(value) == words


@pytest.mark.parametrize(
    ("threshold", "words"),
    [
        ((8.42, 7.9, 9.04, ""), "8.4 (7.9 to 9.0)"),
        ((8.42, 7.9, None, "no upper bound can be told"), "8.4 (from 7.9); no upper bound can be told"),
        (
            (None, 11.2, None, "better than half way up to the hardest, 12"),
            "better than half way up to the hardest, 12 (from 11.2)",
        ),
        (
            (None, None, 3.3, "worse than half way from the easiest, 3"),
            "worse than half way from the easiest, 3 (up to 3.3)",
        ),
        (
            (None, None, None, "no fall of the score with difficulty can be told"),
            "no fall of the score with difficulty can be told",
        ),
    ],
)
def test_a_threshold_is_told_with_the_bounds_it_has(threshold, words):
    assert threshold_sentence(*threshold) == words


def test_a_lead_on_the_published_set_is_told_with_its_size():
    known, unknown = [1] * 90 + [0] * 10, [1] * 55 + [0] * 45
    found = published_against_fresh({"3": (Sample(known), Sample(unknown))})
    words = contamination_sentence(found)
    assert "it may have been trained on it: 35.0 points better (" in words
    assert words.endswith("on the published set, p < 0.001, 100 results against 100")
    turned = contamination_sentence(published_against_fresh({"3": (Sample(unknown), Sample(known))}))
    assert "no sign of contamination: 35.0 points worse (" in turned


def test_a_check_without_results_says_so():
    assert contamination_sentence(published_against_fresh({})).startswith("nothing to compare")
