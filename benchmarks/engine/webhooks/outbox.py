"""What other systems are told: the messages that are owed, stored with what they tell about, and what stands in them.

A message names the run, its status and its numbers. It holds no prompt, no answer and no text of an error, which may
quote either; who wants those follows its link with an account.
"""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from django.conf import settings
from django.utils import timezone

from benchmarks.models import Run, RunStatus, ScheduledRun, WebhookDelivery
from benchmarks.page_urls import page_address

Event = WebhookDelivery.Event

TOLD: dict[RunStatus, WebhookDelivery.Event] = {
    RunStatus.COMPLETED: Event.RUN_COMPLETED,
    RunStatus.COMPLETED_WITH_ERRORS: Event.RUN_COMPLETED_WITH_ERRORS,
    RunStatus.FAILED: Event.RUN_FAILED,
    RunStatus.CANCELLED: Event.RUN_CANCELLED,
    RunStatus.PAUSED: Event.RUN_PAUSED,
}
"""Status → what is told when a run gets it. Others are not told."""

_STATUS_OF = {event: status for status, event in TOLD.items()}
_NUMBERS = ("mean", "n", "low", "high")


def announce_run(run_id: int, status: RunStatus, completed_at: datetime | None = None) -> None:
    """Owe every address that wants to know it that the run has this status now. Call it in the transaction of that."""
    if event := TOLD.get(status):
        announce(run_id, event, completed_at)


def announce(run_id: int, event: WebhookDelivery.Event, completed_at: datetime | None) -> None:
    """Owe every address that wants ``event`` a message about the run, due at once."""
    now = timezone.now()
    if Run.objects.filter(pk=run_id, calibration__isnull=False).exists():
        return
    addresses = [name for name, webhook in settings.CODEFORGE.webhooks.items() if webhook.wants(event)]
    WebhookDelivery.objects.bulk_create(
        [
            WebhookDelivery(
                address=name, event=event, run_id=run_id, run_completed_at=completed_at, next_attempt_at=now
            )
            for name in addresses
        ]
    )


def stands_as_told(delivery: WebhookDelivery) -> bool:
    """Whether the run is still as the message says: neither resumed nor ended anew since."""
    run = delivery.run
    status = _STATUS_OF.get(WebhookDelivery.Event(delivery.event), run.status)
    return run.status == status and run.completed_at == delivery.run_completed_at


def body_of(delivery: WebhookDelivery) -> str:
    """The message as JSON. Where the run has gone on since, its numbers are ``null``: none is to be taken for final."""
    run = delivery.run
    status = _STATUS_OF.get(WebhookDelivery.Event(delivery.event), run.status)
    as_told = stands_as_told(delivery)
    data: dict[str, Any] = {
        "run": {
            "id": run.pk,
            "status": status,
            "dataset": run.dataset.slug,
            "dataset_version": run.dataset_version.number,
            "model": run.model,
            "url": page_address(run),
            "completed_at": _moment(delivery.run_completed_at),
            "total": run.total if as_told else None,
            "done": run.done if as_told else None,
            "errors": run.errors if as_told else None,
            "summary": _summary(run) if as_told else None,
        },
    }
    if turn := ScheduledRun.objects.select_related("schedule").filter(run=run).first():
        data["schedule"] = {"id": turn.schedule_id, "name": turn.schedule.name}
        if delivery.event == Event.SCORE_DROPPED:
            data["drops"] = _drops(turn)
    message = {"type": delivery.event, "timestamp": _moment(delivery.created_at), "data": data}
    return json.dumps(message, ensure_ascii=False)


def _summary(run: Run) -> dict[str, dict[str, Any]]:
    """Metric → mean over n scored results with its 95 % interval; a mean of nothing is ``null``."""
    found = run.summary.get("metrics", {})
    return {name: {key: found[name].get(key) for key in _NUMBERS} for name in run.metrics if name in found}


def _drops(turn: ScheduledRun) -> list[dict[str, Any]]:
    """Metric by metric, the difference to an earlier run in scores from 0 to 1."""
    numbers = ("metric", "difference", "low", "high", "p_adjusted", "n_shared", "sentence", "compared_with")
    return list(turn.notices.order_by("pk").values(*numbers))


def _moment(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment else None
