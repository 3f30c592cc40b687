"""Runs on canvases of which the audit doubts a reference: left out of every number, unless they are included."""

from __future__ import annotations

import pytest
from django.test import Client

from benchmarks.analysis.comparisons import compared_runs
from benchmarks.engine.canvas_sets.generation import audit_set
from benchmarks.engine.execution.finishing import refresh_audited
from benchmarks.models import Outcome, Run
from benchmarks.services.errors import NotPossible
from benchmarks.services.runs.control import include_doubtful
from tasks_app.models import Question
from tests.support.canvas_sets import canvas_run, set_with_a_wrong_reference

pytestmark = pytest.mark.django_db(transaction=True)


def numbers(run: Run) -> tuple[float, int, int]:
    run.refresh_from_db()
    score = run.summary["metrics"]["task_score"]
    return score["mean"], score["n"], score["n_doubtful"]


def test_they_are_left_out_of_the_mean_and_of_the_outcomes() -> None:
    canvas_set = set_with_a_wrong_reference()
    audit_set(canvas_set.pk)
    run = canvas_run(canvas_set, tasks=["existence"])
    assert numbers(run) == (1.0, 9, 1)
    assert run.summary["outcomes"] == {"correct": 9, "answered": 1}
    result = run.results.get(outcome=Outcome.ANSWERED)
    assert (result.value, result.scores.get().status) == (None, "doubtful")


def test_a_later_audit_changes_the_runs_that_ended_before_it() -> None:
    canvas_set = set_with_a_wrong_reference()
    run = canvas_run(canvas_set, tasks=["existence"])
    assert numbers(run) == (0.9, 10, 0)
    audit_set(canvas_set.pk)
    refresh_audited(canvas_set.pk)
    assert numbers(run) == (1.0, 9, 1)
    Question.objects.update(audit="agrees")
    refresh_audited(canvas_set.pk)
    assert numbers(run) == (0.9, 10, 0)
    assert run.results.filter(outcome=Outcome.WRONG, value=0.0).count() == 1
    assert "set_aside" not in run.scores.get(value=0.0).detail


def test_a_switch_includes_them_and_leaves_them_out_again() -> None:
    canvas_set = set_with_a_wrong_reference()
    audit_set(canvas_set.pk)
    run = canvas_run(canvas_set, tasks=["existence"])
    for _ in range(2):
        include_doubtful(run, True)
        assert numbers(run) == (0.9, 10, 0)
        with pytest.raises(NotPossible):
            include_doubtful(run, True)
        include_doubtful(run, False)
        assert numbers(run) == (1.0, 9, 1)
        with pytest.raises(NotPossible, match="does not include"):
            include_doubtful(run, False)
    assert numbers(canvas_run(canvas_set, tasks=["existence"], include_doubtful=True)) == (0.9, 10, 0)


def test_comparisons_leave_them_out_without_counting_them_as_missing() -> None:
    canvas_set = set_with_a_wrong_reference()
    audit_set(canvas_set.pk)
    runs = [canvas_run(canvas_set, model, tasks=["existence"]) for model in ("baseline/solver", "baseline/reference")]
    comparison = compared_runs(runs)[0].comparison
    assert (comparison.n_shared, comparison.n_missing) == (9, 0)
    assert (comparison.interval_a.mean, comparison.interval_b.mean) == (1.0, 1.0)


def test_the_api_switches_them_too(client: Client) -> None:
    canvas_set = set_with_a_wrong_reference()
    audit_set(canvas_set.pk)
    run = canvas_run(canvas_set, tasks=["existence"])
    route = f"/api/v1/benchmarks/runs/{run.pk}/doubtful-references"
    answer = client.post(route, {"include": True}, content_type="application/json").json()
    assert (answer["include_doubtful"], answer["summary"]["task_score"]["n"]) == (True, 10)
    answer = client.post(route, {"include": False}, content_type="application/json").json()
    assert (answer["include_doubtful"], answer["summary"]["task_score"]["n"]) == (False, 9)
