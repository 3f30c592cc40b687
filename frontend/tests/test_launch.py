"""The launch form accepts what the API accepts, reports the same errors, and shows the estimate before a run starts."""

from __future__ import annotations

import json
import re
import shlex
from html import unescape
from pathlib import Path
from typing import Any
from unittest.mock import Mock
from urllib.parse import parse_qsl, urlencode

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from benchmarks.engine.execution.preparing import chosen_tasks
from benchmarks.models import DatasetVersion, Experiment, ProviderCheck, Run, RunKind, Schedule, ScheduledRun, ScoreDrop
from benchmarks.presentation.numbers import duration, money
from benchmarks.providers.baseline import BASELINE_MODELS
from benchmarks.providers.model_names import is_baseline
from benchmarks.queries.launch import Trial, trials_in_words
from benchmarks.run_parameters import labels
from benchmarks.services.datasets.versions import spec_of
from benchmarks.services.errors import InvalidRequest
from benchmarks.services.experiments.files import read_experiment_file
from benchmarks.services.runs.estimate import plan_run
from benchmarks.services.runs.requests import validated
from benchmarks.services.runs.start import request_of, start_run
from benchmarks.services.schedules import save_schedule
from frontend.templatetags.show import with_code
from tests.support.factories import MODEL, make_dataset, make_task
from tests.support.page_factories import make_canvas_set, make_scored_run
from tests.support.running import Endpoint, worked

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
    sent = {"dataset": "sums", "model": "typo", "given-sums": "exact_match", "metrics-sums": ["contains"], "seed": "7"}
    html = page(client, "/runs/new/", sent)
    for kept in ('value="typo" checked', 'value="sums" checked', 'value="7"', 'name="metrics-sums" value="contains"'):
        assert kept in html, kept
    assert "Not started. Fix the highlighted fields." in html


def test_the_estimate_is_shown_before_anything_starts(client: Client) -> None:
    make_dataset(3, slug="sums")
    sent = {**REQUEST, "model": "openai/gpt-4o", "repeats": "4", "concurrency": "1"}
    plan = plan_run(sent)
    assert plan.seconds_low < plan.seconds_high
    for address in ("/runs/new/plan/", "/runs/new/"):
        html = page(client, address, {**sent, "do": "plan"})
        assert "<dt>Requests</dt> <dd> 12" in html
        assert f"{duration(plan.seconds_low)} to {duration(plan.seconds_high)}".replace("\u00a0", " ") in html
        assert "± 37.5" in html, "the widest that an interval of three tasks can be"
        assert re.search(
            r"<b>none, 3 tasks are too few</b>.* Sums: \d+ more tasks would show gaps of 25 points\.", html
        )
    html = page(client, "/runs/new/plan/", {"dataset": "sums", "model": "typo"})
    assert "Fix before you start" in html
    errors = html.partition('id="models-errors"')[2]
    assert "provider" in errors, "it stands at the models, too"
    assert re.search(r'id="start"[^>]+ disabled', html)
    assert not Run.objects.exists()


def test_a_late_estimate_does_not_change_the_selection(client: Client) -> None:
    make_dataset(2, slug="sums")
    html = page(
        client, "/runs/new/plan/", {"dataset": "sums", "model": "baseline/reference", "metrics": ["exact_match"]}
    )
    assert "<input" not in html, "it would replace a part of the form while its user fills it in"


def test_each_benchmark_is_scored_by_its_own_metrics_unless_somebody_chose_others(client: Client) -> None:
    make_dataset(2, slug="sums")
    make_dataset([make_task(1, choices=("a", "b"), expected_output="a")], slug="quiz")
    sent = {"dataset": ["sums", "quiz"], "model": "baseline/reference"}
    client.post("/runs/new/", sent)
    assert dict(Run.objects.values_list("dataset__slug", "metrics")) == {
        "sums": ["exact_match"],
        "quiz": ["multiple_choice", "exact_match"],
    }
    Run.objects.all().delete()
    client.post("/runs/new/", {**sent, "given-sums": "exact_match", "metrics-sums": ["contains"]})
    assert dict(Run.objects.values_list("dataset__slug", "metrics")) == {
        "sums": ["contains"],
        "quiz": ["multiple_choice", "exact_match"],
    }


def test_the_errors_of_metrics_stand_at_their_benchmark(client: Client) -> None:
    make_dataset(2, slug="sums")
    make_dataset([make_task(1, choices=("a", "b"), expected_output="a")], slug="quiz")
    sent = {"dataset": ["sums", "quiz"], "model": "baseline/reference", "given-sums": "", "metrics-sums": ["regex"]}
    html = page(client, "/runs/new/", sent)
    assert "regex does not apply to sums" in html.partition('id="metrics-of-sums"')[0].rpartition('value="sums"')[2]
    empty = page(client, "/runs/new/", {"dataset": "sums", "model": "baseline/reference", "given-sums": "exact_match"})
    assert "Select at least one metric" in empty
    assert not Run.objects.exists()


def given_and(html: str, *added: str) -> dict[str, list[str]]:
    """What a browser sends of the metrics on the page if somebody ticks others: in the order of the page."""
    fields = re.findall(r'(hidden|checkbox)" name="metrics-quiz"\s+value="([^"]+)"[^>]*?(checked)?>', html)
    return {
        "metrics-quiz": [name for kind, name, checked in fields if kind == "hidden" or checked or name in added],
        "given-quiz": re.findall(r'name="given-quiz" value="([^"]*)"', html),
    }


def test_a_metric_that_somebody_ticks_comes_before_those_that_were_selected(client: Client) -> None:
    make_dataset([make_task(1, choices=("a", "b"), expected_output="a")], slug="quiz")
    fields = {"dataset": "quiz", "model": "baseline/reference"}
    listed = page(client, "/runs/new/metrics/quiz/", fields)
    sent = given_and(listed, "contains", "latency")
    assert sent["metrics-quiz"] == ["multiple_choice", "exact_match", "contains", "latency"]
    fields |= sent
    again = page(client, "/runs/new/", {**fields, "do": "plan"})
    decides_first = ["contains", "multiple_choice", "exact_match", "latency"]
    assert given_and(again)["metrics-quiz"] == decides_first, "a time decides nothing"
    client.post("/runs/new/", {**fields, **given_and(again)})
    assert Run.objects.get().metrics == decides_first


def test_run_again_keeps_the_order_of_the_metrics(client: Client) -> None:
    dataset = make_dataset([make_task(1, choices=("a", "b"), expected_output="a")], slug="quiz")
    before = make_scored_run(dataset, (1.0,), metrics=["rouge_l", "exact_match", "contains"])
    sent = given_and(page(client, f"/runs/new/?like={before.pk}"))
    assert sent["metrics-quiz"] == before.metrics
    client.post("/runs/new/", {"dataset": "quiz", "model": "baseline/reference", **sent})
    assert Run.objects.latest("pk").metrics == before.metrics


def test_the_metrics_that_a_dataset_names_are_selected_in_its_order(client: Client) -> None:
    dataset = make_dataset([make_task(1, choices=("a", "b"), expected_output="a")], slug="quiz")
    DatasetVersion.objects.update(metrics=["rouge_l", "contains"])
    html = page(client, "/runs/new/", {"dataset": "quiz", "do": "metrics-quiz"})
    assert re.findall(r'id="metric-quiz-(\w+)"\s+checked', html) == ["rouge_l", "contains"]
    assert html.index("quiz-rouge_l") < html.index("quiz-contains") < html.index("quiz-multiple_choice")
    run = start_run({"dataset": "quiz", "model": "baseline/reference"})
    assert run.metrics == ["rouge_l", "contains"]
    assert spec_of(dataset.versions.get()).metrics == ("rouge_l", "contains")


def test_trials_are_in_no_list_but_that_of_their_tag(client: Client) -> None:
    make_dataset(5, slug="sums")
    sent = {"dataset": "sums", "model": "baseline/reference", "given-sums": "", "metrics-sums": ["exact_match"]}
    assert client.post("/runs/new/try/", sent).status_code == 200
    trial = Run.objects.get()
    assert (trial.kind, trial.limit, trial.tags) == (RunKind.TRIAL, 3, ["trial"])
    for address in ("/", "/runs/", "/experiments/", "/models/", "/leaderboard/", "/benchmarks/"):
        response = client.get(address, follow=True)
        assert f"/runs/{trial.pk}/" not in response.content.decode(), address
    api = "/api/v1/benchmarks/runs"
    assert client.get(api).json()["results"] == []
    assert [row["id"] for row in client.get(f"{api}?tag=trial").json()["results"]] == [trial.pk]
    assert f"/runs/{trial.pk}/" in page(client, "/runs/?tag=trial")
    assert "Trial of 3 tasks" in page(client, f"/runs/{trial.pk}/")


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
    sent = {**REQUEST, "model": "baseline/reference", "more_models": "baseline/random, baseline/empty"}
    html = page(client, "/runs/new/plan/", sent)
    assert "Start 3 runs" in html
    assert re.findall(r'<th scope="row"[^>]*>([^<]*)</th>\s*<td><span>± 37.5</span></td>', html) == ["Each of 3"]
    assert html.count("± 37.5") == 2, "in the table and in its summary"
    response = client.post("/runs/new/", {**sent, "tags": "autumn", "limit": "2"})
    experiment = Experiment.objects.get()
    assert response["Location"] == f"/experiments/{experiment.pk}/"
    assert (experiment.name, experiment.tags) == ("3 models on Sums", ["autumn"])
    assert [run.model for run in experiment.runs.order_by("pk")] == [sent["model"], "baseline/random", "baseline/empty"]
    assert {run.limit for run in experiment.runs.all()} == {2}


def test_names_that_nobody_lists_are_marked_and_their_errors_stand_at_the_list(client: Client) -> None:
    make_dataset(3, slug="sums")
    html = page(client, "/runs/new/", {**REQUEST, "model": "typo", "more_models": "baseline/random nobody/knows"})
    at_the_list = html.partition('id="models-title"')[2].partition('id="models-options"')[0]
    assert "typo" in at_the_list
    assert "nobody" in at_the_list
    row = html.partition('value="nobody/knows" checked')[2].partition('class="option-row"')[0]
    assert "No provider" in row
    assert not Run.objects.exists()


def test_run_again_fills_in_the_form_from_the_run(client: Client) -> None:
    run = make_scored_run(model="baseline/majority", metrics=["contains"], parameters={"max_tokens": 321})
    html = page(client, f"/runs/new/?like={run.pk}")
    for filled in ('value="baseline/majority" checked', 'value="321"', 'name="metrics-sums" value="contains"'):
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
    assert "Regular expression, Exact match" in page(client, "/runs/new/?dataset=mixed")


def test_only_metrics_that_apply_are_listed_in_groups_and_only_when_asked_for(client: Client) -> None:
    make_dataset(3, slug="sums")
    assert "metrics-sums" not in page(client, "/runs/new/?dataset=sums").replace('value="metrics-sums"', "")
    html = page(client, "/runs/new/metrics/sums/", {"dataset": "sums"})
    groups = dict(zip(*[iter(re.split(r"<h3>(.*?)</h3>", html)[1:])] * 2, strict=True))
    assert [title.partition(";")[0] for title in groups] == ["Scored by", "By rule", "By a judge", "Measured beside it"]
    listed = {title: re.findall(r'value="(\w+)"', part) for title, part in groups.items()}
    assert listed["Scored by; the first one decides right or wrong"] == ["exact_match"]
    assert "answer_relevancy" in listed["By a judge"]
    assert "latency" in listed["Measured beside it"]
    assert "json_schema" not in html
    assert "not checked by people" in html
    assert client.post("/runs/new/metrics/none/").status_code == 404


def test_the_form_is_filled_in_with_dataset_and_model_of_its_address(client: Client) -> None:
    for slug in ("first", "second"):
        make_dataset(1, slug=slug)
    html = client.get("/runs/new/?dataset=second&model=a%2Fb").content.decode()
    assert 'value="second" checked' in html
    assert 'value="first" checked' not in html
    assert 'value="a/b" checked' in html


def test_a_benchmark_comes_with_the_models_that_one_used_last(client: Client) -> None:
    make_dataset(3, slug="sums")
    client.post("/runs/new/", {"dataset": "sums", "model": ["baseline/random", "baseline/empty"]})
    form = client.get("/runs/new/?dataset=sums").context["form"]
    assert form.models == ["baseline/random", "baseline/empty"]
    assert client.get("/runs/new/").context["form"].models == []


def test_the_address_of_the_estimate_shows_the_same_form_again(client: Client) -> None:
    make_dataset(3, slug="sums")
    run = make_scored_run(parameters={"max_tokens": 321, "temperature": 0.5})
    sent = {
        **{"dataset": "sums", "model": ["baseline/random", "a/b"], "repeats": "1", "system_prompt": "Be short."},
        **{"given-sums": "exact_match", "metrics-sums": ["contains"], "variant-0-name": "plain", "like": run.pk},
        **{"variant-1-name": "other", "variant-1-seed": "7", "judge_model": "", "do": "start"},
    }
    address = client.post("/runs/new/plan/", sent)["HX-Replace-Url"]
    assert address.startswith("/runs/new/?")
    assert "repeats" not in address, "the default"
    form = client.get(address).context["form"]
    assert (form.models, form.chosen, form.metrics_of("sums")) == (["baseline/random", "a/b"], ["sums"], ["contains"])
    assert [variant["name"].value() for variant in form.variants] == ["plain", "other"]
    assert (form.variants[1]["seed"].value(), form["system_prompt"].value()) == ("7", "Be short.")
    assert form["temperature"].value() is None, "what somebody has emptied stays empty"
    long = client.post("/runs/new/plan/", {**sent, "system_prompt": "x" * 5_000})["HX-Replace-Url"]
    assert len(long) < 1_000


def test_a_stored_run_that_asked_in_the_same_way_is_linked(client: Client) -> None:
    dataset = make_dataset(3, slug="sums")
    run = make_scored_run(dataset, model="baseline/random", metrics=["exact_match"])
    sent = {"dataset": "sums", "model": ["baseline/random", "baseline/empty"]}
    html = page(client, "/runs/new/plan/", sent)
    assert f'href="/runs/{run.pk}/" title="Stored: run {run.pk}">stored<' in html
    assert html.count("<span>new</span>") == 1
    assert "1 of 2 runs stored already" in html
    others: list[dict[str, Any]] = [
        {"system_prompt": "Be short."},
        {"repeats": "2"},
        {"given-sums": "", "metrics-sums": ["exact_match", "contains"]},
    ]
    for other in others:
        assert "stored already" not in page(client, "/runs/new/plan/", {**sent, **other}), other
    second = make_scored_run(dataset, model="baseline/empty", metrics=["exact_match", "contains"])
    html = page(client, "/runs/new/plan/", sent)
    assert f'href="/compare/?runs={run.pk},{second.pk}">Compare them</a>' in html
    assert "Stored: run" not in html, "all are"
    assert html.count("primary") == 1, "what one came for is the button that starts"


def test_the_plan_says_beside_which_stored_runs_the_scores_can_stand(client: Client) -> None:
    dataset = make_dataset(3, slug="sums")
    assert "stored run" not in page(client, "/runs/new/plan/", REQUEST)
    for model in ("a/one", "b/two"):
        make_scored_run(dataset, model=model, metrics=["exact_match"])
    make_scored_run(dataset, model="baseline/random", metrics=["exact_match"])
    html = " ".join(page(client, "/runs/new/plan/", REQUEST).split())
    assert "Comparable with 2 stored runs by Exact match" in html
    other = {**REQUEST, "given-sums": "contains", "metrics-sums": ["contains"]}
    html = " ".join(page(client, "/runs/new/plan/", other).split())
    said = html.partition('id="beside-sums"')[2].partition("</div>")[0]
    assert "Not comparable: 2 stored runs use Exact match." in said
    assert '1 warning: <a href="#beside-sums">Sums is not comparable</a>' in html
    assert 'value="add sums exact_match"' in html
    form = client.post("/runs/new/", {**other, "do": "add sums exact_match"}).context["form"]
    assert form.metrics_of("sums") == ["contains", "exact_match"], "its own metric still decides"
    assert "stored run" not in page(client, "/runs/new/plan/", {**REQUEST, "system_prompt": "Be short."})


def test_the_form_of_a_schedule_asks_for_score_drops_and_shows_what_is_chosen(client: Client) -> None:
    make_dataset(3, slug="sums")
    schedule = save_schedule(
        "Nightly", "03:00", {"dataset": "sums", "model": "baseline/reference", "metrics": ["exact_match"]}
    )
    html = page(client, f"/runs/new/?schedule={schedule.pk}")
    assert '<form class="launch settled"' in html
    assert 'name="margin"' in html.partition("<span>Score drops</span>")[2].partition("</details>")[0]
    assert "<span>Score drops</span>" not in page(client, "/runs/new/"), "a run that starts once has none"


def test_the_known_part_of_a_cost_is_shown_and_the_missing_price_named(client: Client, endpoint: Endpoint) -> None:
    endpoint(lambda asked: "2")
    make_dataset(300, slug="sums")
    html = page(client, "/runs/new/plan/", {"dataset": "sums", "model": [MODEL, "loop/unpriced"], "max_tokens": "9"})
    cost = html.partition("<dt>Cost</dt>")[2].partition("<dt>Time</dt>")[0]
    assert re.search(r"at least \$0\.\d+ to", cost)
    assert "without loop/unpriced" in cost
    assert re.search(r"loop/unpriced</dt> <dd> unknown", html.partition("Cost by model")[2])
    assert "The price of loop/unpriced is unknown." in html
    alone = page(client, "/runs/new/plan/", {"dataset": "sums", "model": "loop/unpriced"})
    cost = alone.partition("<dt>Cost</dt>")[2].partition("<dt>Time</dt>")[0]
    assert "no price of loop/unpriced" in cost
    assert "$" not in cost


def test_more_tasks_would_show_a_smaller_gap(client: Client) -> None:
    make_dataset(100, slug="sums")
    html = page(client, "/runs/new/plan/", REQUEST)
    assert re.search(r"<b>1\d(\.\d)? points or more</b>.* Sums: \d+ more tasks would show gaps of 15 points\.", html)


def test_errors_stand_at_their_fields_while_the_plan_follows_the_form(client: Client) -> None:
    make_dataset(3, slug="sums")
    make_canvas_set()
    variants = {"variant-0-name": "a", "variant-1-name": "b", "variant-1-system_prompt": "Be short."}
    sent = {**REQUEST, **variants, "variant-2-name": "c", "variant-2-temperature": "1", "average_variants": "on"}
    wrong = {"temperature": "9", "max_tokens": "few", "budget_usd": "-1", "name": "x" * 999}
    place = re.compile(r'<div id="id_([\w-]+)_errors"( hx-swap-oob="true")?>(.*?)</div>')
    found = place.findall(page(client, "/runs/new/plan/", sent | wrong))
    assert {name for name, _, error in found if error} == {*wrong}
    assert all(out_of_band for _, out_of_band, _ in found)
    of_variant = place.findall(page(client, "/runs/new/plan/", sent | {"variant-1-top_p": "7"}))
    assert [name for name, _, error in of_variant if error] == ["variant-1-top_p"]
    mended = place.findall(page(client, "/runs/new/plan/", sent))
    assert not any(error for _, _, error in mended)
    on_page = place.findall(page(client, "/runs/new/", sent | {"do": "plan"}))
    assert sorted(name for name, _, _ in on_page) == sorted(name for name, _, _ in mended)
    assert sorted(name for name, _, _ in found) == sorted(name for name, _, _ in mended)
    sheet = page(client, "/runs/new/plan/", {**REQUEST, "sheet": "1"})
    assert [name for name, _, _ in place.findall(sheet)] == ["budget_usd"]


@pytest.mark.parametrize("chosen", [{}, {"dataset": "sums"}, {"model": "baseline/reference"}])
def test_a_wrong_value_is_marked_before_a_model_and_a_benchmark_are_chosen(
    client: Client, chosen: dict[str, str]
) -> None:
    make_dataset(3, slug="sums")
    make_dataset(3, slug="others")
    sent = chosen | {"temperature": "9", "budget_usd": "much", "system_prompt": "Be short.", "tags": "a"}
    sent |= {"variant-0-name": "a", "variant-0-top_p": "7", "variant-1-name": "b"}
    sent |= {"extra-name": "stop", "extra-value": "[END", "variant-1-extra-name": "n", "variant-1-extra-value": "2"}
    place = re.compile(r'<div id="id_([\w-]+)_errors"[^>]*>(<p.*?)</div>')
    for address, form in (("/runs/new/plan/", sent), ("/runs/new/", sent | {"do": "plan"})):
        html = page(client, address, form)
        assert {name for name, _ in place.findall(html)} == {"extra", "variant-0-top_p", "variant-1-extra"}
        assert "Choose a" in html
        assert "Not started" not in html
    right_extra = {name: value for name, value in sent.items() if not name.startswith("extra")}
    for html in (page(client, "/runs/new/plan/", right_extra), page(client, f"/runs/new/?{urlencode(right_extra)}")):
        assert {"temperature", "budget_usd", "variant-0-top_p"} <= {name for name, _ in place.findall(html)}
    assert not place.findall(page(client, "/runs/new/plan/", chosen))


@pytest.mark.django_db(transaction=True)
def test_three_tasks_are_tried_while_the_form_stays(client: Client, endpoint: Endpoint) -> None:
    endpoint(lambda asked: "2 <b>")
    make_dataset(9, slug="sums")
    make_dataset(9, slug="others")
    variants = {"variant-0-name": "plain", "variant-1-name": "short", "variant-1-system_prompt": "Be short."}
    sent = {"dataset": ["sums", "others"], "model": [MODEL, "baseline/empty"], "repeats": "2", **variants}
    assert "provider" in page(client, "/runs/new/try/", {**sent, "model": "typo"})
    assert not Run.objects.exists()
    html = page(client, "/runs/new/try/", sent)
    runs = list(Run.objects.order_by("pk"))
    assert [(run.dataset.slug, run.limit, run.repeats, run.tags) for run in runs] == [("sums", 3, 1, ["trial"])] * 4
    assert [run.variant for run in runs] == ["plain", "plain", "short", "short"]
    polled = re.search(r'hx-get="([^"]+)"', html)
    assert polled
    for run in runs:
        worked(run)
    html = page(client, polled[1].replace("&amp;", "&"))
    assert html.count("2 &lt;b&gt;") == 6
    assert '<span class="soft">expected 2</span>' in html
    assert "hx-get" not in html
    whole = page(client, "/runs/new/", {**sent, "do": "try"})
    latest = Run.objects.order_by("-pk").values_list("pk", flat=True)[:4]
    assert f'name="trial" value="{",".join(map(str, reversed(latest)))}"' in whole
    assert "Be short." in whole


@pytest.mark.django_db(transaction=True)
def test_a_second_trial_stands_beside_the_first_and_its_prompt_comes_back(client: Client, endpoint: Endpoint) -> None:
    endpoint(lambda asked: "2" if "Be short." in str(asked.body) else "1")
    make_dataset([make_task(n, expected_output="2") for n in range(1, 6)], slug="sums")
    sent: dict[str, Any] = {"dataset": "sums", "model": MODEL, "repeats": "2", "limit": "4"}
    sent |= {"metrics-sums": "exact_match", "given-sums": ""}
    first = sent | {"system_prompt": "Be short.", "temperature": "0.5", "extra-name": "top_k", "extra-value": "5"}
    changed = sent | {"system_prompt": "Be long.", "max_tokens": "9"}

    def tried(form: dict[str, Any]) -> dict[str, Any]:
        html = page(client, "/runs/new/try/", form)
        worked(Run.objects.latest("pk"))
        return dict(re.findall(r'name="(trial\w*)" value="([\d,]+)"', html))

    of_first = tried(first)
    assert [*of_first] == ["trial"]
    assert [*tried(first | of_first)] == ["trial"]  # nothing else was tried before
    of_both = tried(changed | of_first)
    assert of_both["trial_before"] == of_first["trial"]
    again = tried(changed | of_both)
    assert again["trial_before"] == of_first["trial"]
    shown = page(client, f"/runs/new/try/?{urlencode(again)}")
    assert "Before</a>: 3 of 3 correct; now: 0 of 3 correct." in shown
    html = page(client, "/runs/new/", changed | again | {"do": "earlier"})
    assert "The form has the earlier prompt again." in html
    assert "Before</a>: 0 of 3 correct; now: 3 of 3 correct." in html
    form = client.post("/runs/new/", changed | again | {"do": "earlier"}).context["form"]
    assert form.request_data() == {
        **{"dataset": "sums", "model": MODEL, "metrics": ["exact_match"], "repeats": "2", "limit": "4"},
        **{"system_prompt": "Be short.", "temperature": "0.5", "extra": {"top_k": 5}, "max_tool_steps": "5"},
    }
    lone = {"variant-0-name": "short", "variant-0-system_prompt": "Be long.", "variant-0-temperature": "1"}
    form = client.post("/runs/new/", sent | again | lone | {"do": "earlier"}).context["form"]
    assert (form.request_data()["system_prompt"], form.request_data()["temperature"]) == ("Be short.", "0.5")
    assert form.variants[0]["name"].value() == "short"
    # A refused trial keeps what was tried.
    refused = page(client, "/runs/new/try/", changed | again | {"temperature": "9"})
    assert "<strong>Temperature</strong>" in refused
    assert f'name="trial_before" value="{again["trial_before"]}"' in refused


@pytest.mark.django_db(transaction=True)
def test_trials_of_several_variants_are_compared_variant_by_variant(client: Client, endpoint: Endpoint) -> None:
    endpoint(lambda asked: "2" if "Be short." in str(asked.body) else "1")
    make_dataset([make_task(n, expected_output="2") for n in range(1, 6)], slug="sums")
    names = {"variant-0-name": "plain", "variant-1-name": "<b>own</b>", "variant-2-name": "new", "variant-2-seed": "3"}
    sent = {"dataset": "sums", "model": MODEL, "metrics-sums": "exact_match", "given-sums": "", **names}
    first = sent | {"system_prompt": "For all.", "variant-1-system_prompt": "Be short.", "variant-2-name": "old"}
    second = sent | {"system_prompt": "For all.", "variant-1-system_prompt": "Be long.", "variant-1-temperature": "1"}

    def tried(form: dict[str, Any]) -> str:
        html = page(client, "/runs/new/try/", form)
        for run in Run.objects.filter(status="queued"):
            worked(run)
        return urlencode(re.findall(r'name="(trial\w*)" value="([\d,]+)"', html))

    trials = tried(second | dict(parse_qsl(tried(first))))
    shown = page(client, f"/runs/new/try/?{trials}")
    assert shown.count("Before</a>") == 1, "of the variant that changed"
    said = "Before</a>: 3 of 3 correct; now: 0 of 3 correct."
    assert re.search(rf'<b>&lt;b&gt;own&lt;/b&gt;</b> · <a href="/runs/\d+/">{said}', shown)
    with CaptureQueriesContext(connection) as asked:
        response = client.post("/runs/new/", second | dict(parse_qsl(trials)) | {"do": "earlier"})
    assert "now: 3 of 3 correct." in response.content.decode()
    of_results = [each["sql"] for each in asked if 'FROM "benchmarks_result"' in each["sql"]]
    assert len(of_results) == 2, "each trial is read once"
    request = response.context["form"].request_data()
    prompts = {each["name"]: each.get("system_prompt") for each in request["variants"]}
    assert prompts == {"plain": "For all.", "<b>own</b>": "Be short.", "new": "For all."}
    assert not any("temperature" in each.get("parameters", {}) for each in request["variants"])


@pytest.mark.parametrize(
    "named", ["run", "other account", "other tasks", "999999", "1e9", "-1", "<b>", "\0", "1" * 300]
)
def test_only_a_comparable_trial_of_ones_own_is_an_earlier_one(client: Client, named: str) -> None:
    make_dataset(5, slug="sums")
    make_dataset(5, slug="others")
    sent = {"dataset": "sums", "model": "baseline/reference", "metrics-sums": "exact_match", "given-sums": ""}
    other = {"run": sent, "other tasks": {**REQUEST, "dataset": "others"}}.get(named, sent)
    client.post("/runs/new/" if named == "run" else "/runs/new/try/", other | {"system_prompt": "Mine."})
    if named == "other account":
        Run.objects.update(created_by=User.objects.create(username="somebody"))
    pk = Run.objects.latest("pk").pk if named in ("run", "other account", "other tasks") else named
    client.post("/runs/new/try/", sent)
    form = sent | {"trial": Run.objects.latest("pk").pk, "trial_before": pk, "system_prompt": "Kept."}
    for address in (f"/runs/new/try/?{urlencode(form)}", f"/runs/new/?{urlencode(form, doseq=True)}"):
        assert "earlier prompt" not in page(client, address)
    html = page(client, "/runs/new/", form | {"do": "earlier"})
    assert "Kept." in html
    assert "earlier prompt" not in html
    assert "earlier prompt" not in page(client, "/runs/new/try/", form | {"trial": pk})


def test_trials_with_partly_correct_answers_compare_by_their_means() -> None:
    trial = Trial(rows=[(Mock(), [Mock(outcome="partial", value=0.5), Mock(outcome="wrong", value=0.0)])])
    right = Trial(rows=[(Mock(), [Mock(outcome="correct", value=1.0), Mock(outcome="provider_error", value=None)])])
    assert trials_in_words(trial, right, Trial()) == ["mean 0.250, n = 2 of 2", "mean 1.000, n = 1 of 2", "not scored"]
    assert trials_in_words(right, Trial()) == ["1 of 1 correct", "not scored"]


def test_what_would_start_is_copied_as_curl_command_and_python(client: Client) -> None:
    make_dataset(3, slug="sums")
    sent = {**REQUEST, "limit": "2", "temperature": "0.5", "use_cache": "on", "system_prompt": 'It\'s "short".'}
    more = {"extra-name": "top_k", "extra-value": "5", "name": "Mine", "tags": "a, b"}
    shown = {name: text for name, _, text in client.post("/runs/new/plan/", sent | more).context["copies"]}
    body = json.loads(shlex.split(shown["curl"])[-1])
    assert client.post("/api/v1/benchmarks/runs", body, content_type="application/json").status_code == 201
    call_command(*shlex.split(shown["command"])[2:], "--detach")
    started = Mock()
    exec(shown["python"].partition("import Client")[2], {"Client": lambda address: started})
    by_client = started.start_run.call_args.kwargs
    assert client.post("/api/v1/benchmarks/runs", by_client, content_type="application/json").status_code == 201
    runs = [request_of(run) | {"name": run.name, "tags": run.tags} for run in Run.objects.all()]
    assert len(runs) == 3
    assert runs[0] == runs[1] == runs[2]
    assert (runs[0]["extra"], runs[0]["system_prompt"]) == ({"top_k": 5}, sent["system_prompt"])


def test_an_experiment_is_copied_as_a_file_and_a_command(client: Client, tmp_path: Path) -> None:
    make_dataset(3, slug="sums")
    sent = {**REQUEST, "model": ["baseline/random", "baseline/empty"], "limit": "2", "variant-0-name": "a"}
    sent |= {"variant-1-name": "b", "variant-1-temperature": "0.5", "variant-1-system_prompt": "One\ntwo: 'three'"}
    shown = {name: text for name, _, text in client.post("/runs/new/plan/", sent).context["copies"]}
    file = tmp_path / "experiment.yaml"
    file.write_text(shown["command"].partition("\n")[2].rpartition("END_OF_EXPERIMENT\n")[0])
    assert read_experiment_file(file) == json.loads(shlex.split(shown["curl"])[-1])
    assert ".start_experiment(" in shown["python"]


def test_the_form_is_saved_as_a_schedule(client: Client) -> None:
    make_dataset(3, slug="sums")
    sent = {**REQUEST, "limit": "2", "do": "schedule"}
    assert "Save as schedule" in page(client, "/runs/new/")
    empty = client.post("/runs/new/", sent)
    html = empty.content.decode()
    assert empty.status_code == 200
    assert "Enter a time of day, such as 03:00, or a cron expression." in html
    assert re.findall(r'<input[^>]+name="(\w+)"[^>]+autofocus', html) == ["when"]
    assert "Not started" not in html
    assert "Start run" in html
    assert "Not saved" in page(client, "/runs/new/", {**sent, "when": "at noon"})
    several = page(client, "/runs/new/", {**sent, "when": "03:00", "model": ["baseline/random", "baseline/empty"]})
    assert "A schedule starts one run." in several
    response = client.post("/runs/new/", {**sent, "when": "03:00"})
    saved = Schedule.objects.get()
    assert response["Location"] == f"/settings/schedules/{saved.pk}/"
    assert (saved.name, saved.when, saved.enabled) == ("baseline/reference on Sums", "03:00", True)
    assert saved.request == {"model": "baseline/reference", "dataset": "sums", "metrics": ["exact_match"], "limit": 2}
    assert not Run.objects.exists()


def test_a_schedule_says_when_its_next_runs_are_due(client: Client) -> None:
    make_dataset(3, slug="sums")
    html = page(client, "/runs/new/?when=03:00")
    assert "<b>Every day at 03:00</b> (UTC)." in html
    assert len(re.findall(r"<time [^>]+>\w{3}, \w{3} \d+, 03:00</time>", html)) == 3
    weekly = page(client, "/runs/new/", {**REQUEST, "when": "03:00", "do": "when 0 3 * * 1"})
    assert "<b>Monday at 03:00</b>" in weekly
    assert 'id="due"' in page(client, "/runs/new/plan/", {**REQUEST, "when": "at noon"})


def test_a_row_opens_the_short_form_with_what_was_used_last(client: Client) -> None:
    make_dataset(3, slug="sums")
    client.post("/runs/new/", {"dataset": "sums", "model": ["baseline/random", "baseline/empty"]})
    for address, models in (("dataset=sums", 2), ("model=baseline/solver", 1)):
        response = client.get(f"/runs/new/?{address}", headers={"HX-Request": "true", "HX-Target": "sheet"})
        html, form = response.content.decode(), response.context["form"]
        assert (len(form.models), form.chosen) == (models, ["sums"]), address
        assert "<html" not in html
        assert 'name="sheet"' in html
        assert "prompt_template" not in html
        kind, said = ("models", "2 chosen, as last time") if models == 2 else ("benchmarks", "1 chosen, as last time")
        assert f'<span id="count-{kind}">{said}</span>' in html
        assert html.count("as last time") == 1, "of what the address chose nothing is said"
        assert f'name="as_last" value="{kind}"' in html
    sent = {"dataset": "sums", "model": "baseline/empty", "sheet": "1"}
    assert "HX-Replace-Url" not in client.post("/runs/new/plan/", sent), "the page below keeps its address"
    assert "prompt_template" in page(client, "/runs/new/", {**sent, "do": "plan"})
    assert client.post("/runs/new/", {**sent, "do": "start"}).status_code == 302


def test_models_of_the_last_run_are_said_to_be_these_until_others_are_chosen(client: Client) -> None:
    make_dataset(3, slug="sums")
    used = ["baseline/random", "baseline/empty"]
    client.post("/runs/new/", {"dataset": "sums", "model": used})
    for models, said in (
        (used, "2 chosen, as last time"),
        (used[:1], "1 chosen, of 2 last time"),
        ([*used, "baseline/majority"], "3 chosen"),
        ([], "0 chosen"),
    ):
        plan = page(client, "/runs/new/plan/", {"dataset": "sums", "model": models, "as_last": "models"})
        assert f'<span id="count-models" hx-swap-oob="true">{said}</span>' in plan
        assert '<span id="count-benchmarks" hx-swap-oob="true">1 chosen</span>' in plan
    assert "last time" not in page(client, "/runs/new/plan/", {"dataset": "sums", "model": used})


def test_the_only_benchmark_is_chosen_at_first(client: Client) -> None:
    make_dataset(3, slug="sums")
    assert 'name="dataset" value="sums" checked' in page(client, "/runs/new/")
    make_dataset(3, slug="others")
    assert 'value="sums" checked' not in page(client, "/runs/new/")


def test_models_are_listed_by_last_use_by_name_or_by_provider_and_stay_chosen(
    client: Client, endpoint: Endpoint
) -> None:
    make_dataset(3, slug="sums")
    sent = {"model": MODEL, "dataset": "sums"}
    for view, groups in (("", []), ("all", []), ("provider", ["loop"])):
        html = page(client, "/runs/new/", {**sent, "do": f"show-models-{view}"})
        names = re.findall(r'name="model" value="([^"]+)"', html)
        assert len(names) == len(set(names)), "each model once"
        assert f'value="show-models-{view}" aria-pressed="true"' in html
        assert f'name="model" value="{MODEL}" checked' in html
        assert [name for name in groups if f'<h3 class="group-title">{name}</h3>' not in html] == []
        models, baselines = names[: -len(BASELINE_MODELS)], names[-len(BASELINE_MODELS) :]
        assert [name for name in models if is_baseline(name)] == [], "baselines are the last group"
        assert (baselines == sorted(baselines)) == bool(view)
        assert html.count('Baselines <span class="soft">· not language models: what guessing, ') == 1
    assert not Run.objects.exists()


def test_each_model_says_when_it_ran_and_what_the_chosen_tasks_cost_with_it(client: Client, endpoint: Endpoint) -> None:
    endpoint(lambda asked: "2")
    dataset = make_dataset(3, slug="sums")
    make_scored_run(dataset, (1.0, 0.0, 0.0), model=MODEL)
    html = page(client, "/runs/new/?dataset=sums")
    assert re.search(r"last run .{0,200} ago|last run .{0,200}just now", html)
    plan = page(client, "/runs/new/plan/", {"model": MODEL, "dataset": "sums"})
    high = plan_run({"model": MODEL, "dataset": "sums", "metrics": ["exact_match"]}).known_high
    assert high
    assert f"up to {money(high)}" in plan
    whole = page(client, f"/runs/new/?dataset=sums&model={MODEL}")
    assert re.search(rf'<span class="soft num cost" id="cost-\w+"[^>]*>up to {re.escape(money(high))}</span>', whole)
    assert 'hx-trigger="input delay:400ms"' in whole, "its provider was checked within the last minute"
    ProviderCheck.objects.all().delete()
    assert 'hx-trigger="load, ' in page(client, f"/runs/new/?dataset=sums&model={MODEL}")
    (costs,) = re.findall(r'data-costs="([^"]+)"', plan)
    assert set(json.loads(unescape(costs))) <= set(re.findall(r'id="(cost-\w+)"', html)), "each has a place in the list"


def shown_scores(html: str) -> dict[str, str]:
    """Model → its last score in a list of models, with the words that describe it."""
    rows = re.findall(r'name="model" value="([^"]+)".*?<a class="num last"[^>]*?( href[^>]*)?>([^<]*)</a>', html)
    return {model: f"{text} {unescape(words)}" for model, words, text in rows if text}


def scores_of_plan(html: str) -> dict[str, list[str]]:
    (scores,) = re.findall(r'data-scores="([^"]+)"', html)
    found: dict[str, list[str]] = json.loads(unescape(scores))
    return found


def test_models_say_their_last_score_on_the_chosen_benchmark(client: Client, endpoint: Endpoint) -> None:
    endpoint(lambda asked: "2")
    dataset, other = make_dataset(4, slug="sums"), make_dataset(4, slug="others")
    make_scored_run(dataset, (0.0,) * 4, model=MODEL)
    run = make_scored_run(dataset, (1.0, 1.0, 1.0, 0.0), model=MODEL)
    make_scored_run(dataset, (0.0, 0.0, 1.0, 0.0), model="baseline/random")
    make_scored_run(other, (1.0,) * 4, model=MODEL)
    for fields in (
        *({"limit": 2}, {"variant": "short"}, {"status": "running", "completed_at": None}),
        *({"parameters": {"system_prompt": "Other."}}, {"import_format": "inspect"}),
    ):
        make_scored_run(dataset, (0.0, 0.0, 0.0, 0.0), model=MODEL, **fields)
    adaptive = make_scored_run(dataset, (0.0,) * 4, model=MODEL)
    Run.objects.filter(pk=adaptive.pk).update(target_half_width=0.1)
    make_scored_run(dataset, (0.0, None, None, None), model=MODEL, status="completed_with_errors")
    assert shown_scores(page(client, "/runs/new/?limit=2")) == {}
    assert shown_scores(page(client, f"/runs/new/?dataset=sums&dataset=others&model={MODEL}")) == {}
    for chosen in ("", f"&model={MODEL}"):
        shown = shown_scores(page(client, f"/runs/new/?limit=&dataset=sums{chosen}"))
        assert {model: words[:5] for model, words in shown.items()} == {MODEL: "0.750", "baseline/random": "0.250"}
        assert f'href="/runs/{run.pk}/"' in shown[MODEL]
        assert re.search(rf'"Run {run.pk} on Sums: Exact match 0\.750 \(0\.\d+ to 0\.\d+\), n = 4 of 4"', shown[MODEL])
    plan = scores_of_plan(page(client, "/runs/new/plan/", {"dataset": "sums"}))
    assert {text for text, *_ in plan.values()} == {"0.750", "0.250"}
    assert [text for text, *_ in scores_of_plan(page(client, "/runs/new/plan/", {"dataset": "others"})).values()] == [
        "1.000"
    ]
    for none in ({}, {"dataset": ["sums", "others"]}, {"dataset": "nothing"}):
        assert scores_of_plan(page(client, "/runs/new/plan/", none)) == {}


def test_a_score_on_an_older_version_is_none_of_the_chosen_benchmark(client: Client) -> None:
    dataset = make_dataset(4, slug="sums")
    make_scored_run(dataset, (1.0,) * 4, model="baseline/random")
    assert shown_scores(page(client, "/runs/new/?dataset=sums"))
    make_dataset(5, slug="sums")
    assert shown_scores(page(client, "/runs/new/?dataset=sums")) == {}


def test_last_scores_cost_the_same_queries_for_more_models_and_runs(client: Client) -> None:
    dataset = make_dataset(4, slug="sums")

    def queries(count: int) -> int:
        for place in range(count):
            make_scored_run(dataset, (1.0, 0.0, 1.0, 0.0), model=f"a/model-{place}")
        with CaptureQueriesContext(connection) as asked:
            client.get("/runs/new/?dataset=sums&model=baseline/empty")
        return len(asked)

    queries(1)
    assert queries(3) == queries(9)


def test_the_list_and_the_plan_tell_one_gap(client: Client) -> None:
    make_dataset(80, slug="sums")
    make_dataset(90, slug="others")
    sent = {**REQUEST, "dataset": "sums", "limit": "40"}
    html = " ".join(page(client, "/runs/new/plan/", sent).split())
    (shown,) = re.findall(r"<b>([\d.]+) points or more</b>", html)
    assert f'id="shows-sums" hx-swap-oob="true">{shown} points or more<' in html
    assert f'id="shows-others" hx-swap-oob="true">{shown} points or more<' in html, "of 40 tasks, too"
    assert f"{shown} points or more" in page(client, f"/runs/new/?{urlencode(sent, doseq=True)}")


def test_a_blocked_start_says_its_error_once(client: Client) -> None:
    make_dataset(3, slug="sums")
    html = page(client, "/runs/new/plan/", {**REQUEST, "model": "nobody/unlisted"})
    assert html.count("Provider nobody is not configured") == 1
    assert ">Remove nobody/unlisted</button>" in html.partition('id="models-errors"')[2].partition("</div>")[0]
    less = client.post("/runs/new/", {**REQUEST, "model": ["nobody/unlisted", MODEL], "do": "without nobody/unlisted"})
    assert less.context["form"].models == [MODEL]
    fix = '<b>Fix before you start:</b> <a href="#models-title">Models</a>: no provider for nobody/unlisted'
    assert fix in " ".join(html.split())
    two = page(client, "/runs/new/plan/", {**REQUEST, "model": ["nobody/unlisted", "none/other"]})
    assert two.count('<a href="#models-title">Models</a>') == 2, "once in the plan and once beside the button"
    assert ">Remove none/other</button>" in two


def test_pages_of_schedules_are_below_the_settings(client: Client) -> None:
    make_dataset(3, slug="sums")
    for address, within in (("/runs/new/?when=03:00", "Settings"), ("/runs/new/", "Runs")):
        html = page(client, address)
        marked = re.search(r'<a href="[^"]*"[^>]*aria-current[^>]*>.*?</a>', html.partition("<nav")[2], re.DOTALL)
        assert marked is not None
        assert within in marked[0], address
        assert f">{within}</a>" in html.partition('class="crumbs"')[2].partition("</li>")[0], address


def test_a_setting_that_a_warning_names_is_code() -> None:
    assert with_code("set `a<b` in c") == "set <code>a&lt;b</code> in c"
    assert with_code("an odd ` <b>") == "an odd ` &lt;b&gt;"


def test_a_page_with_a_choice_comes_with_its_plan(client: Client) -> None:
    make_dataset(3, slug="sums")
    html = page(client, "/runs/new/?dataset=sums&model=baseline/reference")
    assert "Calculating" not in html
    assert 'hx-trigger="input delay:400ms"' in html, "it is not asked for again"
    assert "<dt>Requests</dt> <dd> 3" in html
    assert "3 requests" in html.partition('id="total"')[2].partition("</p>")[0], "beside the button, on phones"
    judged = "metrics-sums=correctness&judge_model=openai/gpt-4o"
    html = page(client, f"/runs/new/?dataset=sums&model=baseline/reference&given-sums=numeric&{judged}")
    assert "3 requests + 3 to the judge" in html.partition('id="total"')[2].partition("</p>")[0]


def test_the_run_that_asked_the_same_says_what_it_took(client: Client) -> None:
    run = make_scored_run(make_dataset(3, slug="sums"), model="baseline/reference", metrics=["exact_match"])
    Run.objects.filter(pk=run.pk).update(active_seconds=18.0, cost_usd=0.25)
    html = page(client, "/runs/new/plan/", REQUEST)
    said = " ".join(html.partition('id="stored"')[2].split())
    assert f'<a href="/runs/{run.pk}/">Run {run.pk}</a> asked the same.</b> It took 18 s and cost $0.25.' in said


def test_a_start_is_proposed_with_a_model_whose_score_did_not_fall(client: Client, endpoint: Endpoint) -> None:
    endpoint(lambda asked: "2")
    make_dataset(3, slug="others")
    dataset = make_dataset(3, slug="sums")
    make_scored_run(dataset, model=MODEL)
    fallen = make_scored_run(dataset, model="loop/fallen")
    assert "For example <b>loop/fallen</b>" in page(client, "/runs/new/")
    schedule = Schedule.objects.create(name="Nightly", when="03:00", request={})
    turn = ScheduledRun.objects.create(schedule=schedule, run=fallen, due_at=fallen.created_at)
    make_scored_run(dataset, model="loop/fallen")
    numbers = {"difference": -0.5, "low": -0.9, "high": -0.1, "p_adjusted": 0.001, "n_shared": 3, "sentence": "Fell."}
    ScoreDrop.objects.create(scheduled_run=turn, metric="exact_match", **numbers)
    assert f"For example <b>{MODEL}</b>" in page(client, "/runs/new/")
    assert 'value="loop/fallen" checked' in page(client, "/runs/new/?dataset=sums"), "a row's Run repeats what ran last"


def test_before_anything_can_start_its_panel_says_what_is_missing(client: Client) -> None:
    make_dataset(3, slug="sums")
    make_dataset(3, slug="others")
    plan = page(client, "/runs/new/plan/", {**REQUEST, "model": ""}).partition('id="plan"')[2]
    assert "Choose a model." in plan
    unknown = {**REQUEST, "more_models": "nobody/unlisted"}
    assert "Start runs" in page(client, "/runs/new/plan/", unknown), "it does not count what cannot run"
