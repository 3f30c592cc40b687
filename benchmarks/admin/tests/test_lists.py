"""Lists have constant cost and load no long texts, and every page checks permissions."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.contrib import admin
from django.test import Client
from django.utils import timezone

from benchmarks.admin import base
from benchmarks.admin.tests.support import ADMIN, MISSING_KEYS, rows_with_constant_queries, staff, text_of
from benchmarks.models import Dataset, DatasetFile, Run, RunKind
from benchmarks.services.datasets.editing import change_head
from tests.support.factories import make_dataset, make_run

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
        Run.objects.create(dataset=dataset, dataset_version=dataset.current_version, model="a/b", metrics=["contains"])


LISTS: dict[str, Callable[[int], None]] = {
    "dataset/": more_datasets,
    "datasetfile/": more_datasets,
    "task/": more_datasets,
    "run/": more_runs,
}
LONG_TEXTS = {
    *("input", "expected_output", "error_message", "parameters", "summary", "breakdown", "environment", "tools"),
    *("tests", "description", "problems"),
}


@pytest.mark.parametrize("address", LISTS)
def test_a_list_has_constant_cost_and_loads_no_long_texts(admin_client: Client, address: str) -> None:
    for row in rows_with_constant_queries(admin_client, f"{ADMIN}/{address}", LISTS[address]):
        related = [getattr(row, name) for name in ("task", "run", "version") if name in row._state.fields_cache]
        for each in (row, *related):
            known = {field.attname for field in each._meta.concrete_fields}
            assert LONG_TEXTS & known <= each.get_deferred_fields()


def test_counting_stops_at_the_limit(admin_client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "MAX_LISTED", 3)
    more_runs(5)
    assert admin_client.get(f"{ADMIN}/run/").context["cl"].result_count == 3


VIEWS = ("view_dataset", "view_task", "view_datasetfile", "view_run")


def object_pages() -> dict[str, str]:
    """Every page of one object that the admin has, with the permission that opens it."""
    more_datasets(1)
    more_runs(1)
    dataset, run = Dataset.objects.get(), Run.objects.get()
    version = dataset.current_version
    assert version is not None
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
        f"datasetfile/{dataset.file.pk}/change/": "view_datasetfile",
        f"run/{run.pk}/change/": "view_run",
    }


def opened(address: str) -> int:
    """The status of a page that opens. A run's page is on the dashboard."""
    return 302 if address.startswith("run/") and address.endswith("change/") else 200


def test_nobody_opens_a_page_without_login_or_permission(client: Client) -> None:
    without_permissions = staff()
    for address in (*LISTS, *object_pages()):
        response = client.get(f"{ADMIN}/{address}")
        assert response.status_code == 302, address
        assert response["Location"].startswith("/admin/login/"), address
        assert without_permissions.get(f"{ADMIN}/{address}").status_code == 403, address


def test_a_viewer_opens_all_pages_and_changes_nothing() -> None:
    viewer = staff(*VIEWS)
    for address, permission in object_pages().items():
        status = opened(address) if permission in VIEWS else 403
        assert viewer.get(f"{ADMIN}/{address}").status_code == status, address
        if not address.endswith(("history/", "download/", "preview/")) and not address.startswith("run/"):
            assert viewer.post(f"{ADMIN}/{address}", {"name": "x"}).status_code == 403, address
    for address in LISTS:
        assert viewer.get(f"{ADMIN}/{address}").status_code == 200, address


def test_each_page_opens_with_its_own_permission() -> None:
    for number, (address, permission) in enumerate(object_pages().items()):
        needed = {permission, "view_" + permission.partition("_")[2]}
        client = staff(*needed, name=f"user-{number}")
        assert client.get(f"{ADMIN}/{address}").status_code == opened(address), address


def test_restoring_a_version_needs_the_permission_to_change_datasets() -> None:
    more_versions(2)
    dataset = Dataset.objects.get()
    given = {"version": 1, "base": dataset.current_version_id}
    response = staff(*VIEWS).post(f"{ADMIN}/dataset/{dataset.pk}/restore/", given)
    assert response.status_code == 403
    assert Dataset.objects.get().current_version_id == dataset.current_version_id


def test_a_page_of_a_missing_object_is_no_server_error(admin_client: Client) -> None:
    views: dict[str, tuple[str, ...]] = {
        "dataset": ("change", "delete", "upload", "download", "duplicate", "restore"),
        "task": ("change", "delete", "preview"),
        "datasetfile": ("change", "decide"),
        "run": ("change",),
        "schedule": ("change",),
        "apitoken": ("change",),
    }
    addresses = (f"{kind}/{pk}/{name}/" for kind, names in views.items() for name in names for pk in MISSING_KEYS)
    for address in addresses:
        assert admin_client.get(f"{ADMIN}/{address}").status_code in (302, 404), address


def test_the_site_is_named_and_leads_back_to_the_dashboard(admin_client: Client) -> None:
    page = text_of(admin_client.get("/admin/"))
    assert "CodeForge Benchmarks" in page
    assert '<a href="/">' in page


def test_a_filter_value_that_no_database_compares_leads_to_the_list_without_filters(admin_client: Client) -> None:
    make_dataset(1)
    for address in (
        "dataset/?kind__exact=%00",
        "dataset/?file__state__exact=%00",
        "run/?status__exact=%00",
        "auditentry/?action=%00",
        "webhookdelivery/?run=99999999999999999999",
        "datasetfile/?dataset=99999999999999999999",
        "datasetfile/?dataset=%D9%A3",
    ):
        response = admin_client.get(f"{ADMIN}/{address}", follow=True)
        assert response.redirect_chain == [(f"{ADMIN}/{address.partition('?')[0]}?e=1", 302)], address
        assert response.status_code == 200, address
    assert admin_client.get(f"{ADMIN}/dataset/?q=99999999999999999999").status_code == 200


def test_no_list_offers_the_deletion_that_bypasses_services(admin_client: Client) -> None:
    for kind, model_admin in admin.site._registry.items():
        if kind._meta.app_label in ("benchmarks", "tasks_app"):
            actions = model_admin.get_actions(admin_client.get("/admin/").wsgi_request)
            action = actions.get("delete_selected")
            assert action is None or action[0].__module__.startswith("benchmarks.admin"), kind


def test_calibrations_and_their_datasets_are_not_listed(admin_client: Client) -> None:
    more_runs(1)
    shown = Run.objects.get()
    hidden = make_dataset(1, slug="known-answers")
    run = make_run(hidden, model="baseline/reference")
    Dataset.objects.filter(pk=hidden.pk).update(kind=Dataset.Kind.CALIBRATION, current_version=None)
    Run.objects.filter(pk=run.pk).update(calibration={"metric": "contains"}, kind=RunKind.CALIBRATION)
    assert list(admin_client.get(f"{ADMIN}/run/").context["cl"].result_list) == [shown]
    assert list(admin_client.get(f"{ADMIN}/dataset/").context["cl"].result_list) == [shown.dataset]
    for kind in ("run", "dataset", "task"):
        assert "known-answers" not in text_of(admin_client.get(f"{ADMIN}/{kind}/")), kind
    assert "alibration" not in text_of(admin_client.get(f"{ADMIN}/dataset/"))


def test_each_value_of_a_row_has_the_title_of_its_column(admin_client: Client) -> None:
    more_runs(1)
    html = admin_client.get(f"{ADMIN}/run/").content.decode()
    assert '<td data-label="Model" class="field-model' in html
