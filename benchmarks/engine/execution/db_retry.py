"""Waiting for a database that is away: for a minute of restarting, or behind another's long transaction.

Doing something with many at once, so that one that cannot be done costs only itself.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from typing import TypeVar

from django.db import InterfaceError, OperationalError, connection

logger = logging.getLogger(__name__)
T = TypeVar("T")

DATABASE_UNAVAILABLE = (OperationalError, InterfaceError)
PATIENCE_SECONDS = 600.0
LONGEST_PAUSE_SECONDS = 5.0


def retry_db(act: Callable[[], T], what: str) -> T:
    """Do one thing with the database, as often as it takes: an answer that was paid for is not dropped.

    ``act`` may be done again after it was done already (the connection can break while it commits), so it has to be a
    conditional change or a read. Raises the database's error after ten minutes without an answer.
    """
    until = time.monotonic() + PATIENCE_SECONDS
    pause = 0.1
    while True:
        try:
            return act()
        except DATABASE_UNAVAILABLE as error:
            if time.monotonic() > until:
                raise
            logger.warning("%s: the database does not answer (%s); trying again", what, error)
            connection.close()
            time.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE_SECONDS)


logger = logging.getLogger(__name__)
K = TypeVar("K")
V = TypeVar("V")


def all_then_each(
    act: Callable[[Sequence[K]], Sequence[V]], things: Sequence[K]
) -> tuple[list[V], list[tuple[K, Exception]]]:
    """What ``act`` makes of the things; where it raises, of each alone. Returns with it those that it cannot do.

    A database that is away is nobody's fault: that error passes through.
    """
    try:
        return list(act(things)), []
    except DATABASE_UNAVAILABLE:
        raise
    except Exception as error:
        if len(things) == 1:
            logger.exception("one of many failed")
            return [], [(things[0], error)]
    made: list[V] = []
    failed: list[tuple[K, Exception]] = []
    for thing in things:
        made_of_it, failed_of_it = all_then_each(act, [thing])
        made += made_of_it
        failed += failed_of_it
    return made, failed
