"""Messages to other systems: sending one again that arrived, or that was given up."""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone

from benchmarks.models import WebhookDelivery
from benchmarks.services.access import Caller, record
from benchmarks.services.errors import NotPossible

_State = WebhookDelivery.State


def send_again(delivery: WebhookDelivery, user: Caller = None) -> None:
    """Let workers send a message anew, with all its attempts: the same text under the same id.

    Raises ``NotPossible`` while it is being sent anyway.
    """
    ended = WebhookDelivery.objects.filter(pk=delivery.pk).exclude(state=_State.PENDING)
    with transaction.atomic():
        fresh = {"attempts": 0, "last_error": "", "delivered_at": None}
        if not ended.update(state=_State.PENDING, next_attempt_at=timezone.now(), **fresh):
            raise NotPossible(f"The message {delivery} is still being sent.")
        record(user, "webhook.send", f"webhook delivery {delivery.pk}", address=delivery.address, event=delivery.event)
