"""Runs and results in the admin: looked at, acted on with permission, hostile output inert."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from benchmarks.admin.base import SHOWN
from benchmarks.admin.tests.accounts import ADMIN, staff
from benchmarks.models import Result, ResultState, Run, RunStatus, Score, Transcript
from tests.support.factories import make_dataset

pytestmark = pytest.mark.django_db

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)><a href='javascript:alert(3)'>\u202e\x1b[31m"


def run_with_results(status: str = RunStatus.COMPLETED_WITH_ERRORS, **fields: Any) -> Run:
    """A run of three results: correct, wrong, and one that failed."""
    dataset = make_dataset(3, slug=fields.pop("slug", "sums"))
    given = {"model": "a/model", "metrics": ["exact_match"], "total": 3, "done": 3, "errors": 1, "cost_usd": 0.0}
    run = Run.objects.create(
        dataset=dataset, dataset_version=dataset.current_version, status=status, **{**given, **fields}
    )
    outcomes = (("correct", ResultState.DONE), ("wrong", ResultState.DONE), ("provider_error", ResultState.ERROR))
    for task, (outcome, state) in zip(dataset.current_version.tasks.order_by("position"), outcomes, strict=True):
        result = Result.objects.create(
            run=run, task=task, position=task.position - 1, outcome=outcome, state=state, difficulty="medium"
        )
        Transcript.objects.create(result=result, actual_output="4", messages=[{"role": "user", "content": "2 + 2?"}])
        Score.objects.create(result=result, run=run, metric="exact_match", status="scored", value=1.0, reason="Same.")
    return run


def act(client: Client, action: str, *runs: Run, **more: Any) -> Any:
    given = {"action": action, "_selected_action": [run.pk for run in runs], **more}
    return client.post(f"{ADMIN}/run/", given, follow=True)


def status(run: Run) -> str:
    return Run.objects.get(pk=run.pk).status


def test_a_live_run_is_cancelled_and_an_ended_one_says_why_not(admin_client: Client) -> None:
    live, ended = run_with_results(RunStatus.RUNNING), run_with_results(slug="more")
    shown = act(admin_client, "cancel_runs", live, ended).content.decode()
    assert (status(live), status(ended)) == ("cancelled", "completed_with_errors")
    assert f"Run {live.pk} is cancelled." in shown
    assert "only a live or paused run can be cancelled" in shown


def test_a_cancelled_run_is_resumed(admin_client: Client) -> None:
    run = run_with_results(RunStatus.CANCELLED)
    act(admin_client, "resume_runs", run)
    assert status(run) == "running"


def test_what_failed_is_asked_again(admin_client: Client) -> None:
    run = run_with_results()
    act(admin_client, "retry_runs", run)
    assert status(run) == "running"
    assert list(run.results.order_by("position").values_list("state", flat=True)) == ["done", "done", "pending"]


def test_deleting_runs_asks_first_and_spares_live_ones(admin_client: Client) -> None:
    ended, live = run_with_results(), run_with_results(RunStatus.RUNNING, slug="more")
    asked = " ".join(act(admin_client, "delete_runs", ended, live).content.decode().split())
    assert "a/model on sums, 3 results" in asked
    assert f"Run {live.pk} is running: it is not deleted unless it is cancelled first." in asked
    assert Run.objects.count() == 2
    shown = act(admin_client, "delete_runs", ended, live, confirmed="yes").content.decode()
    assert list(Run.objects.all()) == [live]
    assert f"Run {ended.pk} is deleted." in shown
    assert "cancel it before deleting it" in shown


def test_one_run_is_deleted_from_its_page(admin_client: Client) -> None:
    run = run_with_results()
    address = f"{ADMIN}/run/{run.pk}/delete/"
    admin_client.get(address)
    assert Run.objects.exists()
    admin_client.post(address)
    assert not Run.objects.exists()


@pytest.mark.parametrize(
    ("before", "buttons"),
    [
        (RunStatus.RUNNING, ["cancel"]),
        (RunStatus.PAUSED, ["cancel", "resume"]),
        (RunStatus.FAILED, ["resume"]),
        (RunStatus.COMPLETED_WITH_ERRORS, ["retry"]),
        (RunStatus.COMPLETED, []),
    ],
)
def test_a_runs_page_offers_what_its_status_allows(admin_client: Client, before: str, buttons: list[str]) -> None:
    run = run_with_results(before)
    response = admin_client.get(f"{ADMIN}/run/{run.pk}/change/")
    assert [name for name, _ in response.context["run_actions"]] == buttons


def test_a_button_on_a_runs_page_does_what_it_says(admin_client: Client) -> None:
    run = run_with_results(RunStatus.RUNNING)
    admin_client.post(f"{ADMIN}/run/{run.pk}/change/", {"_do": "cancel"})
    assert status(run) == "cancelled"


def test_acting_on_runs_needs_the_permission_to_launch() -> None:
    run = run_with_results(RunStatus.RUNNING)
    viewer = staff("view_run", "delete_run", name="viewer")
    act(viewer, "cancel_runs", run)
    assert viewer.post(f"{ADMIN}/run/{run.pk}/change/", {"_do": "cancel"}).status_code == 403
    assert "run_actions" in viewer.get(f"{ADMIN}/run/{run.pk}/change/").context
    assert viewer.get(f"{ADMIN}/run/{run.pk}/change/").context["run_actions"] == []
    assert status(run) == "running"
    launcher = staff("view_run", "launch_run", name="launcher")
    act(launcher, "cancel_runs", run)
    assert status(run) == "cancelled"
    assert launcher.post(f"{ADMIN}/run/{run.pk}/delete/").status_code == 403


@pytest.mark.parametrize("kind", ["run", "result"])
def test_runs_and_results_cannot_be_added_or_changed(admin_client: Client, kind: str) -> None:
    run = run_with_results()
    pk = run.pk if kind == "run" else Result.objects.first().pk
    assert admin_client.get(f"{ADMIN}/{kind}/add/").status_code == 403
    assert admin_client.post(f"{ADMIN}/{kind}/{pk}/change/", {"model": "x", "outcome": "correct"}).status_code == 403
    assert admin_client.post(f"{ADMIN}/result/{Result.objects.first().pk}/delete/").status_code == 403


@pytest.mark.parametrize(("search", "found"), [("a/mo", 2), ("b/", 0), ("", 2)])
def test_runs_are_found_by_how_the_model_begins(admin_client: Client, search: str, found: int) -> None:
    run_with_results()
    run_with_results(slug="more")
    assert len(admin_client.get(f"{ADMIN}/run/", {"q": search}).context["cl"].result_list) == found


def test_a_run_is_found_by_its_number(admin_client: Client) -> None:
    run, _ = run_with_results(), run_with_results(slug="more")
    assert list(admin_client.get(f"{ADMIN}/run/", {"q": str(run.pk)}).context["cl"].result_list) == [run]


def results(client: Client, **query: Any) -> list[int]:
    return [result.position for result in client.get(f"{ADMIN}/result/", query).context["cl"].result_list]


def test_results_of_a_run_come_in_order_and_by_outcome_and_task(admin_client: Client) -> None:
    run = run_with_results()
    run_with_results(slug="more")
    assert results(admin_client, run=run.pk) == [0, 1, 2]
    assert results(admin_client, run=run.pk, outcome__exact="wrong") == [1]
    assert results(admin_client, run=run.pk, difficulty="hard") == []
    assert results(admin_client, run=run.pk, q="task-3") == [2]
    assert results(admin_client, run=run.pk, q="task") == []
    assert len(results(admin_client)) == 6
    assert results(admin_client, q="task-3") == []


@pytest.mark.parametrize(
    "query", [{"outcome__exact": "wrong"}, {"task__input__contains": "x"}, {"run": 1, "error_message__contains": "x"}]
)
def test_a_filter_that_no_index_serves_is_refused(admin_client: Client, query: dict[str, Any]) -> None:
    run_with_results()
    assert admin_client.get(f"{ADMIN}/result/", query).status_code == 400


@pytest.mark.parametrize("query", [{"run": "x"}, {"run": "9" * 30}, {"run": "-1"}, {"q": "9" * 30}, {"run": "²"}])
def test_a_made_up_address_is_no_error(admin_client: Client, query: dict[str, Any]) -> None:
    assert admin_client.get(f"{ADMIN}/result/", query).status_code in (200, 302)


def test_the_output_of_a_model_is_shown_inert_and_cut(admin_client: Client) -> None:
    run = run_with_results(error_message=HOSTILE)
    result = run.results.get(position=1)
    Result.objects.filter(pk=result.pk).update(error_message=HOSTILE, finish_reason=HOSTILE[-40:])
    sent = [{"role": HOSTILE, "content": HOSTILE}, {"role": "tool", "content": [{"text": HOSTILE}], "name": HOSTILE}]
    Transcript.objects.filter(result=result).update(
        actual_output=HOSTILE + "A" * 5_000_000, reasoning=HOSTILE, tool_calls=[{"name": HOSTILE}], messages=sent
    )
    Score.objects.filter(result=result).update(reason=HOSTILE)
    for address in (f"result/{result.pk}/change/", f"run/{run.pk}/change/", f"result/?run={run.pk}"):
        response = admin_client.get(f"{ADMIN}/{address}")
        shown = response.content.decode()
        assert response.status_code == 200
        assert "<script>alert" not in shown
        assert "<img src=x" not in shown
        assert "<a href='javascript" not in shown
        assert "\u202e" not in shown
        assert "\x1b" not in shown
        assert len(shown) < 150_000
        assert "script-src 'self';" in response["Content-Security-Policy"]
    page = admin_client.get(f"{ADMIN}/result/{result.pk}/change/").content.decode()
    assert f"{5_000_000 + len(HOSTILE) - SHOWN:,} characters more, on the dashboard" in page


def test_a_result_without_an_answer_yet_has_its_page(admin_client: Client) -> None:
    run = run_with_results(RunStatus.RUNNING)
    result = run.results.get(position=0)
    Transcript.objects.filter(result=result).delete()
    Score.objects.filter(result=result).delete()
    assert "none yet" in admin_client.get(f"{ADMIN}/result/{result.pk}/change/").content.decode()
