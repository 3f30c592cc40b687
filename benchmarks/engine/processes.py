"""Processes of this machine that no longer run: gone, or stopped (SIGSTOP, Ctrl-Z) with everything they hold.

PostgreSQL ends the transaction of a stopped process. SQLite cannot: its write lock belongs to the process until that
continues or ends, and meanwhile nobody writes. A worker is built to be killed at any time, so the other workers kill
one that is stopped while it holds the lock. Any other process is somebody's, so its owner is told.

Only Linux shows all this, in ``/proc``. Elsewhere nothing counts as stopped.
"""

from __future__ import annotations

import logging
import os
import signal
import time
from contextlib import suppress
from pathlib import Path

logger = logging.getLogger(__name__)

STOPPED_SECONDS = 10.0
"""A process that is stopped for longer counts as frozen; a debugger or a short pause is left alone."""
WRITE_LOCK = 120
"""The byte of SQLite's ``-shm`` file that whoever writes locks: ``WAL_WRITE_LOCK`` in its file format."""


def exists(pid: int) -> bool:
    """Whether the process is there and did not end; one that ended may still wait for its parent to notice."""
    try:
        with suppress(PermissionError):  # it exists and belongs to another user
            os.kill(pid, 0)  # signal 0 only checks
    except ProcessLookupError:
        return False
    return _state(pid) != b"Z"


def is_stopped(pid: int) -> bool:
    """Whether a signal stopped the process. One that a debugger traces does not count."""
    return _state(pid) == b"T"


def _state(pid: int) -> bytes:
    """The kernel's letter for the state of the process; empty if it cannot be read."""
    try:
        # The name in parentheses may contain anything, so the state is what follows the last of them.
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0]
    except (OSError, IndexError):
        return b""


def writer_of(database: Path) -> int | None:
    """The process that holds the write lock of an SQLite database in WAL mode; ``None`` if nobody visible does."""
    try:
        inode = str(database.with_name(f"{database.name}-shm").stat().st_ino)
        locks = Path("/proc/locks").read_text().splitlines()
    except OSError:
        return None
    for lock in locks:
        # 7: POSIX  ADVISORY  WRITE 4711 08:01:2621450 120 120
        match lock.split():
            case [_, "POSIX", _, "WRITE", pid, place, first, last]:
                if place.rpartition(":")[2] == inode and int(first) <= WRITE_LOCK <= int(last):
                    return int(pid)
    return None


class WriterWatch:
    """Looks again and again whether a stopped process keeps everybody from writing to an SQLite database."""

    def __init__(self, database: Path) -> None:
        self._database = database
        self._stopped: int | None = None
        self._since = 0.0

    def look(self) -> None:
        """Kill a worker that is stopped for too long with the write lock; of another process, log what to do."""
        pid = writer_of(self._database)
        if pid is None or not is_stopped(pid):
            self._stopped = None
            return
        if pid != self._stopped:
            self._stopped, self._since = pid, time.monotonic()
        elif time.monotonic() - self._since >= STOPPED_SECONDS:
            self._stopped = None
            self._end(pid)

    def _end(self, pid: int) -> None:
        with suppress(OSError):
            if b"celery" in Path(f"/proc/{pid}/cmdline").read_bytes():
                logger.warning("worker process %s is stopped and holds the database's write lock; killing it", pid)
                os.kill(pid, signal.SIGKILL)
                return
        logger.error(
            "Process %s is stopped and holds the database's write lock, so nothing can be written. "
            "To continue the process, run: kill -CONT %s. To end it, run: kill -KILL %s.",
            *(pid, pid, pid),
        )
