"""Deliver webhooks at least once, signed, with limits on everything the receiver controls.

A delivery is claimed by a conditional UPDATE that counts the attempt and sets the next due time. If the worker dies,
another worker retries at that time, under the same id. One that cannot be signed is not claimed: it stays due until its
webhook has a secret, or until it is too old. Signatures follow Standard Webhooks
(https://www.standardwebhooks.com): HMAC-SHA256 of id, timestamp and body.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
import logging
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.db import close_old_connections
from django.db.models import Q, QuerySet
from django.utils import timezone

from benchmarks.engine.webhooks.outbox import body_of, is_current
from benchmarks.engine.webhooks.receiver_settings import Redelivery
from benchmarks.engine.webhooks.receivers import Receiver, receiver_of
from benchmarks.models import STOPPED, TO_DO, RunStatus, WebhookDelivery
from benchmarks.outbound import NotAllowed, Outbound

if TYPE_CHECKING:
    import aiohttp

logger = logging.getLogger(__name__)

MAX_AT_ONCE = 20
LOST_AFTER = timedelta(seconds=30)
"""How long after its timeout an attempt without a stored result counts as lost."""
NOT_READY = timedelta(seconds=3)
UNSIGNED_FOR = timedelta(days=30)
"""How old a delivery gets that waits for the secret of its webhook."""

_State = WebhookDelivery.State
_SETTLED_LATER = frozenset({*STOPPED, RunStatus.PAUSED})


@dataclass(frozen=True, slots=True)
class Attempt:
    """One claimed attempt: everything that is sent, without the database."""

    delivery: uuid.UUID
    webhook: str
    number: int
    url: str
    body: bytes
    headers: dict[str, str]
    timeout: float
    retries: Redelivery
    checked: bool
    """Whether the address was entered on a page, so that it is sent to permitted addresses only."""


def send_due() -> int:
    """Send up to ``MAX_AT_ONCE`` deliveries that are due; return how many were accepted."""
    close_old_connections()
    now = timezone.now()
    # A first attempt that is further away than it is ever put off was stored before the clock was set back.
    is_due = Q(next_attempt_at__lte=now) | Q(attempts=0, next_attempt_at__gt=now + 2 * NOT_READY)
    due = WebhookDelivery.objects.filter(is_due, state=_State.PENDING)
    webhooks = {name: receiver_of(name) for name in due.order_by().values_list("address", flat=True).distinct()}
    if not webhooks:
        return 0
    unsigned = [name for name, webhook in webhooks.items() if webhook and webhook.problem]
    due.filter(address__in=unsigned, created_at__lt=now - UNSIGNED_FOR).update(
        state=_State.GIVEN_UP, last_error=f"The webhook had no valid secret for {UNSIGNED_FOR.days} days."
    )
    rows = due.exclude(address__in=unsigned).select_related("run__dataset", "run__dataset_version")
    in_turn = rows.order_by("next_attempt_at")[:MAX_AT_ONCE]
    attempts = [attempt for row in in_turn if (attempt := _claim(row, webhooks.get(row.address)))]
    if not attempts:
        return 0
    problems = asyncio.run(_send(attempts))
    for attempt, problem in zip(attempts, problems, strict=True):
        if problem:
            _store_failure(attempt.delivery, attempt.webhook, attempt.retries, attempt.number, problem)
        else:
            _store_success(attempt.delivery)
    return problems.count("")


def signature(key: bytes, delivery: str, timestamp: int, body: bytes) -> str:
    """The value of the header ``webhook-signature``."""
    digest = hmac.new(key, f"{delivery}.{timestamp}.".encode() + body, hashlib.sha256).digest()
    return f"v1,{base64.b64encode(digest).decode()}"


def _claim(row: WebhookDelivery, webhook: Receiver | None) -> Attempt | None:
    """Claim the next attempt; ``None`` if another worker has it, it is not ready, or it is given up."""
    if webhook is None:
        _give_up(row, "This webhook was removed.")
        return None
    if row.attempts >= webhook.retries.max_attempts:
        _give_up(row, row.last_error or "The worker stopped during the last attempt.")
        return None
    now = timezone.now()
    if not row.body and not _is_ready(row):
        _unchanged(row).update(next_attempt_at=now + NOT_READY)
        return None
    # The first attempt fixes the body: a receiver that gets a retry compares or discards the same bytes.
    body = row.body or body_of(row)
    # Before anything is sent, the row says when the attempt counts as lost. A worker that dies from here on leaves a
    # delivery that becomes due again by itself.
    lost_at = now + timedelta(seconds=webhook.timeout_seconds) + LOST_AFTER
    number = row.attempts + 1
    if not _unchanged(row).update(attempts=number, next_attempt_at=lost_at, body=body):
        return None
    return _signed(row.pk, row.address, webhook, number, body)


def send_test(name: str, webhook: Receiver) -> str:
    """Send one signed message of type ``test`` now; return the problem, empty if it was accepted. Nothing is stored."""
    if webhook.problem:
        return webhook.problem
    body = json.dumps({"type": "test", "timestamp": timezone.now().isoformat(), "data": {}})
    return asyncio.run(_send([_signed(uuid.uuid4(), name, webhook, 1, body)]))[0]


def _signed(delivery: uuid.UUID, name: str, webhook: Receiver, number: int, body: str) -> Attempt:
    """An attempt at a delivery, signed now with the key of the webhook, which must have one."""
    timestamp, content = int(time.time()), body.encode()
    headers = {
        "Content-Type": "application/json",
        "User-Agent": "CodeForge-Benchmarks",
        "webhook-id": str(delivery),
        "webhook-timestamp": str(timestamp),
        "webhook-signature": signature(webhook.key, str(delivery), timestamp, content),
    }
    return Attempt(
        delivery, name, number, webhook.url, content, headers, webhook.timeout_seconds, webhook.retries, webhook.stored
    )


def _unchanged(row: WebhookDelivery) -> QuerySet[WebhookDelivery]:
    """The row, if no worker has claimed it since it was read."""
    return WebhookDelivery.objects.filter(
        pk=row.pk, state=_State.PENDING, attempts=row.attempts, next_attempt_at=row.next_attempt_at
    )


def _is_ready(row: WebhookDelivery) -> bool:
    """Whether the numbers are final: the last lease on a run that was stopped settles it a little later."""
    run = row.run
    if run.status not in _SETTLED_LATER or not is_current(row):
        return True
    if run.leases.exists():
        return False
    settled = run.summarized_at is not None and not run.results.filter(state__in=TO_DO).exists()
    return settled or run.status == RunStatus.PAUSED


async def _send(attempts: Sequence[Attempt]) -> list[str]:
    """Send all at once; return the problem of each, empty if it was accepted."""
    import aiohttp

    options: dict[str, Any] = {"limit": MAX_AT_ONCE, "force_close": True}
    outbound: Outbound = settings.OUTBOUND
    async with _session(aiohttp.TCPConnector(**options)) as free, _session(outbound.connector(**options)) as checked:
        posts = [_post(checked if attempt.checked else free, attempt) for attempt in attempts]
        return list(await asyncio.gather(*posts))


def _session(connector: aiohttp.TCPConnector) -> aiohttp.ClientSession:
    import aiohttp

    return aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar(), auto_decompress=False)


async def _post(session: aiohttp.ClientSession, attempt: Attempt) -> str:
    """Send one attempt. Only the status of the response is read, because its body could be of any size."""
    import aiohttp

    try:
        async with (
            asyncio.timeout(attempt.timeout),
            session.post(attempt.url, data=attempt.body, headers=attempt.headers, allow_redirects=False) as response,
        ):
            if 200 <= response.status < 300:
                return ""
            redirect = "; redirects are not followed" if 300 <= response.status < 400 else ""
            return f"The address returned {response.status}{redirect}."
    except TimeoutError:
        return f"The address did not respond within {attempt.timeout:g} s."
    except aiohttp.ClientConnectorError as error:
        refused = isinstance(error.os_error, NotAllowed)
        return str(error.os_error) if refused else _no_connection(error)
    except (aiohttp.ClientError, OSError, ValueError) as error:  # their texts may contain the address, a secret
        return _no_connection(error)


def _no_connection(error: Exception) -> str:
    return f"The connection failed, or the response was not valid HTTP ({type(error).__name__})."


def _store_success(delivery: uuid.UUID) -> None:
    pending = WebhookDelivery.objects.filter(pk=delivery, state=_State.PENDING)
    pending.update(state=_State.DELIVERED, delivered_at=timezone.now(), last_error="")


def _store_failure(delivery: uuid.UUID, webhook: str, retries: Redelivery, number: int, problem: str) -> None:
    """Store the problem and the time of the next attempt, unless this attempt counted as lost meanwhile."""
    logger.warning("webhook %s, attempt %s: %s", webhook, number, problem)
    mine = WebhookDelivery.objects.filter(pk=delivery, state=_State.PENDING, attempts=number)
    if number >= retries.max_attempts:
        mine.update(state=_State.GIVEN_UP, last_error=problem)
    else:
        due = timezone.now() + timedelta(seconds=retries.pause(number))
        mine.update(last_error=problem, next_attempt_at=due)


def _give_up(row: WebhookDelivery, why: str) -> None:
    logger.warning("webhook %s is given up: %s", row.address, why)
    _unchanged(row).update(state=_State.GIVEN_UP, last_error=why)
