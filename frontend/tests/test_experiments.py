"""The pages of experiments: list, launch, and the page that reads the runs as one."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client

from benchmarks.engine.summary.summarize import summarize
from benchmarks.models import Experiment, Run, RunKind, RunStatus, Task
from benchmarks.run_parameters import RUN_PARAMETERS
from benchmarks.services.experiments.preview import preview
from benchmarks.services.experiments.requests import COMMON, PROMPTING, validated_experiment
from benchmarks.services.experiments.start import start_experiment
from frontend.matrix import braces
from tests.support.canvas_sets import make_canvas_set
from tests.support.factories import JUDGE, MODEL, make_dataset
from tests.support.page_factories import make_scored_run
from tests.support.running import Endpoint, worked

pytestmark = pytest.mark.django_db(transaction=True)


def form(**fields: Any) -> dict[str, Any]:
    given = {"name": "Prompts", "dataset": ["sums"], "model": [MODEL, JUDGE], "metrics": ["exact_match"]}
    return {**given, **fields}


def two_variants(**fields: str) -> dict[str, str]:
    return {
        "variant-0-name": "plain",
        "variant-1-name": "stepwise",
        "variant-1-prompt_template": "{input} Think.",
        "variant-1-temperature": "0.5",
        **fields,
    }


def page(client: Client, url: str) -> str:
    response = client.get(url)
    assert response.status_code == 200
    return " ".join(response.content.decode().split())


def finished_experiment() -> Experiment:
    experiment = Experiment.objects.create(name="Prompts <b>", tags=["autumn"], request={"models": []}, budget_usd=5.0)
    dataset = make_dataset(40)
    for model, right in (("loop/large", 38), ("loop/small", 5), ("loop/tiny", 3)):
        make_scored_run(
            dataset,
            [1.0] * right + [0.0] * (40 - right),
            model=model,
            experiment=experiment,
            judge_cost_usd=0.0,
            summarized_at="2026-01-01T00:00:00Z",
        )
    return experiment


def test_the_form_starts_a_run_for_each_model_and_variant(client: Client, endpoint: Endpoint) -> None:
    endpoint(lambda asked: "2")
    make_dataset(2)
    response = client.post("/runs/new/", form(tags="autumn, prompts", max_tokens="9", **two_variants()))
    experiment = Experiment.objects.get()
    assert response.headers["Location"] == f"/experiments/{experiment.pk}/"
    assert experiment.tags == ["autumn", "prompts"]
    runs = experiment.runs.order_by("pk")
    assert [(run.model, run.variant) for run in runs] == [
        (model, variant) for variant in ("plain", "stepwise") for model in (MODEL, JUDGE)
    ]
    assert runs[2].parameters["prompt_template"] == "{input} Think."
    assert (runs[0].parameters.get("temperature"), runs[2].parameters["temperature"]) == (None, 0.5)
    for run in runs:
        worked(run)
    assert "4 of 4 runs" in page(client, f"/experiments/{experiment.pk}/")
    of_run = page(client, f"/runs/{runs[2].pk}/")
    assert f'part of <a href="/experiments/{experiment.pk}/">' in of_run
    assert "stepwise" in of_run
    assert "· stepwise</div>" in page(client, "/runs/single/")


def test_without_variants_there_is_one_way_of_asking(client: Client, endpoint: Endpoint) -> None:
    endpoint(lambda asked: "2")
    make_dataset(2)
    client.post("/runs/new/", form())
    assert list(Experiment.objects.get().runs.values_list("variant", flat=True)) == ["", ""]


def test_every_field_stands_in_the_form_once(client: Client, endpoint: Endpoint) -> None:
    endpoint(lambda asked: "2")
    make_dataset(2)
    text = client.post("/runs/new/", form(do="variant", **two_variants())).content.decode()
    names = re.findall(r'<(?:input|select|textarea)[^>]* name="([^"]+)"', text.partition('class="launch"')[2])
    several = ("csrfmiddlewaretoken", "dataset", "model", "do")
    once = [name for name in names if name not in several and not name.endswith(("extra-name", "extra-value"))]
    assert len(once) == len(set(once))
    common = {name for name in COMMON if not RUN_PARAMETERS[name].canvas_only} - {"metrics", "extra"}
    assert {"name", "description", "tags", "more_models", *common} <= set(once)
    assert {"extra-name", "variant-1-extra-name", *(f"variant-1-{name}" for name in PROMPTING)} <= set(names)


def test_a_variant_has_extra_parameters_and_a_wrong_one_is_named(client: Client, endpoint: Endpoint) -> None:
    endpoint(lambda asked: "2")
    make_dataset(2)
    pairs = {"variant-1-extra-name": "top_k", "variant-1-extra-value": "5"}
    wrong = two_variants(**{**pairs, "variant-1-extra-name": "temperature"})
    assert client.post("/runs/new/", form(**wrong)).status_code == 400
    client.post("/runs/new/", form(**two_variants(**pairs)))
    experiment = Experiment.objects.get()
    assert experiment.runs.order_by("pk")[2].parameters["extra"] == {"top_k": 5}
    assert "top_k" in page(client, f"/runs/new/?experiment={experiment.pk}")


def test_a_button_adds_a_variant_and_keeps_what_was_entered(client: Client, endpoint: Endpoint) -> None:
    endpoint(lambda asked: "2")
    make_dataset(2)
    response = client.post("/runs/new/", form(do="variant", **two_variants()))
    text = response.content.decode()
    assert "Variant 3" in text
    assert "{input} Think." in text
    assert not Experiment.objects.exists()


def test_mistakes_stand_at_their_fields(client: Client, endpoint: Endpoint) -> None:
    endpoint(lambda asked: "2")
    make_dataset(2)
    fields = form(model="nowhere/x", **two_variants(**{"variant-1-prompt_template": "{question}"}))
    response = client.post("/runs/new/", fields)
    assert response.status_code == 400
    errors = response.context["form"]
    assert "not configured" in errors["model"].errors[0]
    assert "“{question}” is not a placeholder" in errors.variants[1]["prompt_template"].errors[0]
    assert not Experiment.objects.exists()


def test_the_estimate_names_costs_and_the_gaps_that_show(client: Client, endpoint: Endpoint) -> None:
    endpoint(lambda asked: "2")
    make_dataset(100)
    text = client.post("/runs/new/plan/", form(max_tokens="9", **two_variants())).content.decode()
    assert "Detectable gap" in text
    assert "Start 4 runs" in text
    assert ">400" in text.replace("\n", "").replace(" ", "")
    assert "Choose a model and a benchmark" in client.post("/runs/new/plan/", form(model=[])).content.decode()


def test_run_again_keeps_the_metrics_of_all_benchmarks(client: Client, endpoint: Endpoint) -> None:
    endpoint(lambda asked: "2")
    make_dataset(2)
    assert client.post("/runs/new/", form(metrics="contains", **two_variants())).status_code == 302
    [first] = Experiment.objects.all()
    html = client.get(f"/runs/new/?experiment={first.pk}").content.decode()
    assert f'Settings copied from <a href="/experiments/{first.pk}/">' in html
    sent = {name: re.findall(rf'name="{name}" value="([^"]+)"', html) for name in ("given-sums", "metrics-sums")}
    assert sent == {"given-sums": ["contains"], "metrics-sums": ["contains"]}


def test_an_experiment_again_scores_canvases_as_it_did_and_finds_its_runs(client: Client, endpoint: Endpoint) -> None:
    endpoint(lambda asked: "2")
    make_dataset(2)
    canvases = make_canvas_set("3", 2).slug
    request = {"name": "Both", "datasets": ["sums", canvases], "models": [MODEL], "metrics": ["exact_match"]}
    experiment = start_experiment(request)
    for run in experiment.runs.all():
        worked(run)
    assert experiment.runs.get(dataset__slug=canvases).metrics == ["task_score", "exact_match"]
    again = client.get(f"/runs/new/?experiment={experiment.pk}").context["form"]
    assert again.metrics_of(canvases) == ["task_score", "exact_match"]
    stored = preview(validated_experiment(again.request_data())[1]).stored
    assert sorted(stored) == sorted(experiment.runs.values_list("pk", flat=True))


def test_old_addresses_lead_to_the_same_form(client: Client) -> None:
    assert client.get("/experiments/new/")["Location"] == "/runs/new/"
    assert client.get("/experiments/new/?like=3")["Location"] == "/runs/new/?experiment=3"
    assert client.get("/experiments/new/?starter=1")["Location"] == "/runs/new/?starter=1"
    assert client.get("/runs/new/?experiment=99").status_code == 404


def test_one_variant_of_one_model_on_one_benchmark_is_a_run(client: Client, endpoint: Endpoint) -> None:
    endpoint(lambda asked: "2")
    make_dataset(2)
    variant = {"variant-0-name": "only", "variant-0-temperature": "0.5", "variant-0-system_prompt": "Be short."}
    client.post("/runs/new/", form(model=[MODEL], temperature="1", **variant))
    run = Run.objects.get()
    assert (run.experiment, run.parameters["temperature"], run.parameters["system_prompt"]) == (None, 0.5, "Be short.")


def test_a_variant_is_removed_without_the_others(client: Client) -> None:
    make_dataset(2)
    left = client.post("/runs/new/", form(do="drop-0", **two_variants())).context["form"].variants
    assert [(variant["name"].value(), variant["temperature"].value()) for variant in left] == [("stepwise", "0.5")]
    first = client.post("/runs/new/", form(do="variant")).context["form"].variants
    assert [variant["name"].value() for variant in first] == ["plain", "variant 2"]


def test_the_page_says_who_leads_and_groups_what_is_not_separated(client: Client) -> None:
    experiment = finished_experiment()
    text = page(client, f"/experiments/{experiment.pk}/")
    assert "<strong>large leads.</strong> small is 82.5 points behind" in text
    assert "The difference between small and tiny is not significant." in text
    assert "Prompts &lt;b&gt;" in text
    assert "2–3" in text
    assert "$0.75 of a budget of $5.00" in text
    assert "hx-get" not in text.partition('id="board"')[2].partition(">")[0]
    listed = page(client, "/experiments/")
    assert "3 models · Sums" in listed
    assert "autumn" in listed
    assert re.search(r"large leads\. <div[^>]*>small is 82.5 points behind \(", page(client, "/"))


def test_a_variant_without_any_right_answer_stands_first_and_leads_to_its_failures(client: Client) -> None:
    experiment = Experiment.objects.create(name="Prompts", request={"models": []})
    dataset = make_dataset(40)
    for variant, rights in (("plain", (38, 5)), ("stepwise", (0, 0))):
        for model, right in zip(("loop/large", "loop/small"), rights, strict=True):
            values = [1.0] * right + [0.0] * (40 - right)
            given = {"variant": variant, "model": model, "summarized_at": "2026-01-02T00:00:00Z"}
            make_scored_run(dataset, values, experiment=experiment, **given)
    said = "<strong>No answer with stepwise is correct: check the prompt or the answer format.</strong>"
    text = page(client, f"/experiments/{experiment.pk}/")
    assert f'{said} <a href="/experiments/{experiment.pk}/failures/">Show failures</a>' in text
    statement = text.partition(said)[2].partition("</div>")[0]
    assert "large leads." in statement
    assert "lowers" not in statement, "zeros have no effect to report"
    for tab in ("answers", "failures"):
        assert said in page(client, f"/experiments/{experiment.pk}/{tab}/")
    ids = ",".join(str(run.pk) for run in experiment.runs.all())
    compared = page(client, f"/compare/?runs={ids}")
    failing = experiment.runs.filter(variant="stepwise").first()
    assert failing is not None
    assert f'{said} <a href="/runs/{failing.pk}/#results">Show failures</a>' in compared


def test_the_page_shows_what_each_variant_asks(client: Client) -> None:
    variants = [
        {"name": "plain"},
        {"name": "terse", "system_prompt": "Use <b>one</b> word.", "parameters": {"temperature": 0.5}},
    ]
    request = {"name": "Prompts", "datasets": ["sums"], "models": [MODEL], "variants": variants, "max_tokens": 9}
    text = page(client, f"/experiments/{Experiment.objects.create(name='Prompts', request=request).pk}/setup/")
    shown = text.partition("Variants and parameters")[2].partition("Experiment file")[0]
    headings = re.split(r'<th scope="rowgroup"[^>]*>(.*?)</th>', shown)[1:]
    of = dict(zip(headings[::2], headings[1::2], strict=True))
    assert list(of) == ["plain", "terse", "All runs"]
    assert ">Defaults</td>" in of["plain"]
    assert "Use &lt;b&gt;one&lt;/b&gt; word." in of["terse"]
    assert re.search(r"<td>Temperature</td>\s*<td[^>]*>0.5</td>", of["terse"])
    assert re.search(r"<td>Max output tokens</td>\s*<td[^>]*>9</td>", of["All runs"])


def test_task_by_task_shows_who_answered_what_and_filters(client: Client) -> None:
    experiment = finished_experiment()
    text = page(client, f"/experiments/{experiment.pk}/answers/")
    assert "Sums: 3 of 40 tasks are right in all 3 runs, and 2 are wrong in all." in text
    assert text.count("an answer") == 120
    assert '<small class="who">Right: large</small>' in text
    assert '<small class="who">Not right: tiny</small>' in text
    run = experiment.runs.get(model="loop/large")
    only = page(client, f"/experiments/{experiment.pk}/answers/?show=only&run={run.pk}")
    assert "<span>33 of 40 tasks</span>" in only
    assert '<table class="task-grid many fewer">' in only, "its answers that are not right are shown on phones, too"
    assert "Not right:" not in only
    assert "tasks are right in all 3 runs" not in only, "which is of all tasks"
    assert '<a class="chip on" href="?show=only">Chosen run: large' in only, "a chip without which the choice ends"
    (shown,) = re.findall(r'<a class="chip on"\s+href="([^"]*)"\s+aria-current="true">\s*Only large right', only)
    assert shown == f"?run={run.pk}", "and the filter itself ends it"
    assert only.count("remove filter") == 2, "each can be removed in one way"
    assert re.search(r'<option value="" selected>\w+', only), "an address does not name what holds without it"
    nonsense = page(client, f"/experiments/{experiment.pk}/answers/?show=x&run=y&page=z&dataset=none&sort=%00")
    assert "<span>40 tasks</span>" in nonsense
    better = experiment.runs.get(model="loop/tiny")
    worse = f"/experiments/{experiment.pk}/answers/?show=worse&run={run.pk}&baseline={better.pk}"
    assert "No task matches" in page(client, worse)
    assert "33 of 40 tasks" in page(client, f"/experiments/{experiment.pk}/answers/?show=worse"), "small against large"


def test_task_by_task_of_many_runs_has_fewer_tasks_on_a_page_and_stays_light(client: Client) -> None:
    experiment = Experiment.objects.create(name="Many", request={"models": []})
    dataset = make_dataset(25)
    for number in range(12):
        make_scored_run(dataset, [1.0, 0.0] * 12 + [0.5], model=f"loop/model-{number}", experiment=experiment)
    response = client.get(f"/experiments/{experiment.pk}/answers/")
    assert response.content.count(b"data-row") == 20
    assert len(response.content) < 125_000  # ids have one to four digits
    assert page(client, f"/experiments/{experiment.pk}/answers/?page=2").count("data-row") == 5


def test_a_kind_of_failure_leads_to_the_answers_that_failed_so(client: Client) -> None:
    experiment = finished_experiment()
    small = experiment.runs.get(model="loop/small")
    small.results.filter(position__lte=8).update(outcome="unparsable", failure="no <answer> line")
    small.summary, small.breakdown = summarize(small)
    small.save()
    text = page(client, f"/experiments/{experiment.pk}/failures/")
    assert "No &lt;answer&gt; line" in text
    link = next(link for link in re.findall(r'href="(/[^"]+&amp;run=\d+)"', text) if "unparsable" in link)
    shown = page(client, link.replace("&amp;", "&"))
    assert "<span>8 of 40 tasks</span>" in shown
    assert 'Unparsable <span aria-hidden="true">×</span>' in shown
    assert "Reason: no &lt;answer&gt; line" in shown


def test_the_cost_names_what_is_not_known_and_the_setup_is_a_file(client: Client) -> None:
    experiment = finished_experiment()
    experiment.runs.filter(model="loop/tiny").update(cost_usd=None, tokens_in=9)
    assert "No price is configured for loop/tiny." in page(client, f"/experiments/{experiment.pk}/cost/")
    experiment.request = {"name": "Prompts", "datasets": ["sums"], "models": [MODEL]}
    experiment.save()
    setup = client.get(f"/experiments/{experiment.pk}/setup/").content.decode()
    assert f"datasets:\n  - sums\nmodels:\n  - {MODEL}" in setup
    assert "start_experiment(" in setup
    total = sum(run.total for run in experiment.runs.all())
    assert f'data-label="Results">{total}<' in " ".join(setup.split())
    assert "name: Prompts &lt;b&gt;" in setup, "a name given later"


def test_the_price_of_correct_answers_is_said_with_how_many_are_correct(client: Client) -> None:
    experiment = finished_experiment()
    for model, usd in (("loop/large", 0.38), ("loop/small", 0.01), ("loop/tiny", 0.03)):
        experiment.runs.filter(model=model).update(cost_usd=usd, done=40)
    text = page(client, f"/experiments/{experiment.pk}/cost/")
    assert "large is correct most often, 38 of 40; 1,000 correct answers cost $10.00." in text
    assert "Cheaper: small $2.00, 5 of 40 correct. Not cheaper: tiny $10.00, 3 of 40 correct." in text
    experiment.runs.filter(model="loop/tiny").update(cost_usd=None)
    assert "most often" not in page(client, f"/experiments/{experiment.pk}/cost/")


@pytest.mark.parametrize("tab", ["", "answers/", "failures/", "cost/", "setup/"])
def test_every_tab_stands_without_runs_and_before_any_result(client: Client, tab: str) -> None:
    experiment = Experiment.objects.create(name="None", request={})
    assert "Setup" in page(client, f"/experiments/{experiment.pk}/{tab}")
    run = make_scored_run(make_dataset(2), [1.0, 1.0], experiment=experiment)
    run.results.all().delete()
    Run.objects.filter(pk=run.pk).update(status=RunStatus.QUEUED, summary={}, total=0, done=0, cost_usd=None)
    assert "Setup" in page(client, f"/experiments/{experiment.pk}/{tab}")


def test_the_old_address_of_the_tasks_leads_to_the_answers(client: Client) -> None:
    address = f"/experiments/{finished_experiment().pk}"
    assert client.get(f"{address}/tasks/?show=only&open=3")["Location"] == f"{address}/answers/?show=only&open=3"


def test_task_by_task_is_searched_and_narrowed_to_a_group(client: Client) -> None:
    address = f"/experiments/{finished_experiment().pk}/answers/"
    assert "1 of 40 tasks</span>" in page(client, f"{address}?text=7+%2B+7")
    assert "No task matches the filters." in page(client, f"{address}?text=%25")
    version = Task.objects.earliest("pk").version
    Task.objects.filter(name__in=("Task 1", "Task 7")).update(group="birds")
    version.facets = {**version.facets, "group": {"birds": 2, "fish": 38}}
    version.save()
    text = page(client, f"{address}?group=birds")
    assert "2 of 40 tasks</span>" in text
    assert '<option value="birds" selected>Birds</option>' in text


def test_a_task_opens_below_its_row_with_every_answer(client: Client) -> None:
    experiment = finished_experiment()
    address = f"/experiments/{experiment.pk}/answers/?show=disagree"
    links = re.findall(r'href="([^"]+open=\d+)#task-(\d+)"', page(client, address))
    assert len(links) == 35
    path, pk = links[0][0].replace("&amp;", "&"), links[0][1]
    assert path == f"?show=disagree&open={pk}"
    opened = page(client, f"/experiments/{experiment.pk}/answers/{path}")
    assert opened.count('class="answer-card') == 2, "equal answers with equal scores are one"
    assert "<b>large, small</b>" in opened
    assert opened.count("Result in run") == 3
    assert "What is" in opened.partition("drawer")[2]
    closing = re.findall(r'aria-expanded="true" href="([^"]+)#', opened)
    assert closing == ["?show=disagree"]
    assert "Underlined" in page(client, f"/experiments/{experiment.pk}/answers/{path}")
    assert "Underlined" not in page(client, f"/experiments/{experiment.pk}/answers/{path}&diff=0")
    two = experiment.runs.exclude(model="loop/tiny").values_list("pk", flat=True)
    chosen = page(client, f"/experiments/{experiment.pk}/answers/?open={pk}&runs={two[0]},{two[1]}")
    assert chosen.count("Result in run") == 2
    assert page(client, f"/experiments/{experiment.pk}/answers/?open=x&runs=,y").count("answer-card") == 0


def test_the_reference_of_an_opened_task_is_marked_as_doubtful_and_the_page_comes_back(client: Client) -> None:
    experiment = finished_experiment()
    task = Task.objects.earliest("position")
    address = f"/experiments/{experiment.pk}/answers/?open={task.pk}"
    assert 'data-key="f"' in page(client, address)
    act = f"/datasets/{task.version.dataset.slug}/analysis/do/mark-doubtful/"
    fields = {"version": task.version.number, "task": task.task_id}
    assert client.post(act, {**fields, "next": address}).headers["Location"] == address
    assert "Marked as doubtful." in page(client, address)
    assert "evil" not in client.post(act, {**fields, "next": "//evil.example/"}).headers["Location"]


def test_a_live_experiment_updates_itself_and_marks_what_is_provisional(client: Client) -> None:
    experiment = finished_experiment()
    experiment.runs.filter(model="loop/tiny").update(status=RunStatus.RUNNING)
    text = page(client, f"/experiments/{experiment.pk}/")
    assert f'hx-get="/experiments/{experiment.pk}/status/"' in text
    assert '<div id="beside">' in text
    read = page(client, f"/experiments/{experiment.pk}/status/")
    assert '<section id="board"' in read
    assert '<div id="beside" hx-swap-oob="true">' in read, "failures and effects with the board"
    assert "So far: <strong>large leads.</strong>" in text
    assert "has not ended" in text
    assert client.get(f"/experiments/{experiment.pk}/status/").headers.get("HX-Refresh") is None
    experiment.runs.update(status=RunStatus.COMPLETED)
    assert client.get(f"/experiments/{experiment.pk}/status/").headers["HX-Refresh"] == "true"


def test_while_answers_are_scored_again_scores_are_provisional_and_no_task_is_missing(client: Client) -> None:
    experiment = finished_experiment()
    experiment.runs.filter(model="loop/tiny").update(status=RunStatus.RUNNING, kind=RunKind.RESCORED)
    text = page(client, f"/experiments/{experiment.pk}/")
    assert "Provisional until rescoring ends: <strong>large leads.</strong>" in text
    assert "So far" not in text
    experiment.runs.update(status=RunStatus.RUNNING, kind=RunKind.RESCORED)
    assert "Scores are provisional until rescoring ends." in page(client, f"/experiments/{experiment.pk}/")


def test_the_buttons_act_on_all_runs(client: Client, endpoint: Endpoint) -> None:
    endpoint(lambda asked: "2")
    make_dataset(2)
    client.post("/runs/new/", form(budget_usd="1", max_tokens="9"))
    experiment = Experiment.objects.get()

    def act(action: str, **data: str) -> str:
        response = client.post(f"/experiments/{experiment.pk}/do/{action}/", data, follow=True)
        return [str(message) for message in response.context["messages"]][-1]

    assert act("pause") == "2 runs paused."
    assert "No run is queued" in act("pause")
    assert act("budget", budget_usd="2") == f"Budget of experiment {experiment.pk} raised."
    assert "US dollars" in act("budget", budget_usd="much")
    assert "The price of loop/new is unknown" in act("model", model="loop/new")
    assert act("cancel") == "2 runs canceled."
    assert act("resume") == "2 runs resumed."
    assert "Cancel it" in act("delete", confirmed="yes")
    act("cancel")
    assert "Its runs are kept" in act("delete", confirmed="yes")
    assert client.post(f"/experiments/{experiment.pk}/do/paint/").status_code == 404


def test_name_description_and_tags_are_edited_later(client: Client) -> None:
    found = finished_experiment()
    address = f"/experiments/{found.pk}/"
    assert "Edit name, description and tags" in page(client, address)
    sent = {"name": "Autumn <i>", "description": "Two prompts", "tags": "b, c"}
    assert client.post(f"{address}do/edit/", sent).status_code == 302
    found.refresh_from_db()
    assert (found.name, found.description, found.tags) == ("Autumn <i>", "Two prompts", ["b", "c"])
    shown = page(client, address)
    assert "Name, description and tags saved." in shown
    assert "Autumn &lt;i&gt;" in shown
    assert 'value="Autumn &lt;i&gt;"' in page(client, f"/runs/new/?experiment={found.pk}")
    client.post(f"{address}do/edit/", {**sent, "name": " "})
    found.refresh_from_db()
    assert found.name == "Autumn <i>"
    assert "may not be blank" in page(client, address)


@pytest.mark.parametrize(
    ("groups", "columns"),
    [
        (["A", "A", "A"], [["first", "middle", "last"]]),
        (["A", "B", "B"], [["alone", "first", "last"]]),
        (["A", "A B", "B"], [["first", "last", ""], ["", "first", "last"]]),
        (["A", "B", "A"], [["first", "past", "last"], ["", "alone", ""]]),
        ([], []),
    ],
)
def test_braces_join_the_rows_of_a_group(groups: list[str], columns: list[list[str]]) -> None:
    rows = braces(groups)
    assert [[row[at][1] for row in rows] for at in range(len(columns))] == columns
    assert [" ".join(sorted(filter(None, (letter for letter, _ in row)))) for row in rows] == groups


def test_an_experiment_again_has_the_same_form(client: Client, endpoint: Endpoint) -> None:
    endpoint(lambda asked: "2")
    make_dataset(2)
    client.post("/runs/new/", form(tags="a, b", description="Two\r\nlines", **two_variants()))
    again = client.get(f"/runs/new/?experiment={Experiment.objects.get().pk}").context["form"]
    assert again.models == [MODEL, JUDGE]
    assert again.chosen == ["sums"]
    assert again["description"].value() == "Two\nlines"
    assert [form["name"].value() for form in again.variants] == ["plain", "stepwise"]
    assert str(again.variants[1]["temperature"].value()) == "0.5"


def test_an_empty_list_says_what_an_experiment_is(client: Client) -> None:
    assert "No experiments yet" in page(client, "/experiments/")
    assert client.get("/experiments/99/").status_code == 404


def averaged_experiment(**request: Any) -> Experiment:
    """Three models in three variants on one dataset."""
    experiment = Experiment.objects.create(name="Seeds", request={"models": [], **request})
    dataset = make_dataset(40)
    for model, rights in (("loop/large", (38, 39, 37)), ("loop/small", (5, 30, 2)), ("loop/tiny", (3, 3))):
        for place, right in enumerate(rights):
            values = [1.0] * right + [0.0] * (40 - right)
            run = {"model": model, "variant": f"seed <{place}>", "summarized_at": "2026-01-01T00:00:00Z"}
            make_scored_run(dataset, values, experiment=experiment, judge_cost_usd=0.0, **run)
    return experiment


def test_variants_are_averaged_on_request_and_the_address_keeps_it(client: Client) -> None:
    experiment = averaged_experiment()
    address = f"/experiments/{experiment.pk}/"
    each = page(client, address)
    assert '<a href="?variants=average">Averaged over variants</a>' in each
    assert "Models averaged over the variants" not in each
    assert "The interval covers the choice of tasks, not other prompts or repeats." in each
    text = page(client, f"{address}?variants=average")
    assert "Models averaged over the variants" in text
    assert "Results by model, variant and dataset" not in text
    assert "Means are over 3 variants" in text
    assert "The interval covers the choice of tasks and variants, not other prompts or repeats." in text
    assert "It has no runs with seed &lt;2&gt;." in text
    assert f"{address}answers/?variants=average" in text
    assert "Models averaged over the variants" in page(client, f"{address}status/?variants=average")


def test_an_experiment_launched_to_average_its_variants_does(client: Client) -> None:
    experiment = averaged_experiment(average_variants=True)
    assert "Models averaged over the variants" in page(client, f"/experiments/{experiment.pk}/")
    assert "Models averaged over the variants" not in page(client, f"/experiments/{experiment.pk}/?variants=each")
    read = client.get(f"/api/v1/benchmarks/experiments/{experiment.pk}").json()
    assert [row["model"] for row in read["averages"]] == ["loop/large", "loop/small", "loop/tiny"]
    assert read["interval_covers"]["covered"] == ["tasks", "variants"]
    assert read["averages"][0]["variants"] == pytest.approx({"seed <0>": 0.95, "seed <1>": 0.975, "seed <2>": 0.925})
    assert "Means are over 3 variants" in read["verdict"]
    assert client.get(f"/api/v1/benchmarks/experiments/{experiment.pk}?variants=each").json()["averages"] is None
    refused = client.get(f"/api/v1/benchmarks/experiments/{experiment.pk}?variants=all")
    assert (refused.status_code, refused.json()) == (400, {"variants": ["Choose each or average."]})


def test_two_variants_cannot_be_averaged_and_three_can(client: Client, endpoint: Endpoint) -> None:
    endpoint(lambda asked: "2")
    text = page(client, "/runs/new/?dataset=sums")
    assert 'name="average_variants"' not in text
    make_dataset(40)
    asked = form(**two_variants(), average_variants="on")
    refused = client.post("/runs/new/", asked)
    assert refused.status_code == 400
    assert "2 variants say too little about others like them. Give at least 3." in refused.content.decode()
    third = {"variant-2-name": "short", "variant-2-prompt_template": "{input} Be brief."}
    client.post("/runs/new/", {**asked, **third})
    assert Experiment.objects.get().request["average_variants"] is True
