"""Runs in the admin: acted on with permission, several at once. A run's page is on the dashboard."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from benchmarks.admin.tests.support import ADMIN, CONFIRMED, staff, text_of
from benchmarks.models import AuditEntry, Result, ResultState, Run, RunStatus
from tests.support.factories import make_dataset

pytestmark = pytest.mark.django_db
RUNS = f"{ADMIN}/run/"


def run_with_results(status: str = RunStatus.COMPLETED_WITH_ERRORS, slug: str = "sums", model: str = "a/model") -> Run:
    """A run of three results: correct, wrong, and one with an error."""
    dataset = make_dataset(3, slug=slug)
    run = Run.objects.create(
        dataset=dataset,
        dataset_version=dataset.current_version,
        status=status,
        model=model,
        metrics=["exact_match"],
        is_prepared=True,
        total=3,
        done=3,
        errors=1,
    )
    outcomes = (("correct", ResultState.DONE), ("wrong", ResultState.DONE), ("provider_error", ResultState.ERROR))
    for task, (outcome, state) in zip(dataset.current_version.tasks.order_by("position"), outcomes, strict=True):
        Result.objects.create(
            run=run, task=task, position=task.position - 1, outcome=outcome, state=state, difficulty="medium"
        )
    return run


def act(client: Client, action: str, *runs: Run, **more: Any) -> str:
    data = {"action": action, "_selected_action": [run.pk for run in runs], **more}
    return text_of(client.post(RUNS, data, follow=True))


def status(run: Run) -> str:
    return Run.objects.get(pk=run.pk).status


def test_actions_apply_to_the_runs_that_permit_them_and_report_the_others(admin_client: Client) -> None:
    rows = (
        ("cancel_runs", RunStatus.RUNNING, "cancelled", "Canceled: run"),
        ("resume_runs", RunStatus.CANCELLED, "running", "Resumed: run"),
        ("retry_runs", RunStatus.COMPLETED_WITH_ERRORS, "running", "Retrying errors of: run"),
    )
    for action, before, after, message in rows:
        run, other = (
            run_with_results(before, slug=f"{action}-1"),
            run_with_results(RunStatus.QUEUED, slug=f"{action}-2"),
        )
        if action == "cancel_runs":
            Run.objects.filter(pk=other.pk).update(status=RunStatus.COMPLETED)
        unchanged = status(other)
        page = act(admin_client, action, run, other)
        assert (status(run), status(other)) == (after, unchanged), action
        assert f"{message} {run.pk}." in page, action
        assert f"Run {other.pk} is " in page, action
    assert list(run.results.order_by("position").values_list("state", flat=True)) == ["done", "done", "pending"]


def test_runs_are_deleted_by_the_service_after_confirmation_and_live_ones_are_kept(admin_client: Client) -> None:
    ended, live = run_with_results(), run_with_results(RunStatus.RUNNING, slug="more")
    page = act(admin_client, "delete_selected", ended, live)
    assert "a/model on sums, 3 results" in page
    assert f"Run {live.pk} is running. Cancel the run before you delete it." in page
    assert Run.objects.count() == 2
    page = act(admin_client, "delete_selected", ended, live, confirmed="yes")
    assert list(Run.objects.all()) == [live]
    assert AuditEntry.objects.get(action="run.delete").subject == f"run {ended.pk}"
    assert f"Deleted: run {ended.pk}." in page
    assert 'class="error"' in page


def test_one_run_is_deleted_at_its_own_address(admin_client: Client) -> None:
    run = run_with_results()
    admin_client.get(f"{RUNS}{run.pk}/delete/")
    assert Run.objects.exists()
    admin_client.post(f"{RUNS}{run.pk}/delete/", CONFIRMED)
    assert not Run.objects.exists()


def test_actions_need_the_permission_to_launch() -> None:
    run = run_with_results(RunStatus.RUNNING)
    act(staff("view_run", "delete_run", name="viewer"), "cancel_runs", run)
    assert status(run) == "running"
    launcher = staff("view_run", "launch_run", name="launcher")
    act(launcher, "cancel_runs", run)
    assert status(run) == "cancelled"
    assert launcher.post(f"{RUNS}{run.pk}/delete/", CONFIRMED).status_code == 403


def test_a_run_leads_to_the_dashboard_and_cannot_be_added_or_changed(admin_client: Client) -> None:
    run = run_with_results()
    assert f'<a href="/runs/{run.pk}/">Run {run.pk}</a>' in text_of(admin_client.get(RUNS))
    for method in (admin_client.get, admin_client.post):
        assert method(f"{RUNS}{run.pk}/change/", {"model": "x"})["Location"] == f"/runs/{run.pk}/"
    assert admin_client.get(f"{RUNS}add/").status_code == 403
    assert Run.objects.get().model == "a/model"


def test_runs_are_searched_by_number_and_beginning_of_the_model(admin_client: Client) -> None:
    first, second = run_with_results(), run_with_results(slug="more", model="<b>b</b>")
    for search, expected in (("a/mo", [first]), ("c/", []), ("", [second, first]), (str(second.pk), [second])):
        response = admin_client.get(RUNS, {"q": search})
        assert list(response.context["cl"].result_list) == expected, search
        assert "<b>b" not in text_of(response)
