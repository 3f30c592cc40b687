"""Webhook deliveries: send one again that was delivered or given up."""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone

from benchmarks.models import WebhookDelivery
from benchmarks.services.access import Caller, record
from benchmarks.services.errors import NotPossible

_State = WebhookDelivery.State


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
