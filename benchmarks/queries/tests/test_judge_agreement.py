"""A judge's agreement with people, and corrected means, from stored labels."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.analysis.judge_agreement import JudgeAgreement
from benchmarks.models import ReviewQueue, Run, Score
from benchmarks.presentation.judges import judge_verdict
from benchmarks.queries.judge_agreement import (
    corrected_run,
    judge_agreement,
    peoples_verdict,
    review_alpha,
)
from benchmarks.queries.judge_words import judge_rows
from benchmarks.queries.resources.base import Reader, json_of
from benchmarks.queries.resources.judge_agreement import JudgeAgreementResource
from benchmarks.statistics.agreement import cohen_kappa
from benchmarks.statistics.intervals import Interval, mean_interval
from tests.support.factories import make_dataset
from tests.support.labeled_runs import JUDGE, METRIC, label_answers, make_judged_run, make_review

pytestmark = pytest.mark.django_db


def found_of(**scope: int) -> JudgeAgreement:
    found = judge_agreement(JUDGE, METRIC, **scope)
    assert found is not None
    return found


def as_json(found: JudgeAgreement) -> Any:
    return json_of(JudgeAgreementResource.of(found, Reader("", "", sees_reviewers=True)))


def test_agreement_and_the_corrected_mean_come_from_labels_of_a_random_review() -> None:
    run, truth = make_judged_run()
    label_answers(run, truth, make_review(run))
    found = found_of()
    assert len(found.answers) == 80
    assert found.n_reviewers == 1
    assert found.count(False, True) == sum(answer.error == "lenient" for answer in found.answers) > 0
    assert found.leaning == "lenient"
    assert found.agreement.mean == 1 - len(found.disagreements) / 80
    assert found.corrected is not None
    assert found.corrected.low <= 0.7 <= found.corrected.high < (found.corrected.judge.mean or 0)
    assert found.corrected.n_judged == 200
    assert corrected_run(run)[METRIC] == found.corrected
    said = peoples_verdict(JUDGE, METRIC)
    assert said is not None
    assert (said.agreement, said.verdict.finding, said.open_reviews) == (found.agreement, found.verdict.finding, [])
    assert [part.name for part in found.by_model] == ["loop/model"]


def test_scores_of_another_judge_in_the_place_of_this_one_say_nothing_of_its_agreement() -> None:
    run, truth = make_judged_run()
    label_answers(run, truth, make_review(run))
    before = found_of()
    scores = Score.objects.filter(run=run, result__in=[answer.result for answer in before.answers[:30]])
    scores.update(detail={"judge": "loop/second", "instead_of": JUDGE})
    after = found_of()
    assert after.answers == before.answers[30:]
    assert after.agreement.n == 50
    assert after.corrected == before.corrected, "the mean is of all scores, whoever gave them"


def test_labels_that_are_no_random_sample_are_counted_and_not_used() -> None:
    run, truth = make_judged_run(60)
    label_answers(run, truth, None, n=5, author="jonas")
    chosen = make_review(run, method="threshold")
    filtered = make_review(run, source={"runs": [run.pk], "experiment": None, "filters": {"outcome": "wrong"}})
    label_answers(run, truth, chosen, n=6, author="chosen")
    label_answers(run, truth, filtered, n=7, author="filtered")
    assert judge_agreement(JUDGE, METRIC) is None
    assert peoples_verdict(JUDGE, METRIC) is None
    label_answers(run, truth, make_review(run), n=30)
    found = found_of()
    assert (len(found.answers), found.n_other_labels, found.n_reviewers) == (30, 18, 1)


def test_labels_of_an_answer_count_for_its_rescoring_by_another_judge() -> None:
    run, truth = make_judged_run(120)
    other, _ = make_judged_run(120, run.dataset, judge_model="loop/other", rescored_from=run.pk, seed=8)
    label_answers(run, truth, make_review(run), n=50)
    rescored = judge_agreement("loop/other", METRIC)
    assert rescored is not None
    assert [each.run for each in rescored.runs] == [other]
    assert len(rescored.answers) == 50
    assert {answer.run for answer in rescored.answers} == {other.pk}


def test_runs_of_one_review_have_one_mean_and_runs_of_different_reviews_do_not() -> None:
    first, truth = make_judged_run(80)
    second, other = make_judged_run(80, first.dataset, model="loop/second", seed=6)
    both = make_review(first, second)
    label_answers(first, truth, both, n=30)
    label_answers(second, other, both, n=20)
    pooled = found_of()
    assert pooled.corrected is not None
    assert pooled.corrected.n_judged == 160
    assert [each.means is not None for each in pooled.runs] == [True, True]
    label_answers(second, other, make_review(second), n=40, author="jonas")
    assert found_of().corrected is None
    assert found_of(run=second.pk).corrected is not None
    assert found_of().alpha.n_items == 20
    assert judge_agreement(JUDGE, METRIC, run=10**9) is None


def test_results_without_a_score_and_runs_that_have_not_completed_are_left_out() -> None:
    run, truth = make_judged_run(60)
    queue = make_review(run)
    label_answers(run, truth, queue, n=40)
    labeled = found_of().answers[0].result
    Score.objects.filter(result=labeled).update(value=None, status=Score.Status.JUDGE_ERROR)
    assert len(found_of().answers) == 39
    Run.objects.filter(pk=run.pk).update(status="running")
    assert judge_agreement(JUDGE, METRIC) is None


def test_the_steps_that_judge_and_people_name_first_are_compared() -> None:
    """Of each answer: what the judge names, 0 for none, and what one or two people name."""
    run, truth = make_judged_run(40)
    queue = make_review(run)
    label_answers(run, truth, queue, n=40)
    label_answers(run, truth, queue, n=40, author="jonas")
    assert found_of().steps is None
    named = [(0, [0, 0]), (0, [3]), (4, [4]), (4, [5]), (1, [0]), (7, [7, 9]), (5, [None]), (None, [2])]
    for result, (judge, people) in zip(run.results.order_by("position"), named, strict=False):
        if judge is not None:
            Score.objects.filter(result=result).update(detail={"first_wrong_step": judge})
        for label, step in zip(result.labels.order_by("pk"), people, strict=False):
            label.first_wrong_step = step
            label.save()
    steps = found_of().steps
    assert steps is not None
    assert (steps.same.n, steps.same.mean) == (6, (1 + 0 + 1 + 0 + 0 + 0.5) / 6)
    assert (steps.near.n, steps.near.mean) == (6, (1 + 0 + 1 + 1 + 0 + 0.5) / 6)
    assert (steps.where_wrong.n, steps.where_wrong.mean) == (4, (0 + 1 + 0 + 0.5) / 4)
    assert steps.same.low < steps.same.mean < steps.same.high
    shown = as_json(found_of())["steps"]
    assert shown["same"]["mean"] == steps.same.mean
    assert shown["where_wrong"]["n"] == 4


@pytest.mark.parametrize("blind", [True, False])
def test_labels_count_once_their_review_is_closed(blind: bool) -> None:
    """On every page: reviewers must not learn from the judge's what the others say."""
    run, truth = make_judged_run()
    queue = make_review(run, blind=blind, closed_at=None)
    label_answers(run, truth, queue)
    open_review = found_of()
    assert (open_review.answers, open_review.n_other_labels, open_review.n_open_reviews) == ([], 0, 1)
    assert as_json(open_review)["n_open_reviews"] == 1
    assert corrected_run(run) == {}
    [row] = judge_rows()
    assert row.standing.text == "not checked by people: 1 open review not counted yet"
    ReviewQueue.objects.filter(pk=queue.pk).update(closed_at=run.completed_at)
    closed = found_of()
    assert (len(closed.answers), closed.n_open_reviews) == (80, 0)
    [row] = judge_rows()
    assert row.standing.text.startswith("usable after correction: agrees with people on ")
    assert row.people
    assert row.people.verdict.finding == closed.verdict.finding


def test_every_judge_of_runs_is_listed_with_whether_it_was_checked() -> None:
    run, truth = make_judged_run(60, lenient=0.0, strict=0.0)
    label_answers(run, truth, make_review(run), n=60)
    other, _ = make_judged_run(30, run.dataset, judge_model="loop/other")
    rows = [(row.judge, row.metric, row.standing.word, row.n_runs, row.run) for row in judge_rows()]
    assert rows == [
        ("loop/other", METRIC, "not checked by people", 1, other.pk),
        (JUDGE, METRIC, "usable", 1, run.pk),
    ]


def test_the_agreement_of_people_in_a_review_is_known_once_some_answers_have_two_labels() -> None:
    run, truth = make_judged_run(40)
    queue = make_review(run)
    label_answers(run, truth, queue, 30)
    assert review_alpha(queue).alpha is None
    label_answers(run, truth, queue, 30, "jonas")
    assert (review_alpha(queue).alpha, review_alpha(queue).n_items) == (1, 30)


def agreed(counts: tuple[int, int, int, int]) -> Interval:
    both, strict, lenient, neither = counts
    return mean_interval([1.0] * (both + neither) + [0.0] * (strict + lenient))


def test_the_verdict_says_what_to_do() -> None:
    good = cohen_kappa([True] * 40 + [False] * 40, [True] * 38 + [False] * 42)
    useless = cohen_kappa([True, False] * 40, [True, True, False, False] * 20)
    equal = cohen_kappa([True] * 80, [True] * 80)
    for counts, leaning, kappa, finding, caution in (
        ((0, 0, 0, 0), "", good, "No labels count yet: do not rely on this judge.", True),
        ((20, 2, 3, 10), "lenient", good, "Do not rely on it yet: it agrees with people on 30 of 35 answers.", True),
        ((38, 2, 10, 30), "lenient", good, "Usable after correction: this judge is lenient.", True),
        ((38, 2, 1, 39), "", good, "Usable: this judge errs, but is not significantly lenient or strict.", False),
        ((70, 10, 11, 10), "", good, "Usable after correction: this judge errs often.", True),
        ((18, 2, 3, 18), "", good, "Usable after correction: it may differ from people on more than 20%", True),
        ((40, 0, 0, 40), "", good, "Usable: this judge agrees with people on every labeled answer.", False),
        ((20, 20, 20, 20), "", useless, "Not usable", True),
        ((80, 0, 0, 0), "", equal, "Not decided", True),
    ):
        verdict = judge_verdict(counts, leaning, kappa, agreed(counts), unlabeled=100)
        assert verdict.finding.startswith(finding), counts
        assert verdict.caution is caution, counts


def test_no_more_labels_are_asked_for_than_there_are_answers() -> None:
    kappa = cohen_kappa([True] * 20, [True] * 20)
    for counts, unlabeled, missing, more in (
        (
            (20, 0, 0, 0),
            0,
            "All of its answers are labeled. Run more tasks and label them: a decision needs 40 labels.",
            0,
        ),
        ((20, 0, 0, 0), 3, "Label the 3 other answers, then run more tasks: a decision needs 40 labels.", 3),
        ((20, 0, 0, 0), 200, "Label 20 more: a decision needs 40 labels.", 20),
    ):
        verdict = judge_verdict(counts, "", kappa, agreed(counts), unlabeled=unlabeled)
        assert (verdict.basis, verdict.more) == (missing, more)
    assert judge_verdict((38, 2, 1, 39), "", kappa, agreed((38, 2, 1, 39)), unlabeled=7).more == 7


def labeled(model: str, truth_rate: float, n: int = 60, **fields: Any) -> Run:
    """A run of which people labeled every answer, in its own random review."""
    run, truth = make_judged_run(120, **{"model": model, "lenient": 0.2, "rate": truth_rate, **fields})
    label_answers(run, truth, make_review(run), n=n)
    return run


def test_two_runs_are_told_apart_or_need_so_many_more_labels() -> None:
    best = labeled("loop/best", 0.9)
    near = labeled("loop/near", 0.8, dataset=best.dataset, n=30, seed=5)
    worst = labeled("loop/worst", 0.3, dataset=best.dataset, seed=6)
    found = found_of()
    pairs = {(each.higher, each.lower): each.corrected for each in found.separations}
    assert set(pairs) == {(best, near), (near, worst)}
    assert pairs[near, worst].is_clear
    assert pairs[near, worst].more_labels == 0
    assert not pairs[best, near].is_clear
    assert pairs[best, near].more_labels is None or pairs[best, near].more_labels > 0
    assert [each["higher"] for each in as_json(found)["separations"]] == [best.pk, near.pk]


def test_runs_on_different_tasks_are_not_told_apart() -> None:
    labeled("loop/best", 0.9)
    labeled("loop/worst", 0.3, dataset=make_dataset(120, slug="other"))
    assert found_of().separations == []


@pytest.mark.parametrize(("own_lenience", "verdict"), [(0.95, "favors"), (0.1, "no sign")])
def test_a_judge_favors_models_of_its_maker_or_shows_no_sign_of_it(own_lenience: float, verdict: str) -> None:
    """The other model is better, which does not make the judge favor it."""
    judge = "openai/gpt-4.1"
    own = labeled("azure/gpt-5-mini", 0.4, judge_model=judge, lenient=own_lenience)
    labeled("anthropic/claude-sonnet", 0.8, dataset=own.dataset, judge_model=judge, lenient=0.1, n=100, seed=6)
    found = judge_agreement(judge, METRIC)
    assert found is not None
    assert found.favor is not None
    assert (found.favor.makers, found.favor.own, found.favor.verdict) == (("OpenAI",), ("azure/gpt-5-mini",), verdict)
    assert (found.favor.n_own, found.favor.n_others) == (60, 100)


def test_too_few_labels_do_not_say_whom_a_judge_favors() -> None:
    judge = "openai/gpt-4.1"
    labeled("openai/gpt-4o", 0.6, judge_model=judge, n=12)
    found = judge_agreement(judge, METRIC)
    assert found is not None
    assert found.favor is not None
    assert (found.favor.verdict, found.favor.n_others, found.favor.missing) == ("too few labels", 0, 20)
    labeled("loop/model", 0.6, judge_model="anthropic/claude-opus")
    found = judge_agreement("anthropic/claude-opus", METRIC)
    assert found is not None
    assert found.favor is None
