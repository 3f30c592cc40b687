"""API tokens and the audit log in the admin."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from benchmarks.admin.tests.support import ADMIN, errors_of, text_of
from benchmarks.models import ApiToken, AuditEntry
from benchmarks.services.access import create_token, token_of

TOKENS = f"{ADMIN}/apitoken/"
pytestmark = pytest.mark.django_db


def test_a_new_token_is_shown_once_and_can_be_revoked(admin_client: Client, admin_user: Any) -> None:
    form = {
        "account": admin_user.pk,
        "name": "ci",
        "scopes": ["read", "launch"],
        "expires_at_0": "",
        "expires_at_1": "",
    }
    text = (
        text_of(admin_client.post(f"{TOKENS}add/", form, follow=True)).partition("not shown again: ")[2].split("<")[0]
    )
    token = ApiToken.objects.get()
    assert token_of(text) == token
    page = text_of(admin_client.get(TOKENS))
    assert "ci" in page
    assert text not in page
    admin_client.post(TOKENS, {"action": "revoke", "_selected_action": [token.pk]})
    assert token_of(text) is None


def test_a_second_token_of_one_name_is_refused_at_the_name(admin_client: Client, admin_user: Any) -> None:
    create_token(admin_user, "ci", ["read"])
    response = admin_client.post(f"{TOKENS}add/", {"account": admin_user.pk, "name": "ci", "scopes": ["read"]})
    assert list(errors_of(response)) == ["name"]


def test_tokens_and_audit_entries_have_pages_but_cannot_be_changed(admin_client: Client, admin_user: Any) -> None:
    token, _ = create_token(admin_user, "ci", ["read"], by=admin_user)
    entry = AuditEntry.objects.get()
    for address in (f"{TOKENS}{token.pk}", f"{ADMIN}/auditentry/{entry.pk}"):
        assert admin_client.get(f"{address}/change/").status_code == 200, address
        for action in ("change", "delete"):
            assert admin_client.post(f"{address}/{action}/", {"post": "yes", "name": "x"}).status_code == 403, address


def test_a_year_that_no_calendar_has_leads_to_the_list_of_logins_without_filters(admin_client: Client) -> None:
    for model in ("accessattempt", "accessfailurelog", "accesslog"):
        for year in ("99999", "9" * 30, "0", "-1"):
            response = admin_client.get(f"/admin/axes/{model}/", {"attempt_time__year": year})
            assert response.headers.get("Location") == f"/admin/axes/{model}/?e=1", (model, year)
