"""Sending what other systems are owed: signed, with a bound on everything that the other side decides.

A message is claimed by a conditional UPDATE that counts the attempt and sets when it is due again in case that nobody
comes back to say how it went. So a worker that dies with it neither loses it nor sends it for ever. Several workers
may send at once. A receiver gets a message at least once, under one id.

Signatures are those of Standard Webhooks, https://www.standardwebhooks.com: HMAC-SHA256 over id, timestamp and body.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import logging
import os
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

import aiohttp
from django.conf import settings
from django.db import close_old_connections
from django.db.models import QuerySet
from django.utils import timezone

from benchmarks.engine.execution.finishing import STOPPED, TO_DO
from benchmarks.engine.webhooks.outbox import body_of, stands_as_told
from benchmarks.models import Run, RunStatus, WebhookDelivery

logger = logging.getLogger(__name__)

MOST_AT_ONCE = 20
LOST_AFTER = timedelta(seconds=30)
"""After its time is over, how long the end of an attempt may take to be written before it counts as lost."""
NOT_READY = timedelta(seconds=3)

_State = WebhookDelivery.State
_SETTLED_LATER = frozenset({*STOPPED, RunStatus.PAUSED})


@dataclass(frozen=True, slots=True)
class Letter:
    """A message in its envelope: one attempt, claimed."""

    delivery: uuid.UUID
    address: str
    attempt: int
    url: str
    body: bytes
    headers: dict[str, str]
    timeout: float


def send_due() -> int:
    """Send what is due, some of it where it is much; returns how many messages arrived."""
    close_old_connections()
    due = WebhookDelivery.objects.filter(state=_State.PENDING, next_attempt_at__lte=timezone.now())
    rows = due.select_related("run__dataset", "run__dataset_version").order_by("next_attempt_at")[:MOST_AT_ONCE]
    letters = [letter for row in rows if (letter := _claim(row))]
    if not letters:
        return 0
    problems = asyncio.run(_send(letters))
    for letter, problem in zip(letters, problems, strict=True):
        if problem:
            _refused(letter.delivery, letter.address, letter.attempt, problem)
        else:
            _arrived(letter)
    return problems.count("")


def signature(key: bytes, delivery: str, timestamp: int, body: bytes) -> str:
    """The value of the header ``webhook-signature``."""
    digest = hmac.new(key, f"{delivery}.{timestamp}.".encode() + body, hashlib.sha256).digest()
    return f"v1,{base64.b64encode(digest).decode()}"


def _claim(row: WebhookDelivery) -> Letter | None:
    """The next attempt at a message; ``None`` where another worker has it, it has to wait, or it is given up."""
    webhook = settings.CODEFORGE.webhooks.get(row.address)
    if webhook is None:
        _give_up(row, "codeforge.yaml has no webhook of this name any more.")
        return None
    if row.attempts >= webhook.retries.max_attempts:
        _give_up(row, row.last_error or "The worker that sent it last did not come back.")
        return None
    now = timezone.now()
    if not row.body and not _is_ready(row):
        _unchanged(row).update(next_attempt_at=now + NOT_READY)
        return None
    body = row.body or body_of(row)
    lost_at = now + timedelta(seconds=webhook.timeout_seconds) + LOST_AFTER
    attempt = row.attempts + 1
    if not _unchanged(row).update(attempts=attempt, next_attempt_at=lost_at, body=body):
        return None
    try:
        key = webhook.signing_key(os.environ)
    except ValueError as error:
        _refused(row.pk, row.address, attempt, str(error))
        return None
    timestamp, content = int(time.time()), body.encode()
    headers = {
        "Content-Type": "application/json",
        "User-Agent": "CodeForge-Benchmarks",
        "webhook-id": str(row.pk),
        "webhook-timestamp": str(timestamp),
        "webhook-signature": signature(key, str(row.pk), timestamp, content),
    }
    return Letter(row.pk, row.address, attempt, webhook.url, content, headers, webhook.timeout_seconds)


def _unchanged(row: WebhookDelivery) -> QuerySet[WebhookDelivery]:
    """The row, if nobody has claimed it since it was read."""
    return WebhookDelivery.objects.filter(
        pk=row.pk, state=_State.PENDING, attempts=row.attempts, next_attempt_at=row.next_attempt_at
    )


def _is_ready(row: WebhookDelivery) -> bool:
    """Whether the numbers are final: a run that was stopped is settled a little later, by the last shift on it."""
    run = row.run
    if run.status not in _SETTLED_LATER or not stands_as_told(row):
        return True
    return not run.leases.exists() and (run.status == RunStatus.PAUSED or _is_settled(run))


def _is_settled(run: Run) -> bool:
    return run.summarized_at is not None and not run.results.filter(state__in=TO_DO).exists()


async def _send(letters: Sequence[Letter]) -> list[str]:
    """What went wrong with each, empty where it arrived."""
    connector = aiohttp.TCPConnector(limit=MOST_AT_ONCE, force_close=True)
    cookies = aiohttp.DummyCookieJar()
    async with aiohttp.ClientSession(connector=connector, cookie_jar=cookies, auto_decompress=False) as session:
        return list(await asyncio.gather(*(_post(session, letter) for letter in letters)))


async def _post(session: aiohttp.ClientSession, letter: Letter) -> str:
    """Send one. Of the answer its status alone is read, and a redirect is not followed."""
    try:
        async with (
            asyncio.timeout(letter.timeout),
            session.post(letter.url, data=letter.body, headers=letter.headers, allow_redirects=False) as response,
        ):
            if 200 <= response.status < 300:
                return ""
            redirect = ", and redirects are not followed" if 300 <= response.status < 400 else ""
            return f"The address answered {response.status}{redirect}."
    except TimeoutError:
        return f"The address did not answer within {letter.timeout:g} s."
    except (aiohttp.ClientError, OSError, ValueError) as error:  # whose texts may quote the address
        return f"The address could not be reached, or its answer not be read ({type(error).__name__})."


def _arrived(letter: Letter) -> None:
    pending = WebhookDelivery.objects.filter(pk=letter.delivery, state=_State.PENDING)
    pending.update(state=_State.DELIVERED, delivered_at=timezone.now(), last_error="")


def _refused(delivery: uuid.UUID, address: str, attempt: int, problem: str) -> None:
    """Keep why, and when to try again, unless the attempt was taken for lost meanwhile."""
    logger.warning("webhook %s, attempt %s: %s", address, attempt, problem)
    mine = WebhookDelivery.objects.filter(pk=delivery, state=_State.PENDING, attempts=attempt)
    retries = settings.CODEFORGE.webhooks[address].retries
    if attempt >= retries.max_attempts:
        mine.update(state=_State.GIVEN_UP, last_error=problem)
    else:
        due = timezone.now() + timedelta(seconds=retries.pause(attempt))
        mine.update(last_error=problem, next_attempt_at=due)


def _give_up(row: WebhookDelivery, why: str) -> None:
    logger.warning("webhook %s is given up: %s", row.address, why)
    _unchanged(row).update(state=_State.GIVEN_UP, last_error=why)
