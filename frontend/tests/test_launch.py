"""The launch form accepts what the API accepts, reports the same errors at its fields, and starts what it describes."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from html import unescape
from pathlib import Path
from typing import Any
from unittest.mock import Mock
from urllib.parse import urlencode

import pytest
from django.core.management import call_command
from django.test import Client

from benchmarks.engine.execution.preparing import chosen_tasks
from benchmarks.models import DatasetVersion, Experiment, Run, Schedule
from benchmarks.run_parameters import labels
from benchmarks.services.datasets.versions import spec_of
from benchmarks.services.errors import InvalidRequest
from benchmarks.services.experiments.files import read_experiment_file
from benchmarks.services.runs.requests import validated
from benchmarks.services.runs.start import request_of, start_run
from benchmarks.services.schedules import save_schedule
from frontend.templatetags.show import with_code
from tests.support.factories import MODEL, make_dataset, make_task
from tests.support.page_factories import make_canvas_set, make_scored_run

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


def test_the_form_of_a_schedule_asks_for_score_drops_and_shows_what_is_chosen(client: Client) -> None:
    make_dataset(3, slug="sums")
    schedule = save_schedule(
        "Nightly", "03:00", {"dataset": "sums", "model": "baseline/reference", "metrics": ["exact_match"]}
    )
    html = page(client, f"/runs/new/?schedule={schedule.pk}")
    assert '<form class="launch settled"' in html
    assert 'name="margin"' in html.partition("<span>Score drops</span>")[2].partition("</details>")[0]
    assert "<span>Score drops</span>" not in page(client, "/runs/new/"), "a run that starts once has none"


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


def test_copies_hold_what_a_page_cannot_show(client: Client, tmp_path: Path) -> None:
    make_dataset(3, slug="sums", name="</pre><b>'$(id)'")
    prompt = "It's $(id) `x` \\u0041 é😀\n\u202eEND_OF_EXPERIMENT\nEND_OF_EXPERIMENT\n\x1b[31m\x85\u2028."
    sent = {**REQUEST, "system_prompt": prompt, "name": "'\u202e'"}

    def shown(form: dict[str, Any]) -> dict[str, str]:
        html = client.post("/runs/new/plan/", form).content.decode()
        return {name: unescape(text) for name, text in re.findall(r'id="copy-(\w+)"[^>]*>(.*?)</pre>', html, re.DOTALL)}

    of_run = shown(sent)
    assert json.loads(shlex.split(of_run["curl"])[-1])["system_prompt"] == prompt
    words = ["bash", "-c", of_run["command"].replace("python manage.py", "printf '%s\\0'")]
    printed = subprocess.run(words, capture_output=True, check=True).stdout.decode().split("\0")
    assert {prompt, sent["name"]} <= {*printed}
    of_experiment, started = shown({**sent, "model": ["baseline/random", "baseline/empty"]}), Mock()
    exec(of_experiment["python"].partition("import Client")[2], {"Client": lambda address: started})
    file = tmp_path / "experiment.yaml"
    file.write_text(of_experiment["command"].partition("\n")[2].rpartition("END_OF_EXPERIMENT\n")[0])
    by_file = read_experiment_file(file)
    assert by_file == started.start_experiment.call_args.kwargs == json.loads(shlex.split(of_experiment["curl"])[-1])
    assert by_file["system_prompt"] == prompt


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


def test_a_wrong_time_or_loss_is_marked_as_it_is_typed(client: Client) -> None:
    make_dataset(3, slug="sums")
    place = re.compile(r'<div id="id_(\w+)_errors"[^>]*>(<p.*?)</div>')
    for chosen in ({}, REQUEST, REQUEST | {"temperature": "9"}):
        wrong = chosen | {"when": "0330", "margin": "much"}
        found = dict(place.findall(page(client, "/runs/new/plan/", wrong)))
        assert {"when", "margin"} <= {*found}, chosen
        assert "Enter a time of day" in found["when"]
        right = page(client, "/runs/new/plan/", chosen | {"when": "03:30", "margin": "3"})
        assert not {"when", "margin"} & {*dict(place.findall(right))}
    html = page(client, f"/runs/new/?{urlencode(REQUEST | {'when': '0330'}, doseq=True)}")
    assert "Enter a time of day" in dict(place.findall(html))["when"]
    assert "Not saved" not in html


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


def test_the_only_benchmark_is_chosen_at_first(client: Client) -> None:
    make_dataset(3, slug="sums")
    assert 'name="dataset" value="sums" checked' in page(client, "/runs/new/")
    make_dataset(3, slug="others")
    assert 'value="sums" checked' not in page(client, "/runs/new/")


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
