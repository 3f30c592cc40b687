"""Labels of results: what is accepted, corrections and their history, and answers that several runs score."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User

from benchmarks.analysis.judge_agreement import labels_of_run
from benchmarks.engine.execution.step_store import write_steps
from benchmarks.models import AuditEntry, Flag, Label, Outcome, Result, ReviewItem, ReviewQueue, Run, Transcript
from benchmarks.providers.steps import Step
from benchmarks.queries.reviews import count_labeled, labels_of_answer
from benchmarks.services.errors import InvalidRequest, NotPossible
from benchmarks.services.labels import label_result, withdraw_label
from benchmarks.services.runs.control import delete_run
from tests.support.page_factories import make_scored_run

pytestmark = pytest.mark.django_db
METRIC = "exact_match"


def first_result(run: Run) -> Result:
    return run.results.select_related("run", "task").order_by("position")[0]


@pytest.fixture
def ada() -> User:
    return User.objects.create_user("ada")


@pytest.fixture
def grace() -> User:
    return User.objects.create_user("grace")


def test_values_are_checked_against_the_range_and_each_bad_field_is_named() -> None:
    result = first_result(make_scored_run())
    refused = {
        "value": [{"metric": METRIC, "value": value} for value in (1.1, -0.1, "nan", "inf", True, "one", [1])],
        "metric": [{"metric": name, "value": 1} for name in ("latency", "none", "", 3)],
        "flags": [{"metric": METRIC, "flags": flags} for flags in (["good"], "reference_doubtful", [1])],
        "reason": [{"metric": METRIC, "reason": reason} for reason in ("x" * 5_001, 3)],
        "author": [{"metric": METRIC, "value": 1, "author": "grace"}],
    }
    for field, requests in refused.items():
        for request in requests:
            with pytest.raises(InvalidRequest) as error:
                label_result(result, request)
            assert list(error.value.errors) == [field], request
    with pytest.raises(InvalidRequest, match="Choose a value or a flag, or write a reason"):
        label_result(result, {"metric": METRIC})
    assert not Label.objects.exists()


def test_a_label_without_a_value_flags_the_answer(ada: User) -> None:
    result = first_result(make_scored_run())
    flags = [Flag.TASK_UNCLEAR, Flag.REFERENCE_DOUBTFUL, Flag.TASK_UNCLEAR]
    label = label_result(result, {"metric": METRIC, "flags": flags}, ada)
    assert (label.value, label.flags) == (None, [Flag.REFERENCE_DOUBTFUL, Flag.TASK_UNCLEAR])


def test_a_correction_replaces_and_keeps_the_history(ada: User, grace: User) -> None:
    result = first_result(make_scored_run())
    label_result(result, {"metric": METRIC, "value": 0, "reason": "Wrong city"}, ada)
    label_result(result, {"metric": METRIC, "value": 1}, grace)
    label_result(result, {"metric": METRIC, "value": 0.5}, ada)
    mine, other = labels_of_answer(result, "ada", with_names=True).shown
    assert (mine.label.value, mine.author, mine.mine) == (0.5, "ada", True)
    assert [(old.value, old.reason) for old in mine.earlier] == [(0.0, "Wrong city")]
    assert (other.label.value, other.author, other.earlier) == (1.0, "grace", [])
    assert Label.objects.filter(replaced_at=None).count() == 2
    actions = AuditEntry.objects.filter(subject=f"result {result.pk}").order_by("pk")
    assert [(entry.action, entry.account_name) for entry in actions] == [
        ("label.add", "ada"),
        ("label.add", "grace"),
        ("label.correct", "ada"),
    ]


def test_the_same_label_again_changes_nothing(ada: User) -> None:
    result, request = first_result(make_scored_run()), {"metric": METRIC, "value": 1, "reason": " Fine "}
    label = label_result(result, request, ada)
    assert label_result(result, request, ada) == label
    assert (Label.objects.count(), AuditEntry.objects.filter(action__startswith="label").count()) == (1, 1)


def test_a_withdrawn_label_stays_in_the_table(ada: User) -> None:
    result = first_result(make_scored_run())
    label = label_result(result, {"metric": METRIC, "value": 1}, ada)
    assert withdraw_label(result, METRIC, ada) == label
    assert withdraw_label(result, METRIC, ada) is None
    assert labels_of_answer(result, "ada", with_names=True).shown == []
    assert Label.objects.get().replaced_at is not None


def test_whoever_may_not_see_names_sees_numbers(ada: User, grace: User) -> None:
    result = first_result(make_scored_run())
    for user in (grace, ada):
        label_result(result, {"metric": METRIC, "value": 1}, user)
    assert [each.author for each in labels_of_answer(result, "ada", with_names=False).shown] == ["ada", "Reviewer 1"]
    assert [each.author for each in labels_of_answer(result, "x", with_names=False).shown] == [
        "Reviewer 1",
        "Reviewer 2",
    ]


def test_a_result_without_an_answer_is_not_labeled() -> None:
    result = first_result(make_scored_run(values=(None, 1.0)))
    assert result.outcome == Outcome.PROVIDER_ERROR
    with pytest.raises(NotPossible, match="has no answer to label"):
        label_result(result, {"metric": METRIC, "value": 1})


def test_a_label_counts_for_every_scoring_of_the_answer(ada: User) -> None:
    source = make_scored_run()
    again = make_scored_run(source.dataset, rescored_from=source.pk)
    label_result(first_result(again), {"metric": METRIC, "value": 1}, ada)
    label_result(first_result(source), {"metric": METRIC, "value": 0}, ada)
    assert Label.objects.filter(replaced_at=None).count() == 1
    for run in (source, again):
        [(pk, [label])] = labels_of_run(run, METRIC).items()
        assert (pk, label.value, count_labeled(run)) == (first_result(run).pk, 0.0, 1)
        [shown] = labels_of_answer(first_result(run), "ada", with_names=True).shown
        assert [old.value for old in shown.earlier] == [1.0]


def test_labels_outlive_the_run_if_another_scoring_has_the_answers(ada: User) -> None:
    source = make_scored_run()
    again = make_scored_run(source.dataset, rescored_from=source.pk)
    label_result(first_result(source), {"metric": METRIC, "value": 0}, ada)
    queue = ReviewQueue.objects.create(name="Sums", metric=METRIC, source={}, sampling={})
    ReviewItem.objects.create(queue=queue, result=first_result(source), position=1)
    delete_run(source)
    assert Label.objects.get().result_id == ReviewItem.objects.get().result_id == first_result(again).pk
    label_result(first_result(again), {"metric": METRIC, "value": 1}, ada)
    assert [label.value for label in labels_of_run(again, METRIC)[first_result(again).pk]] == [1.0]
    delete_run(again)
    assert (Label.objects.count(), ReviewItem.objects.count()) == (0, 0)


def test_labels_of_an_open_blind_queue_are_hidden_until_one_has_labeled(ada: User, grace: User) -> None:
    result = first_result(make_scored_run())
    queue = ReviewQueue.objects.create(name="Sums", metric=METRIC, source={}, sampling={})
    label_result(result, {"metric": METRIC, "value": 1}, grace, queue)
    hidden = labels_of_answer(result, "ada", with_names=True)
    assert (hidden.shown, hidden.n_hidden) == ([], 1)
    label_result(result, {"metric": METRIC, "value": 0}, ada)
    assert labels_of_answer(result, "ada", with_names=True).n_hidden == 0
    ReviewQueue.objects.update(blind=False)
    assert labels_of_answer(result, "other", with_names=True).n_hidden == 0


def test_a_label_names_the_first_wrong_step_of_those_that_the_answer_has(ada: User) -> None:
    result = first_result(make_scored_run())
    write_steps([(result.pk, [Step(kind="tool_call", name="look"), Step(kind="tool_call", name="book")])])
    said = {"metric": METRIC, "value": 0}
    assert label_result(result, said, ada).first_wrong_step is None
    assert label_result(result, {**said, "first_wrong_step": 2}, ada).first_wrong_step == 2
    assert label_result(result, {**said, "first_wrong_step": 0}, ada).first_wrong_step == 0
    assert Label.objects.count() == 3, "another step is another label"
    for step, words in ((3, "has 2 steps"), (-1, "greater than or equal to 0"), ("x", "integer"), (True, "integer")):
        with pytest.raises(InvalidRequest, match=words):
            label_result(result, {**said, "first_wrong_step": step}, ada)
    other = make_scored_run(values=[0.0]).results.get()
    Transcript.objects.filter(result=other).update(messages=[])
    with pytest.raises(InvalidRequest, match="has no steps"):
        label_result(other, {**said, "first_wrong_step": 0}, ada)
