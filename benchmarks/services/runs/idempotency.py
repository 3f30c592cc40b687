"""Starting a run once, however often the request arrives: the caller names it by a key of its own."""

from __future__ import annotations

import hashlib
import re
from datetime import timedelta
from typing import Any

import orjson
from django.db import IntegrityError, transaction
from django.utils import timezone

from benchmarks.models import IdempotencyKey, Run
from benchmarks.services.access import Caller, account_of
from benchmarks.services.errors import InvalidRequest, NotPossible
from benchmarks.services.runs.start import start_run

KEPT_FOR = timedelta(hours=24)
_KEY = re.compile(r"[\x21-\x7e]{1,200}")


def start_run_once(key: str, data: Any, user: Caller = None) -> tuple[Run, bool]:
    """The run that this key started within the last day, or a new one; and whether it is a new one.

    Keys of different accounts are apart. Raises ``NotPossible`` where the key came with another request,
    ``InvalidRequest`` for a bad key or request. A refused request leaves its key free.
    """
    if not _KEY.fullmatch(key):
        raise InvalidRequest({"Idempotency-Key": ["Send 1 to 200 printable ASCII characters, such as a UUID."]})
    account = account_of(user)
    owner = str(account.pk) if account else ""
    fingerprint = hashlib.sha256(orjson.dumps(data, option=orjson.OPT_SORT_KEYS)).hexdigest()
    if earlier := _earlier(owner, key, fingerprint):
        return earlier, False
    try:
        with transaction.atomic():
            run = start_run(data, user)
            IdempotencyKey.objects.create(owner=owner, key=key, fingerprint=fingerprint, run=run)
    except IntegrityError:
        # The same request came twice at once and the other one was first; this one's run is undone.
        if earlier := _earlier(owner, key, fingerprint):
            return earlier, False
        raise
    return run, True


def _earlier(owner: str, key: str, fingerprint: str) -> Run | None:
    IdempotencyKey.objects.filter(created_at__lt=timezone.now() - KEPT_FOR).delete()
    found = IdempotencyKey.objects.select_related("run__dataset", "run__dataset_version").filter(owner=owner, key=key)
    earlier = found.first()
    if earlier is None:
        return None
    if earlier.fingerprint != fingerprint:
        raise NotPossible(f"This Idempotency-Key started run {earlier.run_id} by another request. Use a new key.")
    return earlier.run
