"""Backups by schedule: a worker writes one when the newest in the folder is too old, and deletes the oldest."""

from __future__ import annotations

import logging
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

from django.utils import timezone

from benchmarks.engine import lease
from benchmarks.services.errors import NotPossible
from benchmarks.services.operations.backups import write_backup

logger = logging.getLogger(__name__)

_NAME = re.compile(r"codeforge-(\d{8}T\d{6})Z\.zip(?:\.sealed)?")
_TIME = "%Y%m%dT%H%M%S"


def back_up_if_due(folder: Path, every: timedelta, keep: int, *, encrypt: bool = False) -> Path | None:
    """Write a backup into the folder, unless one there is younger than ``every`` or another worker writes one.

    Deletes the oldest of the schedule beyond ``keep``; other files stay. Raises ``NotPossible``.
    """
    now = timezone.now().astimezone(UTC)
    # One of the future was written before the clock was set back; it must not end the schedule.
    if any(now - every < at <= now for at, _ in scheduled_backups(folder)):
        return None
    with lease.exclusive("backup") as held:
        if held is None:
            return None
        with lease.kept_alive(held):
            try:
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            except OSError as error:
                raise NotPossible(f"{folder} cannot be created: {error.strerror}. Change backups.folder.") from None
            path = folder / f"codeforge-{now.strftime(_TIME)}Z.zip{'.sealed' if encrypt else ''}"
            write_backup(path, encrypt=encrypt)
            for _, old in scheduled_backups(folder)[keep:]:
                old.unlink(missing_ok=True)
    logger.info("wrote the backup %s", path)
    return path


def scheduled_backups(folder: Path) -> list[tuple[datetime, Path]]:
    """Time and file of each backup of the schedule, the newest first."""
    found = ((_NAME.fullmatch(path.name), path) for path in (folder.iterdir() if folder.is_dir() else ()))
    return sorted(
        ((datetime.strptime(name[1], _TIME).replace(tzinfo=UTC), path) for name, path in found if name), reverse=True
    )
