"""Every page with an empty, a small and a large database, with live and failed runs."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.db.models import F
from django.test import Client
from django.test.utils import CaptureQueriesContext

from benchmarks.metrics.registered_metrics import REGISTERED_METRICS
from benchmarks.models import (
    Experiment,
    ReviewItem,
    ReviewQueue,
    Run,
    RunKind,
    RunStatus,
)
from benchmarks.queries.live import stamp_of_judging
from codeforge.security import STRICT
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
    assert "Exact match, n = 3 of 3" in board
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


def test_what_was_found_last_ends_where_the_inbox_does(client: Client) -> None:
    dataset = make_dataset(1)
    for name in "abcd":
        make_scored_run(dataset, [1.0], model=f"{name}/x")
        make_scored_run(dataset, (None,), model=f"{name}/y", status=RunStatus.FAILED, error_message=f"Stopped {name}.")
    html = page(client, "/")
    n_notices = html.partition("Board</h2>")[0].count("data-row")
    latest = html[html.index("Latest</h2>") :].partition("</section>")[0]
    assert latest.count("<tr") == 1 + n_notices - 1, "a head, and a row less than notices"


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
