"""Messages to other systems in the admin: looked at, and sent again by those who may."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from benchmarks.admin.tests.accounts import ADMIN, staff
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
    given = {"action": "send_again", "_selected_action": [each.pk for each in deliveries]}
    return client.post(f"{ADMIN}/webhookdelivery/", given, follow=True).content.decode()


def test_what_ended_is_sent_again_and_what_is_on_its_way_says_why_not(admin_client: Client) -> None:
    given_up, pending = delivery("given_up", last_error="The address answered 500."), delivery("pending")
    shown = send_again(admin_client, given_up, pending)
    assert "1 message is sent again." in shown
    assert "is still being sent" in shown
    given_up.refresh_from_db()
    assert (given_up.state, given_up.last_error) == ("pending", "")


def test_sending_again_needs_the_permission(client: Client) -> None:
    given_up = delivery("given_up")
    send_again(staff("view_webhookdelivery"), given_up)
    given_up.refresh_from_db()
    assert given_up.state == "given_up"
    send_again(staff("view_webhookdelivery", "change_webhookdelivery", name="grace"), given_up)
    given_up.refresh_from_db()
    assert given_up.state == "pending"


def test_a_message_is_shown_inert_and_cannot_be_edited(admin_client: Client) -> None:
    address = f"{ADMIN}/webhookdelivery/{delivery('given_up', body=HOSTILE, last_error=HOSTILE).pk}/change/"
    shown = admin_client.get(address).content.decode()
    assert HOSTILE not in shown
    assert shown.count("&lt;script&gt;") == 2
    assert admin_client.post(address, {"address": "other"}).status_code == 403


def test_the_list_costs_the_same_whatever_its_length_and_loads_no_texts(admin_client: Client) -> None:
    counts = []
    for _ in range(2):
        for _ in range(10):
            delivery("pending", body="x" * 1_000)
        admin_client.get(f"{ADMIN}/webhookdelivery/")
        with CaptureQueriesContext(connection) as queries:
            response = admin_client.get(f"{ADMIN}/webhookdelivery/")
        counts.append(len(queries))
    assert counts[0] == counts[1]
    rows = response.context["cl"].result_list
    assert len(rows) == 20
    assert all("body" in row.get_deferred_fields() for row in rows)
