"""The launch form accepts what the API accepts, reports the same errors, and shows the estimate before a run starts."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from django.test import Client

from benchmarks.engine.execution.preparing import chosen_tasks
from benchmarks.models import DatasetVersion, Experiment, Run
from benchmarks.presentation.numbers import duration
from benchmarks.run_parameters import labels
from benchmarks.services.datasets.versions import spec_of
from benchmarks.services.errors import InvalidRequest
from benchmarks.services.runs.estimate import plan_run
from benchmarks.services.runs.requests import validated
from benchmarks.services.runs.start import start_run
from tests.support.factories import make_dataset, make_task
from tests.support.page_factories import make_scored_run

pytestmark = pytest.mark.django_db
REQUEST = {"dataset": "sums", "model": "baseline/reference", "metrics": ["exact_match"]}


def page(client: Client, address: str, sent: dict[str, Any] | None = None) -> str:
    """The page with its white space collapsed."""
    response = client.get(address) if sent is None else client.post(address, sent)
    return " ".join(response.content.decode().split())


def test_a_sent_form_queues_the_run_it_describes(client: Client) -> None:
    make_dataset(3, slug="sums")
    parent = make_scored_run()
    sent = {
        **REQUEST,
        "metrics": ["exact_match", "contains"],
        "repeats": "2",
        "limit": "2",
        "temperature": "0.5",
        "system_prompt": " keep my spaces ",
        "use_cache": "on",
        "like": parent.pk,
    }
    response = client.post("/runs/new/", sent)
    run = Run.objects.latest("id")
    assert response.headers["Location"] == f"/runs/{run.pk}/"
    assert (run.metrics, run.repeats, run.limit, run.use_cache) == (["exact_match", "contains"], 2, 2, True)
    assert run.parameters["temperature"] == 0.5
    assert run.parameters["system_prompt"] == " keep my spaces "
    assert run.parent == parent


def test_extra_parameters_are_names_and_values_in_rows(client: Client) -> None:
    make_dataset(3, slug="sums")
    rows = {"extra-name": ["reasoning_effort", "", "stop"], "extra-value": ["low", "", '["END"]']}
    client.post("/runs/new/", {**REQUEST, **rows})
    run = Run.objects.get()
    assert run.parameters["extra"] == {"reasoning_effort": "low", "stop": ["END"]}
    html = page(client, f"/runs/new/?like={run.pk}")
    assert 'name="extra-name" value="reasoning_effort"' in html
    assert 'value="[&quot;END&quot;]"' in html
    assert "reasoning_effort=low, stop=[&quot;END&quot;]" in page(client, f"/runs/{run.pk}/")
    for wrong in ({"extra-name": "stop", "extra-value": "[END"}, {"extra-name": "n", "extra-value": "2"}):
        refused = client.post("/runs/new/", {**REQUEST, **wrong})
        assert refused.status_code == 400
        assert "extra" in refused.context["form"].errors
        assert f'value="{wrong["extra-name"]}"' in refused.content.decode()


def test_the_form_reports_the_errors_of_the_api_with_its_labels(client: Client) -> None:
    make_dataset(3, slug="sums")
    rows: list[dict[str, Any]] = [
        {"dataset": "none"},
        {"model": "gpt-4o"},
        {"model": "nowhere/gpt-4o"},
        {"metrics": ["nonsense"]},
        {"metrics": []},
        {"repeats": "many"},
        {"repeats": "0"},
        {"temperature": "9"},
        {"metrics": ["correctness"], "judge_model": "baseline/reference"},
        {"budget_usd": "1"},
        {"representation": "full"},
    ]
    for wrong in rows:
        request = {name: value for name, value in {**REQUEST, **wrong}.items() if value}
        from_form = client.post("/runs/new/", {**REQUEST, **wrong})
        from_api = client.post("/api/v1/benchmarks/runs", json.dumps(request), content_type="application/json")
        assert (from_form.status_code, from_api.status_code) == (400, 400), wrong
        with pytest.raises(InvalidRequest) as refused:
            validated(request)
        shown = {name: [str(text) for text in texts] for name, texts in from_form.context["form"].errors.items()}
        assert set(shown) & set(wrong), wrong
        assert shown == refused.value.labeled(labels()), wrong
        assert from_api.json() == refused.value.errors, wrong
    assert not Run.objects.exists()


def test_an_error_names_other_fields_as_its_reader_knows_them(client: Client) -> None:
    make_dataset(1, slug="sums")
    html = page(client, "/runs/new/", {**REQUEST, "budget_usd": "1"})
    assert "A budget requires Max output tokens" in html
    answer = client.post("/api/v1/benchmarks/runs", {**REQUEST, "budget_usd": 1}, content_type="application/json")
    assert "A budget requires max_tokens" in answer.json()["budget_usd"][0]


def test_typed_values_are_kept_when_the_form_comes_back(client: Client) -> None:
    make_dataset(3, slug="sums")
    html = page(client, "/runs/new/", {"dataset": "sums", "model": "typo", "metrics": ["contains"], "seed": "7"})
    for kept in ('value="typo"', 'value="7"', 'id="metric-contains" checked'):
        assert kept in html, kept
    assert "Run not started. Fix the highlighted fields." in html


def test_the_estimate_is_shown_before_anything_starts(client: Client) -> None:
    make_dataset(3, slug="sums")
    sent = {**REQUEST, "model": "openai/gpt-4o", "repeats": "4", "concurrency": "1"}
    plan = plan_run(sent)
    assert plan.seconds_low < plan.seconds_high
    for address in ("/runs/new/plan/", "/runs/new/"):
        html = page(client, address, {**sent, "do": "plan"})
        assert "<dt>Requests</dt> <dd> 12" in html
        assert f"{duration(plan.seconds_low)} to {duration(plan.seconds_high)}".replace("\u00a0", " ") in html
    html = page(client, "/runs/new/plan/", {"dataset": "sums", "model": "typo"})
    assert "To see an estimate, fix the following" in html
    assert "provider" in html
    assert not Run.objects.exists()


def test_a_late_estimate_does_not_change_the_selection(client: Client) -> None:
    make_dataset(2, slug="sums")
    html = page(client, "/runs/new/plan/", {"dataset": "sums", "model": "baseline/reference"})
    assert "<input" not in html, "it would replace a part of the form while its user fills it in"


def test_the_metrics_follow_the_dataset_unless_somebody_chose_some(client: Client) -> None:
    make_dataset(2, slug="sums")
    make_dataset([make_task(1, choices=("a", "b"), expected_output="a")], slug="quiz")
    sent = {"dataset": "quiz", "preset_for": "sums", "model": "baseline/reference"}
    for metrics, ticked in ((["exact_match"], {"multiple_choice", "exact_match"}), (["contains"], {"contains"})):
        html = page(client, "/runs/new/plan/", {**sent, "metrics": metrics})
        assert 'id="metric-choice" hx-swap-oob="true"' in html, metrics
        assert 'name="preset_for" value="quiz"' in html
        assert set(re.findall(r'id="metric-(\w+)"\s+checked', html)) == ticked
    client.post("/runs/new/", {**sent, "metrics": ["exact_match"]})
    assert Run.objects.get().metrics == ["multiple_choice", "exact_match"], "started before the form was refitted"
    unchanged = page(client, "/runs/new/plan/", {**sent, "preset_for": "quiz", "metrics": ["contains"]})
    assert "metric-choice" not in unchanged


def given_and(html: str, *added: str) -> dict[str, list[str]]:
    """What a browser sends of the metrics on the page if somebody ticks others: in the order of the page."""
    boxes = re.findall(r'name="metrics"\s+value="([^"]+)"[^>]*?(checked)?>', html)
    return {
        "metrics": [name for name, checked in boxes if checked or name in added],
        "metrics_given": re.findall(r'name="metrics_given" value="([^"]+)"', html),
    }


def test_a_metric_that_somebody_ticks_comes_before_those_that_were_selected(client: Client) -> None:
    make_dataset([make_task(1, choices=("a", "b"), expected_output="a")], slug="quiz")
    sent = given_and(page(client, "/runs/new/?dataset=quiz"), "contains", "latency")
    assert sent["metrics"] == ["multiple_choice", "exact_match", "contains", "latency"]
    fields = {"dataset": "quiz", "preset_for": "quiz", "model": "baseline/reference", **sent}
    again = page(client, "/runs/new/", {**fields, "do": "plan"})
    decides_first = ["contains", "multiple_choice", "exact_match", "latency"]
    assert given_and(again)["metrics"] == decides_first, "a time decides nothing"
    client.post("/runs/new/", {**fields, **given_and(again)})
    assert Run.objects.get().metrics == decides_first


def test_run_again_keeps_the_order_of_the_metrics(client: Client) -> None:
    dataset = make_dataset([make_task(1, choices=("a", "b"), expected_output="a")], slug="quiz")
    before = make_scored_run(dataset, (1.0,), metrics=["rouge_l", "exact_match", "contains"])
    sent = given_and(page(client, f"/runs/new/?like={before.pk}"))
    assert sent["metrics"] == before.metrics
    client.post("/runs/new/", {"dataset": "quiz", "preset_for": "quiz", "model": "baseline/reference", **sent})
    assert Run.objects.latest("pk").metrics == before.metrics


def test_the_metrics_that_a_dataset_names_are_selected_in_its_order(client: Client) -> None:
    dataset = make_dataset([make_task(1, choices=("a", "b"), expected_output="a")], slug="quiz")
    DatasetVersion.objects.update(metrics=["rouge_l", "contains"])
    html = page(client, "/runs/new/?dataset=quiz")
    assert re.findall(r'id="metric-(\w+)"\s+checked', html) == ["rouge_l", "contains"]
    assert html.index("metric-rouge_l") < html.index("metric-contains") < html.index("metric-multiple_choice")
    run = start_run({"dataset": "quiz", "model": "baseline/reference"})
    assert run.metrics == ["rouge_l", "contains"]
    assert spec_of(dataset.versions.get()).metrics == ("rouge_l", "contains")


def test_the_task_of_a_result_is_asked_again(client: Client) -> None:
    run = make_scored_run(make_dataset(3, slug="sums"), model="baseline/reference", metrics=["exact_match"])
    result = run.results.get(position=2)
    offered = re.search(r'href="([^"]+)">\s*Ask again<', page(client, f"/runs/{run.pk}/results/{result.pk}/"))
    assert offered
    html = page(client, offered[1].replace("&amp;", "&"))
    assert f'name="only_task" value="{result.task.task_id}"' in html
    sent = {**REQUEST, "like": str(run.pk), "only_task": result.task.task_id}
    assert client.post("/runs/new/", sent).status_code == 302
    again = Run.objects.latest("pk")
    assert (again.only_task, again.limit, again.model) == (result.task.task_id, 1, run.model)
    assert [task.pk for task in chosen_tasks(again)] == [result.task_id]
    assert "sums has no task none. Enter another id." in page(client, "/runs/new/", {**sent, "only_task": "none"})


def test_several_models_start_an_experiment(client: Client) -> None:
    make_dataset(3, slug="sums")
    sent = {**REQUEST, "model": "baseline/reference", "more_models": "baseline/random\n\nbaseline/empty"}
    html = page(client, "/runs/new/plan/", sent)
    assert "<dt>Runs</dt><dd>3</dd>" in html
    assert "Start 3 runs" in html
    response = client.post("/runs/new/", {**sent, "tags": "autumn", "limit": "2"})
    experiment = Experiment.objects.get()
    assert response["Location"] == f"/experiments/{experiment.pk}/"
    assert (experiment.name, experiment.tags) == ("3 models on sums", ["autumn"])
    assert [run.model for run in experiment.runs.order_by("pk")] == [sent["model"], "baseline/random", "baseline/empty"]
    assert {run.limit for run in experiment.runs.all()} == {2}


def test_errors_of_several_models_are_at_their_fields(client: Client) -> None:
    make_dataset(3, slug="sums")
    sent = {**REQUEST, "model": "typo", "more_models": "baseline/random\nnobody/knows"}
    html = page(client, "/runs/new/", sent)
    first, more = (re.search(rf'id="id_{name}_error">([^<]+)<', html) for name in ("model", "more_models"))
    assert first
    assert "typo" in first[1]
    assert more
    assert "nobody" in more[1]
    assert "Run not started" in html
    html = page(client, "/runs/new/", {**sent, "model": "baseline/random", "more_models": "baseline/random"})
    assert "id_more_models_error" in html
    assert not Run.objects.exists()


def test_run_again_fills_in_the_form_from_the_run(client: Client) -> None:
    run = make_scored_run(model="baseline/majority", metrics=["contains"], parameters={"max_tokens": 321})
    html = page(client, f"/runs/new/?like={run.pk}")
    for filled in ('value="baseline/majority"', 'value="321"', 'id="metric-contains" checked'):
        assert filled in html, filled


def test_every_action_on_a_run_is_a_plain_form(client: Client) -> None:
    for action, status in (("cancel", "running"), ("resume", "cancelled"), ("retry", "completed")):
        run = make_scored_run(values=(1.0, None), status=status)
        response = client.post(f"/runs/{run.pk}/do/{action}/", follow=True)
        assert response.redirect_chain[-1][0] == f"/runs/{run.pk}/", action
        assert 'class="message success"' in response.content.decode(), action
    run = make_scored_run(status="completed")
    assert "can be canceled" in client.post(f"/runs/{run.pk}/do/cancel/", follow=True).content.decode()
    assert client.get(f"/runs/{run.pk}/do/delete/").status_code == 405
    assert client.post(f"/runs/{run.pk}/do/delete/", {"confirmed": "yes"}).headers["Location"] == "/runs/"
    assert not Run.objects.filter(pk=run.pk).exists()


def test_tasks_without_the_field_of_a_special_metric_are_scored_by_their_expected_text(client: Client) -> None:
    make_dataset([make_task(1, pattern="^2"), make_task(2)], slug="mixed")
    response = client.get("/runs/new/?dataset=mixed")
    assert [metric.name for metric in response.context["metrics"]["preset"]] == ["regex", "exact_match"]
    assert response.context["metrics"]["selected"] == {"regex", "exact_match"}


def test_a_metric_that_does_not_apply_says_what_is_missing(client: Client) -> None:
    make_dataset(3, slug="sums")
    response = client.get("/runs/new/?dataset=sums")
    missing = {metric.name: names for metric, names in response.context["metrics"]["other"]}
    assert missing["json_schema"] == ["schema"]
    shown, folded = ([metric.name for metric in response.context["metrics"][kind]] for kind in ("preset", "fitting"))
    assert shown == ["exact_match"]
    assert {"latency", "answer_relevancy"} <= set(folded)
    assert "Not applicable: no task in this dataset has schema." in response.content.decode()


def test_the_form_is_filled_in_with_dataset_and_model_of_its_address(client: Client) -> None:
    for slug in ("first", "second"):
        make_dataset(1, slug=slug)
    html = client.get("/runs/new/?dataset=second&model=a%2Fb").content.decode()
    assert '<option value="second" selected>' in html
    assert 'value="a/b"' in html
