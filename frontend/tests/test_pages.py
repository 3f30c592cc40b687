"""Every page with an empty, a small and a large database, with live and failed runs."""

from __future__ import annotations

import re
from dataclasses import replace
from html import unescape
from io import BytesIO
from typing import Any
from zipfile import ZipFile

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.db.models import F
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from benchmarks.engine.canvas_sets.generation import audit_set
from benchmarks.engine.execution.finishing import refresh_summary
from benchmarks.metrics.registered_metrics import REGISTERED_METRICS
from benchmarks.models import (
    Dataset,
    DatasetFile,
    DatasetVersion,
    Experiment,
    Result,
    ResultState,
    ReviewItem,
    ReviewQueue,
    Run,
    RunKind,
    RunStatus,
    Score,
    Task,
    Transcript,
)
from benchmarks.queries.live import stamp_of_judging
from benchmarks.services.canvas_sets.control import generate_canvas_set
from benchmarks.services.datasets.versions import import_dataset, spec_of
from codeforge.security import STRICT
from frontend.drawing import tokens
from tests.support.factories import make_dataset, make_run, make_task
from tests.support.page_factories import make_canvas_set, make_scored_run, random_values

pytestmark = pytest.mark.django_db

PAGES = (
    "/",
    "/benchmarks/",
    "/datasets/",
    "/canvases/",
    "/runs/",
    "/compare/",
    "/leaderboard/",
    "/runs/new/",
    "/workers/",
)
HEAVIEST = 145_000
"""Of a page with every metric there is and 22 numbers of shapes."""


def page(client: Client, url: str, status: int = 200) -> str:
    response = client.get(url)
    assert response.status_code == status, url
    assert response.headers["Content-Security-Policy"] == STRICT
    html = response.content.decode()
    assert len(response.content) < HEAVIEST
    assert html.count("<h1") == 1
    assert not re.search(r"<script(?![^>]*(src=|application/json))", html), "an inline script"
    assert not re.search(r'\sstyle="|\son[a-z]+="', html), "an inline style or handler"
    return html


def test_a_run_says_what_its_requests_went_without(client: Client) -> None:
    noted = {"judge": {"json_schema": "The response format was not sent."}, "model": {"seed": "seed was not sent."}}
    trial = {"value": 0.2, "reason": "because", "calls": 1}
    run = make_scored_run(adjustments=noted, judge_model="loop/judge", judge_trial=trial)
    run.summary["response_models"] = {"gpt-4o-2024-11-20": 1200, "gpt-4o-2024-08-06": 3}
    run.save()
    html = client.get(f"/runs/{run.pk}/").content.decode()
    assert "several models: gpt-4o-2024-11-20 (1,200), gpt-4o-2024-08-06 (3)." in html
    assert html.index("Model: seed was not sent.") < html.index("Judge: The response format was not sent.")
    assert "in its trial it gave a correct answer 0.200" in html


def test_every_page_says_what_to_do_in_an_empty_database(client: Client) -> None:
    for url in PAGES:
        html = page(client, url)
        assert 'class="empty"' in html or "<form" in html, url


def test_every_page_works_with_a_run_in_each_status(client: Client) -> None:
    dataset = make_dataset(3)
    for status in RunStatus.values:
        make_scored_run(dataset, status=status)
    for url in PAGES:
        page(client, url)


def test_the_heaviest_run_and_canvas_are_light_pages(client: Client) -> None:
    """Every metric there is, many numbers of shapes, long answers, a page full of results; 24 shapes in full."""
    canvas_set = make_canvas_set(range(3, 25))
    metrics = ["task_score", *(name for name in REGISTERED_METRICS if name != "task_score")]
    values = random_values(canvas_set.dataset.current_version.task_count)
    run = make_scored_run(canvas_set.dataset, values, metrics=metrics, answer="A long answer. " * 2_000)
    other = make_scored_run(canvas_set.dataset, values[::-1], metrics=metrics, answer="Another. " * 2_000, model="b/c")
    last = run.results.latest("position")
    for url in (
        f"/runs/{run.pk}/",
        f"/runs/{run.pk}/?charts={metrics[-1]}",
        f"/runs/{run.pk}/surface/",
        f"/runs/{run.pk}/results/{last.pk}/",
        f"/canvases/{canvas_set.slug}/21/",
        f"/canvases/{canvas_set.slug}/audit/",
        f"/datasets/{canvas_set.slug}/",
        f"/datasets/{canvas_set.slug}/tasks/{last.task_id}/",
        f"/compare/?runs={run.pk},{other.pk}",
        f"/leaderboard/?dataset={canvas_set.slug}",
    ):
        page(client, url)


def test_the_charts_of_a_run_show_one_metric_and_link_to_the_others(client: Client) -> None:
    run = make_scored_run(values=(1.0, 0.0, 0.5), metrics=["exact_match", "contains"])
    assert "Distribution of Exact match" in (first := page(client, f"/runs/{run.pk}/"))
    assert "Distribution of Contains" not in first
    assert 'href="?charts=contains#charts"' in first
    assert "Distribution of Contains" in page(client, f"/runs/{run.pk}/?charts=contains")
    assert "Distribution of Exact match" in page(client, f"/runs/{run.pk}/?charts=nonsense")


def test_a_first_visitor_starts_an_experiment_of_the_baselines_with_one_button(client: Client) -> None:
    make_dataset(3, slug="sums")
    html = client.get("/").content.decode()
    assert "All 6 answers come from these baselines: no provider is called" in " ".join(html.split())
    form = next(form for form in html.split("<form")[1:] if "Start starter experiment" in form)
    sent: dict[str, list[str]] = {}
    for name, value in re.findall(r'<input type="hidden"\s+name="(\w+)"\s+value="([^"]*)"', form):
        sent.setdefault(name, []).append(value)
    response = client.post("/runs/new/", sent)
    assert response.headers["Location"] == f"/experiments/{Experiment.objects.get().pk}/"
    runs = Run.objects.order_by("model").values_list("model", "dataset__slug", "metrics", "limit")
    assert list(runs) == [(f"baseline/{name}", "sums", ["exact_match"], None) for name in ("majority", "random")]


def test_the_starter_experiment_fills_the_form_in(client: Client) -> None:
    make_dataset(3, slug="sums")
    html = page(client, "/runs/new/?starter=1")
    assert 'value="Starter experiment"' in html
    assert "local/smollm2-135m-instruct" in html
    assert 'name="budget_usd"' in html


def test_runs_that_failed_come_before_runs_with_less_trouble(client: Client) -> None:
    dataset = make_dataset()
    make_scored_run(dataset, (1.0,))
    failed, paused = (make_run(dataset, model="baseline/reference") for _ in range(2))
    for run, status in ((failed, RunStatus.FAILED), (paused, RunStatus.PAUSED)):
        Run.objects.filter(pk=run.pk).update(status=status)
    html = page(client, "/")
    assert 0 < html.index(f"Run {failed.pk}") < html.index(f"Run {paused.pk}")


def test_the_overview_says_what_needs_someone_what_runs_and_what_was_found(client: Client) -> None:
    dataset = make_dataset(3)
    make_scored_run(dataset, (1.0, 1.0, 1.0), model="a/best")
    assert "Nothing needs your attention." in page(client, "/")
    make_scored_run(
        dataset, (None, 1.0), model="a/broken", status=RunStatus.FAILED, error_message="The key is refused."
    )
    make_scored_run(dataset, (1.0,), model="a/going", status=RunStatus.RUNNING, completed_at=None)
    html = page(client, "/")
    assert "One item needs your attention." in html
    assert "The key is refused." in html
    running, board = html.partition("Running</h2>")[2].partition("Board</h2>")[::2]
    assert "a/going" in running
    assert "a/best" in board
    assert "Exact match, 3 of 3" in board
    assert "hx-trigger" in html.split("Inbox")[0]


def test_lists_ask_often_while_something_is_live_and_are_told_once_of_a_change(client: Client) -> None:
    def asked(html: str) -> tuple[str, str]:
        address, seconds = re.findall(r'hx-get="(/live/[^"]+)"\s+hx-trigger="every (\d+)s"', html)[0]
        return address, seconds

    for path in ("/", "/runs/", "/experiments/", "/datasets/", "/canvases/"):
        idle, seconds = asked(page(client, path))
        assert seconds == "10", path
        assert "live-changed from:body" in page(client, path), path
    assert client.get(idle).status_code == 204

    run = make_scored_run(model="a/going", status=RunStatus.RUNNING, completed_at=None)
    response = client.get(idle)
    assert response.headers["HX-Trigger"] == "live-changed"
    going, seconds = asked(response.content.decode())
    assert seconds == "2"
    assert client.get(going).status_code == 204
    Run.objects.filter(pk=run.pk).update(done=2)
    assert client.get(going).status_code == 200
    Run.objects.filter(pk=run.pk).update(status=RunStatus.COMPLETED)
    assert asked(client.get(going).content.decode())[1] == "10"


def test_the_benchmarks_show_the_best_score_of_a_model_and_start_runs(client: Client) -> None:
    dataset = make_dataset(3, slug="sums")
    make_dataset(2, slug="never-run")
    make_scored_run(dataset, (1.0, 1.0, 1.0), model="baseline/reference")
    make_scored_run(dataset, (0.0, 1.0, 1.0), model="a/better")
    make_scored_run(dataset, (0.0, 0.0, 1.0), model="a/worse")
    html = page(client, "/benchmarks/")
    row = next(row for row in html.split("<tr>") if "sums" in row)
    assert "a/better" in row
    assert "0.667" in row
    assert "baseline/reference" not in html
    assert "a/worse" not in html
    assert 'aria-label="Means of 2 models, the best 0.667"' in row
    assert 'href="/leaderboard/?dataset=sums">of 2 models</a>' in row
    assert 'href="/runs/new/?dataset=never-run"' in html


def test_the_benchmarks_are_found_by_name(client: Client) -> None:
    make_dataset(1, slug="sums")
    make_dataset(1, slug="letters", name="Letters")
    found = page(client, "/benchmarks/?text=SUM")
    assert "/datasets/sums/" in found
    assert "/datasets/letters/" not in found
    assert "No benchmark has this name." in page(client, "/benchmarks/?text=none")


def test_a_new_run_begins_with_the_metrics_that_fit_its_dataset(client: Client) -> None:
    make_dataset([make_task(1, tolerance=0.1), make_task(2)], slug="numbers")
    form = client.get("/runs/new/?dataset=numbers").context["form"]
    assert form.metrics_of("numbers") == ["numeric", "exact_match"]


@pytest.mark.parametrize("staff", [True, False])
def test_the_admin_is_linked_for_those_who_can_enter(client: Client, settings: Any, staff: bool) -> None:
    settings.DEV_MODE, settings.PUBLIC_READING = False, True
    client.force_login(
        User.objects.create_user("eve", is_staff=staff), backend="django.contrib.auth.backends.ModelBackend"
    )
    assert ('href="/admin/"' in page(client, "/runs/")) == staff


def test_a_broken_file_is_shown_with_line_and_text(client: Client) -> None:
    problem = {
        "line": 12,
        "path": "tasks[3].difficulty",
        "message": "'hrad' is not a difficulty",
        "text": "difficulty: hrad",
    }
    DatasetFile.objects.create(
        path="bad.yaml", state=DatasetFile.State.BROKEN, problems=[problem], checked_at=timezone.now()
    )
    html = page(client, "/datasets/")
    for shown in ("bad.yaml", "12", "tasks[3].difficulty", "&#x27;hrad&#x27; is not a difficulty", "difficulty: hrad"):
        assert shown in html


def test_a_live_run_polls_and_an_ended_one_does_not(client: Client) -> None:
    live = make_scored_run(status=RunStatus.RUNNING, completed_at=None)
    ended = make_scored_run(live.dataset)
    assert f'hx-get="/runs/{live.pk}/status/"' in page(client, f"/runs/{live.pk}/")
    assert f'hx-get="/runs/{ended.pk}/status/"' not in page(client, f"/runs/{ended.pk}/")


def test_a_live_part_is_read_again_only_if_something_changed(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    run = make_scored_run(status=RunStatus.RUNNING, completed_at=None, is_prepared=True)
    url = f"/runs/{run.pk}/status/"
    monkeypatch.setattr("benchmarks.queries.live.time.time", lambda: 1000.0)
    first = client.get(url)
    seen = {"If-None-Match": first.headers["ETag"]}
    assert "no-store" not in first.headers["Cache-Control"], "the browser must keep what a 304 refers to"
    with CaptureQueriesContext(connection) as queries:
        assert client.get(url, headers=seen).status_code == 304
    assert len(queries) <= 4
    monkeypatch.setattr("benchmarks.queries.live.time.time", lambda: 1010.0)
    assert client.get(url, headers=seen).status_code == 200, "the elapsed time goes on"
    monkeypatch.setattr("benchmarks.queries.live.time.time", lambda: 1000.0)
    Run.objects.update(errors=F("errors") + 1, done=F("done") + 1, total=F("total") + 1)
    assert client.get(url, headers=seen).status_code == 200


def test_parts_of_pages_that_read_themselves_again_have_etags_and_their_pages_none(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("benchmarks.queries.live.time.time", lambda: 1000.0)
    run, part = make_scored_run(status=RunStatus.RUNNING, completed_at=None, is_prepared=True), {"HX-Request": "true"}
    for url in ("/workers/", "/preferences/", "/judges/"):
        assert "ETag" not in client.get(url).headers, "a page shows messages"
        first = client.get(url, headers=part)
        assert "no-store" not in first.headers["Cache-Control"], "the browser must keep what a 304 refers to"
        assert client.get(url, headers={**part, "If-None-Match": first.headers["ETag"]}).status_code == 304, url
    seen = {**part, "If-None-Match": client.get("/workers/", headers=part).headers["ETag"]}
    judging = stamp_of_judging(RunKind.CALIBRATION)
    Run.objects.filter(pk=run.pk).update(done=F("done") + 1, total=F("total") + 1)
    assert client.get("/workers/", headers=seen).status_code == 200
    assert stamp_of_judging(RunKind.CALIBRATION) == judging
    Run.objects.filter(pk=run.pk).update(kind=RunKind.CALIBRATION)
    assert stamp_of_judging(RunKind.CALIBRATION) != judging


def test_a_chosen_version_stays_chosen_between_the_tabs_of_a_dataset(client: Client) -> None:
    make_dataset(2, slug="sums")
    make_dataset(3, slug="sums")
    for path in ("", "tasks/", "versions/", "files/"):
        chosen, current = (
            page(client, f"/datasets/sums/{path}{query}").partition('class="tabs"')[2].partition("</nav>")[0]
            for query in ("?version=1&page=1", "")
        )
        assert chosen.count("?version=1") == chosen.count("<a ") == 5, path
        assert "?version" not in current


def test_progress_says_judging_once_all_answers_are_there(client: Client) -> None:
    run = make_scored_run(status=RunStatus.RUNNING, completed_at=None, is_prepared=True)
    Run.objects.update(total=F("done") + 1)
    first = run.results.order_by("position").first()
    assert first is not None
    for state, judges in ((ResultState.CLAIMED, False), (ResultState.JUDGING, True)):
        run.results.filter(pk=first.pk).update(state=state)
        assert ("Judging: all answered" in page(client, f"/runs/{run.pk}/")) == judges
        assert client.get(f"/api/v1/benchmarks/runs/{run.pk}").json()["progress"]["judging"] is judges
    Run.objects.update(status=RunStatus.COMPLETED)
    assert "Judging" not in page(client, f"/runs/{run.pk}/")


def test_the_last_poll_tells_the_page_that_the_run_has_ended(client: Client) -> None:
    run = make_scored_run(status=RunStatus.RUNNING, completed_at=None)
    going = client.get(f"/runs/{run.pk}/status/")
    Run.objects.update(status=RunStatus.COMPLETED)
    ended = client.get(f"/runs/{run.pk}/status/")
    assert "HX-Trigger" not in going.headers
    assert b"hx-get" in going.content
    assert ended.headers["HX-Trigger"] == "run-ended"
    assert b"hx-get" not in ended.content


def test_a_run_shows_mean_interval_n_cost_and_every_parameter(client: Client) -> None:
    run = make_scored_run(values=(1.0, 0.0, None), parameters={"temperature": 0.3, "system_prompt": "Be brief."})
    html = page(client, f"/runs/{run.pk}/")
    summary = run.summary["metrics"]["exact_match"]
    for shown in (
        "0.500",
        f"{summary['low']:.3f}",
        f"{summary['high']:.3f}",
        "2 of 3 (66.7%)",
        "$0.25",
        "Temperature",
        "Be brief.",
    ):
        assert shown in html


def test_a_queued_run_has_a_page_before_it_has_any_number(client: Client) -> None:
    run = make_run(make_dataset(3), model="baseline/reference")
    html = page(client, f"/runs/{run.pk}/")
    assert "queued" in html
    assert "unknown" not in html.lower(), "nothing was sent, so nothing was paid"
    assert "No results yet." in html


def test_a_dataset_without_a_valid_version_has_a_page(client: Client) -> None:
    Dataset.objects.create(slug="hopeless", name="Hopeless")
    page(client, "/datasets/")
    assert "no valid version" in page(client, "/datasets/hopeless/")


def test_a_verdict_says_what_the_judge_went_without(client: Client) -> None:
    run = make_scored_run(judge_model="loop/judge")
    score = Score.objects.filter(run=run).earliest("pk")
    score.judge = {"calls": 1, "notes": ["temperature was not sent, because loop/judge refuses it."]}
    score.save()
    text = page(client, f"/runs/{run.pk}/results/{score.result_id}/")
    assert "Judge: temperature was not sent, because loop/judge refuses it." in text


def test_an_unknown_cost_is_called_unknown_even_if_only_that_of_the_judge_is(client: Client) -> None:
    judged = make_scored_run(cost_usd=0.25, judge_model="loop/judge", judge_cost_usd=None)
    assert "$0.25 + judge unknown" in page(client, "/runs/")
    assert "no price is configured for loop/judge" in page(client, f"/runs/{judged.pk}/")
    run = make_scored_run(make_dataset(3, slug="unpriced"), cost_usd=None)
    assert "unknown" in page(client, f"/runs/{run.pk}/")


def test_a_failed_run_says_what_failed_and_offers_to_resume(client: Client) -> None:
    run = make_scored_run(status=RunStatus.FAILED, error_message="No such model. Check its name.")
    html = page(client, f"/runs/{run.pk}/")
    assert "No such model. Check its name." in html
    assert f'action="/runs/{run.pk}/do/resume/"' in html


def test_what_was_found_last_ends_where_the_inbox_does(client: Client) -> None:
    dataset = make_dataset(1)
    for name in "abcd":
        make_scored_run(dataset, [1.0], model=f"{name}/x")
        make_scored_run(dataset, (None,), model=f"{name}/y", status=RunStatus.FAILED, error_message=f"Stopped {name}.")
    html = page(client, "/")
    n_notices = html.partition("Board</h2>")[0].count("data-row")
    latest = html[html.index("Latest</h2>") :].partition("</section>")[0]
    assert latest.count("<tr") == 1 + n_notices - 1, "a head, and a row less than notices"


def test_what_must_change_first_is_offered_before_resuming(client: Client) -> None:
    failed = make_scored_run(values=(None, None), status=RunStatus.FAILED, error_message="401: wrong key.")
    failed.results.update(error_kind="authentication")
    budget = {"budget_usd": 0.5, "error_message": "The budget does not cover the next request."}
    paused = make_scored_run(failed.dataset, (1.0,), status=RunStatus.PAUSED, completed_at=None, **budget)
    Run.objects.filter(pk=paused.pk).update(total=2)
    inbox = page(client, "/").partition("Board</h2>")[0]
    assert '<a class="button" href="/models/#p-loop">Check key</a>' in inbox
    assert f'<a class="button" href="/runs/{paused.pk}/#budget_usd">Raise budget</a>' in inbox
    assert 'action="/runs/' not in inbox, "resuming would stop again"
    html = page(client, f"/runs/{failed.pk}/")
    assert html.count('<a class="button primary" href="/models/#p-loop">Check key</a>') == 1
    assert 'id="results"' in html, "in view, because there is nothing else to see"
    html = page(client, f"/runs/{paused.pk}/")
    assert "Spent $0.25 of $0.50. The rest, 1 result, needs about $0.25 more." in html
    assert "At least twice what the rest needs" in html
    assert '<button type="submit" class="primary">Raise budget and resume</button>' in html
    assert 'value="0.75"' in html, "what is spent, and twice of what the rest needs"
    assert "do/resume" not in html
    assert budget["error_message"] not in html, "the box says it"


def test_a_run_says_what_failed_and_leads_to_the_results_of_each_reason(client: Client) -> None:
    run = make_scored_run(values=(0.0, 0.0, 1.0, None), answer="five")
    results = list(run.results.order_by("position"))
    Result.objects.filter(pk=results[0].pk).update(failure="Another <number>")
    refresh_summary(run.pk)
    html = page(client, f"/runs/{run.pk}/")
    failed = html[html.index("What failed") : html.index('id="results"')]
    for shown in ("Another &lt;number&gt;", "Timeout", "25%", f"/runs/{run.pk}/results/{results[0].pk}/", "“five”"):
        assert shown in failed, shown
    address = re.search(r'href="([^"]*reason=Another[^"]*)#results"', failed)
    assert address is not None
    listed = page(client, unescape(address[1]))
    rows = listed[listed.index('id="results"') : listed.index('id="status"')]
    assert [pk.pk for pk in results if f"/results/{pk.pk}/" in rows] == [results[0].pk]
    Result.objects.filter(outcome="wrong").update(failure="Another <number>")
    alike = page(client, f"/runs/{run.pk}/?outcome=wrong").partition('id="status"')[0]
    assert "Reason for all 2: Another &lt;number&gt;" in alike
    assert alike.count("Another") == 1, "a reason that rows share is said once"
    lost = make_scored_run(make_dataset(3, slug="lost"), values=(0.0, None, None), answer="five")
    errors = lost.results.exclude(outcome="wrong")
    errors.update(error_message="Too late", failure="Timeout")
    Transcript.objects.filter(result__in=errors).update(actual_output="")
    mixed = page(client, f"/runs/{lost.pk}/?outcome=")
    assert "Reason for all 2 without an answer: Timeout: Too late" in mixed
    rows = mixed[mixed.index('<table class="results') :]
    assert "Too late" not in rows
    assert rows.count('data-label="Expected"') == 3, "rows without an answer say what was expected instead"


def test_a_run_is_read_from_the_verdict_to_its_parameters(client: Client) -> None:
    values = [1.0] * 20 + [0.0] * 9 + [None]
    dataset = make_dataset([make_task(n, difficulty="easy" if n < 20 else "hard") for n in range(1, 31)])
    make_scored_run(dataset, [1.0] * 30, model="a/other")
    run = make_scored_run(dataset, values, status=RunStatus.COMPLETED_WITH_ERRORS)
    html = " ".join(page(client, f"/runs/{run.pk}/").split())
    order = (
        *('class="verdict"', "95% interval", "a/other", "What failed", "10 of 30 results are not correct"),
        *("Weak spots", "Difficulty: hard has the lowest score", 'id="results"', "Time, tokens and cost"),
        "<summary>Parameters",
    )
    places = [html.index(part) for part in order]
    assert places == sorted(places)


def test_a_run_without_a_weak_spot_says_so_and_draws_no_chart(client: Client) -> None:
    dataset = make_dataset([make_task(n, difficulty="easy" if n % 2 else "hard") for n in range(1, 9)])
    html = page(client, f"/runs/{make_scored_run(dataset, [1.0, 1.0, 0.0, 0.0] * 2).pk}/")
    assert "No group is weaker than the others." in html
    assert 'class="chart"' not in html


def test_the_list_of_results_begins_with_those_not_correct(client: Client) -> None:
    run = make_scored_run(values=(1.0, 0.0, 0.5, None))
    first, *failed = run.results.order_by("position")

    def listed(query: str) -> list[str]:
        html = page(client, f"/runs/{run.pk}/{query}")
        results = html[html.index('id="results"') :].partition('id="status"')[0]
        return re.findall(r'<a class="cut" href="(/runs/[^"]*/results/[^"]*)"', results)

    assert listed("") == [f"/runs/{run.pk}/results/{each.pk}/?outcome=not_correct" for each in failed]
    assert listed("?outcome=") == [f"/runs/{run.pk}/results/{each.pk}/" for each in (first, *failed)]
    assert listed("?text=task-1") == [f"/runs/{run.pk}/results/{first.pk}/?text=task-1"]
    following = f'rel="next" href="/runs/{run.pk}/results/{failed[1].pk}/?outcome=not_correct"'
    assert following in page(client, listed("")[0])


def test_a_live_run_shows_what_came_last_what_is_provisional_and_what_is_not_asked(client: Client) -> None:
    run = make_scored_run(values=(1.0, 0.0), status=RunStatus.RUNNING, completed_at=None)
    Run.objects.filter(pk=run.pk).update(total=5)
    for url in (f"/runs/{run.pk}/", f"/runs/{run.pk}/status/"):
        html = page(client, url) if url.endswith(f"{run.pk}/") else client.get(url).content.decode()
        newest = html[html.index("Newest results") :]
        assert "Task 1" in newest, url
        assert "Task 2" in newest, url
        assert "What failed so far" in html, url
        assert "The score is final when the run completes." in html, url
        assert re.search(r"No answer yet\s*<b>3</b>", html), url
        assert re.search(r'<progress[^>]+class="visually-hidden"', html), "the bar of outcomes shows it"
    html = page(client, f"/runs/{run.pk}/")
    assert f'action="/runs/{run.pk}/do/pause/"' in html
    assert 'id="results"' not in html
    assert 'id="results"' in page(client, f"/runs/{run.pk}/?outcome=")


def test_errors_stand_in_the_place_of_texts_of_which_there_are_none(client: Client) -> None:
    run = make_scored_run(values=(0.0, None), answer="five")
    html = page(client, f"/runs/{run.pk}/")
    rows = [row.partition("</th>")[2].split("</td>") for row in html[html.index('id="results"') :].split("<tr>")[2:]]
    cells = [[" ".join(re.sub("<[^>]+>", "", row[place]).split()) for place in (0, 2, 3)] for row in rows]
    assert cells == [["Wrong", "2", "five"], ["Provider error", "No first byte within 120 s. five", "200 ms"]]


def test_titles_name_the_run_and_the_result(client: Client) -> None:
    run = make_scored_run(values=(0.0,), name="Nightly <1>")
    titles = {
        f"/runs/{run.pk}/": f"Nightly &lt;1&gt;, run {run.pk} – CodeForge Benchmarks",
        f"/runs/{run.pk}/results/{run.results.get().pk}/": f"Task 1, run {run.pk} – CodeForge Benchmarks",
        f"/runs/{run.pk}/surface/": f"Difficulty surface: loop/model, run {run.pk} – CodeForge Benchmarks",
    }
    assert {url: page(client, url).partition("<title>")[2].partition("</title>")[0] for url in titles} == titles


def test_a_result_begins_with_its_outcome_and_reason(client: Client) -> None:
    run = make_scored_run(values=(0.0,), answer="five")
    run.results.update(failure="Another number")
    html = page(client, f"/runs/{run.pk}/results/{run.results.get().pk}/")
    order = (
        'class="ruling is-wrong"',
        "Another number",
        "Question</h2>",
        "Expected</h3>",
        "Messages",
    )
    places = [html.index(part) for part in order]
    assert places == sorted(places)
    assert 'data-copy="answer-text"' in html


def test_a_result_shows_prompt_answer_score_and_reason(client: Client) -> None:
    run = make_scored_run(values=(0.0,), answer="five")
    html = page(client, f"/runs/{run.pk}/results/{run.results.get().pk}/")
    for shown in ("What is 1 + 1?", "five", "Prompt hash", "All messages as JSON"):
        assert shown in html, shown
    assert re.search(r"Exact match\s+<strong>0.000", html)


def test_a_failed_result_shows_its_error_and_attempts(client: Client) -> None:
    run = make_scored_run(values=(None,))
    html = page(client, f"/runs/{run.pk}/results/{run.results.get().pk}/")
    assert "No first byte within 120 s." in html
    assert "The endpoint took too long. Retry, or raise the timeout. The result has no score" in html
    assert f'action="/runs/{run.pk}/do/retry/"' in html
    assert "See the request" in html
    assert "Answer</h3>" not in html, "there is none"
    assert "Attempts (1)" in html
    attempts = html[html.index("Attempts (1)") :]
    assert all(part in attempts for part in ("40\u00a0ms", "2\u00a0min", "Timeout"))


def test_a_reason_that_the_verdict_says_is_not_said_again(client: Client) -> None:
    run = make_scored_run(values=(0.0,), answer="five", metrics=["exact_match", "contains"], variant="plain")
    run.results.get().scores.update(reason="The number differs.")
    html = page(client, f"/runs/{run.pk}/results/{run.results.get().pk}/")
    assert html.count("The number differs.") == 2, "once a metric"
    assert "Scores and reasons" not in html
    assert "· plain" in html


def test_a_result_not_sent_yet_has_a_page(client: Client) -> None:
    run = make_scored_run(values=(1.0, 0.0), status=RunStatus.RUNNING, completed_at=None)
    waiting = run.results.first()
    assert waiting is not None
    waiting.transcript.delete()
    waiting.scores.all().delete()
    type(waiting).objects.filter(pk=waiting.pk).update(outcome="", value=None, state="pending")
    assert "Nothing sent yet." in page(client, f"/runs/{run.pk}/results/{waiting.pk}/")


def test_previous_and_next_stay_inside_the_filter(client: Client) -> None:
    run = make_scored_run(values=(0.0, 1.0, 0.0, 1.0, 0.0))
    wrong = list(run.results.filter(outcome="wrong").order_by("position"))
    html = page(client, f"/runs/{run.pk}/results/{wrong[1].pk}/?outcome=wrong")
    assert f'rel="prev" href="/runs/{run.pk}/results/{wrong[0].pk}/?outcome=wrong"' in html
    assert f'rel="next" href="/runs/{run.pk}/results/{wrong[2].pk}/?outcome=wrong"' in html


def test_the_same_task_in_other_runs_is_listed(client: Client) -> None:
    first = make_scored_run(values=(1.0,), model="a/one")
    second = make_scored_run(first.dataset, (0.0,), model="a/two")
    html = page(client, f"/runs/{first.pk}/results/{first.results.get().pk}/")
    assert f"/runs/{second.pk}/results/{second.results.get().pk}/" in html


def test_a_dataset_shows_its_tasks_and_finds_them_by_text(client: Client) -> None:
    make_dataset(3, slug="sums")
    moved = client.get("/datasets/sums/?text=2 %2B 2")
    assert moved.headers["Location"] == "/datasets/sums/tasks/?text=2+%2B+2"
    html = page(client, moved.headers["Location"])
    assert "task-2" in html
    assert "task-3" not in html


def test_the_navigation_says_what_runs_and_what_waits_for_a_label(client: Client) -> None:
    plain = page(client, "/settings/")
    assert 'class="count"' not in plain
    run = make_scored_run(status=RunStatus.RUNNING, completed_at=None)
    review = ReviewQueue.objects.create(name="Open", metric="exact_match", source={}, sampling={})
    ReviewItem.objects.create(queue=review, result=run.results.all()[0], position=1)
    assert re.findall(r'class="count">([^<]+)<', page(client, "/settings/")) == ["1 running", "1"]


def test_the_navigation_tells_strangers_nothing_of_what_runs(settings: Any) -> None:
    make_scored_run(status=RunStatus.RUNNING, completed_at=None)
    settings.DEV_MODE = settings.PUBLIC_READING = False
    assert 'class="count"' not in page(Client(), "/login/")


def test_what_changed_between_two_versions_is_shown(client: Client) -> None:
    make_dataset(2, slug="sums")
    make_dataset(3, slug="sums")
    html = page(client, "/datasets/sums/changes/1/2/")
    assert "task-3" in html
    assert "<strong>Version 2 adds 1 task.</strong>" in html


def test_changes_count_every_task_and_say_which_fields_changed(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("frontend.views.datasets.CHANGES_SHOWN", 1)
    make_dataset(3, slug="sums")
    make_dataset([make_task(n, expected_output="7", choices=("7", "8")) for n in (1, 2, 3)], slug="sums")
    html = page(client, "/datasets/sums/changes/1/2/")
    assert "<strong>Version 2 changes 3 tasks.</strong>" in html
    assert "Changed in the first 1 task: choices and expected answer." in html
    assert "Only the first tasks are shown below; 2 more tasks differ." in html
    assert re.search(r"<dd>\s*<del>2</del>\s*<span.*→.*became</span>\s*<ins>7</ins>", html)
    assert re.search(r'version 1</span></h4>\s*<div class="text soft">Not set</div>\s*</div>', html)
    assert re.search(r"<h4>Choices <span.*>version 2</span></h4>", html)
    assert 'name="old"' not in html, "there is no other pair of versions"
    make_dataset(4, slug="sums")
    assert 'name="old"' in page(client, "/datasets/sums/changes/1/2/")


def test_what_changed_besides_the_tasks_is_shown(client: Client) -> None:
    first = make_dataset(2, slug="sums").current_version
    assert first is not None
    spec = spec_of(first)
    import_dataset(replace(spec, name="<b>New</b>", tasks=spec.tasks[::-1]), "sums", DatasetVersion.Origin.UPLOAD)
    html = page(client, "/datasets/sums/changes/1/2/")
    assert "&lt;b&gt;" in html
    assert "<strong>Version 2 reorders the tasks and edits the dataset&#x27;s name.</strong>" in html


def test_canvas_pages_show_pictures_questions_and_answers(client: Client) -> None:
    canvas_set = make_canvas_set()
    rows = page(client, f"/datasets/{canvas_set.dataset.slug}/tasks/")
    assert rows.count("/0.svg?small=1") == 1, "a picture is drawn once for its questions"
    run = make_scored_run(canvas_set.dataset, [1.0] * 30, answer="my own answer", metrics=["task_score"])
    assert "/canvases/canvases-7/0.svg" in page(client, "/canvases/canvases-7/")
    html = page(client, "/canvases/canvases-7/1/")
    assert 'class="canvas-picture"' in html
    assert "my own answer" in html
    assert "Majority guess" in page(client, "/canvases/canvases-7/audit/")
    assert '<svg class="plot rows"' in page(client, f"/runs/{run.pk}/surface/")


def test_the_picture_of_a_canvas_is_dark_where_the_page_is(client: Client) -> None:
    make_canvas_set()
    paper = tokens("dark")["--surface"]
    for query, dark in (("", True), ("?theme=dark", True), ("?theme=light", False), ("?theme=<b>", False)):
        drawn = client.get(f"/canvases/canvases-7/0.svg{query}").content.decode()
        assert (paper in drawn) == dark, query
        assert ("prefers-color-scheme" in drawn) == (query == ""), query
    assert "scale:" not in drawn
    assert "scale:" in client.get("/canvases/canvases-7/0.svg?theme=light&small=1").content.decode()
    client.cookies["theme"] = "dark"
    assert "/canvases/canvases-7/0.svg?theme=dark" in page(client, "/canvases/canvases-7/")


def test_a_canvas_shows_its_questions_by_the_latest_run_of_each_model_in_one_way_of_asking(client: Client) -> None:
    dataset = make_canvas_set().dataset
    make_scored_run(dataset, [0.0] * 30, model="a/old", metrics=["task_score"])
    older = make_scored_run(dataset, [0.0] * 30, model="b/two", metrics=["task_score"])
    newer = make_scored_run(dataset, [1.0] * 30, model="b/two", metrics=["task_score"], answer="North")
    make_scored_run(dataset, [1.0] * 2, model="c/short", metrics=["task_score"])
    other = make_scored_run(dataset, [1.0] * 30, model="d/few", metrics=["task_score"], few_shot=True)
    html = page(client, "/canvases/canvases-7/0/")
    heads = re.findall(r'href="/models/([^"]+)/"', html)
    assert heads[0] == "b/two"
    assert set(heads) == {"a/old", "b/two", "c/short"}
    assert f"/runs/{newer.pk}/results/" in html
    assert f"/runs/{older.pk}/results/" not in html
    assert "Not asked" in html
    n_questions = html.count('class="asked"')
    for right in (n_questions, 0):
        assert f'{right} of {n_questions}<span class="visually-hidden"> correct</span></a>' in html
    assert f"0 of {n_questions} questions are answered correctly by all 3 models; hardest: " in html
    assert "0.000" in page(client, f"/canvases/canvases-7/?run={older.pk}").partition('aria-label="Verdict"')[2][:200]
    few = page(client, "/canvases/canvases-7/0/?variant=full, few-shot")
    assert f"/runs/{other.pk}/results/" in few
    assert f"/runs/{newer.pk}/results/" not in few


def test_the_files_of_canvases_say_where_they_come_from_and_how_to_export_them(client: Client) -> None:
    canvas_set = generate_canvas_set({"shapes": "3", "count": 2, "seed": 3})
    html = page(client, f"/datasets/{canvas_set.dataset.slug}/files/")
    assert f"seed {canvas_set.seed}" in html
    assert f"python manage.py canvases export {canvas_set.slug} exported</code></pre>" in html
    assert '<code class="soft">canvas_3_0.json</code>' in html
    address = f"/datasets/{canvas_set.dataset.slug}/download.zip"
    assert f'href="{address}"' in html
    packed = client.get(address)
    with ZipFile(BytesIO(b"".join(packed.streaming_content))) as archive:
        assert archive.namelist() == ["canvas_3_0.json", "canvas_3_1.json"]
    assert packed["Content-Disposition"] == f'attachment; filename="{canvas_set.dataset.slug}.zip"'


def test_the_audit_shows_what_is_reached_without_the_canvas(client: Client) -> None:
    canvas_set = generate_canvas_set({"shapes": "8-9", "count": 40, "seed": 3})
    assert "Each rule by number of shapes" not in page(client, f"/canvases/{canvas_set.slug}/audit/")
    audit_set(canvas_set.pk)
    canvas_set.refresh_from_db()
    html = page(client, f"/canvases/{canvas_set.slug}/audit/")
    asked = sum(audit["asked"] for audit in canvas_set.audit["tasks"].values())
    assert f"A second solver confirms all {asked} expected answers." in html
    for name, audit in canvas_set.audit["tasks"].items():
        row = html.partition(f"task={name}&quot;")[2] or html.partition(f'task={name}"')[2]
        best = max(audit["blind_score"], audit["examples_score"])
        said = f"{best:.3f}" if best > audit["majority_score"] else "No rule beats the majority guess"
        row = row.partition("</tr>")[0]
        assert said in row, name
        assert f"{audit['asked']} questions" in row, name
        assert f"{audit['distinct_answers']} distinct answers" in row, name
    table = html.partition("<summary>Each rule by number of shapes</summary>")[2].partition("</table>")[0]
    assert re.findall(r"<th scope=\"col\" class=\"num\">([^<]*)</th>", table) == [
        "Questions",
        "Majority guess",
        "Rule, all",
        "8 shapes",
        "9 shapes",
    ]
    for name, audit in canvas_set.audit["tasks"].items():
        row = table.partition(f">{name.replace('_', ' ').capitalize()}</th>")[2].partition("</tr>")[0]
        scores = [audit[f"{kind}_score"] for kind in ("majority", "blind", "examples")]
        scores += [*(score for _, score, _ in audit["blind_by_shapes"])]
        assert re.findall(r"\d\.\d{3}", row) == [f"{score:.3f}" for score in scores], name


def test_the_gallery_filters_by_the_outcome_of_a_run(client: Client) -> None:
    canvas_set = make_canvas_set((3, 4))
    tasks = canvas_set.dataset.current_version.task_count
    run = make_scored_run(canvas_set.dataset, [0.0] + [1.0] * (tasks - 1), metrics=["task_score"])
    html = page(client, f"/canvases/canvases-7/?run={run.pk}&outcome=wrong")
    assert "/canvases/canvases-7/0.svg" in html
    assert "/canvases/canvases-7/1.svg" not in html


def test_canvases_show_the_whole_plain_runs_of_a_model_and_not_its_newest_trials(client: Client) -> None:
    canvas_set = make_canvas_set((3, 4))
    tasks, asked = canvas_set.dataset.current_version.task_count, {"metrics": ["task_score"]}
    whole = make_scored_run(canvas_set.dataset, [1.0] * tasks, model="a/x", **asked)
    make_scored_run(canvas_set.dataset, [1.0] * tasks, model="a/y", **asked)
    variant = make_scored_run(canvas_set.dataset, [0.0] * tasks, model="a/x", variant="shouting", **asked)
    part = make_scored_run(canvas_set.dataset, [0.0] * tasks, model="a/x", limit=2, **asked)
    canvas = page(client, "/canvases/canvases-7/0/")
    assert f"/runs/{whole.pk}/" in canvas
    assert not {f"/runs/{run.pk}/" for run in (variant, part) if f"/runs/{run.pk}/" in canvas}
    alone = make_scored_run(canvas_set.dataset, [0.0] * tasks, model="a/x", representation="coordinates", **asked)
    gallery = page(client, "/canvases/canvases-7/")
    assert f"run={alone.pk}" not in gallery.partition("</section>")[0]
    assert "scores 1.000 on this set" in gallery
    none = page(client, "/canvases/canvases-7/?n_shapes=3&answer=nowhere")
    assert "scores 1.000 on this set" in none, "it is said of the set, whatever is filtered"
    assert "No canvases match “Expected: nowhere”." in none
    assert 'href="?n_shapes=3">Remove “Expected: nowhere”' in none
    assert "Remove “3 shapes”" not in none, "without it, there are none either"


def test_a_gallery_begins_with_the_canvases_that_a_run_got_least_right(client: Client) -> None:
    canvas_set = make_canvas_set((3, 4, 5))
    canvas = {task.pk: task.question.canvas.index for task in Task.objects.select_related("question__canvas")}
    tasks = list(canvas_set.dataset.current_version.tasks.order_by("position").values_list("pk", flat=True))
    values = [1.0 if canvas[task] == 0 else 0.0 for task in tasks if canvas[task] != 2]
    run = make_scored_run(canvas_set.dataset, values, metrics=["task_score"])
    html = page(client, f"/canvases/canvases-7/?run={run.pk}")
    assert re.findall(r"canvases-7/(\d)\.svg", html) == ["1", "0", "2"], "the one not asked about comes last"
    n = sum(canvas[task] == 0 for task in tasks)
    assert f'aria-label="{n} of {n} correct"' in html
    in_order = page(client, f"/canvases/canvases-7/?run={run.pk}&sort=index")
    assert re.findall(r"canvases-7/(\d)\.svg", in_order) == ["0", "1", "2"]
    assert ' correct"' not in page(client, "/canvases/canvases-7/?run=none"), "no run is chosen"


def test_runs_that_share_no_task_are_compared_without_numbers(client: Client) -> None:
    tasks = [replace(make_task(), input="Another?")]
    first, other = make_scored_run(make_dataset(1), (1.0,)), make_scored_run(make_dataset(tasks, slug="other"), (1.0,))
    html = page(client, f"/compare/?runs={first.pk},{other.pk}")
    assert "cannot be compared: no task has a score in both runs." in html


def test_runs_without_a_common_metric_are_offered_by_benchmark(client: Client) -> None:
    dataset = make_dataset(4)
    ids = [make_scored_run(dataset, [1.0] * 4, model=f"a/{name}").pk for name in "xy"]
    elsewhere = make_dataset(4, slug="other")
    other = make_scored_run(elsewhere, [1.0] * 4, metrics=["length"]).pk
    html = page(client, f"/compare/?runs={ids[0]},{ids[1]},{other},99999")
    assert f'href="/compare/?runs={ids[0]}%2C{ids[1]}"' in html
    assert ">Compare these 2</a>" in html
    assert "The only chosen run here, so it is not compared." in html
    assert "No other run was asked in the same way." in html
    assert "Run 99999 does not exist." in html
    partner = make_scored_run(elsewhere, [1.0] * 4, model="a/z", metrics=["length"]).pk
    html = page(client, f"/compare/?runs={ids[0]},{ids[1]},{other}")
    assert f'href="/compare/?runs={other}%2C{partner}">Compare with a/z, run {partner}</a>' in html


def test_answers_to_the_same_task_name_the_metric_of_their_score(client: Client) -> None:
    dataset = make_dataset(1)
    run = make_scored_run(dataset, [1.0])
    make_scored_run(dataset, [0.5], metrics=["contains"])
    address = f"/runs/{run.pk}/results/{run.results.get().pk}/"
    once = '<small class="soft">Contains</small>'
    assert once in page(client, address)
    make_scored_run(dataset, [0.5], metrics=["length"])
    html = page(client, address)
    assert '<td class="soft">Contains</td>' in html
    assert once not in html


def test_answers_to_a_task_keep_their_lines_and_mark_what_was_not_expected(client: Client) -> None:
    dataset = make_dataset(1)
    task = dataset.current_version.tasks.get()
    task.expected_output = "one\ntwo\nthree"
    task.save()
    address = f"/datasets/{dataset.slug}/tasks/{task.pk}/"
    make_scored_run(dataset, [0.0], answer="five")
    assert '<td class="cut" dir="auto">five</td>' in page(client, address), "short ones stay beside their scores"
    make_scored_run(dataset, [1.0], answer="one\ntwo\nthree\n")
    make_scored_run(dataset, [0.0], answer="one\nfive\nthree")
    html = page(client, address)
    assert '<td class="cut"' not in html
    assert "one\n<ins>five</ins>\nthree" in html
    assert "Equal to the expected answer" in html


def test_where_no_run_is_chosen_those_are_proposed_that_were_asked_the_same(client: Client) -> None:
    dataset = make_dataset(4)
    ids = [make_scored_run(dataset, [1.0] * 4, model=f"a/{name}").pk for name in "xy"]
    for name in "xyz":
        make_scored_run(dataset, [1.0] * 4, model=f"a/{name}", limit=4)
    make_scored_run(dataset, [1.0] * 4, model="baseline/random")
    html = page(client, "/compare/")
    assert (
        f'href="/compare/?runs={ids[1]}%2C{ids[0]}">Compare<span class="visually-hidden"> a/x and a/y</span></a>'
        in html
    )
    assert html.count(">Compare<span") == 1


def test_a_test_that_all_pairs_share_is_named_once(client: Client) -> None:
    dataset = make_dataset(12)
    values = ([1.0] * 12, [1.0] * 5 + [0.0] * 7, [0.0] * 12)
    ids = [make_scored_run(dataset, each, model=f"a/{name}").pk for each, name in zip(values, "xyz", strict=True)]
    html = page(client, "/compare/?runs=" + ",".join(map(str, ids)))
    assert re.findall(r"Test: ([\w' ,-]+)", html) == ["exact McNemar test"]
    assert html.count("McNemar") == 1


def test_two_runs_are_compared_on_their_shared_tasks(client: Client) -> None:
    dataset = make_dataset(40)
    good = make_scored_run(dataset, [1.0] * 40, model="a/good")
    bad = make_scored_run(dataset, [0.0] * 30 + [1.0] * 10, model="a/bad")
    html = " ".join(page(client, f"/compare/?runs={bad.pk},{good.pk}").split())
    assert "<strong>a/good is better than a/bad by 75.0 points" in html
    assert "The 40 shared tasks" in html
    for part, count in (("Both right", 10), ("Only a/good right", 30), ("Only a/bad right", 0), ("Neither right", 0)):
        assert f"{part}: {count}" in html
    assert html.count(f"/runs/{bad.pk}/results/") == 25
    assert "a/bad better</a>" not in html, "no task favors it"
    assert f'run={bad.pk}&amp;baseline={good.pk}"> a/good better</a>' in html
    better = page(client, f"/compare/tasks/?runs={good.pk},{bad.pk}&show=worse&run={bad.pk}")
    assert better.count(f"/runs/{bad.pk}/results/") == 25
    assert "Page 1 of 2, 30 tasks" in " ".join(better.split())
    assert "No task matches" in page(client, f"/compare/tasks/?runs={good.pk},{bad.pk}&show=worse&run={good.pk}")


def test_the_difference_of_two_runs_has_the_direction_of_the_sentence(client: Client) -> None:
    dataset = make_dataset(40)
    good = make_scored_run(dataset, [1.0] * 40, model="a/good")
    bad = make_scored_run(dataset, [0.0] * 30 + [1.0] * 10, model="a/bad")
    html = page(client, f"/compare/?runs={good.pk},{bad.pk}")
    assert "a/good is better than a/bad by 75.0 points" in html
    assert "Difference: a/good minus a/bad" in html
    assert '<span class="is-clear">+75.0</span>' in html
    html = page(client, f"/compare/?runs={good.pk},{bad.pk}&baseline={good.pk}")
    assert "a/bad is 75.0 points below a/good" in html
    assert "Difference: a/bad minus a/good" in html
    assert '<span class="is-clear">−75.0</span>' in html


@pytest.mark.parametrize(("right", "is_bold"), [(12, False), (40, True)])
def test_only_a_significant_difference_of_two_runs_is_bold(client: Client, right: int, is_bold: bool) -> None:
    tasks = [make_task(place, difficulty=("easy", "hard")[place % 2]) for place in range(1, 41)]
    dataset = make_dataset(tasks)
    ids = [
        make_scored_run(dataset, [1.0] * count + [0.0] * (40 - count), model=model).pk
        for model, count in (("baseline/random", 10), ("baseline/majority", right))
    ]
    html = " ".join(page(client, f"/compare/?runs={ids[0]},{ids[1]}").split())
    said = "Bold: significant" if is_bold else "No part is significant on its own"
    assert f"{said}, adjusted for several comparisons" in html
    assert ('class="is-clear">+75.0<' in html) == is_bold
    assert ("is-clear" in html) == is_bold
    assert not re.search(r"<b>[+−][\d.]+</b>", html)
    assert 'class="knob second"' in html, "the chart has the color of the second run"
    chart = client.get(f"/compare/deltas.svg?runs={ids[0]},{ids[1]}").content.decode()
    assert 'class="knob second"' in chart


def test_a_comparison_of_no_runs_task_by_task_asks_for_them(client: Client) -> None:
    make_scored_run()
    html = client.get("/compare/tasks/", follow=True).content.decode()
    assert "<h1>Compare runs task by task</h1>" in html
    assert "No runs chosen yet: select 2 or more." in html
    assert "Choose 2 to 12 runs." in html


def test_several_runs_are_compared_as_a_matrix_with_the_oldest_or_the_marked_as_baseline(client: Client) -> None:
    dataset = make_dataset(40)
    runs = [
        make_scored_run(dataset, [1.0] * right + [0.0] * (40 - right), model=f"a/{right}") for right in (40, 20, 18)
    ]
    ids = ",".join(str(run.pk) for run in reversed(runs))
    html = " ".join(page(client, f"/compare/?runs={ids}").split())
    assert f'with a/40 (<a href="/runs/{runs[0].pk}/">run {runs[0].pk}</a>) on shared tasks' in html
    assert "<strong>40 leads.</strong> 20 is 50.0 points behind" in html
    assert '−55.0 <span class="interval">' in html
    assert "The difference between 20 and 18 is not significant." in html
    tasks = page(client, f"/compare/tasks/?runs={ids}&show=only&run={runs[0].pk}")
    assert "20 tasks" in tasks
    Run.objects.filter(pk=runs[1].pk).update(baseline=True)
    again = " ".join(page(client, f"/compare/?runs={ids}").split())
    assert f'with a/20 (<a href="/runs/{runs[1].pk}/">run {runs[1].pk}</a>) on shared tasks' in again
    assert page(client, "/runs/").count('form="selected"') == 3


def test_the_leaderboard_ranks_the_latest_run_or_the_best(client: Client) -> None:
    dataset = make_dataset(4)
    make_scored_run(dataset, (1.0, 1.0, 1.0, 1.0), model="a/uneven")
    make_scored_run(dataset, (0.0, 0.0, 0.0, 0.0), model="a/uneven")
    make_scored_run(dataset, (1.0, 0.0, 1.0, 0.0), model="a/steady")
    latest, best = page(client, "/leaderboard/"), page(client, "/leaderboard/?choose=best")
    assert latest.index("a/steady") < latest.index("a/uneven")
    assert best.index("a/uneven") < best.index("a/steady")


def test_ranks_on_the_leaderboard_are_those_that_paired_tests_allow(client: Client) -> None:
    dataset = make_dataset(40)
    for model, correct in (("v/good", 39), ("v/better", 40), ("v/poor", 5)):
        make_scored_run(dataset, [1.0] * correct + [0.0] * (40 - correct), model=model, summarized_at=timezone.now())
    html = page(client, f"/leaderboard/?dataset={dataset.slug}")
    rows = re.findall(
        r'<td class="num nowrap" data-label="Rank">([^<]+)</td>\s*<th scope="row">\s*<a href="/models/([^"]+)/"', html
    )
    assert rows == [("1–2", "v/better"), ("1–2", "v/good"), ("3", "v/poor")]
    assert "Models that share a letter are not significantly different" in html


def test_a_run_over_part_of_the_tasks_is_not_ranked(client: Client) -> None:
    dataset = make_dataset(4)
    make_scored_run(dataset, (1.0,), model="a/partial", limit=1)
    make_scored_run(dataset, (1.0, 0.0, 1.0, 0.0), model="a/whole")
    assert "a/partial" not in page(client, "/leaderboard/")


def test_a_chart_of_a_run_is_drawn_by_its_address(client: Client) -> None:
    run = make_scored_run(values=random_values(8))
    for form in ("svg", "png"):
        response = client.get(f"/runs/{run.pk}/charts/spread-exact_match.{form}")
        assert response.status_code == 200, form
        assert response.headers["Content-Type"].startswith("image/"), form


def test_what_does_not_exist_is_reported_on_a_page(client: Client) -> None:
    run = make_scored_run()
    result, huge = run.results.latest("pk").pk, 10**25
    for url in (
        *("/runs/99/", "/runs/99/results/1/", "/runs/99/charts/x.svg", f"/runs/{run.pk}/charts/x.svg", "/nowhere/"),
        *("/datasets/none/", "/canvases/none/", f"/runs/{run.pk}/export.xls", "/shared/forged/"),
        # Numbers that no column of the database holds:
        *(f"/runs/{huge}/", f"/runs/{huge}/status/", f"/runs/{huge}/results/{result}/"),
        *(f"/runs/{run.pk}/results/{huge}/", f"/runs/{huge}/export.csv"),
    ):
        html = page(client, url, 404)
        assert "Page not found" in html, url
        assert "Resolver404" not in html, url


def test_a_made_up_query_is_no_error(client: Client) -> None:
    run = make_scored_run()
    for query in (
        "?after=nonsense",
        "?before=9999999999999999999999~1",
        "?after=nan~1&sort=value",
        "?after=inf~1&sort=value",
        "?low=abc&high=nan&n_shapes=-1",
        "?sort=;drop&outcome=%00&metric=none&low=0",
        "?text=" + "x" * 5_000,
        "?text=a&after=" + "9" * 5_000,
    ):
        page(client, f"/runs/{run.pk}/{query}")


def test_the_theme_is_kept_in_a_cookie_and_applied_by_the_server(client: Client) -> None:
    response = client.post("/theme/", {"theme": "dark", "next": "/runs/"})
    assert response.headers["Location"] == "/runs/"
    assert 'data-theme="dark"' in page(client, "/runs/")
    client.post("/theme/", {"theme": "", "next": "/runs/"})
    assert "data-theme" not in page(client, "/runs/")


def test_the_way_back_never_leads_to_another_site(client: Client) -> None:
    for target in ("https://example.com/", "//example.com", "javascript:alert(1)"):
        assert client.post("/theme/", {"theme": "dark", "next": target}).headers["Location"] == "/", target


def test_without_permission_there_is_no_launch_form_and_no_action(client: Client, settings: Any) -> None:
    settings.DEV_MODE, settings.PUBLIC_READING = False, True
    run = make_scored_run()
    assert "/runs/new/" not in page(client, "/runs/")
    assert "/do/" not in page(client, f"/runs/{run.pk}/")
    assert "You do not have permission to start runs." in page(client, "/runs/new/", 403)
    assert client.post(f"/runs/{run.pk}/do/delete/").status_code == 403
    assert Run.objects.filter(pk=run.pk).exists()


def test_a_first_visitor_sees_that_the_judge_has_no_key_and_how_many_datasets_there_are(client: Client) -> None:
    for number in range(14):
        make_dataset(1, slug=f"set-{number:02}", name=f"Set {number:02}")
    text = " ".join(page(client, "/").split("Ready to use")[1].split())
    assert "Set 11 and 2 more" in text
    judge = text.split("<dt>Judge</dt>")[1]
    assert "No key" in judge.split("</dd>")[0]


def test_a_benchmark_shows_its_title_and_why_it_is_not_ranked_and_is_selected_to_run(client: Client) -> None:
    make_scored_run(make_dataset(4, name="Short sums"), (1.0, 0.0, None, None))
    html = page(client, "/benchmarks/")
    assert ">Short sums</a>" in html
    assert "Only 2 of 4 results have a score" in html.split("Not ranked")[1]
    assert "of 1 model<" not in html, "without others, it is the best of nothing"
    assert '<input type="checkbox" name="dataset" value="sums" form="selected" aria-label="Select Short sums"' in html
    assert re.search(r'<form id="selected" [^>]*action="/runs/new/"', html)


def test_best_for_its_price_marks_only_some(client: Client) -> None:
    dataset = make_dataset(4)
    for model, right, cost in (("a/good", 4, 2.0), ("a/cheap", 1, 1.0)):
        make_scored_run(dataset, [1.0] * right + [0.0] * (4 - right), model=model, cost_usd=cost)
    address = f"/leaderboard/?dataset={dataset.slug}"
    assert "best for its price" not in page(client, address), "true of all"
    make_scored_run(dataset, [0.0] * 4, model="a/dear", cost_usd=3.0)
    assert page(client, address).count("best for its price") == 2


def test_a_run_on_a_dataset_says_that_it_has_no_surface(client: Client) -> None:
    run = make_scored_run()
    html = page(client, f"/runs/{run.pk}/surface/")
    assert "only runs on canvas sets have one" in html
    assert "zero-shot" not in html
    assert "Runs with a difficulty surface" not in html


def test_a_run_without_a_surface_leads_to_those_that_have_one(client: Client) -> None:
    canvas_set = make_canvas_set((3, 4))
    drawn = make_scored_run(canvas_set.dataset, [1.0] * 30, metrics=["task_score"])
    html = page(client, f"/runs/{make_scored_run().pk}/surface/")
    assert f'href="/runs/{drawn.pk}/surface/"' in html
    assert f"&amp;dataset={canvas_set.dataset.slug}" in html


@pytest.mark.parametrize(
    ("few", "many", "said"),
    [
        (1.0, 0.0, "The score falls from 1.000 with 3 shapes (n = {few}) to 0.000 with 4 shapes (n = {many})."),
        (0.0, 1.0, "The score rises from 0.000 with 3 shapes (n = {few}) to 1.000 with 4 shapes (n = {many})."),
        (
            1.0,
            1.0,
            "The score is 1.000 with 3 shapes (n = {few}) and 1.000 with 4 shapes (n = {many}): no significant change.",
        ),
    ],
)
def test_the_surface_says_how_the_score_changes_with_the_shapes(
    client: Client, few: float, many: float, said: str
) -> None:
    dataset = make_canvas_set((3,) * 12 + (4,) * 12).dataset
    shapes = [task.n_shapes for task in dataset.current_version.tasks.order_by("position")]
    run = make_scored_run(dataset, [few if n == 3 else many for n in shapes], metrics=["task_score"])
    counts = {name: f"{shapes.count(n)} of {shapes.count(n)}" for name, n in (("few", 3), ("many", 4))}
    assert said.format(**counts) in page(client, f"/runs/{run.pk}/surface/").partition('aria-label="Verdict"')[2]


def test_the_tasks_show_how_each_model_answers_them(client: Client) -> None:
    dataset = make_dataset(2)
    assert "latest full run of each" not in page(client, f"/datasets/{dataset.slug}/tasks/")
    make_scored_run(dataset, [1.0, 1.0], model="a/good")
    make_scored_run(dataset, [1.0, 0.0], model="a/poor")
    html = page(client, f"/datasets/{dataset.slug}/tasks/")
    right, wrong = '<i class="is-correct"></i>', '<i class="is-wrong"></i>'
    assert f'aria-label="2 of 2 correct">{right}{right}</span>' in html
    assert f'aria-label="1 of 2 correct">{right}{wrong}</span>' in html
    assert "Models: good, poor; latest full run of each." in html


def test_a_dataset_without_a_run_shows_its_first_tasks(client: Client) -> None:
    dataset = make_dataset(7)
    tasks = [
        f'href="/datasets/{dataset.slug}/tasks/{task.pk}/"'
        for task in dataset.current_version.tasks.order_by("position")
    ]
    for tab, shown in (("", 5), ("analysis/", 0)):
        html = page(client, f"/datasets/{dataset.slug}/{tab}")
        assert [link in html for link in tasks] == [True] * shown + [False] * (7 - shown)
        assert "Start run" in html
        assert "/leaderboard/?dataset=" not in html


def test_the_flags_of_an_analysis_are_links_to_their_tasks(client: Client) -> None:
    dataset = make_dataset(3)
    for model in ("a/one", "a/two", "a/three"):
        make_scored_run(dataset, [1.0, 1.0, 0.0], model=model)
    html = page(client, f"/datasets/{dataset.slug}/analysis/")
    assert "<strong>3 of 3 tasks need a look.</strong>" in html
    first = html[html.index("<tbody>") :].partition("</tr>")[0]
    assert "tint-wrong" in first
    assert 'class="tag flag is-' in first.partition("</th>")[0], "beside the name"
    assert re.search(
        r'href="\?flag=saturated">2 too easy</a>\s+<span>Replace with harder ones: all 3 models solve', html
    )
    chosen = page(client, f"/datasets/{dataset.slug}/analysis/?flag=saturated")
    assert re.search(r'href="\?flag=saturated" aria-current="true"', chosen)
    assert re.search(r"Too easy\s+<span aria-hidden", chosen), "a chip that removes the filter"
    assert '<input type="hidden" name="flag" value="saturated">' in chosen


def test_a_task_says_how_many_answers_are_correct(client: Client) -> None:
    dataset = make_dataset(1)
    task = dataset.current_version.tasks.get()
    address = f"/datasets/{dataset.slug}/tasks/{task.pk}/"
    assert "latest answers are correct" not in page(client, address)
    for value in (1.0, 0.0, None):
        make_scored_run(dataset, [value])
    assert "1 of 2 latest answers are correct. 1 more answer without a score." in page(client, address)


def test_versions_say_what_the_newest_changes_and_which_runs_used_them(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = make_dataset(2, slug="sums")
    make_scored_run(dataset, [1.0, 1.0])
    first = dataset.current_version
    import_dataset(replace(spec_of(first), tasks=spec_of(first).tasks[:1]), "sums", DatasetVersion.Origin.UPLOAD)
    response = client.get("/datasets/sums/versions/")
    assert '<a class="more" href="/datasets/sums/changes/1/2/">Removes 1 task</a>' in response.content.decode()
    assert "Removed in version 2</h2>" in response.content.decode()
    assert [row.runs for row in response.context["versions"].rows] == [0, 1]
    monkeypatch.setattr("frontend.views.datasets.MOST_INLINE", 0)
    with CaptureQueriesContext(connection) as queries:
        again = client.get("/datasets/sums/versions/")
    assert "Removes 1 task</a>" in again.content.decode()
    assert not any("benchmarks_task" in each["sql"] for each in queries), "they are compared once"


def test_the_files_of_a_dataset_begin_with_its_first_tasks(client: Client) -> None:
    dataset = make_dataset(3, slug="sums")
    shown = [
        f"<b>id</b>: {task}" in page(client, "/datasets/sums/files/")
        for task in dataset.current_version.tasks.order_by("position").values_list("task_id", flat=True)
    ]
    assert shown == [True, True, False]
