"""Reads of webhook deliveries."""

from __future__ import annotations

from benchmarks.models import Run, WebhookDelivery

LATEST = 10


def deliveries_of(run: Run) -> list[WebhookDelivery]:
    """The latest deliveries about a run, newest first, without their bodies."""
    return list(run.webhook_deliveries.defer("body").order_by("-created_at")[:LATEST])
