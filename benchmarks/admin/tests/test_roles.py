"""Every page that the admin has for a model, by each role: who opens the list, the form, an object and its history."""

from __future__ import annotations

from typing import Any

import pytest
from axes.models import AccessAttempt, AccessFailureLog, AccessLog
from django.contrib import admin
from django.contrib.auth.models import Group, User
from django.db import transaction
from django.db.models import Model
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from benchmarks.admin.tests.support import CONFIRMED
from benchmarks.models import ApiToken, AuditEntry, DatasetFile, ScheduledRun, ScoreDrop, WebhookDelivery
from benchmarks.services.access import GROUPS, assign_group, create_token
from benchmarks.services.schedules import save_schedule
from tests.support.canvas_sets import make_canvas_set
from tests.support.factories import make_dataset, make_run

pytestmark = pytest.mark.django_db
NOBODY = "nobody"
PAGES = ("changelist", "add", "change", "delete", "history")
SHOWN = {"changelist", "change", "history"}
ALL = set(PAGES)
OPENED: dict[str, tuple[set[str], set[str]]] = {
    "dataset": (ALL, ALL),
    "task": (ALL, ALL),
    "datasetfile": (SHOWN, SHOWN),
    "run": (SHOWN | {"delete"}, SHOWN | {"delete"}),
    "schedule": (ALL, ALL),
    "scoredrop": (SHOWN, SHOWN),
    "webhookdelivery": (SHOWN, SHOWN),
    "canvasset": (SHOWN | {"delete"}, SHOWN | {"delete"}),
    "apitoken": (set(), SHOWN | {"add"}),
    "auditentry": (set(), SHOWN),
    "user": (set(), ALL),
    "group": (set(), ALL),
    **dict.fromkeys(("accessattempt", "accesslog", "accessfailurelog"), (set[str](), SHOWN | {"delete"})),
}
"""Model → the pages that an editor and an administrator open. Nobody else opens any."""


def one_of_each(owner: User) -> dict[str, Model]:
    """An object of every model in the admin."""
    dataset = make_dataset(2)
    run = make_run(dataset, model="baseline/reference")
    now = timezone.now()
    request = {"dataset": "sums", "model": "baseline/reference", "metrics": ["contains"]}
    schedule = save_schedule("nightly", "03:00", request)
    scheduled = ScheduledRun.objects.create(schedule=schedule, run=run, due_at=now)
    numbers = {"difference": -0.2, "low": -0.3, "high": -0.1, "p_adjusted": 0.001, "n_shared": 50}
    token, _ = create_token(owner, "ci", ["read"], by=owner)
    visit = {"user_agent": "x", "ip_address": "127.0.0.1", "username": "x", "http_accept": "x", "path_info": "/login/"}
    assert dataset.current_version is not None
    objects: list[Model] = [
        dataset,
        dataset.current_version.tasks.earliest("position"),
        DatasetFile.objects.create(path="sums.yaml", dataset=dataset, state="good", checked_at=now),
        run,
        schedule,
        ScoreDrop.objects.create(scheduled_run=scheduled, metric="contains", sentence="Worse.", **numbers),
        WebhookDelivery.objects.create(run=run, address="ops", event="run.completed", next_attempt_at=now),
        make_canvas_set("7", 2),
        ApiToken.objects.get(pk=token.pk),
        AuditEntry.objects.earliest("pk"),
        owner,
        Group.objects.earliest("pk"),
        AccessAttempt.objects.create(get_data="", post_data="", failures_since_start=1, **visit),
        AccessLog.objects.create(**visit),
        AccessFailureLog.objects.create(**visit),
    ]
    return {str(each._meta.model_name): each for each in objects}


@pytest.fixture
def clients(settings: Any) -> dict[str, Client]:
    """A client for each role, as in production."""
    settings.DEV_MODE = settings.PUBLIC_READING = False
    clients = {NOBODY: Client()}
    for role in GROUPS:
        account = User.objects.create_user(role)
        assign_group(account, role)
        clients[role] = Client()
        clients[role].force_login(account, backend="django.contrib.auth.backends.ModelBackend")
    return clients


def addresses(objects: dict[str, Model]) -> dict[tuple[str, str], str]:
    return {
        (name, page): reverse(
            f"admin:{each._meta.app_label}_{name}_{page}",
            args=[each.pk] if page in ("change", "delete", "history") else [],
        )
        for name, each in objects.items()
        for page in PAGES
    }


def test_every_model_in_the_admin_is_in_the_table(clients: dict[str, Client]) -> None:
    registered = {model._meta.model_name for model in admin.site._registry}
    assert set(OPENED) == set(one_of_each(User.objects.get(username="admin"))) == registered


def test_each_role_opens_its_pages_and_no_other(clients: dict[str, Client]) -> None:
    pages = addresses(one_of_each(User.objects.get(username="admin")))
    for role, client in clients.items():
        for (model, page), address in pages.items():
            response = client.get(address)
            moved = response.get("Location", "")
            # Pages of runs and schedules are on the dashboard, and a task is added from the page of its dataset.
            elsewhere = ("/runs/", "/settings/schedules/", "/admin/benchmarks/dataset/")
            opened = response.status_code == 200 or moved.startswith(elsewhere)
            allowed = role in ("editor", "admin") and page in OPENED[model][role == "admin"]
            assert opened == allowed, (role, model, page, response.status_code, moved)
            if not allowed:
                assert response.status_code == 403 or moved.startswith(("/admin/login/", "/login/")), (
                    role,
                    model,
                    page,
                )


def test_no_form_of_the_admin_fails_and_only_roles_that_open_it_can_send_it(clients: dict[str, Client]) -> None:
    pages = addresses(one_of_each(User.objects.get(username="admin")))
    for role, client in clients.items():
        for (model, page), address in pages.items():
            savepoint = transaction.savepoint()
            response = client.post(address, {**CONFIRMED, "post": "yes", "name": "x"})
            transaction.savepoint_rollback(savepoint)
            assert response.status_code < 500, (role, model, page)
            if role not in ("editor", "admin") or page not in OPENED[model][role == "admin"]:
                refused = response.status_code == 403 or "/login/" in response.get("Location", "")
                assert refused, (role, model, page, response.status_code)
