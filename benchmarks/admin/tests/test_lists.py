"""Lists cost the same whatever their length, load no long texts, and every page respects permissions."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from benchmarks.admin import base
from benchmarks.admin.tests.accounts import ADMIN, staff
from benchmarks.models import Dataset, DatasetFile, Result, Run
from benchmarks.services.datasets.editing import change_head
from tests.support.factories import make_dataset

pytestmark = pytest.mark.django_db


def more_datasets(count: int) -> None:
    for _ in range(count):
        number = Dataset.objects.count()
        dataset = make_dataset(1, slug=f"sums-{number}")
        DatasetFile.objects.create(
            path=f"sums-{number}.yaml", dataset=dataset, state="broken", problems=[{}], checked_at=timezone.now()
        )


def more_versions(count: int) -> None:
    dataset = Dataset.objects.first() or make_dataset(1)
    for _ in range(count):
        dataset.refresh_from_db()
        values = {"name": f"Name {dataset.versions.count()}", "description": "x"}
        change_head(dataset, dataset.current_version_id, values)


def more_runs(count: int) -> None:
    dataset = Dataset.objects.first() or make_dataset(1)
    for _ in range(count):
        version = dataset.current_version
        run = Run.objects.create(dataset=dataset, dataset_version=version, model="a/b", metrics=["exact_match"])
        task = version.tasks.first()
        Result.objects.create(run=run, task=task, position=0, difficulty="medium", error_message="x" * 1_000)


LISTS: list[tuple[str, Callable[[int], None]]] = [
    ("dataset/", more_datasets),
    ("datasetfile/", more_datasets),
    ("task/", more_datasets),
    ("datasetversion/", more_versions),
    ("run/", more_runs),
    ("result/", more_runs),
]


@pytest.mark.parametrize(("address", "grow"), LISTS, ids=[address for address, _ in LISTS])
def test_a_list_of_twenty_costs_as_many_queries_as_one_of_ten(
    admin_client: Client, address: str, grow: Callable[[int], None]
) -> None:
    counts, rows = [], []
    for _ in range(2):
        grow(10)
        admin_client.get(f"{ADMIN}/{address}")  # what a process looks up once
        with CaptureQueriesContext(connection) as queries:
            response = admin_client.get(f"{ADMIN}/{address}")
        counts.append(len(queries))
        rows.append(len(response.context["cl"].result_list))
    assert rows[1] >= rows[0] + 10
    assert counts[0] == counts[1]
    assert counts[0] < 12


LONG = {
    "input",
    "expected_output",
    "error_message",
    "parameters",
    "summary",
    "breakdown",
    "environment",
    "tools",
    "tests",
}


@pytest.mark.parametrize(("address", "grow"), LISTS, ids=[address for address, _ in LISTS])
def test_a_list_loads_no_long_texts(admin_client: Client, address: str, grow: Callable[[int], None]) -> None:
    grow(2)
    for row in admin_client.get(f"{ADMIN}/{address}").context["cl"].result_list:
        related = [getattr(row, name) for name in ("task", "run", "version") if name in row._state.fields_cache]
        for each in (row, *related):
            known = {field.attname for field in each._meta.concrete_fields}
            assert (LONG | {"description", "problems"}) & known <= each.get_deferred_fields()


def test_counting_stops_at_the_bound(admin_client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "MOST_LISTED", 3)
    more_runs(5)
    assert admin_client.get(f"{ADMIN}/result/").context["cl"].result_count == 3


PAGES = ("dataset/", "task/", "datasetversion/", "datasetfile/", "run/", "result/")
VIEWS = ("view_dataset", "view_task", "view_datasetversion", "view_datasetfile", "view_run", "view_result")


def own_pages() -> dict[str, str]:
    """Every page of one object that the admin has, by the permission that shows it."""
    more_datasets(1)
    more_runs(1)
    dataset = Dataset.objects.get()
    version, run, result = dataset.current_version, Run.objects.get(), Result.objects.get()
    task = version.tasks.get()
    return {
        f"dataset/{dataset.pk}/change/": "view_dataset",
        f"dataset/{dataset.pk}/history/": "view_dataset",
        f"dataset/{dataset.pk}/download/": "view_dataset",
        f"dataset/{dataset.pk}/upload/": "change_dataset",
        f"dataset/{dataset.pk}/duplicate/": "add_dataset",
        f"dataset/{dataset.pk}/delete/": "delete_dataset",
        "dataset/add/": "add_dataset",
        "dataset/upload/": "add_dataset",
        f"task/{task.pk}/change/": "view_task",
        f"task/{task.pk}/preview/": "view_task",
        f"task/{task.pk}/delete/": "delete_task",
        f"task/add/?dataset={dataset.pk}": "add_task",
        f"datasetversion/{version.pk}/change/": "view_datasetversion",
        f"datasetversion/{version.pk}/download/": "view_datasetversion",
        f"datasetfile/{dataset.file.pk}/change/": "view_datasetfile",
        f"run/{run.pk}/change/": "view_run",
        f"run/{run.pk}/delete/": "delete_run",
        f"result/{result.pk}/change/": "view_result",
    }


def test_nobody_sees_anything_without_logging_in(client: Client) -> None:
    for address in (*PAGES, *own_pages()):
        response = client.get(f"{ADMIN}/{address}")
        assert response.status_code == 302, address
        assert response["Location"].startswith("/admin/login/")


def test_staff_without_permissions_sees_nothing() -> None:
    nobody = staff()
    for address in (*PAGES, *own_pages()):
        assert nobody.get(f"{ADMIN}/{address}").status_code == 403, address


def test_a_viewer_sees_everything_and_changes_nothing() -> None:
    viewer = staff(*VIEWS)
    for address, permission in own_pages().items():
        allowed = permission in VIEWS
        assert viewer.get(f"{ADMIN}/{address}").status_code == (200 if allowed else 403), address
        if not address.endswith(("history/", "download/", "preview/")):
            assert viewer.post(f"{ADMIN}/{address}", {"name": "x"}).status_code == 403, address
    for address in PAGES:
        assert viewer.get(f"{ADMIN}/{address}").status_code == 200, address


def test_each_page_opens_with_its_own_permission() -> None:
    for number, (address, permission) in enumerate(own_pages().items()):
        needed = {permission, permission.replace("change_", "view_").replace("add_", "view_")}
        client = staff(*needed, name=f"user-{number}")
        assert client.get(f"{ADMIN}/{address}").status_code == 200, address


def test_restoring_a_version_needs_the_permission_to_change_datasets() -> None:
    more_versions(2)
    dataset = Dataset.objects.get()
    first = dataset.versions.get(number=1)
    response = staff(*VIEWS).post(f"{ADMIN}/datasetversion/{first.pk}/restore/", {"base": dataset.current_version_id})
    assert response.status_code == 403
    assert Dataset.objects.get().current_version_id == dataset.current_version_id


@pytest.mark.parametrize("pk", ["0", "999999", "x", "9" * 25])
def test_a_page_of_something_that_is_not_there_is_no_error(admin_client: Client, pk: str) -> None:
    views: dict[str, tuple[str, ...]] = {
        "dataset": ("change", "delete", "upload", "download", "duplicate"),
        "task": ("change", "delete", "preview"),
        "datasetversion": ("change", "download"),
        "datasetfile": ("change", "decide"),
        "run": ("change", "delete"),
        "result": ("change",),
    }
    for kind, names in views.items():
        for name in names:
            assert admin_client.get(f"{ADMIN}/{kind}/{pk}/{name}/").status_code in (302, 404), (kind, name)


def test_the_site_is_named_and_leads_back_to_the_dashboard(admin_client: Client) -> None:
    shown = admin_client.get("/admin/").content.decode()
    assert "CodeForge Benchmarks" in shown
    assert '<a href="/">' in shown


@pytest.mark.parametrize(
    "address",
    [
        "dataset/?kind__exact=%00",
        "dataset/?file=%00",
        "run/?status__exact=%00",
        "auditentry/?action=%00",
        "webhookdelivery/?run=99999999999999999999",
        "datasetfile/?dataset=99999999999999999999",
        "datasetfile/?dataset=%D9%A3",
    ],
)
def test_a_filter_by_what_no_database_compares_with_is_no_filter(admin_client: Client, address: str) -> None:
    make_dataset(1)
    shown = admin_client.get(f"{ADMIN}/{address}", follow=True)
    assert shown.redirect_chain == [(f"{ADMIN}/{address.partition('?')[0]}?e=1", 302)]
    assert shown.status_code == 200


def test_a_long_number_may_be_searched_for(admin_client: Client) -> None:
    assert admin_client.get(f"{ADMIN}/dataset/?q=99999999999999999999").status_code == 200
