"""The launch form: it takes what the API takes, gives the same errors, and shows the cost before anything starts."""

from __future__ import annotations

import json

import pytest
from django.test import Client

from benchmarks.models import Run
from benchmarks.presentation.numbers import duration
from benchmarks.services.runs.estimate import plan_run
from tests.support.factories import make_dataset
from tests.support.page_factories import make_scored_run

pytestmark = pytest.mark.django_db


def test_a_sent_form_queues_the_run_it_describes(client: Client) -> None:
    make_dataset(3, slug="sums")
    sent = {
        "dataset": "sums",
        "model": "baseline/reference",
        "metrics": ["exact_match", "contains"],
        "repeats": "2",
        "limit": "2",
        "temperature": "0.5",
        "system_prompt": " keep my spaces ",
        "use_cache": "on",
    }
    response = client.post("/runs/new/", sent)
    run = Run.objects.get()
    assert response.headers["Location"] == f"/runs/{run.pk}/"
    assert (run.metrics, run.repeats, run.limit, run.use_cache) == (["exact_match", "contains"], 2, 2, True)
    assert run.parameters["temperature"] == 0.5
    assert run.parameters["system_prompt"] == " keep my spaces "


@pytest.mark.parametrize(
    "wrong",
    [
        {"dataset": "none"},
        {"model": "gpt-4o"},
        {"model": "nowhere/gpt-4o"},
        {"metrics": ["nonsense"]},
        {"metrics": []},
        {"repeats": "many"},
        {"repeats": "0"},
        {"temperature": "9"},
        {"metrics": ["correctness"], "judge_model": "baseline/reference"},
    ],
)
def test_the_form_gives_the_errors_of_the_api(client: Client, wrong: dict[str, object]) -> None:
    make_dataset(3, slug="sums")
    request = {"dataset": "sums", "model": "baseline/reference", "metrics": ["exact_match"], **wrong}
    from_form = client.post("/runs/new/", request)
    said = {name: value for name, value in request.items() if value}
    from_api = client.post("/api/v1/benchmarks/runs", json.dumps(said), content_type="application/json")
    assert (from_form.status_code, from_api.status_code) == (400, 400)
    shown = {name: [str(text) for text in texts] for name, texts in from_form.context["form"].errors.items()}
    assert set(shown) & set(wrong)
    assert shown == {name: [str(text) for text in texts] for name, texts in from_api.json().items()}
    assert not Run.objects.exists()


def test_what_was_typed_is_kept_when_the_form_comes_back(client: Client) -> None:
    make_dataset(3, slug="sums")
    response = client.post("/runs/new/", {"dataset": "sums", "model": "typo", "metrics": ["contains"], "seed": "7"})
    html = response.content.decode()
    assert 'value="typo"' in html
    assert 'value="7"' in html
    assert 'id="metric-contains" checked' in html


def test_the_plan_is_shown_before_anything_starts(client: Client) -> None:
    make_dataset(3, slug="sums")
    sent = {"dataset": "sums", "model": "baseline/reference", "metrics": ["exact_match"], "repeats": "4"}
    for response in (client.post("/runs/new/plan/", sent), client.post("/runs/new/", {**sent, "do": "plan"})):
        assert "<dt>Requests</dt><dd>12" in response.content.decode()
    assert not Run.objects.exists()


def test_the_plan_says_how_long_the_run_would_take(client: Client) -> None:
    make_dataset(3, slug="sums")
    sent = {"dataset": "sums", "model": "openai/gpt-4o", "metrics": ["exact_match"], "concurrency": "1"}
    plan = plan_run(sent)
    html = client.post("/runs/new/plan/", sent).content.decode()
    assert plan.seconds_low < plan.seconds_high
    assert f"<dt>Duration</dt><dd>{duration(plan.seconds_low)} to {duration(plan.seconds_high)}" in html


def test_a_plan_of_a_wrong_request_says_what_is_missing(client: Client) -> None:
    make_dataset(3, slug="sums")
    html = client.post("/runs/new/plan/", {"dataset": "sums", "model": "typo"}).content.decode()
    assert "Before this can be estimated" in html
    assert "provider" in html


def test_run_again_fills_the_form_as_the_run_was_asked_for(client: Client) -> None:
    run = make_scored_run(model="baseline/majority", metrics=["contains"], parameters={"max_tokens": 321})
    html = client.get(f"/runs/new/?like={run.pk}").content.decode()
    assert 'value="baseline/majority"' in html
    assert 'value="321"' in html
    assert 'id="metric-contains" checked' in html


def test_a_run_like_another_remembers_which(client: Client) -> None:
    run = make_scored_run()
    sent = {"dataset": run.dataset.slug, "model": "baseline/empty", "metrics": ["exact_match"], "like": run.pk}
    client.post("/runs/new/", sent)
    assert Run.objects.latest("id").parent == run


@pytest.mark.parametrize(("action", "status"), [("cancel", "running"), ("resume", "cancelled"), ("retry", "completed")])
def test_what_may_be_done_with_a_run_is_a_plain_form(client: Client, action: str, status: str) -> None:
    run = make_scored_run(values=(1.0, None), status=status)
    response = client.post(f"/runs/{run.pk}/do/{action}/", follow=True)
    assert response.redirect_chain[-1][0] == f"/runs/{run.pk}/"
    assert 'class="message success"' in response.content.decode()


def test_what_cannot_be_done_is_refused_with_its_reason(client: Client) -> None:
    run = make_scored_run(status="completed")
    html = client.post(f"/runs/{run.pk}/do/cancel/", follow=True).content.decode()
    assert "only a live or paused run can be cancelled" in html


def test_a_deleted_run_leads_back_to_the_list(client: Client) -> None:
    run = make_scored_run()
    assert client.post(f"/runs/{run.pk}/do/delete/").headers["Location"] == "/runs/"
    assert not Run.objects.exists()


def test_nothing_is_done_by_following_a_link(client: Client) -> None:
    run = make_scored_run()
    assert client.get(f"/runs/{run.pk}/do/delete/").status_code == 405


def test_a_metric_that_applies_to_no_task_says_what_is_missing(client: Client) -> None:
    make_dataset(3, slug="sums")
    metrics = dict(client.get("/runs/new/?dataset=sums").context["metrics"])
    missing = {metric.name: names for metric, names in metrics.items()}
    assert missing["json_schema"] == ["schema"]
    assert missing["exact_match"] == []


def test_a_plan_that_arrives_late_unticks_nothing(client: Client) -> None:
    make_dataset(2, slug="sums")
    html = client.post("/runs/new/plan/", {"dataset": "sums", "model": "baseline/reference"}).content.decode()
    assert "<input" not in html, "a part of the form would be replaced under the hands of its user"
    assert 'id="about-exact_match" hx-swap-oob="true"' in html


def test_a_metric_of_what_every_answer_has_applies_to_every_dataset(client: Client) -> None:
    make_dataset(2, slug="sums")
    html = client.get("/runs/new/?dataset=sums").content.decode()
    assert "no task of this dataset has duration_ms" not in html
    assert "no task of this dataset has input" not in html
