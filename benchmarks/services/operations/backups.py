"""Backup and restore of everything that is stored, between any two of the supported databases.

Left out are sessions, counts of failed logins, and the presence of workers: all of them concern one installation at one
time. Secrets (the secret key, keys of providers) are configuration, and never in the database.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

from django.apps import apps
from django.contrib.auth.models import Group, Permission
from django.contrib.contenttypes.models import ContentType
from django.contrib.sessions.models import Session
from django.core.exceptions import ValidationError
from django.core.management.color import no_style
from django.db import DEFAULT_DB_ALIAS, DatabaseError, connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.recorder import MigrationRecorder
from django.db.models import Field, JSONField, Model
from django.utils import timezone

from benchmarks.engine.workers import ALIVE_FOR
from benchmarks.models import LIVE, Run, Worker
from benchmarks.services.errors import NotPossible
from benchmarks.services.operations.backup_archive import BackupReader, DamagedBackup, Manifest, TableEntry, new_backup
from benchmarks.services.operations.code_version import code_version

LEFT_OUT_APPS = frozenset({"sessions", "axes"})
LEFT_OUT: tuple[type[Model], ...] = (Worker,)
EMPTIED: tuple[type[Model], ...] = (*LEFT_OUT, Session)
"""Not backed up, and emptied by restoring: what they tell is no longer so."""
MADE_BY_INSTALLING: tuple[type[Model], ...] = (ContentType, Permission, Group, Group.permissions.through)
"""Tables that ``migrate`` and ``groups`` fill: a database with nothing else is empty."""

PORTION_ROWS = 500
PORTION_BYTES = 4 * 2**20


@dataclass(frozen=True, slots=True)
class Restored:
    """What was restored, and how many of its runs workers will go on with."""

    manifest: Manifest
    live_runs: int


def write_backup(path: Path, *, using: str = DEFAULT_DB_ALIAS) -> Manifest:
    """Write all tables as they are at one moment, while others go on reading and writing.

    A file at ``path`` is replaced once the new one is whole. Raises ``NotPossible`` where it cannot be written.
    """
    connection = connections[using]
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.unfinished")
    try:
        with new_backup(unfinished) as backup, _snapshot(connection):
            for model in backed_up_models():
                backup.write_table(model._meta.db_table, _columns(model), _stored_rows(model, using))
            manifest = backup.close_with(
                made_at=timezone.now().isoformat(timespec="seconds"),
                code_version=code_version(),
                database=connection.vendor,
                migrations=_migrations(connection),
            )
        unfinished.replace(path)
    except OSError as error:
        raise NotPossible(f"{path} cannot be written: {error.strerror}. Choose another place.") from None
    finally:
        unfinished.unlink(missing_ok=True)
    return manifest


def restore_backup(path: Path, *, replace: bool = False, using: str = DEFAULT_DB_ALIAS) -> Restored:
    """Put everything of a backup into the database, or nothing: whatever fails, the database stays as it was.

    Raises ``NotPossible`` where the file is damaged (found before anything is written) or of another migration state,
    where the database has something and ``replace`` is not given, and where workers are at work on it.
    """
    try:
        with BackupReader.of(path) as backup:
            _check_state(backup.manifest, connections[using])
            _check_target(replace, using)
            backup.verify()
            with transaction.atomic(using=using):
                _check_target(replace, using)
                _restore(backup, connections[using])
            ContentType.objects.clear_cache()
            live = Run.objects.using(using).filter(status__in=LIVE).count()
            return Restored(backup.manifest, live)
    except DamagedBackup as damage:
        raise NotPossible(f"{path}: {damage}. Nothing was changed.") from None
    except OSError as error:
        raise NotPossible(f"{path} cannot be read: {error.strerror}.") from None


def backed_up_models() -> list[type[Model]]:
    """Every stored model with a table of its own, those between two models included, in a fixed order."""
    return [
        model
        for model in apps.get_models(include_auto_created=True)
        if model._meta.app_label not in LEFT_OUT_APPS and model not in LEFT_OUT and _has_table(model)
    ]


def _has_table(model: type[Model]) -> bool:
    return model._meta.managed and not model._meta.proxy and not model._meta.swapped


@contextmanager
def _snapshot(connection: BaseDatabaseWrapper) -> Iterator[None]:
    """A transaction that only reads, and sees one moment from its beginning to its end."""
    if connection.vendor == "postgresql":
        with transaction.atomic(using=connection.alias, durable=True), connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            yield
        return
    # atomic() takes SQLite's write lock (settings.py), and workers would wait for the whole of the backup.
    with connection.cursor() as cursor:
        cursor.execute("BEGIN DEFERRED")
        try:
            yield
        finally:
            cursor.execute("ROLLBACK")


def _fields(model: type[Model]) -> list[Field[Any, Any]]:
    return [field for field in model._meta.concrete_fields if not field.generated]


def _columns(model: type[Model]) -> list[str]:
    return [str(field.column) for field in _fields(model)]


def _stored_rows(model: type[Model], using: str) -> Iterator[list[Any]]:
    names = [field.attname for field in _fields(model)]
    rows = model._base_manager.using(using).order_by("pk").values_list(*names)
    for row in rows.iterator(chunk_size=PORTION_ROWS):
        yield [_plain(value) for value in row]


def _plain(value: Any) -> Any:
    """The value as JSON has it; ``Field.to_python`` makes it what it was."""
    match value:
        case datetime() | date() | time():
            return value.isoformat()
        case UUID() | Decimal():
            return str(value)
        case bytes() | memoryview():
            return base64.b64encode(value).decode("ascii")
    return value


def _migrations(connection: BaseDatabaseWrapper) -> tuple[str, ...]:
    """The applied migrations of the apps whose tables are backed up."""
    labels = {model._meta.app_label for model in backed_up_models()}
    applied = MigrationRecorder(connection).applied_migrations()
    return tuple(sorted(f"{label}.{name}" for label, name in applied if label in labels))


def _check_state(manifest: Manifest, connection: BaseDatabaseWrapper) -> None:
    theirs, ours = set(manifest.migrations), set(_migrations(connection))
    if ahead := sorted(theirs - ours):
        raise NotPossible(
            f"The backup was made by {manifest.code_version} after the migration {ahead[-1]}, which this database has "
            "not. Install that release or a later one that has it, run manage.py migrate, and restore then."
        )
    if behind := sorted(ours - theirs):
        raise NotPossible(
            f"The backup was made by {manifest.code_version}, before the migration {behind[0]} of this database. "
            "Restore it into an empty database with that release, and migrate that database afterwards."
        )
    expected = {model._meta.db_table: _columns(model) for model in backed_up_models()}
    found = {table.name: list(table.columns) for table in manifest.tables}
    if strange := sorted(name for name in expected.keys() | found if expected.get(name) != found.get(name)):
        raise DamagedBackup(f"its table {strange[0]} is not as in this database, though all migrations are the same")


def _check_target(replace: bool, using: str) -> None:
    alive = Worker.objects.using(using).filter(heartbeat_at__gt=timezone.now() - ALIVE_FOR)
    if names := list(alive.values_list("name", flat=True)[:3]):
        raise NotPossible(f"Workers are at work on this database ({', '.join(names)}). Stop them first.")
    if replace:
        return
    for model in backed_up_models():
        if model not in MADE_BY_INSTALLING and model._base_manager.using(using).exists():
            raise NotPossible(
                f"This database is not empty: there are {model._meta.verbose_name_plural}. Restore into an empty one, "
                "or say --replace to lose all that is in it."
            )


def _restore(backup: BackupReader, connection: BaseDatabaseWrapper) -> None:
    """In one transaction: empty all tables, fill them, and set the numbers that new rows get."""
    models = backed_up_models()
    emptied = [model._meta.db_table for model in (*models, *EMPTIED)]
    flush = connection.ops.sql_flush(no_style(), emptied, reset_sequences=True)
    tables = {table.name: table for table in backup.manifest.tables}
    with connection.cursor() as cursor:
        for statement in flush:
            cursor.execute(statement)
    for model in models:
        _fill(model, tables[model._meta.db_table], backup, connection)
    with connection.cursor() as cursor:
        for statement in connection.ops.sequence_reset_sql(no_style(), models):
            cursor.execute(statement)
    try:
        connection.check_constraints()
    except DatabaseError as error:
        raise DamagedBackup(f"its rows do not fit together ({error})") from None


def _fill(model: type[Model], table: TableEntry, backup: BackupReader, connection: BaseDatabaseWrapper) -> None:
    fields = _fields(model)
    quoted = connection.ops.quote_name
    columns = ", ".join(quoted(str(field.column)) for field in fields)
    places = ", ".join(["%s"] * len(fields))
    insert = f"INSERT INTO {quoted(table.name)} ({columns}) VALUES ({places})"
    done = 0
    for portion in _portions(backup.rows(table)):
        try:
            with connection.cursor() as cursor:
                cursor.executemany(insert, [_prepared(row, fields, connection) for row in portion])
        except (DatabaseError, ValidationError, ValueError, TypeError, OverflowError) as error:
            where = f"{table.name}, rows {done + 1} to {done + len(portion)}"
            raise DamagedBackup(f"{where}: the database does not take them ({error})") from None
        done += len(portion)


def _portions(rows: Iterator[tuple[int, list[Any]]]) -> Iterator[list[list[Any]]]:
    portion: list[list[Any]] = []
    size = 0
    for length, row in rows:
        portion.append(row)
        size += length
        if len(portion) >= PORTION_ROWS or size >= PORTION_BYTES:
            yield portion
            portion, size = [], 0
    if portion:
        yield portion


def _prepared(row: Sequence[Any], fields: Sequence[Field[Any, Any]], connection: BaseDatabaseWrapper) -> list[Any]:
    return [_parameter(value, field, connection) for value, field in zip(row, fields, strict=True)]


def _parameter(value: Any, field: Field[Any, Any], connection: BaseDatabaseWrapper) -> Any:
    if isinstance(field, JSONField):
        # None in a column that takes no NULL is JSON's own null.
        return None if value is None and field.null else connection.ops.adapt_json_value(value, field.encoder)
    return field.get_db_prep_save(field.to_python(value), connection)
