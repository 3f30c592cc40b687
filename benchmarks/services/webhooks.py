"""Webhooks: add, change and delete them, send a test, and send a delivery again."""

from __future__ import annotations

import base64
import re
import secrets
from collections.abc import Sequence

from django.conf import settings
from django.db import IntegrityError, transaction
from django.utils import timezone

from benchmarks.engine.sealing import sealing_allowed
from benchmarks.engine.webhooks import delivery as engine
from benchmarks.engine.webhooks.receiver_settings import receiver_address
from benchmarks.engine.webhooks.receivers import receiver_of, sealed
from benchmarks.models import Webhook, WebhookDelivery
from benchmarks.services.access import Caller, account_of, record
from benchmarks.services.errors import InvalidRequest, NotPossible

_State = WebhookDelivery.State
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,59}")
SECRET_BYTES = 32


def add_webhook(name: str, url: str, events: Sequence[str], user: Caller = None) -> tuple[Webhook, str]:
    """Add a webhook that receives these events, or all if there are none; return it and its secret, which is shown
    once. Raises ``InvalidRequest``, and ``NotPossible`` where no secret may be stored.
    """
    if not sealing_allowed():
        raise NotPossible(
            "This installation stores no secrets. Set CODEFORGE_KEYS_ON_PAGE=1, or add the webhook to codeforge.yaml."
        )
    errors: dict[str, list[str]] = {}
    if not _NAME.fullmatch(name):
        errors["name"] = ["Use up to 60 of the characters a-z, 0-9, - and _."]
    elif name == "new":
        errors["name"] = ["The name is reserved. Choose another name."]
    elif name in settings.CODEFORGE.webhooks or Webhook.objects.filter(name=name).exists():
        errors["name"] = [f"A webhook named {name} exists. Choose another name."]
    errors |= _problems(url, events)
    if errors:
        raise InvalidRequest(errors)
    key = secrets.token_bytes(SECRET_BYTES)
    try:
        with transaction.atomic():
            webhook = Webhook.objects.create(
                name=name, events=list(events), created_by=account_of(user), **sealed(name, url=url, key=key)
            )
            record(user, "webhook.create", f"webhook {name}", events=list(events))
    except IntegrityError:
        raise InvalidRequest({"name": [f"A webhook named {name} exists. Choose another name."]}) from None
    return webhook, _secret_text(key)


def change_webhook(webhook: Webhook, url: str, events: Sequence[str], user: Caller = None) -> Webhook:
    """Change its events and, unless it is empty, its URL. Raises ``InvalidRequest``."""
    if errors := _problems(url or "https://unchanged", events):
        raise InvalidRequest(errors)
    changed = {"events": list(events), **(sealed(webhook.name, url=url) if url else {})}
    with transaction.atomic():
        Webhook.objects.filter(pk=webhook.pk).update(**changed)
        record(user, "webhook.change", f"webhook {webhook.name}", events=list(events), url=bool(url))
    return webhook


def renew_secret(webhook: Webhook, user: Caller = None) -> str:
    """Replace the secret, which is returned to be shown once. Deliveries are signed with it from now on."""
    key = secrets.token_bytes(SECRET_BYTES)
    with transaction.atomic():
        Webhook.objects.filter(pk=webhook.pk).update(**sealed(webhook.name, key=key))
        record(user, "webhook.renew_secret", f"webhook {webhook.name}")
    return _secret_text(key)


def delete_webhook(webhook: Webhook, user: Caller = None) -> None:
    """Its deliveries stay in the list; those that are pending are given up."""
    with transaction.atomic():
        record(user, "webhook.delete", f"webhook {webhook.name}")
        webhook.delete()


def send_test(name: str, user: Caller = None) -> None:
    """Send a signed message of type ``test``, once. Raises ``NotPossible`` with the reason if it is not accepted."""
    webhook = receiver_of(name)
    if webhook is None:
        raise NotPossible(f"Webhook {name} does not exist.")
    record(user, "webhook.test", f"webhook {name}")
    if problem := engine.send_test(name, webhook):
        raise NotPossible(f"The test to {name} failed. {problem}")


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


def _problems(url: str, events: Sequence[str]) -> dict[str, list[str]]:
    problems: dict[str, list[str]] = {}
    try:
        receiver_address(url)
        if refusal := settings.OUTBOUND.refusal(url):
            problems["url"] = [refusal]
    except ValueError as error:
        problems["url"] = [str(error)]
    if unknown := [event for event in events if event not in WebhookDelivery.Event.values]:
        problems["events"] = [f"{unknown[0]} is not an event. Choose from: {', '.join(WebhookDelivery.Event.values)}."]
    return problems


def _secret_text(key: bytes) -> str:
    return f"whsec_{base64.b64encode(key).decode()}"
