"""Canvas files become sets and come back without loss."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from benchmarks.engine.canvas_sets.generation import audit_set
from benchmarks.models import Task
from benchmarks.services.canvas_sets import files
from benchmarks.services.canvas_sets.files import export_canvases, import_canvases
from benchmarks.services.errors import InvalidRequest, NotPossible
from tasks_app.loader import build_canvas
from tasks_app.models import CanvasSet, Question
from tests.support.canvas_sets import canvas_run, make_canvas_set

ORIGINAL = os.environ.get("CODEFORGE_ORIGINAL_CANVASES")


def written(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def write(folder: Path, *canvases: tuple[int, int], **changes: Any) -> Path:
    """Canvas files of ours by (number of shapes, number), with some keys of their documents replaced."""
    folder.mkdir(exist_ok=True)
    for n_shapes, number in canvases:
        document = json.loads(build_canvas(n_shapes, 3, number, 10).to_json()) | changes
        (folder / f"canvas_{n_shapes}_{number}.json").write_text(json.dumps(document, indent=4))
    return folder


@pytest.mark.django_db
def test_a_generated_set_exported_and_imported_has_the_same_content(tmp_path: Path) -> None:
    generated = make_canvas_set("1-24", 48)
    assert export_canvases(generated, tmp_path / "out") == 48
    imported = import_canvases([tmp_path / "out"], "again")
    assert (imported.count, imported.origin, imported.not_applicable) == (48, "imported", generated.not_applicable)
    assert (imported.shapes_low, imported.shapes_high) == (1, 24)
    hashes = [
        dict(Task.objects.filter(version__dataset__canvas_set=it).values_list("task_id", "content_hash"))
        for it in (generated, imported)
    ]
    assert hashes[0] == hashes[1]
    export_canvases(imported, tmp_path / "back")
    assert written(tmp_path / "back") == written(tmp_path / "out")


@pytest.mark.django_db
def test_types_of_answers_orders_of_names_and_empty_lists_come_back(tmp_path: Path) -> None:
    odd = {
        "descriptions": {"zeta": "Last first. ", "full": "Their own words. ", "a": 'é \\ " \n'},
        "questions": {
            "unknown_task": [["What?", 7], ["Which?", "7"]],
            "count": [["How many?", "3"], ["How many more?", 4]],
            "coordinate": [],
            "existence": [["Is there?", "Yes "]],
        },
    }
    folder = write(tmp_path / "odd", (3, 0), (2, 5), **odd)
    canvas_set = import_canvases([folder])
    export_canvases(canvas_set, tmp_path / "back")
    assert written(tmp_path / "back") == written(folder)
    assert canvas_set.not_applicable == {"coordinate": 2}
    stored = Question.objects.get(canvas__n_shapes=3, task_name="existence")
    task = Task.objects.get(question=stored)
    assert (stored.answer, task.expected_output) == ("Yes ", "Yes")


@pytest.mark.django_db
def test_canvases_are_ordered_by_shapes_and_number_whatever_their_names_sort_like(tmp_path: Path) -> None:
    folder = write(tmp_path / "set", (10, 0), (2, 10), (2, 9))
    canvas_set = import_canvases([folder])
    places = list(canvas_set.canvases.order_by("index").values_list("index", "n_shapes", "number"))
    assert places == [(0, 2, 9), (1, 2, 10), (2, 10, 0)]


@pytest.mark.django_db
def test_steps_are_read_from_the_texts(tmp_path: Path) -> None:
    import_canvases([write(tmp_path / "set", (5, 0))])
    measures = dict(Question.objects.values_list("task_name", "difficulty"))
    assert measures["existence_tracking"] == measures["shuffle_tracking"] == {"tracking_steps": 3}
    assert measures["count"] == {}


@pytest.mark.django_db
def test_the_same_files_again_are_the_same_set_and_others_need_another_name(tmp_path: Path) -> None:
    first = import_canvases([write(tmp_path / "set", (3, 0), (3, 1))])
    assert first.slug == "set"
    assert import_canvases([tmp_path / "set"]).pk == first.pk
    write(tmp_path / "set", (3, 2))
    with pytest.raises(InvalidRequest, match="Canvas set set already exists with other canvases"):
        import_canvases([tmp_path / "set"])
    assert import_canvases([tmp_path / "set"], "Three").count == 3


@pytest.mark.django_db
def test_every_broken_file_is_named_and_nothing_is_stored(tmp_path: Path) -> None:
    folder = write(tmp_path / "set", (3, 0), (3, 1), (3, 2))
    (folder / "canvas_3_1.json").write_text("{")
    (folder / "canvas_3_2.json").rename(folder / "canvas_4_2.json")
    (folder / "canvas_nonsense.json").write_text("{}")
    with pytest.raises(InvalidRequest) as error:
        import_canvases([folder])
    problems = error.value.errors["files"]
    assert len(problems) == 3
    assert any("canvas_3_1.json: this is not JSON" in text for text in problems)
    assert any("has 3 shapes, but the file name says 4" in text for text in problems)
    assert any("canvas_nonsense.json: a canvas file is named" in text for text in problems)
    assert not CanvasSet.objects.exists()


@pytest.mark.django_db
def test_the_problems_of_very_many_files_are_shortened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_PROBLEMS", 2)
    for number in range(5):
        (tmp_path / f"canvas_3_{number}.json").write_text("{")
    with pytest.raises(InvalidRequest) as error:
        import_canvases([tmp_path])
    assert error.value.errors["files"][2:] == ["and 3 more files"]


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("paths", "says"),
    [
        (["nowhere/canvas_3_0.json"], "is not readable"),
        (["empty"], r"contains no canvas_\*.json"),
        ([], "No files given"),
        (["set", "twin"], "have the same name"),
    ],
)
def test_an_import_that_is_not_possible_says_why(tmp_path: Path, paths: list[str], says: str) -> None:
    (tmp_path / "empty").mkdir()
    write(tmp_path / "set", (3, 0))
    write(tmp_path / "twin", (3, 0))
    with pytest.raises(InvalidRequest, match=says):
        import_canvases([tmp_path / path for path in paths])


@pytest.mark.django_db
def test_a_file_larger_than_a_canvas_can_be_is_not_read_whole(tmp_path: Path) -> None:
    (tmp_path / "canvas_3_0.json").write_bytes(b" " * 5_000_000)
    with pytest.raises(InvalidRequest, match="at most 1,000,000"):
        import_canvases([tmp_path])


@pytest.mark.django_db
def test_an_export_replaces_nothing_and_says_where_it_cannot_write(tmp_path: Path) -> None:
    canvas_set = make_canvas_set("3", 1)
    (tmp_path / "canvas_9_9.json").write_text("mine")
    with pytest.raises(NotPossible, match="Files are never replaced"):
        export_canvases(canvas_set, tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(NotPossible, match="is not writable"):
        export_canvases(canvas_set, tmp_path / "file")


@pytest.mark.django_db
def test_an_imported_set_does_not_grow(tmp_path: Path) -> None:
    import_canvases([write(tmp_path / "set", (3, 0))])
    with pytest.raises(InvalidRequest, match="it was imported"):
        make_canvas_set("3", 5, name="set")


@pytest.fixture
def originals(tmp_path: Path) -> CanvasSet:
    if not ORIGINAL:
        pytest.skip("CODEFORGE_ORIGINAL_CANVASES names no folder of original canvases")
    return import_canvases([Path(ORIGINAL)], "originals")


@pytest.mark.django_db
def test_the_originals_come_back_byte_for_byte(originals: CanvasSet, tmp_path: Path) -> None:
    assert export_canvases(originals, tmp_path / "back") == 200
    assert written(tmp_path / "back") == {file.name: file.read_bytes() for file in Path(ORIGINAL).glob("canvas_*.json")}


@pytest.mark.django_db
def test_the_audit_marks_what_is_wrong_in_the_originals(originals: CanvasSet) -> None:
    audit = audit_set(originals.pk)
    marked = Counter(Question.objects.values_list("task_name", "audit"))
    assert marked["transitivity", "wrong"] == audit["tasks"]["transitivity"]["wrong"] == 4
    assert marked["coordinate", "wrong"] == 11
    assert sum(task["agrees"] for task in audit["tasks"].values()) == 1200 - 15
    assert audit["tasks"]["existence"]["distinct_answers"] == 1
    assert audit["tasks"]["count"]["majority_score"] == 1.0
    assert {fault["fault"] for fault in audit["faults"]} >= {"direction_dropped", "tie_in_ordered_line"}
    assert "unexplained" not in {fault["fault"] for fault in audit["faults"]}
    assert not Question.objects.exclude(audit="agrees").filter(audit_note="").exists()


@pytest.mark.django_db(transaction=True)
def test_the_solver_disagrees_with_the_originals_exactly_where_the_audit_says(originals: CanvasSet) -> None:
    audit_set(originals.pk)
    run = canvas_run(originals, representation="coordinates")
    assert (run.total, run.errors) == (1200, 0)
    wrong = set(run.results.exclude(outcome="correct").values_list("task__question", flat=True))
    assert wrong == set(Question.objects.filter(audit="wrong").values_list("pk", flat=True))


@pytest.mark.django_db(transaction=True)
def test_a_perfect_solver_reaches_100_percent_on_the_originals_without_doubtful_references(
    originals: CanvasSet,
) -> None:
    audit_set(originals.pk)
    run = canvas_run(originals, representation="coordinates")
    score = run.summary["metrics"]["task_score"]
    assert (score["mean"], score["n"], score["n_doubtful"]) == (1.0, 1200 - 15, 15)
    assert run.breakdown["group"]["coordinate"]["task_score"]["mean"] == 1.0
    included = canvas_run(originals, representation="coordinates", include_doubtful=True)
    score = included.summary["metrics"]["task_score"]
    assert (score["n"], score["n_doubtful"]) == (1200, 0)
    assert score["mean"] < 1
