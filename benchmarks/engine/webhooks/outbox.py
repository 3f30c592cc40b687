"""Outbox of webhooks: deliveries are stored in the transaction of the change they report.

A delivery reports a run, its status and its numbers. It contains no prompt, answer or error text, because an error may
quote either. To see them, the receiver follows the link with an account.
"""

from __future__ import annotations

import json
from datetime import datetime

from django.utils import timezone

from benchmarks.engine.webhooks.receivers import names_for
from benchmarks.models import Run, RunKind, RunStatus, ScheduledRun, WebhookDelivery
from benchmarks.page_urls import page_address
from benchmarks.presentation.sentences import headline_numbers

Event = WebhookDelivery.Event

EVENTS: dict[RunStatus, WebhookDelivery.Event] = {
    RunStatus.COMPLETED: Event.RUN_COMPLETED,
    RunStatus.COMPLETED_WITH_ERRORS: Event.RUN_COMPLETED_WITH_ERRORS,
    RunStatus.FAILED: Event.RUN_FAILED,
    RunStatus.CANCELLED: Event.RUN_CANCELLED,
    RunStatus.PAUSED: Event.RUN_PAUSED,
}
"""Status → event of a run that gets it. Other statuses are not reported."""

_STATUS_OF = {event: status for status, event in EVENTS.items()}
_DROP = ("metric", "difference", "low", "high", "p_adjusted", "n_shared", "sentence", "compared_with")


def enqueue_status(run_id: int, status: RunStatus, completed_at: datetime | None = None) -> None:
    """Store a delivery of the run's new status for every subscribed webhook. Call it in the transaction of the change.

    If that transaction is rolled back, nothing is sent; once it is committed, a crash cannot lose the delivery.
    """
    if event := EVENTS.get(status):
        enqueue_deliveries(run_id, event, completed_at)


def enqueue_deliveries(run_id: int, event: WebhookDelivery.Event, completed_at: datetime | None) -> None:
    """Store a delivery of ``event``, due now, for every subscribed webhook. Calibrations and trials have none."""
    webhooks = names_for(event)
    if not webhooks or Run.objects.filter(pk=run_id, kind__in=(RunKind.CALIBRATION, RunKind.TRIAL)).exists():
        return
    now = timezone.now()
    WebhookDelivery.objects.bulk_create(
        WebhookDelivery(address=name, event=event, run_id=run_id, run_completed_at=completed_at, next_attempt_at=now)
        for name in webhooks
    )


def is_current(delivery: WebhookDelivery) -> bool:
    """Whether the run still has the reported status: it was neither resumed nor did it end again since."""
    run = delivery.run
    return run.status == _status(delivery) and run.completed_at == delivery.run_completed_at


def body_of(delivery: WebhookDelivery) -> str:
    """The delivery as JSON. If the run has continued since, its numbers are ``null``, because they are not final."""
    run, current = delivery.run, is_current(delivery)
    data: dict[str, object] = {
        "run": {
            "id": run.pk,
            "status": _status(delivery),
            "dataset": run.dataset.slug,
            "dataset_version": run.dataset_version.number,
            "added_canvases": run.added_canvases,
            "model": run.model,
            "url": page_address(run),
            "completed_at": _iso(delivery.run_completed_at),
            "total": run.total if current else None,
            "done": run.done if current else None,
            "errors": run.errors if current else None,
            "summary": headline_numbers(run.numbers, run.all_metrics) if current else None,
        },
    }
    if scheduled := ScheduledRun.objects.select_related("schedule").filter(run=run).first():
        data["schedule"] = {"id": scheduled.schedule_id, "name": scheduled.schedule.name}
        if delivery.event == Event.SCORE_DROPPED:  # differences in scores from 0 to 1
            data["drops"] = list(scheduled.score_drops.order_by("pk").values(*_DROP))
    message = {"type": delivery.event, "timestamp": _iso(delivery.created_at), "data": data}
    return json.dumps(message, ensure_ascii=False)


def _status(delivery: WebhookDelivery) -> str:
    """The reported status; for an event that reports none, the current one."""
    return _STATUS_OF.get(WebhookDelivery.Event(delivery.event), delivery.run.status)


def _iso(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment else None
