"""Reads of webhooks and their deliveries."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from urllib.parse import urlsplit

from django.db.models import Count, Max, Q, QuerySet
from django.utils import timezone

from benchmarks.engine.webhooks.receivers import receivers
from benchmarks.models import Run, WebhookDelivery

LATEST = 10
COUNTED_FOR = timedelta(days=30)
FAILING_ATTEMPTS = 3
"""From so many attempts on, a delivery counts as failed while more attempts are due."""
_State = WebhookDelivery.State


@dataclass(frozen=True, slots=True)
class WebhookRow:
    """A webhook with the deliveries of the last ``COUNTED_FOR``.

    Of its URL, which may contain a secret, only ``host`` is shown. Without ``events`` it receives all.
    """

    name: str
    host: str
    events: list[str]
    stored: bool
    """Added on the page, where it can be changed; the others are in codeforge.yaml."""
    problem: str
    """Why it cannot sign, such as a missing secret."""
    latest: WebhookDelivery | None
    delivered: int
    pending: int
    given_up: int


@dataclass(frozen=True, slots=True)
class FailingWebhook:
    """A webhook that has delivered nothing since ``failed`` deliveries, the latest of them ``at``. ``problem`` is why
    it cannot sign, else empty."""

    name: str
    failed: int
    at: datetime
    problem: str


def failing_webhooks() -> list[FailingWebhook]:
    """The webhooks whose deliveries of the last ``COUNTED_FOR`` have all failed since one was accepted, or wait for a
    secret."""
    since = WebhookDelivery.objects.filter(created_at__gte=timezone.now() - COUNTED_FOR).order_by()
    accepted = dict(since.filter(state=_State.DELIVERED).values_list("address").annotate(Max("created_at")))
    lost = since.exclude(state=_State.DELIVERED).values_list("address", "created_at", "state", "attempts")
    failed: dict[str, list[datetime]] = {}
    known = receivers() if lost else {}
    for name, at, state, attempts in lost:
        if name not in known or at <= accepted.get(name, at - COUNTED_FOR):
            continue
        if state == _State.GIVEN_UP or attempts >= FAILING_ATTEMPTS or known[name].problem:
            failed.setdefault(name, []).append(at)
    return [FailingWebhook(name, len(times), max(times), known[name].problem) for name, times in sorted(failed.items())]


def webhook_rows() -> list[WebhookRow]:
    """The webhooks by name."""
    since = WebhookDelivery.objects.filter(created_at__gte=timezone.now() - COUNTED_FOR)
    states = {state.value: Count("pk", filter=Q(state=state)) for state in _State}
    counted = since.order_by().values("address").annotate(**states).values_list("address", *states)
    counts = {name: dict(zip(states, numbers, strict=True)) for name, *numbers in counted}
    return [
        WebhookRow(
            name=name,
            host=urlsplit(webhook.url).hostname or "",
            events=list(webhook.events or ()),
            stored=webhook.stored,
            problem=webhook.problem,
            latest=deliveries(name).first(),
            **counts.get(name, dict.fromkeys(states, 0)),
        )
        for name, webhook in receivers().items()
    ]


def deliveries(webhook: str, state: str = "") -> QuerySet[WebhookDelivery]:
    """The deliveries to a webhook, newest first, without their bodies; of one state or of all."""
    stored = WebhookDelivery.objects.filter(address=webhook).defer("body").order_by("-created_at")
    return stored.filter(state=state) if state else stored


def deliveries_of(run: Run) -> list[WebhookDelivery]:
    """The latest deliveries about a run, newest first, without their bodies."""
    return list(run.webhook_deliveries.defer("body").order_by("-created_at")[:LATEST])
