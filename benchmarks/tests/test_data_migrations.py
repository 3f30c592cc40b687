"""Migrations that repair what earlier versions stored, on rows as those stored them."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.apps import apps
from django.db import connection

from benchmarks.engine.execution.sweeper import runs_without_worker
from benchmarks.models import Result, Run, RunStatus, Score
from benchmarks.services.imports import import_runs
from tests.support.factories import make_dataset, make_task
from tests.support.page_factories import make_scored_run

pytestmark = pytest.mark.django_db

LOGS = Path(__file__).parents[1] / "imports" / "tests" / "tool_logs"


def imported(name: str) -> Run:
    run = import_runs(LOGS / name)[0].run
    run.refresh_from_db()
    return run


def numbers(run: Run) -> dict[str, Any]:
    rows = run.results.order_by("position")
    return {
        "run": (run.metrics, run.status, run.errors, run.total, run.summary["outcomes"]),
        "metrics": run.summary["metrics"],
        "results": list(rows.values_list("state", "outcome", "failure", "error_kind", "value")),
        "scores": list(run.scores.order_by("result__position", "metric").values_list("metric", "status", "value")),
    }


def migrate(name: str, function: str) -> None:
    getattr(import_module(f"benchmarks.migrations.{name}"), function)(apps, SimpleNamespace(connection=connection))


def test_imports_of_earlier_versions_become_what_an_import_stores_now() -> None:
    run = imported("inspect_unscored.eval")
    wanted = numbers(run)
    # As 0.1.0 stored it: what the grader did not say is neutral or missing, and exact_match decides.
    run.scores.filter(status__in=("judge_error", "metric_error")).exclude(metric="inspect:selective").update(
        status=Score.Status.NOT_APPLICABLE,
        reason="Unscored in Inspect. Grade not found in model output: I cannot tell.",
    )
    run.scores.filter(metric="inspect:selective", status="metric_error").delete()
    run.scores.filter(metric__startswith="inspect:hesitant", status="not_applicable").update(
        reason="Unscored in Inspect."
    )
    silent = "inspect:hesitant"
    lost = run.results.get(task__task_id="eu/de")
    lost.scores.filter(metric__startswith=silent).delete()
    Score.objects.create(run=run, result=lost, metric=silent, status="not_applicable", reason="Unscored in Inspect.")
    run.metrics = [run.metrics[0], silent, *run.metrics[1:]]
    run.results.filter(state="error").update(
        state="done", outcome="wrong", failure="Another text", error_kind="", error_message=""
    )
    run.status, run.errors, run.summary = RunStatus.COMPLETED, 0, {}
    run.save()
    migrate("0002_scorers_that_said_nothing", "mark_errors")
    assert runs_without_worker() == []
    run.refresh_from_db()
    assert numbers(run) == wanted
    assert run.summarized_at is not None


def test_a_run_that_failed_before_it_was_prepared_counts_its_results() -> None:
    version = make_dataset(4).current_version
    assert version is not None
    failed = Run.objects.create(
        dataset=version.dataset, dataset_version=version, model="m", metrics=["exact_match"], status=RunStatus.FAILED
    )
    sound = make_scored_run(version.dataset, [1.0, 0.0, 1.0, 1.0])
    ended = {"state": "error", "outcome": "cancelled"}
    Result.objects.bulk_create(Result(run=failed, task=task, position=0, **ended) for task in version.tasks.all())
    Run.objects.update(is_prepared=False)
    migrate("0005_results_add_up", "count_results")
    failed.refresh_from_db()
    assert (failed.total, failed.done, failed.errors, failed.cost_usd, failed.is_prepared) == (4, 0, 0, 0.0, False)
    sound.refresh_from_db()
    assert (sound.total, sound.done, sound.errors, sound.is_prepared) == (4, 4, 0, True)


def test_sound_imports_stay_as_they_are() -> None:
    for name in ("inspect_graded.eval", "promptfoo_rejected.json", "deepeval.json"):
        run = imported(name)
        wanted, stamp = numbers(run), run.summarized_at
        migrate("0002_scorers_that_said_nothing", "mark_errors")
        runs_without_worker()
        run.refresh_from_db()
        assert (numbers(run), run.summarized_at) == (wanted, stamp), name


def test_stored_runs_are_told_their_kind_as_new_ones_are() -> None:
    version = make_dataset(1).current_version
    assert version is not None
    made_by = {
        "asked": {},
        "rescored": {"rescored_from": 1, "import_format": "inspect"},
        "imported": {"import_format": "inspect"},
        "pushed": {"import_format": "api"},
        "calibration": {"calibration": {}},
        "preference": {"preference": {}},
    }
    runs = {
        kind: Run.objects.create(dataset=version.dataset, dataset_version=version, model="m", metrics=[], **fields)
        for kind, fields in made_by.items()
    }
    assert {kind: run.kind for kind, run in runs.items()} == {kind: kind for kind in made_by}
    Run.objects.update(kind="asked")
    migrate("0009_run_kind", "tell_kinds")
    assert {kind: Run.objects.get(pk=run.pk).kind for kind, run in runs.items()} == {kind: kind for kind in made_by}


def test_stored_limits_that_leave_no_task_out_are_cleared() -> None:
    dataset = make_dataset([make_task(number, split="test" if number > 2 else "dev") for number in range(1, 6)])
    limits = [("", "", 4), ("", "", 5), ("", "", 40), ("test", "", 2), ("test", "", 3), ("dev", "", 3), ("", "1", 1)]
    runs = [
        make_scored_run(dataset, [], split=split, only_task=only_task, limit=limit)
        for split, only_task, limit in limits
    ]
    migrate("0026_limits_that_leave_out", "clear_limits")
    stored = Run.objects.in_bulk()
    assert [stored[run.pk].limit for run in runs] == [4, None, None, 2, None, None, 1]
