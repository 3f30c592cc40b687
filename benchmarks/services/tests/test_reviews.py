"""Review queues: what is drawn, who gets which answer, files of labels."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db.models import F

from benchmarks.engine.execution.step_store import write_steps
from benchmarks.models import AuditEntry, Experiment, Label, Result, ReviewItem, ReviewQueue, Run, Score
from benchmarks.models.reviews import CLAIMED_FOR
from benchmarks.providers.steps import Step
from benchmarks.queries.reviews import answers_where, labels_in, progress_of, review_counts
from benchmarks.services import labels
from benchmarks.services.errors import InvalidRequest, NotPossible
from benchmarks.services.reviews import queues
from benchmarks.services.reviews.files import export_labels, import_labels
from tests.support.factories import make_dataset, make_task
from tests.support.page_factories import make_scored_run

pytestmark = pytest.mark.django_db
METRIC = "exact_match"


def make_review(run: Run, **request: Any) -> ReviewQueue:
    given = {"name": "Sums", "metric": METRIC, "runs": [run.pk], "overlap": 0}
    return queues.create_review({**given, **request})


def drawn(queue: ReviewQueue) -> list[int]:
    return list(queue.items.values_list("result", flat=True))


@pytest.fixture
def people() -> tuple[User, User, User]:
    ada, grace, mary = (User.objects.create_user(name) for name in ("ada", "grace", "mary"))
    return ada, grace, mary


def test_a_random_draw_is_repeated_by_its_seed_and_leaves_out_what_has_no_answer() -> None:
    run = make_scored_run(values=(*[1.0] * 30, None))
    first, again, other = (make_review(run, size=10, seed=seed) for seed in (3, 3, 4))
    assert drawn(first) == drawn(again) != drawn(other)
    assert len(set(drawn(first))) == 10
    assert sorted(drawn(make_review(run, size=100))) == sorted(
        run.results.filter(outcome="correct").values_list("pk", flat=True)
    )
    assert first.source == {"runs": [run.pk], "experiment": None, "filters": {}, "answers": 30}
    assert first.sampling == {"method": "random", "size": 10, "seed": 3}


def test_the_next_labels_are_a_random_draw_of_what_no_random_review_has_labeled(people: tuple[User, ...]) -> None:
    run = make_scored_run(values=[1.0] * 20)
    again = make_scored_run(run.dataset, [1.0] * 20, rescored_from=run.pk)
    results = list(run.results.order_by("position"))
    sampled, judged_wrong = make_review(run), make_review(run, outcome="correct", name="Filtered")
    for result in results[:8]:
        labels.label_result(result, {"metric": METRIC, "value": 1}, people[0], sampled)
    labels.label_result(results[8], {"metric": METRIC, "value": 1}, people[0], judged_wrong)
    labels.label_result(results[9], {"metric": METRIC, "flags": ["task_unclear"]}, people[0], sampled)
    rest = {result.pk for result in results[8:]}
    assert set(drawn(make_review(run, method="rest"))) == rest
    assert len(drawn(make_review(again, method="rest"))) == 12
    assert len(drawn(make_review(run, method="rest", metric="contains"))) == 20
    following = make_review(run, method="rest", size=5)
    assert following.is_random_sample
    assert set(drawn(following)) < rest
    for result in results[8:]:
        labels.label_result(result, {"metric": METRIC, "value": 0}, people[1], following)
    with pytest.raises(InvalidRequest, match="Every matching answer has a label of a random review"):
        make_review(run, method="rest")


def test_filters_experiments_and_scorings_of_the_same_answers() -> None:
    run = make_scored_run(values=[1.0, 0.0] * 5)
    again = make_scored_run(run.dataset, [1.0, 0.0] * 5, rescored_from=run.pk)
    assert make_review(run, runs=[run.pk, again.pk], size=100).items.count() == 10
    assert set(drawn(make_review(run, outcome="wrong"))) == set(
        run.results.filter(outcome="wrong").values_list("pk", flat=True)
    )
    experiment = Experiment.objects.create(name="Two", request={})
    Run.objects.filter(pk=run.pk).update(experiment=experiment)
    assert make_review(run, runs=[], experiment=experiment.pk).items.count() == 10


def test_a_random_review_keeps_its_labels_whatever_is_labeled_again_elsewhere(people: tuple[User, ...]) -> None:
    """Otherwise a review of what judge and rule dispute would take its errors out of the random sample."""
    run = make_scored_run(values=[1.0] * 3)
    first, second, third = run.results.order_by("position")
    sampled, disputed = make_review(run), make_review(run, method="stratified")
    for result, before, value, then in (
        (first, sampled, 1, disputed),
        (second, None, 0, sampled),
        (third, disputed, 0, sampled),
    ):
        labels.label_result(result, {"metric": METRIC, "value": 0}, people[0], before)
        labels.label_result(result, {"metric": METRIC, "value": value}, people[0], then)
    current = Label.objects.filter(replaced_at=None)
    assert sorted(current.values_list("result", "value", "queue")) == [
        (first.pk, 1.0, sampled.pk),
        (second.pk, 0.0, sampled.pk),
        (third.pk, 0.0, sampled.pk),
    ]
    rows = "".join(json.dumps({"result": each.pk, "value": 0, "author": "eve"}) + "\n" for each in (first, second))
    for queue, expected in ((disputed, 2), (sampled, 2), (disputed, 0)):
        imported = import_labels(rows.encode(), "labels.jsonl", queue)
        assert (imported.new + imported.corrected, imported.unchanged) == (expected, 2 - expected)
    assert {*current.filter(author_name="eve").values_list("queue", flat=True)} == {sampled.pk}


def test_a_stratified_draw_takes_as_many_of_each_group() -> None:
    tasks = [make_task(number, difficulty="hard" if number < 4 else "easy") for number in range(1, 31)]
    run = make_scored_run(make_dataset(tasks), [1.0] * 30)
    queue = make_review(run, method="stratified", by="difficulty", size=10)
    levels = Counter(Result.objects.filter(pk__in=drawn(queue)).values_list("difficulty", flat=True))
    assert levels == {"hard": 3, "easy": 7}
    assert queue.sampling["by"] == "difficulty"


def test_answers_are_drawn_where_judge_and_rule_models_or_the_threshold_dispute() -> None:
    run = make_scored_run(values=(1.0, 0.0, 1.0, 0.0), metrics=(METRIC, "correctness"))
    results = list(run.results.order_by("position"))
    Score.objects.filter(result=results[0], metric="correctness").update(value=0.1)
    Score.objects.filter(result=results[1], metric="correctness").update(value=0.65)
    assert drawn(make_review(run, metric="correctness", method="judge_and_rule")) == [results[0].pk]
    assert drawn(make_review(run, metric="correctness", method="threshold", size=1)) == [results[1].pk]
    other = make_scored_run(run.dataset, (1.0, 1.0, 1.0, 0.0), model="loop/other")
    disputed = make_review(run, runs=[run.pk, other.pk], method="models")
    assert set(Result.objects.filter(pk__in=drawn(disputed)).values_list("task__task_id", flat=True)) == {"task-2"}
    assert disputed.items.count() == 2


def test_a_request_with_mistakes_names_each_field() -> None:
    run = make_scored_run()
    for field, request in (
        ("runs", {"runs": []}),
        ("runs", {"experiment": 1}),
        ("runs", {"runs": [run.pk, 999_999]}),
        ("experiment", {"runs": [], "experiment": 999_999}),
        ("metric", {"metric": "latency"}),
        ("size", {"size": 0}),
        ("seed", {"seed": -1}),
        ("method", {"method": "best"}),
        ("method", {"method": "models"}),
        ("method", {"outcome": "refused"}),
        ("method", {"method": "threshold", "metric": "correctness"}),
    ):
        with pytest.raises(InvalidRequest) as error:
            make_review(run, **request)
        assert list(error.value.errors) == [field], request
    assert not ReviewQueue.objects.exists()


def label_all(queue: ReviewQueue, user: User, value: float = 1.0, limit: int = 1_000) -> int:
    item, done = queues.start_labeling(queue, user), 0
    while item is not None and done < limit:
        item, done = queues.save_and_next(queue, item.pk, {"value": value}, user), done + 1
    return done


def test_two_people_share_the_answers_and_both_label_the_overlap(people: tuple[User, User, User]) -> None:
    ada, grace, mary = people
    queue = make_review(make_scored_run(values=[1.0] * 20), overlap=6, seed=5)
    first, second = queues.start_labeling(queue, ada), queues.start_labeling(queue, grace)
    for _ in range(40):
        first = first and queues.save_and_next(queue, first.pk, {"value": 1.0}, ada)
        second = second and queues.save_and_next(queue, second.pk, {"value": 0.0}, grace)
    counts = Counter(len(labels) for labels in labels_in(queue).values())
    assert counts == {1: 14, 2: 6}
    assert queues.start_labeling(queue, mary) is None
    overview = review_counts(queue)
    assert (overview.labels, overview.wanted, overview.twice, overview.disagreeing) == (26, 26, 6, 6)


def test_a_label_from_outside_counts_in_the_open_review_of_its_answer(people: tuple[User, User, User]) -> None:
    ada, grace, mary = people
    queue = make_review(make_scored_run(values=[1.0] * 2))
    one, two = (item.result for item in queue.items.all())
    given = {"metric": queue.metric, "value": 0.0}
    queues.label_answer(one, given, ada)
    assert [(label.author_name, label.queue) for label in Label.objects.all()] == [("ada", queue)]
    assert review_counts(queue).labels == 1
    claimed = queues.start_labeling(queue, grace)
    assert claimed is not None
    assert claimed.result == two
    # The places are taken: by a label, and by a claim.
    queues.label_answer(one, given, mary)
    queues.label_answer(two, given, mary)
    assert set(Label.objects.filter(author_name="mary").values_list("queue", flat=True)) == {None}
    queues.label_answer(two, given, grace)
    assert review_counts(queue).labels == 2
    queues.close_review(queue)
    queues.label_answer(one, {**given, "value": 1.0}, ada)
    assert Label.objects.get(author_name="ada", replaced_at=None).queue == queue, "it stays a label of the review"


def test_a_claimed_answer_is_kept_for_a_while_and_then_offered_again(people: tuple[User, User, User]) -> None:
    ada, grace, _ = people
    queue = make_review(make_scored_run(values=[1.0]))
    claimed = queues.start_labeling(queue, ada)
    assert queues.start_labeling(queue, ada) == claimed
    assert queues.start_labeling(queue, grace) is None
    item = ReviewItem.objects.get()
    item.reviewers["ada"][1] -= CLAIMED_FOR + 1
    item.save()
    assert queues.start_labeling(queue, grace) == claimed


def test_skipped_answers_are_left_to_others_and_undo_goes_back_step_by_step(people: tuple[User, User, User]) -> None:
    ada, grace, _ = people
    queue = make_review(make_scored_run(values=[1.0] * 3))
    one = queues.start_labeling(queue, ada)
    assert one is not None
    two = queues.skip_and_next(queue, one.pk, ada)
    assert two is not None
    queues.save_and_next(queue, two.pk, {"value": 0.5, "reason": "Half"}, ada)
    assert queues.undo(queue, ada) == two
    assert not Label.objects.filter(replaced_at=None).exists()
    assert queues.undo(queue, ada) == one
    with pytest.raises(NotPossible, match="nothing to undo"):
        queues.undo(queue, ada)
    with pytest.raises(NotPossible, match="no longer yours"):
        queues.save_and_next(queue, two.pk, {"value": 1}, ada)
    queues.skip_and_next(queue, one.pk, ada)
    assert label_all(queue, grace) == 2  # the third is claimed by ada
    assert label_all(queue, ada) == 1


def test_a_refused_label_leaves_the_answer_claimed(people: tuple[User, User, User]) -> None:
    queue = make_review(make_scored_run(values=[1.0] * 2))
    item = queues.start_labeling(queue, people[0])
    assert item is not None
    with pytest.raises(InvalidRequest):
        queues.save_and_next(queue, item.pk, {"value": 7}, people[0])
    assert queues.start_labeling(queue, people[0]) == item


def test_progress_and_the_time_left_at_ones_pace(people: tuple[User, User, User]) -> None:
    queue = make_review(make_scored_run(values=[1.0] * 10))
    label_all(queue, people[0], limit=4)
    items = list(queue.items.all())
    for number, item in enumerate(item for item in items if item.state_for("ada") == "labeled"):
        item.reviewers["ada"][1] = 1_000.0 + 20 * number + (5_000 if number == 3 else 0)
    progress = progress_of(items, "ada", 2_000.0)
    assert (progress.labeled, progress.left, progress.total, progress.number) == (4, 6, 10, 5)
    assert progress.seconds_left == 20 * 6


def test_a_closed_review_takes_no_labels_and_a_deleted_one_leaves_them(people: tuple[User, User, User]) -> None:
    queue = make_review(make_scored_run(values=[1.0] * 3))
    label_all(queue, people[0], limit=2)
    queues.close_review(queue)
    queues.close_review(queue)
    with pytest.raises(NotPossible, match="is closed"):
        queues.start_labeling(queue, people[1])
    queues.reopen_review(queue)
    assert label_all(queue, people[0]) == 1
    queues.delete_review(queue)
    assert Label.objects.filter(queue=None).count() == 3
    actions = AuditEntry.objects.filter(action__startswith="review").order_by("pk").values_list("action", flat=True)
    assert list(actions) == ["review.create", "review.close", "review.reopen", "review.delete"]


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_labels_are_exported_and_imported_again(form: str, people: tuple[User, User, User], settings: Any) -> None:
    run = make_scored_run(values=[1.0] * 3)
    write_steps([(result.pk, [Step(kind="tool_call", name="look")]) for result in run.results.all()])
    source, target = make_review(run), make_review(run, name="Copy")
    item = queues.start_labeling(source, people[0])
    assert item is not None
    note = '=1+1, "quoted"\nsecond line'
    said = {"value": 0.5, "reason": note, "flags": ["task_unclear"], "first_wrong_step": 1}
    queues.save_and_next(source, item.pk, said, people[0])
    content = b"".join(piece.encode() if isinstance(piece, str) else piece for piece in export_labels(source, form))
    Label.objects.all().delete()
    imported = import_labels(content, f"labels.{form}", target)
    assert (imported.new, imported.corrected, imported.unchanged) == (1, 0, 0)
    label = Label.objects.get()
    # A file does not speak for a person who has an account here, and CSV keeps what defuses formulas.
    assert (label.author_name, label.author, label.value, label.flags) == (
        "ada (imported)",
        None,
        0.5,
        ["task_unclear"],
    )
    assert label.first_wrong_step == 1
    assert label.reason == (f"'{note}" if form == "csv" else note)
    assert import_labels(content, f"labels.{form}", target).unchanged == 1
    assert review_counts(target).labels == 1


def test_a_file_with_mistakes_is_refused_whole_with_the_lines() -> None:
    run = make_scored_run(values=[1.0] * 2)
    queue, other = make_review(run), make_scored_run(make_dataset(1, slug="other"), [1.0])
    good = {"result": run.results.all()[0].pk, "value": 1}
    bad: list[dict[str, Any]] = [
        {**good, "value": 3},
        {**good, "result": other.results.all()[0].pk},
        {**good, "result": "x"},
        {**good, "metric": "contains"},
        {**good, "author": "\n"},
        {**good, "author": " "},
        {**good, "author": {"name": "eve"}},
        {**good, "flags": [["x"]]},
    ]
    lines = "\n".join(json.dumps(row) for row in [good, *bad])
    with pytest.raises(InvalidRequest) as error:
        import_labels(lines.encode(), "labels.jsonl", queue)
    assert [text.partition(":")[0] for text in error.value.errors["file"]] == [f"Line {n}" for n in range(2, 10)]
    for content in (b"", b"\xff", b"[1]", b"{", b"3", b"{}", b"a\0b"):
        for name in ("labels.jsonl", "labels.csv"):
            with pytest.raises(InvalidRequest):
                import_labels(content, name, queue)
    assert not Label.objects.exists()


def test_a_file_in_which_a_person_labels_an_answer_twice_or_a_row_does_not_fit_its_columns_is_refused() -> None:
    run = make_scored_run(values=[1.0] * 2)
    queue, first = make_review(run), run.results.all()[0].pk
    twice = "".join(json.dumps({"result": first, "value": value, "author": "eve"}) + "\n" for value in (1, 1, 0))
    refused = {
        "labels.jsonl": (twice, ["Line 2: author: eve labels this answer on line 1.", "Line 3: author: eve labels"]),
        "more.csv": (f"result,value,reason\n{first},1,wrong, but close\n", ["Line 2: row: It has more values than"]),
        "same.csv": (f"result,value,value\n{first},1,0\n", ["The first line names value twice."]),
        "long.csv": (
            f"result,reason\n{first},{'x' * 200_000}\n",
            ["Line 2: reason: Ensure this field has no more than 5000"],
        ),
    }
    for name, (content, expected) in refused.items():
        with pytest.raises(InvalidRequest) as error:
            import_labels(content.encode(), name, queue)
        for text, beginning in zip(error.value.errors["file"], expected, strict=True):
            assert text.startswith(beginning), text
    assert not Label.objects.exists()


def test_rows_name_the_task_where_one_run_was_drawn_from() -> None:
    queue = make_review(make_scored_run(values=[1.0] * 2))
    import_labels(b"task,value,author\r\ntask-2,0.5,eve\r\n", "labels.csv", queue)
    assert Label.objects.values_list("author_name", "value", "result__task__task_id").get() == ("eve", 0.5, "task-2")


def test_only_own_labels_leave_an_open_blind_review(people: tuple[User, User, User], settings: Any) -> None:
    settings.DEV_MODE = False
    queue = make_review(make_scored_run(values=[1.0] * 4), overlap=4)
    label_all(queue, people[0], limit=2)
    label_all(queue, people[1], limit=3)

    def authors() -> list[str]:
        return [json.loads(line)["author"] for line in export_labels(queue, "jsonl", people[0])]

    assert authors() == ["ada", "ada"]
    queues.close_review(queue)
    queue.refresh_from_db()
    assert Counter(authors()) == {"ada": 2, "Reviewer 1": 3}


def test_flagged_disagreeing_and_wrong_answers_are_found(people: tuple[User, User, User]) -> None:
    queue = make_review(make_scored_run(values=[1.0] * 3), overlap=3)
    first = queues.start_labeling(queue, people[0])
    assert first is not None
    second = queues.save_and_next(queue, first.pk, {"flags": ["answer_unreadable"]}, people[0])
    assert second is not None
    queues.save_and_next(queue, second.pk, {"value": 0}, people[0])
    label_all(queue, people[1])
    assert answers_where(queue, "flagged") == [first.result_id]
    assert answers_where(queue, "disagreeing") == answers_where(queue, "wrong") == [second.result_id]
    assert ReviewItem.objects.filter(wanted=2, queue__overlap=F("position")).count() == 1
