from benchmarks.presentation.comparisons import (
    comparison_sentences,
    contamination_sentence,
    missing_sentence,
    same_sentence,
    threshold_sentence,
    variance_sentence,
)
from benchmarks.statistics.contamination import Sample, published_against_fresh
from benchmarks.statistics.margins import edges
from benchmarks.statistics.paired import compare
from benchmarks.summary import Level, Threshold


def comparison_sentence(*compared, **options):
    return " ".join(comparison_sentences(*compared, **options))


def two_runs(gained, lost, n, missing=0):
    a = {task: float(gained <= task < gained + lost) for task in range(n)}
    b = {task: float(task < gained) for task in range(n)}
    b.update(dict.fromkeys(range(n - missing, n)))
    return a, b


def test_a_significant_difference_names_the_winner_once_and_counts_for_and_against():
    a, b = two_runs(28, 9, 480)
    sentence = (
        "llama is better than gpt by 4.0 points (1.6 to 6.7). "
        "28 of 480 shared tasks favor llama, 9 favor gpt, 443 are equal (p = 0.003)."
    )
    assert comparison_sentence(compare(a, b), "gpt", "llama") == sentence
    assert comparison_sentence(compare(b, a), "llama", "gpt") == sentence


def test_shared_tasks_are_named_with_their_clusters():
    a, b = two_runs(60, 9, 480)
    by_four = compare(a, b, {task: task // 4 for task in a})
    assert "60 of 480 shared tasks in 120 clusters favor B, " in comparison_sentence(by_four)
    few = compare(*two_runs(30, 24, 480), {task: task // 4 for task in a})
    assert "With 480 shared tasks in 120 clusters, differences of " in comparison_sentence(few)


def test_the_newer_run_is_the_subject_of_a_change():
    a, b = two_runs(28, 9, 480)
    assert comparison_sentence(compare(b, a), "run 1", "run 2", newer_first=True) == (
        "run 2 is 4.0 points below run 1 (1.6 to 6.7). 28 of 480 shared tasks got worse, 9 got better (p = 0.003)."
    )
    assert comparison_sentence(compare(a, b), "run 1", "run 2", newer_first=True) == (
        "run 2 is 4.0 points above run 1 (1.6 to 6.7). 28 of 480 shared tasks got better, 9 got worse (p = 0.003)."
    )


def test_a_difference_that_is_not_significant_comes_with_the_detectable_one():
    comparison = compare(*two_runs(30, 24, 480))
    detectable = f"{100 * comparison.detectable_difference:.0f}"
    assert comparison_sentence(comparison) == (
        "No significant difference between A and B (B minus A: 1.2 points, −1.8 to 4.4). "
        "The paired test gives p = 0.50. "
        f"With 480 shared tasks, differences of {detectable} points or more are detectable with 80% power."
    )


def test_equal_means_tie():
    sentences = comparison_sentences(compare(*two_runs(9, 9, 480)))
    assert sentences[0] == "A and B tie at 0.019 on 480 of 480 shared tasks (B minus A: −1.9 to 1.9 points)."
    assert sentences[1] == "The paired test gives p = 1.00."


def test_the_adjusted_p_value_decides_in_a_family():
    comparison = compare(*two_runs(28, 9, 480))
    rejected = comparison_sentence(comparison, p_adjusted=0.07, family_size=30)
    assert rejected.startswith("No significant difference between A and B (B minus A: 4.0 points, ")
    assert "p = 0.003, Holm-adjusted p = 0.070 for 30 comparisons." in rejected
    accepted = comparison_sentence(comparison, p_adjusted=0.041, family_size=15)
    assert accepted.startswith("B is better than A by 4.0 points (1.6 to 6.7). 28 of 480 ")
    assert accepted.endswith(" are equal (p = 0.003, Holm-adjusted p = 0.041 for 15 comparisons).")


def test_a_small_sample_is_named_and_a_hopeless_one_detects_nothing():
    hopeless = comparison_sentence(compare({1: 0.0, 2: 0.0}, {1: 1.0, 2: 1.0}))
    assert hopeless.startswith("No significant difference between A and B (B minus A: 100.0 points, ")
    assert hopeless.endswith(
        " 2 independent pairs are too few to show a difference: the smallest possible p-value is 0.5."
    )
    small = comparison_sentence(compare(*two_runs(3, 2, 20)))
    assert " Small sample: 20 independent pairs. With 20 shared tasks, differences of " in small


def test_runs_without_shared_scores_cannot_be_compared():
    assert comparison_sentence(compare({}, {})) == "A and B cannot be compared: no task has a score in both runs."


def test_missing_scores_come_with_the_range_of_the_difference():
    assert missing_sentence(compare(*two_runs(28, 9, 480, missing=1))) == (
        "1 more shared task has no score in A or B. Depending on its score, "
        "the difference (B minus A) is between 4.0 and 4.2 points."
    )
    assert missing_sentence(compare(*two_runs(28, 9, 480, missing=2))).startswith("2 more shared tasks have no score")
    assert missing_sentence(compare(*two_runs(28, 9, 480))) == ""


def test_a_threshold_comes_with_the_bounds_it_has():
    for threshold, words in (
        ((8.42, 7.9, 9.04, ""), "8.4 (7.9 to 9.0)"),
        ((8.42, 7.9, None, "upper bound unknown"), "8.4 (at least 7.9); upper bound unknown"),
        ((None, 11.2, None, "above the midpoint, up to 12"), "Above the midpoint, up to 12 (at least 11.2)"),
        ((None, None, 3.3, "below the midpoint"), "Below the midpoint (at most 3.3)"),
    ):
        value, low, high, note = threshold
        row = Threshold("n_shapes", "", 0.1, "fitted", threshold=value, low=low, high=high, note=note)
        assert threshold_sentence(row) == words


def test_a_flat_curve_names_the_levels_that_its_test_is_of():
    levels = [Level(3, 0.8, 55), Level(8, 0.5, 60)]
    row = Threshold("n_shapes", "", 0.1, "flat", note="no significant decrease with difficulty", levels=levels)
    assert threshold_sentence(row) == "None: no significant trend from 3 to 8"


def test_a_contamination_check_says_what_the_difference_means():
    known, unknown = Sample([1] * 90 + [0] * 10), Sample([1] * 55 + [0] * 45)
    possible = contamination_sentence(published_against_fresh({"3": (known, unknown)}))
    assert possible.startswith("Possible contamination: the model scores 35.0 points higher on the published set than")
    assert possible.endswith(
        "; 100 and 100 results). It may have been trained on the published set. The test gives p < 0.001."
    )
    none = contamination_sentence(published_against_fresh({"3": (unknown, known)}))
    assert none.startswith("No sign of contamination: the model scores 35.0 points lower on the published set than on ")
    same = contamination_sentence(published_against_fresh({"3": (known, Sample([1] * 88 + [0] * 12))}))
    assert same.startswith("No significant difference between the published and the fresh set: 2.0 points higher on ")
    undone = contamination_sentence(
        published_against_fresh({"3": (known, Sample(unknown.values, unscored=["c"] * 300))})
    )
    assert undone.startswith(
        "By the scored results alone, the model scores 35.0 points higher on the published set than "
    )
    assert undone.endswith("The test gives p < 0.001. But the 300 missing scores could explain that.")
    assert contamination_sentence(published_against_fresh({})) == (
        "Not comparable: no number of shapes or level has scores in both sets."
    )


def test_runs_are_the_same_differ_by_more_or_neither_within_a_margin():
    same, little, much = (edges(*two_runs(gained, 0, 400)) for gained in (4, 12, 80))
    assert same_sentence(same, 0.05, "gpt", "llama", is_clear=False).startswith(
        "gpt and llama are the same within 5.0 points (two one-sided tests at 5%: llama minus gpt between "
    )
    assert same_sentence(little, 0.03, is_clear=True, family_size=3).startswith(
        "It is open whether they are the same within 3.0 points (two one-sided tests at 1.7%: B minus A between "
    )
    assert same_sentence(much, 0.05, is_clear=True) == "They differ by more than 5.0 points."


def test_that_runs_differ_by_more_needs_the_test_that_they_differ():
    a, b = ({task: float(task < right) for task in range(10)} for right in (0, 5))
    found = edges(a, b)
    assert found.low_missing is not None
    assert found.low_missing > 0.02
    assert not compare(a, b).is_clear, "5 of 10 changes in one direction have p = 0.0625"
    assert same_sentence(found, 0.02, is_clear=False).startswith(
        "They are not shown to be the same within 2.0 points (two one-sided tests at 5%: B minus A between "
    )


def test_missing_scores_keep_a_difference_from_being_more_than_the_margin():
    a, b = two_runs(80, 0, 400)
    unscored = dict.fromkeys(range(100, 180))
    found = edges(a | unscored, b)
    assert found.low is not None
    assert found.low > 0.05
    assert same_sentence(found, 0.05, is_clear=True).startswith("It is open whether they are the same")


def test_three_variants_are_called_a_small_sample():
    small = "Three are a small sample: intervals are approximate."
    assert variance_sentence(3, [None]).endswith(f"others like them. {small}")
    assert small not in variance_sentence(4, [None])
    assert variance_sentence(3, []) == ""
