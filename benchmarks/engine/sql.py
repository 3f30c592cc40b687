"""Write many rows at once with plain SQL, and keep PostgreSQL's table statistics fresh.

The engine writes thousands of rows a second. Django's ``bulk_create`` and ``bulk_update`` build a model object and an
expression for every row and column, which costs several times what the database itself needs; here a row is a tuple.
SQLite runs one prepared statement for each row, inside the process. PostgreSQL gets a batch as one JSON document in one
statement, because there every statement costs a round trip and an executor start.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import islice
from typing import Any, TypeAlias

import orjson
from django.db import close_old_connections, connection, models, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import F, QuerySet
from django.db.models.expressions import RawSQL
from django.utils import timezone

from benchmarks.models import Result, ResultState, Run, Score, Task, Transcript

Field: TypeAlias = "models.Field[Any, Any]"
Fields: TypeAlias = tuple[Field, ...]
ROWS_AT_ONCE = 1_000
"""Rows in one statement for PostgreSQL; bounds the memory of the document that carries them."""


@contextmanager
def snapshot(connection: BaseDatabaseWrapper) -> Iterator[None]:
    """A read-only transaction in which every query sees the database at the same moment. Not inside another one."""
    if connection.vendor == "postgresql":
        # The level can only be set before the first query, so this must be the outermost transaction (durable).
        with transaction.atomic(using=connection.alias, durable=True), connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            # Nobody waits for what only reads, so there is time for long computations between two queries.
            cursor.execute("SET LOCAL idle_in_transaction_session_timeout = '10min'")
            yield
        return
    # Not atomic(): it begins with SQLite's write lock (transaction_mode in settings.py), and workers would wait for the
    # whole block. A deferred transaction takes its snapshot with the first read, and in WAL mode blocks no writer.
    with connection.cursor() as cursor:
        cursor.execute("BEGIN DEFERRED")
        try:
            yield
        finally:
            cursor.execute("ROLLBACK")


def lock(rows: QuerySet[Any], **options: Any) -> bool:
    """Lock rows until the end of the transaction; whether there are any. Reads nothing but their keys."""
    return bool(rows.select_for_update(**options).order_by().only("pk"))


def insert_rows(model: type[models.Model], names: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Insert rows of the fields ``names``; the database must have a default for the model's other fields."""
    fields = _fields(model, (*names,))
    _execute(_insert_statement(connection.vendor, fields), fields, rows)


def update_rows(model: type[models.Model], names: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Set the fields ``names`` of each row; a row is their values in that order, and then its primary key."""
    fields = _fields(model, (*names, "pk"))
    _execute(_update_statement(connection.vendor, fields), fields, rows)


def upsert_rows(
    model: type[models.Model], unique: Sequence[str], names: Sequence[str], rows: Iterable[Sequence[Any]]
) -> None:
    """Insert rows of the fields ``unique`` and ``names``; if ``unique`` exists, replace ``names``.

    No two rows of a call may have the same ``unique``.
    """
    fields = _fields(model, (*unique, *names))
    _execute(_upsert_statement(connection.vendor, fields, len(unique)), fields, rows)


def count_progress(run_id: int, **amounts: float | None) -> None:
    """Add to the counters of a run, which progresses now. An unknown amount, ``None``, makes a total unknown (NULL),
    not too low."""
    columns = [_column(_field(Run, name)) for name in amounts]
    sums = ", ".join(f"{column} = {column} + %s" for column in columns)
    moment = _field(Run, "progressed_at")
    statement = f"UPDATE {_table(Run)} SET {sums}, {_column(moment)} = %s WHERE {_column(_field(Run, 'pk'))} = %s"
    now = moment.get_db_prep_value(timezone.now(), connection)
    with connection.cursor() as cursor:
        cursor.execute(statement, [*amounts.values(), now, run_id])


def count_added(run: Run, added: int, *, ended: int = 0) -> None:
    """Count results that were added to a run, ``ended`` of them with an error, in the transaction that adds them.

    Numbers from before are old: the run may have been stopped while a slow worker prepared it.
    """
    if added:
        Run.objects.filter(pk=run.pk).update(
            total=F("total") + added, done=F("done") + ended, errors=F("errors") + ended, summarized_at=None
        )


def among(ids: Sequence[int]) -> RawSQL:
    """The IDs as one parameter of an ``in`` lookup. Django's own list makes an expression of every ID."""
    if _is_postgresql():
        return RawSQL("SELECT UNNEST(%s::bigint[])", [list(ids)])
    return RawSQL("SELECT value FROM json_each(%s)", [orjson.dumps(ids).decode()])


def insert_results(run: Run, tasks: QuerySet[Task], begin: int, repeat: int) -> None:
    """Insert one repeat of ``tasks`` as pending results, after ``begin`` other tasks of the run; existing ones stay.

    The rows are made inside the database; none passes through this process. They count in ``Run.total`` from the moment
    they exist.
    """
    columns = ("id", "difficulty", "group", "n_shapes", "cluster")
    chosen, parameters = tasks.values(*columns, "position").query.sql_with_params()
    group = connection.ops.quote_name("group")
    # A task without a cluster is one of its own: its repeats belong together.
    cluster = "CASE WHEN cluster = '' THEN CAST(id AS varchar(32)) ELSE cluster END"
    # The repeats of a task follow each other.
    position = "(%s + ROW_NUMBER() OVER (ORDER BY position) - 1) * %s + %s"
    fixed = "state, outcome, failure, error_kind, error_message, cached, attempts, finish_reason"
    # ``WHERE 1 = 1``: without it SQLite takes ``ON CONFLICT`` for a join condition.
    statement = (
        f"INSERT INTO {_table(Result)} "
        f"(run_id, task_id, repeat, position, {fixed}, difficulty, {group}, n_shapes, cluster) "
        f"SELECT %s, id, %s, {position}, %s, '', '', '', '', %s, 0, '', "
        f"difficulty, {group}, n_shapes, {cluster} FROM ({chosen}) AS chosen WHERE 1 = 1 "
        "ON CONFLICT DO NOTHING"
    )
    values = [run.pk, repeat, begin, run.repeats, repeat, ResultState.PENDING, False, *parameters]
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement, values)
        count_added(run, cursor.rowcount)


def _is_postgresql() -> bool:
    return connection.vendor == "postgresql"


# The statements of a batch are the same each time, and long: made once for each database, they cost nothing.


@cache
def _insert_statement(vendor: str, fields: Fields) -> str:
    return f"INSERT INTO {_table(fields[0].model)} ({_columns(fields)}) {_source(fields)}"


@cache
def _update_statement(vendor: str, fields: Fields) -> str:
    """Of all fields but the last, which is the key."""
    *assigned, key = fields
    table = _table(key.model)
    if vendor == "postgresql":
        assignments = ", ".join(f"{_column(field)} = given.{_column(field)}" for field in assigned)
        given = _given(fields)
        return f"UPDATE {table} SET {assignments} FROM {given} WHERE {table}.{_column(key)} = given.{_column(key)}"
    assignments = ", ".join(f"{_column(field)} = %s" for field in assigned)
    return f"UPDATE {table} SET {assignments} WHERE {_column(key)} = %s"


@cache
def _upsert_statement(vendor: str, fields: Fields, n_unique: int) -> str:
    conflict = _columns(fields[:n_unique])
    replaced = ", ".join(f"{_column(field)} = EXCLUDED.{_column(field)}" for field in fields[n_unique:])
    return f"{_insert_statement(vendor, fields)} ON CONFLICT ({conflict}) DO UPDATE SET {replaced}"


def _source(fields: Sequence[Field]) -> str:
    """What inserted rows are read from."""
    if _is_postgresql():
        return f"SELECT {_columns(fields)} FROM {_given(fields)}"
    return f"VALUES ({', '.join(['%s'] * len(fields))})"


def _given(fields: Sequence[Field]) -> str:
    """A JSON document as a table with the fields' columns and types, which reject a text that is too long."""
    typed = ", ".join(f"{_column(field)} {field.db_type(connection)}" for field in fields)
    return f"json_to_recordset(%s::json) AS given({typed})"


def _execute(statement: str, fields: Sequence[Field], rows: Iterable[Sequence[Any]]) -> None:
    with connection.cursor() as cursor:
        if _is_postgresql():
            for document in _documents(fields, rows):
                cursor.execute(statement, [document])
            return
        writers = [_writer(field) for field in fields]
        if values := [
            [value if write is None else write(value) for write, value in zip(writers, row, strict=True)]
            for row in rows
        ]:
            cursor.executemany(statement, values)


def _documents(fields: Sequence[Field], rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    names = [field.column for field in fields]
    left = iter(rows)
    while batch := [dict(zip(names, row, strict=True)) for row in islice(left, ROWS_AT_ONCE)]:
        yield orjson.dumps(batch, option=orjson.OPT_NON_STR_KEYS).decode()


def _writer(field: Field) -> Callable[[Any], Any] | None:
    """How SQLite takes a value of the field; ``None`` for as it is."""
    if isinstance(field, models.JSONField):
        return lambda value: None if value is None else orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS).decode()
    if isinstance(field, models.UUIDField | models.DateTimeField):
        return lambda value: field.get_db_prep_value(value, connection)
    return None


@cache
def _fields(model: type[models.Model], names: tuple[str, ...]) -> Fields:
    return tuple(_field(model, name) for name in names)


@cache
def _field(model: type[models.Model], name: str) -> Field:
    field = model._meta.pk if name == "pk" else model._meta.get_field(name)
    assert isinstance(field, models.Field), f"{name} is a stored field"
    return field


def _columns(fields: Sequence[Field]) -> str:
    return ", ".join(_column(field) for field in fields)


@cache
def _column(field: Field) -> str:
    assert field.column is not None, "stored fields have a column"
    return connection.ops.quote_name(field.column)


def _table(model: type[models.Model]) -> str:
    return connection.ops.quote_name(model._meta.db_table)


# Table statistics. Autovacuum looks for new rows once a minute, and its list of frequent values lacks a younger run.
# PostgreSQL then takes the run for a single row and joins it with others by reading it again for each of theirs:
# comparing a new run of 5,000 results with one of 50 took 2.4 s instead of 4 ms. SQLite plans by its indexes alone.
# Analyzing large tables takes up to a second, so no run waits for it: the engine notes which tables changed, and a
# thread of the worker analyzes them. What a worker that dies has noted is left to autovacuum.

MANY_RESULTS = 500
"""Fewer results are read quickly whatever the plan is."""

_changed: set[type[models.Model]] = set()
_changed_lock = threading.Lock()


def note_prepared(results: int) -> None:
    """Call this when a run's results are created."""
    if results >= MANY_RESULTS:
        _note(Task, Result)


def note_ended(run: Run) -> None:
    """Call this when a run has ended."""
    if run.total >= MANY_RESULTS:
        _note(Result, Score, Transcript)


def _note(*tables: type[models.Model]) -> None:
    with _changed_lock:
        _changed.update(tables)


def analyze_changed_tables() -> None:
    """Refresh the statistics of tables that changed much; a table that is locked is skipped.

    Raises ``DatabaseError`` with the note gone; pages stay right without it.
    """
    with _changed_lock:
        tables = sorted(model._meta.db_table for model in _changed)
        _changed.clear()
    if not tables or not _is_postgresql():
        return
    close_old_connections()
    names = ", ".join(map(connection.ops.quote_name, tables))
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"ANALYZE (SKIP_LOCKED) {names}")
