"""Every page costs the same number of queries whatever it shows: ten rows, then twenty."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from benchmarks.models import RunStatus
from tests.support.factories import make_dataset
from tests.support.page_factories import make_canvas_set, make_scored_run, random_values

pytestmark = pytest.mark.django_db


def queries(client: Client, url: str) -> int:
    cache.clear()
    with CaptureQueriesContext(
        connection,
    ) as captured:
        assert client.get(url).status_code == 200
    return len(captured)


def more_runs(count: int) -> None:
    for place in range(count):
        dataset = make_dataset(2, slug=f"sums-{place}-{count}")
        make_scored_run(dataset, (1.0, None), model=f"a/model-{place}")
        make_scored_run(dataset, (1.0,), status=RunStatus.RUNNING, completed_at=None)
        make_scored_run(dataset, (0.0,), status=RunStatus.FAILED)


@pytest.mark.parametrize("url", ["/", "/datasets/", "/runs/", "/compare/", "/leaderboard/", "/runs/new/"])
def test_lists_of_runs_and_datasets(client: Client, url: str) -> None:
    more_runs(10)
    few = queries(client, url)
    more_runs(20)
    assert queries(client, url) == few


def grown(make: Callable[[int], str], client: Client) -> tuple[int, int]:
    return queries(client, make(10)), queries(client, make(20))


def test_a_run_with_its_results(client: Client) -> None:
    def make(count: int) -> str:
        run = make_scored_run(
            make_dataset(count, slug=f"sums-{count}"), random_values(count), metrics=["exact_match", "contains"]
        )
        return f"/runs/{run.pk}/"

    few, many = grown(make, client)
    assert few == many


def test_the_status_of_a_run(client: Client) -> None:
    def make(count: int) -> str:
        run = make_scored_run(make_dataset(count, slug=f"sums-{count}"), random_values(count))
        return f"/runs/{run.pk}/status/"

    few, many = grown(make, client)
    assert few == many == 1


def test_a_dataset_with_its_tasks(client: Client) -> None:
    def make(count: int) -> str:
        make_dataset(count, slug=f"sums-{count}")
        return f"/datasets/sums-{count}/"

    few, many = grown(make, client)
    assert few == many


def test_a_result_with_the_same_task_elsewhere(client: Client) -> None:
    def make(count: int) -> str:
        dataset = make_dataset(1, slug=f"sums-{count}")
        runs = [make_scored_run(dataset, (1.0,)) for _ in range(count // 2)]
        return f"/runs/{runs[0].pk}/results/{runs[0].results.get().pk}/"

    few, many = grown(make, client)
    assert few == many


def test_a_comparison(client: Client) -> None:
    def make(count: int) -> str:
        dataset = make_dataset(count, slug=f"sums-{count}")
        runs = [make_scored_run(dataset, random_values(count, seed)) for seed in (1, 2)]
        return f"/compare/?runs={runs[0].pk},{runs[1].pk}"

    few, many = grown(make, client)
    assert few == many


@pytest.mark.parametrize("place", ["", "1/", "audit/"])
def test_a_canvas_set(client: Client, place: str) -> None:
    def make(count: int) -> str:
        canvas_set = make_canvas_set([3] * (count // 2), slug=f"set-{count}")
        make_scored_run(canvas_set.dataset, [1.0] * 100, metrics=["task_score"])
        return f"/canvases/set-{count}/{place}"

    few, many = grown(make, client)
    assert few == many
