"""Every page costs the same number of queries whatever it shows: ten rows, then twenty."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from benchmarks.models import RunStatus, ScheduledRun, WebhookDelivery
from benchmarks.services.access import create_token
from benchmarks.services.members import add_member
from benchmarks.services.schedules import save_schedule
from benchmarks.services.share_links import share
from tests.support.factories import make_dataset
from tests.support.page_factories import make_canvas_set, make_scored_run, random_values

pytestmark = pytest.mark.django_db


def queries(client: Client, url: str, *, clear: bool = True) -> int:
    if clear:
        cache.clear()
    with CaptureQueriesContext(connection) as captured:
        assert client.get(url).status_code == 200, url
    return len(captured)


def test_lists_of_runs_and_datasets_cost_the_same_for_more_rows(client: Client) -> None:
    def grow(count: int) -> None:
        for place in range(count):
            dataset = make_dataset(1, slug=f"sums-{place}-{count}")
            make_scored_run(dataset, (1.0,), model=f"a/model-{place}")
            make_scored_run(dataset, (1.0,), status=RunStatus.RUNNING, completed_at=None)
            make_scored_run(dataset, (None,), status=RunStatus.FAILED)

    pages = ("/", "/datasets/", "/runs/", "/compare/", "/leaderboard/", "/benchmarks/", "/runs/new/")
    grow(10)
    few = {url: queries(client, url) for url in pages}
    grow(20)
    assert {url: queries(client, url) for url in pages} == few


def test_pages_that_rank_models_cost_the_same_for_more_datasets_once_the_ranks_are_kept(client: Client) -> None:
    def grow(count: int) -> None:
        for place in range(count):
            dataset = make_dataset(2, slug=f"sums-{place}-{count}")
            for model, values in (("a/one", (1.0, 0.0)), ("a/two", (1.0, 1.0)), ("a/one", (1.0, 1.0))):
                make_scored_run(dataset, values, model=model, summarized_at=timezone.now())

    def warm_queries(url: str) -> int:
        client.get(url)
        return queries(client, url, clear=False)

    pages = ("/leaderboard/overall/", "/models/a/one/")
    grow(2)
    few = {url: warm_queries(url) for url in pages}
    grow(4)
    assert {url: warm_queries(url) for url in pages} == few


def a_run(count: int) -> str:
    dataset = make_dataset(count, slug=f"sums-{count}")
    return f"/runs/{make_scored_run(dataset, random_values(count), metrics=['exact_match', 'contains']).pk}/"


def a_dataset(count: int) -> str:
    make_dataset(count, slug=f"tasks-{count}")
    return f"/datasets/tasks-{count}/"


def a_result_with_the_same_task_elsewhere(count: int) -> str:
    dataset = make_dataset(1, slug=f"shared-{count}")
    runs = [make_scored_run(dataset, (1.0,)) for _ in range(count // 2)]
    return f"/runs/{runs[0].pk}/results/{runs[0].results.get().pk}/"


def a_comparison(count: int) -> str:
    dataset = make_dataset(count, slug=f"compared-{count}")
    runs = [make_scored_run(dataset, random_values(count, seed)) for seed in (1, 2)]
    return f"/compare/?runs={runs[0].pk},{runs[1].pk}"


def a_canvas_set(count: int) -> str:
    canvas_set = make_canvas_set([3] * (count // 2), slug=f"set-{count}")
    make_scored_run(canvas_set.dataset, [1.0] * 100, metrics=["task_score"])
    return f"/canvases/set-{count}/"


def test_a_page_costs_the_same_for_more_rows(client: Client) -> None:
    made: tuple[tuple[Callable[[int], str], tuple[str, ...]], ...] = (
        (a_run, ("", "status/")),
        (a_dataset, ("",)),
        (a_result_with_the_same_task_elsewhere, ("",)),
        (a_comparison, ("",)),
        (a_canvas_set, ("", "1/", "audit/")),
    )
    for make, parts in made:
        few, many = make(10), make(20)
        for part in parts:
            assert queries(client, few + part) == queries(client, many + part), (make.__name__, part)


def test_the_settings_cost_the_same_for_more_rows(client: Client) -> None:
    def grow(count: int) -> None:
        dataset = make_dataset(1, slug=f"sums-{count}")
        for place in range(count):
            name, run = f"{place}-{count}", make_scored_run(dataset, (1.0,))
            request = {"dataset": dataset.slug, "model": "baseline/reference", "metrics": ["contains"]}
            schedule = save_schedule(name, "03:00", request)
            ScheduledRun.objects.create(schedule=schedule, run=run, due_at=timezone.now())
            share("run", {"run": str(run.pk)})
            account = add_member(f"member-{name}", "viewer")
            create_token(account, name, ["read"])
            WebhookDelivery.objects.create(run=run, address="ops", event="run.failed", next_attempt_at=timezone.now())

    pages = ("", "schedules/", "tokens/", "webhooks/", "webhooks/ops/", "share-links/", "members/")
    grow(5)
    few = {page: queries(client, f"/settings/{page}") for page in pages}
    grow(10)
    assert {page: queries(client, f"/settings/{page}") for page in pages} == few


def test_the_status_of_a_run_costs_the_same_queries_with_every_poll(client: Client) -> None:
    live = make_scored_run(status=RunStatus.RUNNING, completed_at=None)
    assert queries(client, f"/runs/{live.pk}/status/") == 6, (
        "its runs and leases for the ETag, run, examples of failures, newest results, their scores"
    )
    assert queries(client, f"{a_run(3)}status/") == 7, (
        "once: ETag, run, examples, one for the comparable runs, newest results, their scores"
    )
