"""Asking for canvas sets: what is accepted, what is refused and how, and what becomes of a request."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks import jobs
from benchmarks.engine.canvas_sets import generation as engine
from benchmarks.models import Dataset, DatasetVersion, Task
from benchmarks.services.canvas_sets.control import (
    audit_canvas_set,
    canvas_set_of,
    delete_canvas_set,
    generate_canvas_set,
    request_canvas_set,
    resume_generation,
)
from benchmarks.services.canvas_sets.request import LARGEST_SEED, MOST_CANVASES, canvas_spec
from benchmarks.services.errors import InvalidRequest, NotPossible
from benchmarks.services.runs.start import start_run
from tasks_app.models import Canvas, CanvasSet, Question
from tests.support.canvas_sets import make_canvas_set
from tests.support.factories import make_dataset


@pytest.fixture
def rung(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The ids of the sets that jobs were called for."""
    ids: list[int] = []
    monkeypatch.setattr(jobs.generate_canvases, "delay", ids.append)
    return ids


@pytest.mark.parametrize(
    ("shapes", "low", "high"), [(7, 7, 7), ("7", 7, 7), (" 3-12 ", 3, 12), ("1 - 24", 1, 24), ("5-5", 5, 5)]
)
def test_shapes_are_a_number_or_a_range(shapes: Any, low: int, high: int) -> None:
    spec = canvas_spec({"shapes": shapes, "count": 100})
    assert (spec.shapes_low, spec.shapes_high) == (low, high)


@pytest.mark.parametrize(
    ("change", "field", "says"),
    [
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
        ({"shapes": "3-12", "count": 9}, "count", "spread over 10"),
        ({"seed": -1}, "seed", "greater than or equal to 0"),
        ({"seed": LARGEST_SEED + 1}, "seed", str(LARGEST_SEED)),
        ({"seed": "x"}, "seed", "valid integer"),
        ({"seed": 1.5}, "seed", "valid integer"),
        ({"tracking_steps": 0}, "tracking_steps", "greater than or equal to 1"),
        ({"tracking_steps": 10**9}, "tracking_steps", "100"),
        ({"name": "→ ♥"}, "name", "letters a to z"),
        ({"name": "x" * 101}, "name", "100"),
        ({"name": "a\x00b"}, "name", "Null"),
        ({"colour": "red"}, "colour", "Unknown field"),
    ],
)
def test_an_impossible_request_is_refused_at_once(change: dict[str, Any], field: str, says: str) -> None:
    with pytest.raises(InvalidRequest) as refusal:
        canvas_spec({"shapes": 7, "count": 10, "seed": 11, **change})
    assert set(refusal.value.errors) == {field}
    assert says in " ".join(refusal.value.errors[field])


@pytest.mark.parametrize("data", [None, [], "text", 7, {}])
def test_what_is_no_request_is_refused(data: Any) -> None:
    with pytest.raises(InvalidRequest):
        canvas_spec(data)


def test_several_mistakes_are_told_at_once() -> None:
    with pytest.raises(InvalidRequest) as refusal:
        canvas_spec({"shapes": 0, "count": 0, "seed": -1})
    assert set(refusal.value.errors) == {"shapes", "count", "seed"}


@pytest.mark.parametrize(
    ("request_", "name", "slug"),
    [
        ({"shapes": 7, "seed": 11}, "7 shapes, seed 11", "7-shapes-seed-11"),
        ({"shapes": 1}, "1 shape, seed 0", "1-shape-seed-0"),
        ({"shapes": "3-12", "seed": 5}, "3 to 12 shapes, seed 5", "3-to-12-shapes-seed-5"),
        ({"shapes": 7, "tracking_steps": 9}, "7 shapes, seed 0, 9 steps", "7-shapes-seed-0-9-steps"),
        ({"shapes": 7, "name": "Mine, all mine"}, "Mine, all mine", "mine-all-mine"),
    ],
)
def test_a_set_without_a_name_is_named_for_what_it_is(request_: dict[str, Any], name: str, slug: str) -> None:
    spec = canvas_spec({"count": 50, **request_})
    assert (spec.name, spec.slug) == (name, slug)


@pytest.mark.django_db(transaction=True)
def test_a_request_makes_an_empty_set_and_calls_a_job(rung: list[int]) -> None:
    canvas_set = request_canvas_set({"shapes": 7, "count": 9, "seed": 11})
    assert (canvas_set.count, canvas_set.wanted, canvas_set.is_growing) == (0, 9, True)
    assert rung == [canvas_set.pk]
    assert Dataset.objects.get(canvas_set=canvas_set).current_version is None


@pytest.mark.django_db
def test_a_run_can_start_once_something_is_drawn() -> None:
    canvas_set = request_canvas_set({"shapes": 7, "count": 2})
    request = {"dataset": canvas_set.slug, "model": "baseline/solver"}
    with pytest.raises(InvalidRequest, match=r"Dataset .* does not exist"):
        start_run(request)
    generate_canvas_set({"shapes": 7, "count": 2})
    assert start_run(request).metrics == ["task_score"]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("count", "wanted"), [(5, 9), (9, 9), (20, 20)])
def test_asking_again_only_ever_wants_more(rung: list[int], count: int, wanted: int) -> None:
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
def test_a_name_that_is_taken_by_another_kind_of_set_is_refused(change: dict[str, Any], says: str) -> None:
    make_canvas_set("7", 2, name="mine")
    with pytest.raises(InvalidRequest, match=says):
        generate_canvas_set({"shapes": "7", "count": 4, "seed": 11, "name": "Mine", **change})
    assert Canvas.objects.count() == 2


@pytest.mark.django_db
def test_a_set_of_other_task_classes_is_of_another_kind() -> None:
    canvas_set = make_canvas_set("7", 2)
    CanvasSet.objects.filter(pk=canvas_set.pk).update(task_classes=["count"])
    with pytest.raises(InvalidRequest, match="task classes count instead of existence, count"):
        make_canvas_set("7", 4)


@pytest.mark.django_db
def test_a_name_that_a_yaml_dataset_has_is_refused() -> None:
    make_dataset(slug="sums")
    with pytest.raises(InvalidRequest, match="There is a dataset sums already"):
        make_canvas_set("7", 2, name="Sums")
    assert not CanvasSet.objects.exists()


@pytest.mark.django_db
def test_breaking_off_keeps_what_was_drawn_and_wants_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "BATCH", 2)

    def interrupt(done: int, of: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        generate_canvas_set({"shapes": 3, "count": 10}, progress=interrupt)
    canvas_set = CanvasSet.objects.get()
    assert (canvas_set.count, canvas_set.wanted, Canvas.objects.count()) == (2, 2, 2)


@pytest.mark.django_db(transaction=True)
def test_a_set_that_stopped_with_an_error_can_go_on(rung: list[int]) -> None:
    canvas_set = request_canvas_set({"shapes": 7, "count": 2})
    CanvasSet.objects.update(error_message="a task class failed")
    resume_generation(canvas_set)
    canvas_set.refresh_from_db()
    assert canvas_set.is_growing
    assert rung == [canvas_set.pk] * 2


@pytest.mark.django_db
def test_progress_is_told() -> None:
    heard: list[tuple[int, int]] = []
    canvas_set = generate_canvas_set({"shapes": 3, "count": 4}, progress=lambda done, of: heard.append((done, of)))
    audit_canvas_set(canvas_set, lambda done, of: heard.append((done, of)))
    assert heard == [(4, 4), (4, 4)]


@pytest.mark.django_db
def test_a_set_without_runs_can_be_deleted_whole() -> None:
    delete_canvas_set(make_canvas_set("7", 2))
    for model in (CanvasSet, Canvas, Question, Dataset, DatasetVersion, Task):
        assert not model.objects.exists(), model


@pytest.mark.django_db
def test_a_set_that_runs_have_used_or_that_is_being_drawn_stays() -> None:
    canvas_set = make_canvas_set("7", 2)
    run = start_run({"dataset": canvas_set.slug, "model": "baseline/solver"})
    with pytest.raises(NotPossible, match="has 1 run"):
        delete_canvas_set(canvas_set)
    run.delete()
    CanvasSet.objects.update(wanted=5)
    with pytest.raises(NotPossible, match="being drawn"):
        delete_canvas_set(canvas_set)
    assert Task.objects.count() == 12


@pytest.mark.django_db
def test_an_unknown_set_is_told_with_the_known_ones() -> None:
    make_canvas_set("7", 1)
    with pytest.raises(NotPossible, match=r"no canvas set nope\. Known: 7-shapes-seed-11"):
        canvas_set_of("nope")
