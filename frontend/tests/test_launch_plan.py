"""What the launch form says before a start: the lists to choose from, the estimate, stored runs, and trials."""

from __future__ import annotations

import json
import re
from html import unescape
from typing import Any
from unittest.mock import Mock
from urllib.parse import parse_qsl, urlencode

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from benchmarks.models import ProviderCheck, Run, RunKind, Schedule, ScheduledRun, ScoreDrop
from benchmarks.presentation.numbers import duration, money
from benchmarks.providers.baseline import BASELINE_MODELS
from benchmarks.providers.model_names import is_baseline
from benchmarks.queries.launch import Trial, trials_in_words
from benchmarks.services.runs.estimate import plan_run
from tests.support.factories import MODEL, make_dataset, make_task
from tests.support.page_factories import make_scored_run
from tests.support.running import Endpoint, worked

pytestmark = pytest.mark.django_db
REQUEST = {"dataset": "sums", "model": "baseline/reference", "metrics": ["exact_match"]}


def page(client: Client, address: str, sent: dict[str, Any] | None = None) -> str:
    """The page with its white space collapsed."""
    response = client.get(address) if sent is None else client.post(address, sent)
    return " ".join(response.content.decode().split())


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
    of_results = [each["sql"] for each in asked if '"benchmarks_result"."position" ASC' in each["sql"]]
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
