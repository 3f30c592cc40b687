"""Canvas sets in the database: what is stored, how a set grows, and its audit."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from django.db import OperationalError

from benchmarks.engine import lease as leases
from benchmarks.engine.canvas_sets import generation
from benchmarks.engine.canvas_sets.audit import guess_score
from benchmarks.engine.canvas_sets.generation import audit_set, generate_canvas, grow, place_of, sets_without_worker
from benchmarks.engine.canvas_sets.rows import append, difficulty_of, stored_documents
from benchmarks.jobs import generate_canvases
from benchmarks.models import Dataset, DatasetVersion, Lease, Task
from tasks_app.canvas.generator import GENERATOR_VERSION
from tasks_app.canvas.shapes import Shape
from tasks_app.loader import build_canvas
from tasks_app.models import Canvas, CanvasSet, Question
from tasks_app.tasks import task as task_module
from tasks_app.tasks.registered_tasks import REGISTERED_TASKS
from tasks_app.tasks.task import Answer, AnswerFile
from tasks_app.tasks.task import Question as Asked
from tasks_app.tasks.task import Task as CanvasTask
from tasks_app.tasks.time_limit import TookTooLong
from tests.support.canvas_sets import canvas_run, make_canvas_set


def tasks_of(canvas_set: CanvasSet) -> list[Task]:
    return list(Task.objects.filter(version__dataset__canvas_set=canvas_set).order_by("position"))


def content(canvas_set: CanvasSet) -> list[bytes]:
    return [document.to_json() for _, document in stored_documents(canvas_set, 0, canvas_set.count)]


@pytest.mark.django_db
def test_a_set_is_a_dataset_with_one_version_and_a_task_for_each_question() -> None:
    canvas_set = make_canvas_set("7", 5)
    dataset = Dataset.objects.get(canvas_set=canvas_set)
    version = dataset.current_version
    assert (dataset.kind, dataset.slug, dataset.versions.count()) == ("canvas", "7-shapes-seed-11", 1)
    assert version is not None
    assert version.task_count == 30 == len(tasks_of(canvas_set))
    assert version.facets["group"] == dict.fromkeys(REGISTERED_TASKS, 5)
    assert version.facets["fields"] == {"expected_output": 30, "group": 30}
    assert sum(version.facets["difficulty"].values()) == 30


@pytest.mark.django_db
def test_a_task_has_the_evaluated_question_of_its_canvas() -> None:
    canvas_set = make_canvas_set("7", 3)
    document = build_canvas(7, 11, 2, 3)
    task = Task.objects.get(version__dataset__canvas_set=canvas_set, task_id="canvas_7_2/count")
    question, answer = document.questions["count"][0]
    assert (task.input, task.expected_output) == (question, str(answer))
    assert (task.group, task.n_shapes, task.cluster) == ("count", 7, "canvas_7_2")
    assert task.question is not None
    assert task.question.canvas.index == 2
    assert task.question.examples == [[text, right] for text, right in document.questions["count"][1:]]
    assert task.difficulty == Task.Difficulty.MEDIUM


@pytest.mark.django_db
def test_positions_are_those_of_the_canvases_without_gaps() -> None:
    tasks = tasks_of(make_canvas_set("1-3", 6))
    assert [task.position for task in tasks] == list(range(1, len(tasks) + 1))
    indexes = [task.question.canvas.index for task in tasks if task.question]
    assert indexes == sorted(indexes)


@pytest.mark.django_db
def test_stored_documents_equal_those_of_the_loader() -> None:
    canvas_set = make_canvas_set("2-4", 9)
    made = [generate_canvas(canvas_set, index).document for index in range(9)]
    stored = [document for _, document in stored_documents(canvas_set, 0, 9)]
    assert [it.to_json() for it in stored] == [it.to_json() for it in made]
    assert [it.difficulty for it in stored] == [it.difficulty for it in made]


@pytest.mark.django_db
def test_classes_without_a_question_are_counted() -> None:
    canvas_set = make_canvas_set("1", 4)
    assert canvas_set.not_applicable == {"transitivity": 4, "coordinate": 4, "shuffle_tracking": 4}
    assert Question.objects.filter(canvas__canvas_set=canvas_set).count() == 12


def test_the_harder_of_shapes_and_steps_decides() -> None:
    rows: list[tuple[int, dict[str, int], str]] = [
        (1, {}, "easy"),
        (5, {"tracking_steps": 3, "line_length": 5}, "easy"),
        (6, {}, "medium"),
        (5, {"inference_steps": 4}, "medium"),
        (12, {"tracking_steps": 6}, "medium"),
        (13, {}, "hard"),
        (3, {"tracking_steps": 7}, "hard"),
    ]
    for n_shapes, measures, level in rows:
        assert difficulty_of(n_shapes, measures) == level, (n_shapes, measures)


@pytest.mark.django_db
def test_a_range_spreads_its_count_evenly_and_numbers_each_kind_from_zero() -> None:
    canvas_set = make_canvas_set("3-12", 25)
    canvases = list(Canvas.objects.filter(canvas_set=canvas_set).order_by("index"))
    counted = Counter(canvas.n_shapes for canvas in canvases)
    assert set(counted) == set(range(3, 13))
    assert max(counted.values()) - min(counted.values()) <= 1
    for n_shapes in counted:
        numbers = [canvas.number for canvas in canvases if canvas.n_shapes == n_shapes]
        assert numbers == list(range(len(numbers)))


@pytest.mark.django_db
def test_a_set_grows_without_changing_its_canvases() -> None:
    small = make_canvas_set("3-5", 7)
    rows = [Canvas, Question]
    before = [list(model.objects.order_by("pk").values()) for model in rows]
    tasks, version = list(Task.objects.order_by("pk").values()), DatasetVersion.objects.get()
    grown = make_canvas_set("3-5", 20)
    assert grown.pk == small.pk
    after = [list(model.objects.order_by("pk").values()) for model in rows]
    assert [all(row in new for row in old) for old, new in zip(before, after, strict=True)] == [True, True]
    assert list(Task.objects.order_by("pk").values())[: len(tasks)] == tasks
    again = DatasetVersion.objects.get()
    assert (again.pk, again.content_hash) == (version.pk, version.content_hash)
    assert again.task_count == len(tasks_of(grown)) > version.task_count
    assert again.facets["group"]["count"] == 20
    assert content(grown) == [generate_canvas(grown, index).document.to_json() for index in range(20)]


@pytest.mark.django_db(transaction=True)
def test_growth_leaves_a_prepared_run_alone() -> None:
    canvas_set = make_canvas_set("4", 3)
    run = canvas_run(canvas_set, tasks=["count"])
    make_canvas_set("4", 9)
    run.refresh_from_db()
    assert (run.total, run.results.count()) == (3, 3)
    assert canvas_run(canvas_set, tasks=["count"]).total == 9


@pytest.mark.django_db
def test_equal_canvases_pair_up_across_sets_and_others_do_not() -> None:
    seven = {task.task_id: task.content_hash for task in tasks_of(make_canvas_set("7", 4))}
    mixed = {task.task_id: task.content_hash for task in tasks_of(make_canvas_set("6-8", 12))}
    other = {task.task_id: task.content_hash for task in tasks_of(make_canvas_set("7", 4, seed=12))}
    assert {key: mixed[key] for key in seven} == seven
    assert not set(other.values()) & set(seven.values())
    assert len(set(mixed.values())) == len(mixed)


@pytest.mark.django_db
def test_a_batch_that_another_process_has_stored_is_dropped() -> None:
    canvas_set = make_canvas_set("3", 4)
    stale = CanvasSet.objects.get(pk=canvas_set.pk)
    stale.count = 2
    assert append(stale, [generate_canvas(canvas_set, 2)]) is False
    assert Canvas.objects.count() == 4


@pytest.mark.django_db
def test_generation_continues_where_it_stopped_and_audits_what_is_new(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generation, "BATCH", 3)
    canvas_set = make_canvas_set("3", 2)
    CanvasSet.objects.update(wanted=11)
    for expected, batches in ((8, 2), (11, 9)):
        answers = iter([False] * batches + [True] * 9)
        generation.work_on(canvas_set.pk, lambda stopped=answers: next(stopped))
        canvas_set.refresh_from_db()
        assert (canvas_set.count, Lease.objects.count()) == (expected, 0)
    assert canvas_set.audited == 11
    assert canvas_set.audit["tasks"]["count"]["agrees"] == 11
    assert content(canvas_set) == [build_canvas(3, 11, index, 11).to_json() for index in range(11)]


@pytest.mark.django_db(transaction=True)
def test_the_job_generates_the_canvases_wanted_and_audits_them() -> None:
    canvas_set = make_canvas_set("5", 2)
    CanvasSet.objects.update(wanted=6)
    generate_canvases(canvas_set.pk)
    canvas_set.refresh_from_db()
    assert (canvas_set.count, canvas_set.audited) == (6, 6)


@pytest.mark.django_db
def test_the_sweep_enqueues_incomplete_sets_that_nobody_works_on() -> None:
    canvas_set = make_canvas_set("3", 3)
    for fields, due in (
        ({"wanted": 9}, True),
        ({"wanted": 9, "error_message": "failed"}, False),
        ({}, False),
        ({"audited": 2}, True),
        ({"audited": 2, "error_message": "failed"}, False),
        ({"origin": CanvasSet.Origin.IMPORTED, "wanted": 9}, False),
    ):
        CanvasSet.objects.update(**{"wanted": 3, "audited": 3, "error_message": "", "origin": "generated", **fields})
        assert sets_without_worker() == ([canvas_set.pk] if due else []), fields
        with leases.exclusive(f"canvas set {canvas_set.pk}"):
            assert sets_without_worker() == [], fields


@pytest.mark.django_db
def test_generating_and_auditing_hold_the_lease_so_that_no_job_repeats_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generation, "BATCH", 2)
    canvas_set = make_canvas_set("3", 2)
    CanvasSet.objects.update(wanted=6)
    counts = []

    def progress(done: int, total: int) -> None:
        assert sets_without_worker() == []
        generation.work_on(canvas_set.pk)  # as a second job would: it leaves the set to the holder of the lease
        counts.append((Canvas.objects.count(), CanvasSet.objects.get().audited))

    grow(canvas_set.pk, progress)
    audit_set(canvas_set.pk, progress)
    assert counts == [(4, 0), (6, 0), (6, 0)]
    assert not Lease.objects.exists()


@pytest.mark.django_db
def test_whoever_needs_a_set_waits_for_its_holder_and_then_completes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    canvas_set = make_canvas_set("3", 2)
    CanvasSet.objects.update(wanted=6)
    waits = []
    for work in (grow, audit_set):
        holder = leases.acquire(f"canvas set {canvas_set.pk}")
        assert holder is not None

        def release(seconds: float, lease: Lease = holder) -> None:
            waits.append(Canvas.objects.count())
            leases.release(lease)

        monkeypatch.setattr(generation.time, "sleep", release)
        work(canvas_set.pk)
    assert waits == [2, 6]
    assert CanvasSet.objects.get().audited == 6


@pytest.mark.django_db
def test_a_lost_lease_ends_the_work_after_the_batch_and_is_acquired_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generation, "BATCH", 2)
    canvas_set = make_canvas_set("3", 2)
    CanvasSet.objects.update(wanted=6)
    workers = []

    def lose(done: int, total: int) -> None:
        workers.append(Lease.objects.get().pk)
        Lease.objects.all().delete()

    grow(canvas_set.pk, lose)
    assert (Canvas.objects.count(), len(set(workers))) == (6, 2)


class Failing(CanvasTask):
    """Breaks on the fourth canvas."""

    name = "failing"
    asked = 0

    def generate_questions(self, shapes: list[Shape], selected_answer: Answer | None = None) -> list[Asked]:
        type(self).asked += 1
        if type(self).asked > 3:
            raise RuntimeError("no more")
        return [("A?", "Yes"), ("B?", "Yes"), ("C?", "No")]


@pytest.mark.django_db
def test_a_failing_task_class_is_named_and_stops_the_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(REGISTERED_TASKS, "failing", Failing)
    monkeypatch.setattr(generation, "BATCH", 2)
    canvas_set = make_canvas_set("3", 2)
    CanvasSet.objects.update(wanted=8)
    with pytest.raises(generation.GenerationFailed):
        generation.work_on(canvas_set.pk)
    canvas_set.refresh_from_db()
    assert canvas_set.count == 2
    assert canvas_set.error_message == "canvas_3_3: RuntimeError: no more"
    assert not canvas_set.is_growing
    with pytest.raises(generation.GenerationFailed, match="canvas_3_3"):
        grow(canvas_set.pk)


class Endless(CanvasTask):
    """Loops in the method that ``hangs`` names."""

    name = "endless"
    hangs = ""

    def generate_questions(self, shapes: list[Shape], selected_answer: Answer | None = None) -> list[Asked]:
        while self.hangs == "generate_questions":
            pass
        return [("A?", "Yes"), ("B?", "Yes"), ("C?", "No")]

    def score(self, file: AnswerFile) -> float:
        while self.hangs == "score":
            pass
        return 1.0


@pytest.mark.django_db
def test_a_class_that_does_not_end_is_named_and_stops_the_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(REGISTERED_TASKS, "endless", Endless)
    monkeypatch.setattr(generation, "CANVAS_SECONDS", 1.0)
    monkeypatch.setattr(task_module, "SCORE_SECONDS", 0.1)
    canvas_set = make_canvas_set("3-4", 3)
    for hangs, message in (
        ("generate_questions", "canvas_4_1: Endless.generate_questions did not end within 1 s. Check its loops"),
        ("score", "Endless.score did not end within 0.1 s. Check its loops"),
    ):
        monkeypatch.setattr(Endless, "hangs", hangs)
        CanvasSet.objects.update(wanted=4, error_message="")
        with pytest.raises((generation.GenerationFailed, TookTooLong)):
            generation.work_on(canvas_set.pk)
        canvas_set.refresh_from_db()
        assert canvas_set.error_message == message
        assert not sets_without_worker()


@pytest.mark.django_db
def test_an_unavailable_database_does_not_stop_a_set(monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_: Any) -> None:
        raise OperationalError("terminating connection")

    canvas_set = make_canvas_set("3", 2)
    CanvasSet.objects.update(wanted=4)
    monkeypatch.setattr(generation, "append", away)
    with pytest.raises(OperationalError):
        generation.work_on(canvas_set.pk)
    canvas_set.refresh_from_db()
    assert not canvas_set.error_message
    assert sets_without_worker() == [canvas_set.pk]


@pytest.mark.django_db
def test_the_audit_of_a_generated_set_finds_nothing_wrong() -> None:
    canvas_set = make_canvas_set("2-24", 46)
    audit = audit_set(canvas_set.pk)
    canvas_set.refresh_from_db()
    assert canvas_set.audit == audit
    for name, task in audit["tasks"].items():
        assert task["agrees"] == task["asked"] == 46 - task["not_applicable"], name
        assert task["wrong"] == task["undetermined"] == task["unchecked"] == task["duplicates"] == 0
    assert audit["tasks"]["existence"]["majority_score"] == pytest.approx(0.5, abs=0.05)
    assert set(Question.objects.values_list("audit", flat=True)) == {"agrees"}


@pytest.mark.django_db
def test_the_audit_marks_a_wrong_answer_and_notes_the_correct_one() -> None:
    canvas_set = make_canvas_set("7", 2)
    question = Question.objects.filter(task_name="existence").earliest("pk")
    wrong = "No" if question.answer == "Yes" else "Yes"
    Question.objects.filter(pk=question.pk).update(answer=wrong)
    audit = audit_set(canvas_set.pk)
    question.refresh_from_db()
    assert (question.audit, audit["tasks"]["existence"]["wrong"]) == ("wrong", 1)
    assert question.audit_note == f"The answer is {'No' if wrong == 'Yes' else 'Yes'}."


@pytest.mark.django_db
def test_an_audit_of_new_canvases_keeps_the_others() -> None:
    canvas_set = make_canvas_set("7", 2)
    audit_set(canvas_set.pk)
    Question.objects.update(audit="wrong")
    make_canvas_set("7", 5)
    audit = audit_set(canvas_set.pk, only_new=True)["tasks"]["count"]
    assert (audit["wrong"], audit["agrees"]) == (2, 3)
    assert audit_set(canvas_set.pk)["tasks"]["count"]["agrees"] == 5


@pytest.mark.django_db
def test_a_class_that_the_solver_does_not_know_stays_unchecked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(REGISTERED_TASKS, "failing", Failing)
    monkeypatch.setattr(Failing, "asked", 0)
    audit = audit_set(make_canvas_set("3", 3).pk)["tasks"]["failing"]
    assert (audit["asked"], audit["unchecked"], audit["undetermined"]) == (3, 3, 0)


@pytest.mark.django_db
def test_repeated_canvases_are_counted_as_duplicates() -> None:
    canvas_set = make_canvas_set("8", 3)
    assert append(canvas_set, [replace(generate_canvas(canvas_set, 0), number=3)])
    audit = audit_set(canvas_set.pk)
    assert audit["duplicate_canvases"] == 1
    assert {task["duplicates"] for task in audit["tasks"].values()} == {1}


def test_guesses_are_scored_by_their_class() -> None:
    rows: list[tuple[str, dict[str, int], list[str], float | None]] = [
        ("existence", {"Yes": 3, "No": 1}, ["Yes"], 0.75),
        ("existence", {"Yes": 3, "No": 1}, ["Yes", "No"], 0.5),
        ("coordinate", {"Above Left": 1, "Above": 1}, ["Above Left"], 0.75),
        ("nothing", {"Yes": 1}, ["Yes"], None),
    ]
    for name, answers, guesses, score in rows:
        assert guess_score(name, answers, guesses) == score, (name, guesses)


@pytest.mark.parametrize(("low", "high"), [(1, 1), (3, 12), (1, 24)])
def test_places_of_one_number_of_shapes_follow_each_other_in_turn(low: int, high: int) -> None:
    canvas_set = CanvasSet(shapes_low=low, shapes_high=high)
    places = [place_of(canvas_set, index) for index in range(5 * (high - low + 1))]
    assert len(set(places)) == len(places)
    for (n_shapes, number), (following, later) in pairwise(places):
        assert following == (n_shapes + 1 if n_shapes < high else low)
        assert later == (number if n_shapes < high else number + 1)


@pytest.mark.django_db
def test_a_set_of_an_earlier_generator_stays_readable_and_does_not_grow() -> None:
    canvas_set = make_canvas_set("5", 2)
    CanvasSet.objects.filter(pk=canvas_set.pk).update(generator_version="1", wanted=3)
    assert audit_set(canvas_set.pk)["tasks"]["existence"]["agrees"] == 2
    with pytest.raises(generation.GenerationFailed, match=f"generator 1; the current generator is {GENERATOR_VERSION}"):
        grow(canvas_set.pk)
    assert CanvasSet.objects.get(pk=canvas_set.pk).count == 2
