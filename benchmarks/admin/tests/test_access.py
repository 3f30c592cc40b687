"""The audit log and the logins in the admin."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from benchmarks.admin.tests.support import ADMIN
from benchmarks.models import AuditEntry
from benchmarks.services.access import create_token

pytestmark = pytest.mark.django_db


def test_audit_entries_have_pages_but_cannot_be_changed(admin_client: Client, admin_user: Any) -> None:
    create_token(admin_user, "ci", ["read"], by=admin_user)
    address = f"{ADMIN}/auditentry/{AuditEntry.objects.get().pk}"
    assert admin_client.get(f"{address}/change/").status_code == 200
    for action in ("change", "delete"):
        assert admin_client.post(f"{address}/{action}/", {"post": "yes", "action": "x"}).status_code == 403, action


def test_a_year_that_no_calendar_has_leads_to_the_list_of_logins_without_filters(admin_client: Client) -> None:
    for model in ("accessattempt", "accessfailurelog", "accesslog"):
        for year in ("99999", "9" * 30, "0", "-1"):
            response = admin_client.get(f"/admin/axes/{model}/", {"attempt_time__year": year})
            assert response.headers.get("Location") == f"/admin/axes/{model}/?e=1", (model, year)
