"""Webhooks: send a test, and send a delivery again that was delivered or given up."""

from __future__ import annotations

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from benchmarks.engine.webhooks import delivery as engine
from benchmarks.models import WebhookDelivery
from benchmarks.services.access import Caller, record
from benchmarks.services.errors import NotPossible

_State = WebhookDelivery.State


def send_test(webhook: str, user: Caller = None) -> None:
    """Send a signed message of type ``test``, once. Raises ``NotPossible`` with the reason if it is not accepted."""
    if webhook not in settings.CODEFORGE.webhooks:
        raise NotPossible(f"Webhook {webhook} is not configured.")
    record(user, "webhook.test", f"webhook {webhook}")
    if problem := engine.send_test(webhook):
        raise NotPossible(f"The test to {webhook} failed. {problem}")


def send_again(delivery: WebhookDelivery, user: Caller = None) -> None:
    """Make a delivery due again, with all its attempts and the same body and id.

    Raises ``NotPossible`` while it is pending.
    """
    ended = WebhookDelivery.objects.filter(pk=delivery.pk).exclude(state=_State.PENDING)
    with transaction.atomic():
        fresh = {"attempts": 0, "last_error": "", "delivered_at": None}
        if not ended.update(state=_State.PENDING, next_attempt_at=timezone.now(), **fresh):
            raise NotPossible(f"Delivery {delivery} is still being sent. Wait until it is delivered or given up.")
        record(user, "webhook.send", f"webhook delivery {delivery.pk}", address=delivery.address, event=delivery.event)
