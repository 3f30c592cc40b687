"""Every page that the admin has for a model, by each role: who opens the list, the form, an object and its history."""

from __future__ import annotations

import pytest
from django.contrib import admin
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Model
from django.test import Client
from django.urls import reverse

from benchmarks.admin.tests.support import CONFIRMED, one_of_each

pytestmark = pytest.mark.django_db
PAGES = ("changelist", "add", "change", "delete", "history")
SHOWN = {"changelist", "change", "history"}
ALL = set(PAGES)
OPENED: dict[str, tuple[set[str], set[str]]] = {
    "dataset": (ALL, ALL),
    "task": (ALL, ALL),
    "datasetfile": (SHOWN, SHOWN),
    "run": (SHOWN, SHOWN),
    "schedule": (SHOWN, SHOWN),
    "scoredrop": (SHOWN, SHOWN),
    "webhookdelivery": (SHOWN, SHOWN),
    "canvasset": (SHOWN | {"delete"}, SHOWN | {"delete"}),
    "apitoken": (set(), SHOWN),
    "auditentry": (set(), SHOWN),
    "user": (set(), ALL),
    "group": (set(), ALL),
    **dict.fromkeys(("accessattempt", "accesslog", "accessfailurelog"), (set[str](), SHOWN | {"delete"})),
}
"""Model → the pages that an editor and an administrator open. Nobody else opens any."""


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
    assert set(OPENED) == set(one_of_each(User.objects.get(username="viewer"))) == registered


def test_each_role_opens_its_pages_and_no_other(clients: dict[str, Client]) -> None:
    pages = addresses(one_of_each(User.objects.get(username="viewer")))
    for role, client in clients.items():
        for (model, page), address in pages.items():
            response = client.get(address)
            moved = response.get("Location", "")
            # Pages of most models are on the dashboard, and a task is added from the page of its dataset.
            elsewhere = ("/runs/", "/settings/", "/admin/benchmarks/dataset/")
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
    pages = addresses(one_of_each(User.objects.get(username="viewer")))
    for role, client in clients.items():
        for (model, page), address in pages.items():
            savepoint = transaction.savepoint()
            response = client.post(address, {**CONFIRMED, "post": "yes", "name": "x"})
            transaction.savepoint_rollback(savepoint)
            assert response.status_code < 500, (role, model, page)
            if role not in ("editor", "admin") or page not in OPENED[model][role == "admin"]:
                refused = response.status_code == 403 or "/login/" in response.get("Location", "")
                assert refused, (role, model, page, response.status_code)
