"""Runs whose model takes a limited number of requests, at once or in a minute: to wait for a turn is no silence."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from benchmarks.models import Experiment, Run, RunKind, RunStatus
from benchmarks.queries.model_status import troubled_models, warnings_before_run
from codeforge.config import parse_config
from frontend.tests.test_query_growth import queries
from frontend.tests.test_run_list import words
from tests.support.factories import make_dataset
from tests.support.page_factories import make_scored_run

pytestmark = pytest.mark.django_db(transaction=True)
MODEL, OTHER = "slow/model", "slow/other"
PLACE, SILENT = "Waits for a free place at slow", "No answer for 4 min"


@pytest.fixture(autouse=True)
def configured(settings: Any) -> None:
    limit(settings, {"max_in_flight": 2})


def limit(settings: Any, limits: dict[str, int], models: dict[str, Any] | None = None) -> None:
    providers = {"slow": {"base_url": "http://127.0.0.1:9/v1", "limits": limits}}
    settings.CODEFORGE = parse_config({"providers": providers, "models": models or {}}, environ={})


def running(model: str = MODEL, *, quiet: float, **values: Any) -> Run:
    """A run that got its last answer so many seconds ago."""
    now = timezone.now()
    run = make_scored_run(make_dataset(2, slug="sums"), (1.0, 0.0), model=model, **values)
    Run.objects.filter(pk=run.pk).update(
        status=RunStatus.RUNNING, completed_at=None, total=8, is_prepared=False, started_at=now - timedelta(minutes=9),
        active_since=now - timedelta(minutes=9), progressed_at=now - timedelta(seconds=quiet),
    )  # fmt: skip
    return run


def latency(run: Run, seconds: float) -> None:
    numbers = dict.fromkeys(("n", "mean", "p50", "p95", "max"), 1000 * seconds)
    Run.objects.filter(pk=run.pk).update(summary=run.summary | {"latency_ms": numbers})


def test_a_run_that_waits_for_its_turn_says_so_everywhere_and_needs_nobody(client: Client) -> None:
    experiment = Experiment.objects.create(name="Prompts", request={"models": []})
    waiting = running(quiet=245, experiment=experiment)
    running(quiet=5)
    for path in (
        *("/", "/runs/", "/runs/single/", f"/runs/{waiting.pk}/"),
        *("/experiments/", f"/experiments/{experiment.pk}/", "/search/?q=Prompts"),
    ):
        html = words(client, path)
        assert PLACE in html, path
        assert "No answer for" not in html, path
    (message,) = [
        part.partition("</div>")[0]
        for part in words(client, f"/runs/{waiting.pk}/").split('<div class="message warn" role="status">')[1:]
    ]
    assert message == f"{PLACE} (at most 2 requests at once to {MODEL}). Requests of other runs are answered."
    assert 'class="inbox"' not in words(client, "/")
    assert "no answer" not in words(client, "/workers/").casefold()
    assert troubled_models() == {}
    assert not any("answer" in each for each in warnings_before_run([MODEL]))
    for path in ("/runs/new/", "/models/", f"/models/{MODEL}/"):
        assert "No answer" not in words(client, path), path


@pytest.mark.parametrize("other", [{"quiet": 200.0}, {"quiet": 5.0, "model": OTHER}])
def test_a_limited_provider_that_answers_nobody_is_silent(client: Client, other: dict[str, Any]) -> None:
    running(**other)
    waiting = running(quiet=245)
    for path in ("/", "/runs/", f"/runs/{waiting.pk}/", "/runs/new/", "/models/", f"/models/{MODEL}/"):
        html = words(client, path)
        assert SILENT in html, path
        assert PLACE not in html, path
    assert "no answer for 4 min" in words(client, "/").partition('class="inbox"')[2]
    assert "slow has not answered since" in words(client, f"/runs/{waiting.pk}/")


def test_the_places_of_a_run_that_has_just_ended_are_taken_at_once(client: Client) -> None:
    waiting, other = running(quiet=245), running(quiet=5)
    ended = Run.objects.filter(pk=other.pk)
    ended.update(status=RunStatus.COMPLETED, completed_at=timezone.now() - timedelta(seconds=4))
    assert PLACE in words(client, f"/runs/{waiting.pk}/")
    ended.update(progressed_at=timezone.now() - timedelta(seconds=200))
    assert SILENT in words(client, f"/runs/{waiting.pk}/")


def test_without_a_limit_no_request_waits_for_another_and_a_model_may_have_its_own(
    client: Client, settings: Any
) -> None:
    waiting = running(quiet=245)
    running(quiet=5)
    for limits, models, said in (
        ({}, {}, SILENT),
        ({}, {OTHER: {"limits": {"max_in_flight": 1}}}, SILENT),
        ({}, {MODEL: {"limits": {"max_in_flight": 1}}}, "(at most 1 request at once to slow/model)"),
        ({"max_in_flight": 2}, {MODEL: {"limits": {"max_in_flight": 4}}}, "(at most 4 requests at once"),
    ):
        limit(settings, limits, models)
        assert said in words(client, f"/runs/{waiting.pk}/")


def test_a_slow_model_has_the_time_that_its_answers_take(client: Client) -> None:
    waiting, other = running(quiet=245), running(quiet=70)
    assert SILENT in words(client, f"/runs/{waiting.pk}/")
    latency(other, 40)
    assert PLACE in words(client, f"/runs/{waiting.pk}/")


def test_verdicts_wait_for_those_of_other_runs_not_for_answers(client: Client) -> None:
    waiting = running(quiet=245, judge_model="slow/judge")
    other = running(quiet=5, judge_model="slow/judge")
    Run.objects.filter(pk=waiting.pk).update(is_prepared=True)  # all of its results have answers
    assert "No verdict for 4 min" in words(client, f"/runs/{waiting.pk}/")
    Run.objects.filter(pk=other.pk).update(kind=RunKind.CALIBRATION)
    assert "(at most 2 requests at once to slow/judge)" in words(client, f"/runs/{waiting.pk}/")


def test_an_experiment_waits_if_all_its_runs_do(client: Client) -> None:
    experiment = Experiment.objects.create(name="Prompts", request={"models": []})
    running(quiet=245, experiment=experiment)
    own = running(quiet=5, experiment=experiment)
    page = f"/experiments/{experiment.pk}/"
    assert PLACE not in words(client, page).partition("<dt>Status</dt>")[2].partition("</dd>")[0]
    Run.objects.filter(pk=own.pk).update(experiment=None)
    assert PLACE in words(client, page).partition("<dt>Status</dt>")[2].partition("</dd>")[0]
    running("slow/stuck", quiet=245, experiment=experiment)
    assert SILENT in words(client, page).partition("<dt>Status</dt>")[2].partition("</dd>")[0]


@pytest.mark.parametrize("path", ["/runs/single/", "/"])
def test_more_runs_that_wait_need_no_more_queries(client: Client, path: str) -> None:
    running(quiet=5)
    running(quiet=245)
    before = queries(client, path)
    for _ in range(3):
        running(quiet=245)
    assert queries(client, path) == before


def test_a_run_that_waits_for_requests_per_minute_says_so_and_needs_nobody(client: Client, settings: Any) -> None:
    limit(settings, {"requests_per_minute": 1})
    alone = running(quiet=75)
    for path in ("/", "/runs/", f"/runs/{alone.pk}/"):
        html = words(client, path)
        assert "Waits for the rate limit of slow" in html, path
        assert "No answer for" not in html, path
    assert "Waits for the rate limit of slow (at most 1 request a minute to slow/model)." in words(
        client, f"/runs/{alone.pk}/"
    )
    Run.objects.filter(pk=alone.pk).update(progressed_at=timezone.now() - timedelta(seconds=245))
    assert SILENT in words(client, f"/runs/{alone.pk}/"), "a minute has had room"
    running(quiet=65)
    html = words(client, f"/runs/{alone.pk}/")
    assert "(at most 1 request a minute to slow/model). Requests of other runs are answered." in html
    assert SILENT not in html
    assert troubled_models() == {}


def test_with_both_limits_a_run_names_the_one_that_holds_it(client: Client, settings: Any) -> None:
    limit(settings, {"max_in_flight": 2, "requests_per_minute": 60})
    waiting = running(quiet=75)
    assert "Waits for the rate limit of slow" in words(client, f"/runs/{waiting.pk}/")
    running(quiet=5)
    Run.objects.filter(pk=waiting.pk).update(progressed_at=timezone.now() - timedelta(seconds=245))
    assert PLACE in words(client, f"/runs/{waiting.pk}/")
