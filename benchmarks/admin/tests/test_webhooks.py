"""Webhook deliveries in the admin: shown as inert text, and sent again by accounts that may."""

from __future__ import annotations

import pytest
from django.test import Client
from django.utils import timezone

from benchmarks.admin.tests.support import ADMIN, rows_with_constant_queries, staff, text_of
from benchmarks.models import WebhookDelivery
from tests.support.factories import make_run

pytestmark = pytest.mark.django_db
HOSTILE = "<script>alert(1)</script>"


def delivery(state: str, **fields: str) -> WebhookDelivery:
    run = getattr(WebhookDelivery.objects.first(), "run", None) or make_run(model="baseline/reference")
    return WebhookDelivery.objects.create(
        run=run, address="ops", event="run.completed", state=state, next_attempt_at=timezone.now(), **fields
    )


def send_again(client: Client, *deliveries: WebhookDelivery) -> str:
    data = {"action": "send_again", "_selected_action": [each.pk for each in deliveries]}
    return text_of(client.post(f"{ADMIN}/webhookdelivery/", data, follow=True))


def test_ended_deliveries_are_sent_again_and_others_are_refused_with_a_reason(admin_client: Client) -> None:
    given_up, pending = delivery("given_up", last_error="The address answered 500."), delivery("pending")
    page = send_again(admin_client, given_up, pending)
    assert f"Sending again: {given_up}." in page
    assert 'class="error"' in page
    given_up.refresh_from_db()
    assert (given_up.state, given_up.last_error) == ("pending", "")


def test_sending_again_needs_the_permission() -> None:
    given_up = delivery("given_up")
    for name, permissions, state in (
        ("viewer", ("view_webhookdelivery",), "given_up"),
        ("editor", ("view_webhookdelivery", "change_webhookdelivery"), "pending"),
    ):
        send_again(staff(*permissions, name=name), given_up)
        given_up.refresh_from_db()
        assert given_up.state == state, name


def test_a_delivery_is_shown_as_inert_text_and_cannot_be_edited(admin_client: Client) -> None:
    address = f"{ADMIN}/webhookdelivery/{delivery('given_up', body=HOSTILE, last_error=HOSTILE).pk}/change/"
    page = text_of(admin_client.get(address))
    assert HOSTILE not in page
    assert page.count("&lt;script&gt;") == 2
    assert admin_client.post(address, {"address": "other"}).status_code == 403


def test_the_list_has_constant_cost_and_loads_no_bodies(admin_client: Client) -> None:
    def grow(count: int) -> None:
        for _ in range(count):
            delivery("pending", body="x" * 1_000)

    rows = rows_with_constant_queries(admin_client, f"{ADMIN}/webhookdelivery/", grow)
    assert all("body" in row.get_deferred_fields() for row in rows)
