"""Rehearsal of a restore: into a temporary database, which is then compared with the backup and deleted."""

from __future__ import annotations

import json
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.db import DEFAULT_DB_ALIAS, DatabaseError, connections
from django.db.models import Count

from benchmarks.models import Result, Run
from benchmarks.services.errors import NotPossible
from benchmarks.services.operations.backup_archive import BackupReader, line_of
from benchmarks.services.operations.backups import (
    backed_up_models,
    backup_key,
    restore_backup,
    stored_rows,
)

ALIAS = "rehearsal"


@dataclass(frozen=True, slots=True)
class Rehearsed:
    """What was restored and found to be the same, in ``seconds``; ``results`` are those of all runs."""

    made_at: str
    tables: int
    rows: int
    runs: int
    results: int
    seconds: float


def rehearse(path: Path) -> Rehearsed:
    """Restore a backup into a temporary database of the installation's kind, and compare every value of every row.

    The counters of each run are compared with its results, too. The installation is not changed. Raises ``NotPossible``
    if the backup cannot be restored or comes back otherwise, or no temporary database can be made.
    """
    began = time.monotonic()
    with temporary_database() as alias:
        call_command("migrate", database=alias, verbosity=0)
        manifest = restore_backup(path, using=alias).manifest
        with BackupReader.open(path, backup_key) as backup:
            _compare(backup, alias)
        runs, results = _count(alias)
    rows = sum(table.rows for table in manifest.tables)
    seconds = time.monotonic() - began
    return Rehearsed(manifest.made_at, len(manifest.tables), rows, runs, results, seconds)


@contextmanager
def temporary_database() -> Iterator[str]:
    """The alias of a new, empty database: a SQLite file in the state directory, or one on the server of PostgreSQL."""
    default = connections[DEFAULT_DB_ALIAS]
    given: dict[str, Any] = deepcopy(connections.databases[DEFAULT_DB_ALIAS])
    with tempfile.TemporaryDirectory(prefix="rehearsal-", dir=settings.STATE_DIR) as folder:
        name = f"codeforge_rehearsal_{uuid.uuid4().hex[:12]}"
        is_file = default.vendor == "sqlite"
        given["NAME"] = str(Path(folder) / "rehearsal.sqlite3") if is_file else name
        if not is_file:
            _execute(f"CREATE DATABASE {name}")
        connections.databases[ALIAS] = given
        try:
            connections[ALIAS].connect()
            yield ALIAS
        finally:
            connections[ALIAS].close()
            del connections[ALIAS], connections.databases[ALIAS]
            if not is_file:
                _execute(f"DROP DATABASE {name} WITH (FORCE)")


def _execute(statement: str) -> None:
    try:
        with connections[DEFAULT_DB_ALIAS].cursor() as cursor:
            cursor.execute(statement)
    except DatabaseError as error:
        raise NotPossible(
            f"A temporary database cannot be made on this server ({error}). Give its role the right: "
            "ALTER ROLE … CREATEDB."
        ) from None


def _compare(backup: BackupReader, alias: str) -> None:
    tables = {table.name: table for table in backup.manifest.tables}
    for model in backed_up_models():
        table = tables[model._meta.db_table]
        with closing(stored_rows(model, alias)) as rows:
            for number, ((_, expected), stored) in enumerate(zip(backup.rows(table), rows, strict=True), 1):
                if json.loads(line_of(stored)) != expected:
                    raise NotPossible(f"Table {table.name}, row {number} was restored with another value. Report this.")


def _count(alias: str) -> tuple[int, int]:
    """The number of runs and of their results. Raises ``NotPossible`` for a run whose counters differ from its rows."""
    counted = dict(Result.objects.using(alias).order_by().values_list("run").annotate(n=Count("pk")))
    runs = list(Run.objects.using(alias).values_list("pk", "total"))
    for pk, total in runs:
        if total != counted.get(pk, 0):
            raise NotPossible(f"Run {pk} of the backup counts {total} results and has {counted.get(pk, 0)}.")
    return len(runs), sum(counted.values())
