"""Requests for canvas sets: valid ones, invalid ones with their errors, and what they do."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks import jobs
from benchmarks.engine.canvas_sets import generation as engine
from benchmarks.models import Dataset, DatasetVersion, Task
from benchmarks.services.canvas_sets.control import (
    LARGEST_SEED,
    MOST_CANVASES,
    canvas_set_fields,
    canvas_set_of,
    delete_canvas_set,
    generate_canvas_set,
    request_canvas_set,
    resume_generation,
)
from benchmarks.services.errors import InvalidRequest, NotPossible
from benchmarks.services.runs.start import start_run
from tasks_app.canvas.shapes import Shape
from tasks_app.models import Canvas, CanvasSet, Question
from tasks_app.tasks.registered_tasks import REGISTERED_TASKS
from tasks_app.tasks.task import Answer
from tasks_app.tasks.task import Question as Asked
from tasks_app.tasks.task import Task as CanvasTask
from tests.support.canvas_sets import make_canvas_set
from tests.support.factories import make_dataset


@pytest.fixture
def enqueued(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The IDs of the sets for which jobs were enqueued."""
    ids: list[int] = []
    monkeypatch.setattr(jobs.generate_canvases, "delay", ids.append)
    return ids


def test_shapes_are_a_number_or_a_range() -> None:
    for shapes, expected in ((7, (7, 7)), ("7", (7, 7)), (" 3-12 ", (3, 12)), ("1 - 24", (1, 24)), ("5-5", (5, 5))):
        fields = canvas_set_fields({"shapes": shapes, "count": 100})
        assert (fields["shapes_low"], fields["shapes_high"]) == expected, shapes


def test_an_invalid_request_names_its_field_and_problem() -> None:
    rows: list[tuple[dict[str, Any], str, str]] = [
        ({"shapes": 0}, "shapes", "1 to 24 shapes"),
        ({"shapes": "25"}, "shapes", "1 to 24 shapes"),
        ({"shapes": -3}, "shapes", "1 to 24 shapes"),
        ({"shapes": "3-99"}, "shapes", "1 to 24 shapes"),
        ({"shapes": 10**400}, "shapes", "7, or a range"),
        ({"shapes": "12-3"}, "shapes", "smaller number first"),
        ({"shapes": "seven"}, "shapes", "7, or a range"),
        ({"shapes": "٧"}, "shapes", "7, or a range"),
        ({"shapes": True}, "shapes", "7, or a range"),
        ({"shapes": [7]}, "shapes", "7, or a range"),
        ({"shapes": None}, "shapes", "null"),
        ({"count": 0}, "count", "greater than or equal to 1"),
        ({"count": MOST_CANVASES + 1}, "count", str(MOST_CANVASES)),
        ({"count": 10**30}, "count", str(MOST_CANVASES)),
        ({"count": "many"}, "count", "valid integer"),
        ({"shapes": "3-12", "count": 9}, "count", "at least 10"),
        ({"seed": -1}, "seed", "greater than or equal to 0"),
        ({"seed": LARGEST_SEED + 1}, "seed", str(LARGEST_SEED)),
        ({"seed": "x"}, "seed", "valid integer"),
        ({"seed": 1.5}, "seed", "valid integer"),
        ({"tracking_steps": 0}, "tracking_steps", "greater than or equal to 1"),
        ({"tracking_steps": 10**9}, "tracking_steps", "100"),
        ({"name": "→ ♥"}, "name", "letters a-z"),
        ({"name": "x" * 101}, "name", "100"),
        ({"name": "a\x00b"}, "name", "Null"),
        ({"colour": "red"}, "colour", "Unknown field"),
    ]
    for change, field, problem in rows:
        with pytest.raises(InvalidRequest) as error:
            canvas_set_fields({"shapes": 7, "count": 10, "seed": 11, **change})
        assert set(error.value.errors) == {field}, change
        assert problem in " ".join(error.value.errors[field]), change


def test_data_that_is_not_a_request_is_rejected() -> None:
    for data in (None, [], "text", 7, {}):
        with pytest.raises(InvalidRequest):
            canvas_set_fields(data)


def test_all_invalid_fields_are_named_at_once() -> None:
    with pytest.raises(InvalidRequest) as error:
        canvas_set_fields({"shapes": 0, "count": 0, "seed": -1})
    assert set(error.value.errors) == {"shapes", "count", "seed"}


def test_a_set_without_a_name_is_named_after_its_settings() -> None:
    rows: list[tuple[dict[str, Any], str, str]] = [
        ({"shapes": 7, "seed": 11}, "7 shapes, seed 11", "7-shapes-seed-11"),
        ({"shapes": 1}, "1 shape, seed 0", "1-shape-seed-0"),
        ({"shapes": "3-12", "seed": 5}, "3 to 12 shapes, seed 5", "3-to-12-shapes-seed-5"),
        ({"shapes": 7, "tracking_steps": 9}, "7 shapes, seed 0, 9 steps", "7-shapes-seed-0-9-steps"),
        ({"shapes": 7, "name": "Mine, all mine"}, "Mine, all mine", "mine-all-mine"),
    ]
    for request, name, slug in rows:
        fields = canvas_set_fields({"count": 50, **request})
        assert (fields["name"], fields["slug"]) == (name, slug)


@pytest.mark.django_db(transaction=True)
def test_a_request_creates_an_empty_set_and_enqueues_a_job(enqueued: list[int]) -> None:
    canvas_set = request_canvas_set({"shapes": 7, "count": 9, "seed": 11})
    assert (canvas_set.count, canvas_set.wanted, canvas_set.is_growing) == (0, 9, True)
    assert enqueued == [canvas_set.pk]
    assert Dataset.objects.get(canvas_set=canvas_set).current_version is None


@pytest.mark.django_db
def test_a_run_can_start_once_a_set_has_canvases() -> None:
    canvas_set = request_canvas_set({"shapes": 7, "count": 2})
    request = {"dataset": canvas_set.slug, "model": "baseline/solver"}
    with pytest.raises(InvalidRequest, match=r"Dataset .* does not exist"):
        start_run(request)
    generate_canvas_set({"shapes": 7, "count": 2})
    assert start_run(request).metrics == ["task_score"]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("count", "wanted"), [(5, 9), (9, 9), (20, 20)])
def test_a_further_request_never_lowers_the_number_wanted(enqueued: list[int], count: int, wanted: int) -> None:
    first = request_canvas_set({"shapes": 7, "count": 9, "seed": 11})
    again = request_canvas_set({"shapes": 7, "count": count, "seed": 11})
    assert (again.pk, again.wanted) == (first.pk, wanted)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"seed": 12}, "seed 11 instead of 12"),
        ({"shapes": "7-8"}, "shapes high 7 instead of 8"),
        ({"tracking_steps": 5}, "tracking steps 3 instead of 5"),
    ],
)
def test_a_name_of_a_set_with_other_settings_is_rejected(change: dict[str, Any], says: str) -> None:
    make_canvas_set("7", 2, name="mine")
    with pytest.raises(InvalidRequest, match=says):
        generate_canvas_set({"shapes": "7", "count": 4, "seed": 11, "name": "Mine", **change})
    assert Canvas.objects.count() == 2


@pytest.mark.django_db
def test_other_task_classes_are_other_settings() -> None:
    canvas_set = make_canvas_set("7", 2)
    CanvasSet.objects.filter(pk=canvas_set.pk).update(task_classes=["count"])
    with pytest.raises(InvalidRequest, match="task classes count instead of existence, count"):
        make_canvas_set("7", 4)


@pytest.mark.django_db
def test_a_name_of_a_yaml_dataset_is_rejected() -> None:
    make_dataset(slug="sums")
    with pytest.raises(InvalidRequest, match="Dataset sums already exists"):
        make_canvas_set("7", 2, name="Sums")
    assert not CanvasSet.objects.exists()


@pytest.mark.django_db
def test_ctrl_c_keeps_the_canvases_generated_and_wants_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "BATCH", 2)

    def interrupt(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        generate_canvas_set({"shapes": 3, "count": 10}, progress=interrupt)
    canvas_set = CanvasSet.objects.get()
    assert (canvas_set.count, canvas_set.wanted, Canvas.objects.count()) == (2, 2, 2)


@pytest.mark.django_db(transaction=True)
def test_a_set_that_stopped_with_an_error_can_be_resumed(enqueued: list[int]) -> None:
    canvas_set = request_canvas_set({"shapes": 7, "count": 2})
    CanvasSet.objects.update(error_message="a task class failed")
    resume_generation(canvas_set)
    canvas_set.refresh_from_db()
    assert canvas_set.is_growing
    assert enqueued == [canvas_set.pk] * 2


@pytest.mark.django_db
def test_progress_is_reported() -> None:
    calls: list[tuple[int, int]] = []
    canvas_set = generate_canvas_set({"shapes": 3, "count": 4}, progress=lambda *progress: calls.append(progress))
    engine.audit_set(canvas_set.pk, lambda *progress: calls.append(progress))
    assert calls == [(4, 4), (4, 4)]


@pytest.mark.django_db
def test_a_set_without_runs_is_deleted_completely() -> None:
    delete_canvas_set(make_canvas_set("7", 2))
    for model in (CanvasSet, Canvas, Question, Dataset, DatasetVersion, Task):
        assert not model.objects.exists(), model


@pytest.mark.django_db
def test_a_set_with_runs_or_being_generated_is_not_deleted() -> None:
    canvas_set = make_canvas_set("7", 2)
    run = start_run({"dataset": canvas_set.slug, "model": "baseline/solver"})
    with pytest.raises(NotPossible, match="has 1 run"):
        delete_canvas_set(canvas_set)
    run.delete()
    CanvasSet.objects.update(wanted=5)
    with pytest.raises(NotPossible, match="being generated"):
        delete_canvas_set(canvas_set)
    assert Task.objects.count() == 12


@pytest.mark.django_db
def test_the_error_of_an_unknown_set_lists_the_existing_ones() -> None:
    make_canvas_set("7", 1)
    with pytest.raises(NotPossible, match=r"nope does not exist\. Existing sets: 7-shapes-seed-11"):
        canvas_set_of("nope")


@pytest.mark.django_db
def test_what_a_task_class_did_wrong_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    class Same(CanvasTask):
        def generate_questions(self, shapes: list[Shape], selected_answer: Answer | None = None) -> list[Asked]:
            return [("A?", "Yes")]

    monkeypatch.setitem(REGISTERED_TASKS, "same", Same)
    with pytest.raises(NotPossible, match=r"the canvas does not allow them\. Canvases generated before"):
        make_canvas_set("3", 2)
    assert "does not allow them." in CanvasSet.objects.get().error_message
