"""Reads of messages to other systems."""

from __future__ import annotations

from benchmarks.models import Run, WebhookDelivery

LATEST = 10


def deliveries_of(run: Run) -> list[WebhookDelivery]:
    """The latest messages about a run, newest first, without their texts."""
    return list(run.webhook_deliveries.defer("body").order_by("-created_at")[:LATEST])
