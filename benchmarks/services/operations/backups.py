"""Backup and restore of all stored data, between any two of the supported databases.

Not included are sessions, failed logins and the list of active workers, because they belong to one installation at one
time. Secrets are never in the database in clear: provider keys entered on the page are encrypted, see
``engine/provider_keys.py``.
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import Generator, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any

from django.apps import apps
from django.conf import settings
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

from benchmarks.engine.sql import snapshot
from benchmarks.engine.workers import ALIVE_FOR
from benchmarks.exports.rows import batches
from benchmarks.extras import command
from benchmarks.models import LIVE, Run, Worker
from benchmarks.services.errors import NotPossible
from benchmarks.services.operations.backup_archive import (
    BackupReader,
    DamagedBackup,
    Manifest,
    TableEntry,
    write_manifest,
    write_table,
)
from benchmarks.services.operations.code_version import code_version
from benchmarks.services.operations.sealed_files import SealedWriter

BATCH_ROWS = 500
BATCH_BYTES = 4 * 2**20
MIN_KEY_CHARS = 16

EXCLUDED_APPS = frozenset({"sessions", "axes"})
EMPTIED: tuple[type[Model], ...] = (Worker, Session)
"""Not backed up, and emptied by a restore: they describe the installation before it."""
CREATED_BY_INSTALLING: tuple[type[Model], ...] = (ContentType, Permission, Group, Group.permissions.through)
"""Tables that ``migrate`` and ``groups`` fill: a database with nothing else is empty."""


@dataclass(frozen=True, slots=True)
class Restored:
    """What was restored, and how many of its runs workers will continue."""

    manifest: Manifest
    live_runs: int


def write_backup(path: Path, *, encrypt: bool = False, using: str = DEFAULT_DB_ALIAS) -> Manifest:
    """Write a consistent snapshot of all tables to one file, while others continue to read and write.

    A file at ``path`` is replaced when the new one is complete. Raises ``NotPossible`` if it cannot be written, or
    should be encrypted and there is no key.
    """
    connection = connections[using]
    key = backup_key() if encrypt else None
    # In the same folder, so that the replacement is atomic: a failed backup leaves the previous one as it was.
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.unfinished")
    try:
        unfinished.touch(mode=0o600)  # before the first byte: it contains everything the database does
        with (
            unfinished.open("wb") as raw,
            SealedWriter(raw, key) if key else nullcontext(raw) as written,
            zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as file,
            snapshot(connection),
        ):
            tables = [
                write_table(file, model._meta.db_table, _columns(model), stored_rows(model, using))
                for model in backed_up_models()
            ]
            manifest = Manifest(
                made_at=timezone.now().isoformat(timespec="seconds"),
                code_version=code_version(),
                database=connection.vendor,
                migrations=_migrations(connection),
                tables=tuple(tables),
            )
            write_manifest(file, manifest)
        unfinished.replace(path)
    except OSError as error:
        raise NotPossible(f"{path} cannot be written: {error.strerror}. Choose another location.") from None
    finally:
        unfinished.unlink(missing_ok=True)
    return manifest


def restore_backup(path: Path, *, replace: bool = False, using: str = DEFAULT_DB_ALIAS) -> Restored:
    """Restore a backup completely or not at all: after any error the database is as it was.

    Raises ``NotPossible`` if the file is damaged or has other migrations, if the database is not empty and ``replace``
    is not given, or if workers are active on it.
    """
    try:
        with BackupReader.open(path, backup_key) as backup:
            _check_schema(backup.manifest, connections[using])
            _check_target(replace, using)
            # The whole file is checked before the transaction, which locks the tables for as long as it takes.
            backup.verify()
            with transaction.atomic(using=using):
                _check_target(replace, using)  # again: a worker may have started meanwhile
                _restore(backup, connections[using])
            ContentType.objects.clear_cache()
            live = Run.objects.using(using).filter(status__in=LIVE).count()
            return Restored(backup.manifest, live)
    except DamagedBackup as damage:
        raise NotPossible(f"{path}: {damage} Nothing was changed.") from None
    except OSError as error:
        raise NotPossible(f"{path} cannot be read: {error.strerror}.") from None


def backup_key() -> str:
    """The key that encrypts backups, from the environment or a file that it names. Raises ``NotPossible``."""
    key, file = settings.BACKUP_KEY, settings.BACKUP_KEY_FILE
    if file:
        try:
            key = Path(file).read_text(encoding="utf-8").strip()
        except (OSError, ValueError) as error:
            raise NotPossible(f"The key of backups cannot be read ({error}). Set CODEFORGE_BACKUP_KEY_FILE.") from None
    if not key:
        raise NotPossible("Encrypted backups need a key. Set CODEFORGE_BACKUP_KEY or CODEFORGE_BACKUP_KEY_FILE.")
    if len(key) < MIN_KEY_CHARS:
        raise NotPossible(
            f"The key of backups has {len(key)} characters, but needs at least {MIN_KEY_CHARS}. To make one, run "
            "`openssl rand -hex 32`."
        )
    return str(key)


def backed_up_models() -> list[type[Model]]:
    """Every model with a table of its own, many-to-many tables included, in a fixed order."""
    return [
        model
        for model in apps.get_models(include_auto_created=True)
        if model._meta.app_label not in EXCLUDED_APPS
        and model is not Worker
        and (model._meta.managed and not model._meta.proxy and not model._meta.swapped)
    ]


def _fields(model: type[Model]) -> list[Field[Any, Any]]:
    return [field for field in model._meta.concrete_fields if not field.generated]


def _columns(model: type[Model]) -> list[str]:
    return [str(field.column) for field in _fields(model)]


def stored_rows(model: type[Model], using: str) -> Generator[Sequence[Any], None, None]:
    """The values of each row, in the order of a backup."""
    names = [field.attname for field in _fields(model)]
    rows = model._base_manager.using(using).order_by("pk").values_list(*names)
    yield from rows.iterator(chunk_size=BATCH_ROWS)


def _migrations(connection: BaseDatabaseWrapper) -> tuple[str, ...]:
    """The applied migrations of the apps whose tables are backed up."""
    labels = {model._meta.app_label for model in backed_up_models()}
    applied = MigrationRecorder(connection).applied_migrations()
    return tuple(sorted(f"{label}.{name}" for label, name in applied if label in labels))


def _check_schema(manifest: Manifest, connection: BaseDatabaseWrapper) -> None:
    in_backup, in_database = set(manifest.migrations), set(_migrations(connection))
    if missing := sorted(in_backup - in_database):
        raise NotPossible(
            f"The backup was made by {manifest.code_version} after the migration {missing[-1]}, which this database "
            f"does not have. Install that release or a later one, run {command('migrate')}, and restore again."
        )
    if later := sorted(in_database - in_backup):
        raise NotPossible(
            f"The backup was made by {manifest.code_version} before the migration {later[0]} of this database. "
            "Restore it into an empty database with that release, then migrate that database."
        )
    expected = {model._meta.db_table: tuple(_columns(model)) for model in backed_up_models()}
    actual = {table.name: table.columns for table in manifest.tables}
    if differing := sorted(name for name in expected | actual if expected.get(name) != actual.get(name)):
        raise DamagedBackup(f"Table {differing[0]} differs from this database, although the migrations are the same.")


def _check_target(replace: bool, using: str) -> None:
    alive = Worker.objects.using(using).filter(heartbeat_at__gt=timezone.now() - ALIVE_FOR)
    if names := list(alive.values_list("name", flat=True)[:3]):
        raise NotPossible(f"Workers are active on this database ({', '.join(names)}). Stop them first.")
    if replace:
        return
    for model in backed_up_models():
        if model not in CREATED_BY_INSTALLING and model._base_manager.using(using).exists():
            raise NotPossible(
                f"The database is not empty: it contains {model._meta.verbose_name_plural}. Restore into an empty "
                "database, or use --replace to delete its contents."
            )


def _restore(backup: BackupReader, connection: BaseDatabaseWrapper) -> None:
    """Empty all tables and fill them. The caller holds one transaction around it, so an error leaves no half."""
    models = backed_up_models()
    tables = {table.name: table for table in backup.manifest.tables}
    emptied = [model._meta.db_table for model in (*models, *EMPTIED)]
    _execute(connection, connection.ops.sql_flush(no_style(), emptied, reset_sequences=True))
    # In any order, because some tables refer to each other: foreign keys are deferred, and checked below.
    for model in models:
        _fill(model, tables[model._meta.db_table], backup, connection)
    # Rows with given keys do not advance PostgreSQL's sequences; without this the next new row would get a used key.
    _execute(connection, connection.ops.sequence_reset_sql(no_style(), models))
    try:
        connection.check_constraints()
    except DatabaseError as error:
        raise DamagedBackup(f"Its rows refer to rows that do not exist ({error}).") from None


def _execute(connection: BaseDatabaseWrapper, statements: Iterable[str]) -> None:
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


def _fill(model: type[Model], table: TableEntry, backup: BackupReader, connection: BaseDatabaseWrapper) -> None:
    # Plain SQL, because bulk_create() would replace the stored times of auto_now_add fields with the current one.
    fields = _fields(model)
    quoted = connection.ops.quote_name
    columns = ", ".join(quoted(str(field.column)) for field in fields)
    insert = f"INSERT INTO {quoted(table.name)} ({columns}) VALUES ({', '.join(['%s'] * len(fields))})"
    n_stored = 0
    # Limited in bytes too: a row with a long conversation may have megabytes.
    for batch in batches(backup.rows(table), itemgetter(0), BATCH_BYTES, BATCH_ROWS):
        try:
            rows = [[_parameter(*pair, connection) for pair in zip(row, fields, strict=True)] for _, row in batch]
            with connection.cursor() as cursor:
                cursor.executemany(insert, rows)
        except (DatabaseError, ValidationError, ValueError, TypeError, OverflowError) as error:
            where = f"Table {table.name}, rows {n_stored + 1} to {n_stored + len(batch)}"
            raise DamagedBackup(f"{where}: the database does not accept them ({error}).") from None
        n_stored += len(batch)


def _parameter(value: Any, field: Field[Any, Any], connection: BaseDatabaseWrapper) -> Any:
    if isinstance(field, JSONField):
        # None in a column without NULL is the JSON value null.
        return None if value is None and field.null else connection.ops.adapt_json_value(value, field.encoder)
    return field.get_db_prep_save(field.to_python(value), connection)
