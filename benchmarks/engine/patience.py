"""Waiting for a database that is away: for a minute of restarting, or behind another's long transaction."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import TypeVar

from django.db import InterfaceError, OperationalError, connection

logger = logging.getLogger(__name__)
T = TypeVar("T")

DATABASE_AWAY = (OperationalError, InterfaceError)
PATIENCE_SECONDS = 600.0
LONGEST_PAUSE_SECONDS = 5.0


def patiently(act: Callable[[], T], what: str) -> T:
    """Do one thing with the database, as often as it takes: an answer that was paid for is not dropped.

    ``act`` may be done again after it was done already (the connection can break while it commits), so it has to be a
    conditional change or a read. Raises the database's error after ten minutes without an answer.
    """
    until = time.monotonic() + PATIENCE_SECONDS
    pause = 0.1
    while True:
        try:
            return act()
        except DATABASE_AWAY as error:
            if time.monotonic() > until:
                raise
            logger.warning("%s: the database does not answer (%s); trying again", what, error)
            connection.close()
            time.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE_SECONDS)
