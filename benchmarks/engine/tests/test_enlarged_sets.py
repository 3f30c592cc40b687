"""A set that was enlarged: runs say what they asked about, are paired on what they share, and ranked apart."""

from __future__ import annotations

import pytest

from benchmarks.analysis.comparisons import compared_runs
from benchmarks.engine.execution.dispatch import work_on_run_once
from benchmarks.models import Run
from benchmarks.queries.leaderboard import by_setting, whole_runs
from benchmarks.services.contamination import check_contamination
from tasks_app.models import CanvasSet
from tests.support.canvas_sets import canvas_run, make_canvas_set

pytestmark = pytest.mark.django_db(transaction=True)
CLASSES = ["count", "existence"]
ENLARGED = "1 + 6 canvases"


@pytest.fixture
def before() -> Run:
    return canvas_run(make_canvas_set("4-6", 6), "baseline/solver", tasks=CLASSES)


@pytest.fixture
def after(before: Run) -> Run:
    return canvas_run(make_canvas_set("4-6", 12), "baseline/majority", tasks=CLASSES)


def test_runs_before_and_after_are_labeled_apart(before: Run, after: Run) -> None:
    assert (before.version_label, after.version_label) == ("1", ENLARGED)
    assert (before.total, after.total) == (12, 24)
    assert after.dataset.current_version.label == ENLARGED
    assert after.dataset_version == before.dataset_version


def test_they_are_compared_on_the_canvases_that_both_asked_about(before: Run, after: Run) -> None:
    (compared,) = compared_runs([before, after])
    assert (compared.comparison.n_shared, compared.comparison.n_only_a, compared.comparison.n_only_b) == (12, 0, 12)
    assert f"dataset version (1 or {ENLARGED})" in compared.scope_sentence


def test_they_do_not_stand_in_one_table() -> None:
    canvas_run(make_canvas_set("4-6", 6))
    canvas_run(make_canvas_set("4-6", 12))
    (whole, _) = whole_runs(Run.objects.latest("pk").dataset_version)
    settings = by_setting(whole)
    assert [len(alike) for alike in settings.values()] == [1, 1]
    n_tasks = {run.total for run in whole}
    words = {setting.words(settings): setting.version(1) for setting in settings}
    assert words == {
        f"full, zero-shot, {max(n_tasks)} tasks with 6 added canvases": ENLARGED,
        f"full, zero-shot, {min(n_tasks)} tasks": "1",
    }


def test_a_run_on_the_first_tasks_of_an_enlarged_set_asks_about_none_of_the_added_canvases(after: Run) -> None:
    assert canvas_run(after.dataset.canvas_set, tasks=CLASSES, limit=12).version_label == "1"
    assert canvas_run(after.dataset.canvas_set, tasks=CLASSES, limit=13).version_label == "1 + 1 canvas"


def test_an_adaptive_run_that_enlarges_its_set_says_by_how_many_canvases() -> None:
    canvas_set = make_canvas_set("4-6", 6)
    adaptive = {"target_half_width": 0.02, "max_canvases": 60, "tasks": CLASSES}
    run = canvas_run(canvas_set, "baseline/random", **adaptive)
    while work_on_run_once(run.pk):
        pass
    run.refresh_from_db()
    canvas_set.refresh_from_db()
    assert run.summary["adaptive"]["canvases"] == 60
    assert run.version_label == "1 + 54 canvases"
    assert run.dataset.current_version.added_canvases == canvas_set.count - 6


def test_a_fresh_set_is_not_enlarged_by_the_canvases_that_are_generated_later(
    before: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("benchmarks.services.contamination.GENERATED_AT_ONCE", 3)
    fresh = check_contamination(before)
    canvas_set = CanvasSet.objects.get(dataset=fresh.dataset)
    assert (canvas_set.count, canvas_set.wanted, canvas_set.initial_count) == (3, 6, 6)
