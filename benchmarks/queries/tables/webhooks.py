"""The tables of webhooks and of their deliveries."""

from __future__ import annotations

from django.utils import timezone

from benchmarks.models import WebhookDelivery
from benchmarks.presentation.cells import Button, Cell, Link, Moment, State, Words, run_link
from benchmarks.presentation.labels import event_title
from benchmarks.presentation.numbers import MISSING, ahead, number
from benchmarks.presentation.tables import Column, Table
from benchmarks.queries.webhooks import COUNTED_FOR, WebhookRow

_MARK = {"delivered": "completed", "pending": "pending", "given_up": "failed"}


def delivery_state(delivery: WebhookDelivery) -> State:
    return State(_MARK[delivery.state], delivery.get_state_display().capitalize())


def _state(row: WebhookRow) -> Cell:
    if row.problem:
        return State("failed", "Cannot deliver")
    return delivery_state(row.latest) if row.latest else ""


def _counts(row: WebhookRow) -> Cell:
    """Those that were delivered, and the others that are not 0; the ones that were given up lead to their list."""
    if not (row.delivered or row.pending or row.given_up):
        return "None"
    said = f"{number(row.delivered)} delivered"
    if row.pending:
        said += f", {number(row.pending)} pending"
    if not row.given_up:
        return said
    return [f"{said},", Link(f"{number(row.given_up)} given up", "webhook", (row.name,), {"state": "given_up"})]


def _again(delivery: WebhookDelivery) -> Cell:
    if delivery.state == WebhookDelivery.State.PENDING:
        return ""
    return Button("Send again", f"Send {delivery} again", "send-delivery", (delivery.address, delivery.pk))


def _delivered(delivery: WebhookDelivery) -> Cell:
    """When it was, or when the next attempt is."""
    if delivery.delivered_at:
        return Moment(delivery.delivered_at)
    if delivery.state != WebhookDelivery.State.PENDING:
        return MISSING
    return Words(f"Next attempt {ahead(delivery.next_attempt_at, timezone.now())}", "soft")


def _unsigned(delivery: WebhookDelivery) -> Cell:
    """The same of a webhook that cannot sign, which makes no attempt."""
    if delivery.state != WebhookDelivery.State.PENDING:
        return _delivered(delivery)
    return Words("Waits for the secret", "soft")


WEBHOOKS = Table[WebhookRow](
    f"Deliveries of the last {COUNTED_FOR.days} days",
    [
        Column("Webhook", lambda row: Link(row.name, "webhook", (row.name,)), "name"),
        Column("Status", _state, look="nowrap"),
        Column("Host", lambda row: row.host, look="anywhere", unit=""),
        Column("Events", lambda row: ", ".join(map(event_title, row.events)) or "All events", only="page", unit=""),
        Column("Events", lambda row: ", ".join(row.events) or "All", only="text"),
        Column("Latest attempt", lambda row: Moment(row.latest.created_at) if row.latest else "Never", look="nowrap"),
        Column(f"In {COUNTED_FOR.days} days", _counts, only="page"),
        Column("Delivered", lambda row: row.delivered, "number", only="text"),
        Column("Pending", lambda row: row.pending, "number", only="text"),
        Column("Given up", lambda row: row.given_up, "number", only="text"),
    ],
    look="brief",
)
DELIVERIES = Table[WebhookDelivery](
    "Deliveries, newest first",
    [
        Column("Event", lambda row: event_title(row.event), "name", only="page"),
        Column("Event", lambda row: row.event, "name", only="text"),
        Column("Run", lambda row: run_link(row.run_id) if row.run_id else MISSING, look="nowrap"),
        Column("Status", delivery_state),
        Column("Attempts", lambda row: row.attempts, "number"),
        Column("Last error", lambda row: row.last_error, look="wide-text anywhere", given="tells_more"),
        Column("Created", lambda row: Moment(row.created_at), look="nowrap"),
        Column("Delivery", _delivered, look="nowrap", given="signs"),
        Column("Delivery", _unsigned, look="nowrap", only="page", given="cannot_sign", bare=True),
        Column("Send again", _again, "number", hidden_head=True, only="page", given="may_send"),
    ],
)
