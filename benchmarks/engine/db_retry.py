"""Retry a database operation while the database is unavailable or locked, for up to ten minutes.

The operation may run more than once, so it must be a read or a conditional UPDATE. Afterwards the database error is
raised.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from typing import TypeVar

from django.db import InterfaceError, InternalError, OperationalError, connection

logger = logging.getLogger(__name__)
T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")

DATABASE_UNAVAILABLE = (OperationalError, InterfaceError, InternalError)
"""Also a row that stays locked; and an ``InternalError`` is what a process gets that was frozen in a transaction, which
PostgreSQL ended."""
RETRY_SECONDS = 600.0
MAX_PAUSE_SECONDS = 5.0


def retry_db(operation: Callable[[], T], what: str) -> T:
    """Return what the operation returns, retrying it so that no answer that was paid for is lost."""
    until = time.monotonic() + RETRY_SECONDS
    pause = 0.1
    while True:
        try:
            return operation()
        except DATABASE_UNAVAILABLE as error:
            if time.monotonic() > until:
                raise
            logger.warning("%s: the database does not respond (%s); retrying", what, error)
            connection.close()  # it may be broken; the next query opens a new one
            time.sleep(pause)
            pause = min(pause * 2, MAX_PAUSE_SECONDS)


def try_db(operation: Callable[[], object], what: str) -> None:
    """Call the operation once. If the database is unavailable or a row stays locked, log that and leave it at that."""
    try:
        operation()
    except DATABASE_UNAVAILABLE as error:
        logger.warning("%s: the database does not respond (%s); left to a later attempt", what, error)
        connection.close()


def all_then_each(
    operation: Callable[[Sequence[K]], Sequence[V]], items: Sequence[K]
) -> tuple[list[V], list[tuple[K, Exception]]]:
    """What the operation makes of all items, or of each alone if it raises; and the items it fails on, with the error.

    One bad item thus costs only itself. An unavailable database is no item's fault: that error passes through.
    """
    try:
        return list(operation(items)), []
    except DATABASE_UNAVAILABLE:
        raise
    except Exception as error:
        if len(items) == 1:
            logger.exception("one item of a batch failed")
            return [], [(items[0], error)]
    made: list[V] = []
    failed: list[tuple[K, Exception]] = []
    for item in items:
        some_made, some_failed = all_then_each(operation, [item])
        made += some_made
        failed += some_failed
    return made, failed
