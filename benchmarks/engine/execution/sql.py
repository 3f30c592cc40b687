"""Writing many rows at once with plain SQL.

The engine writes thousands of rows a second. Django's ``bulk_create`` and ``bulk_update`` build a model object and an
expression for every row and column, which costs several times what the database itself needs; here a row is a tuple.
SQLite runs one prepared statement for each row, inside the process. PostgreSQL gets a batch as one JSON document in one
statement, because there every statement costs a round trip of messages and a start of the executor.

What PostgreSQL's planner knows of the rows of a run that has just been made or has just ended.

Autovacuum looks for new rows once a minute, and its list of frequent values does not have a run that is younger. Then
the planner takes the run for a single row, and joins it with others by reading it again for each of theirs: comparing
a fresh run of 5,000 results with one of 50 took 2.4 s instead of 4 ms. SQLite plans by its indexes alone.

Sampling large tables takes up to a second, so no run waits for it: who makes rows notes it here, and the worker's
rounds see to it. What a worker that dies has noted, autovacuum makes up for.

Pending results for tasks, inserted inside the database: no row passes through this process.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import orjson
from django.db import close_old_connections, connection, models, transaction
from django.db.models import QuerySet
from django.db.models.expressions import RawSQL

from benchmarks.models import Result, ResultState, Run, Score, Task, Transcript

ROWS_AT_ONCE = 1_000
"""Rows in one statement for PostgreSQL; bounds the memory of the document that carries them."""


def insert_rows(model: type[models.Model], names: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Insert rows of the fields ``names``; the model's other fields must be such that the database fills them."""
    fields = [_field(model, name) for name in names]
    _execute(f"INSERT INTO {_table(model)} ({_columns(fields)}) {_source(fields)}", fields, rows)


def update_rows(model: type[models.Model], names: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Set the fields ``names`` of each row; a row is their values in that order, and then its primary key."""
    fields = [_field(model, name) for name in names]
    key = _key(model)
    table = _table(model)
    if _takes_documents():
        assignments = ", ".join(f"{_column(field)} = given.{_column(field)}" for field in fields)
        given = _given([*fields, key])
        statement = f"UPDATE {table} SET {assignments} FROM {given} WHERE {table}.{_column(key)} = given.{_column(key)}"
    else:
        assignments = ", ".join(f"{_column(field)} = %s" for field in fields)
        statement = f"UPDATE {table} SET {assignments} WHERE {_column(key)} = %s"
    _execute(statement, [*fields, key], rows)


def upsert_rows(
    model: type[models.Model], unique: Sequence[str], names: Sequence[str], rows: Iterable[Sequence[Any]]
) -> None:
    """Insert rows of the fields ``unique`` and ``names``; where ``unique`` is there already, replace ``names``.

    No two rows of a call may have the same ``unique``.
    """
    fields = [_field(model, name) for name in (*unique, *names)]
    conflict = _columns(fields[: len(unique)])
    replaced = ", ".join(f"{_column(field)} = EXCLUDED.{_column(field)}" for field in fields[len(unique) :])
    statement = (
        f"INSERT INTO {_table(model)} ({_columns(fields)}) {_source(fields)} "
        f"ON CONFLICT ({conflict}) DO UPDATE SET {replaced}"
    )
    _execute(statement, fields, rows)


def among(ids: Sequence[int]) -> RawSQL:
    """The ids as one parameter for an ``in`` lookup, where Django's own list makes an expression of every id."""
    if _takes_documents():
        return RawSQL("SELECT UNNEST(%s::bigint[])", [list(ids)])
    return RawSQL("SELECT value FROM json_each(%s)", [orjson.dumps(ids).decode()])


def _takes_documents() -> bool:
    return connection.vendor == "postgresql"


def _source(fields: Sequence[models.Field[Any, Any]]) -> str:
    """What the inserted rows are read from."""
    if _takes_documents():
        return f"SELECT {_columns(fields)} FROM {_given(fields)}"
    return f"VALUES ({', '.join(['%s'] * len(fields))})"


def _given(fields: Sequence[models.Field[Any, Any]]) -> str:
    """A JSON document as a table of the fields' columns and types, where a text that is too long is refused."""
    typed = ", ".join(f"{_column(field)} {field.db_type(connection)}" for field in fields)
    return f"json_to_recordset(%s::json) AS given({typed})"


def _execute(statement: str, fields: Sequence[models.Field[Any, Any]], rows: Iterable[Sequence[Any]]) -> None:
    with connection.cursor() as cursor:
        if _takes_documents():
            for document in _documents(fields, rows):
                cursor.execute(statement, [document])
        elif values := _values(fields, rows):
            cursor.executemany(statement, values)


def _documents(fields: Sequence[models.Field[Any, Any]], rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    names = [field.column for field in fields]
    left = iter(rows)
    while batch := [dict(zip(names, row, strict=True)) for row in islice(left, ROWS_AT_ONCE)]:
        yield orjson.dumps(batch, option=orjson.OPT_NON_STR_KEYS).decode()


def _values(fields: Sequence[models.Field[Any, Any]], rows: Iterable[Sequence[Any]]) -> list[list[Any]]:
    writers = [_writer(field) for field in fields]
    return [
        [value if write is None else write(value) for write, value in zip(writers, row, strict=True)] for row in rows
    ]


def _writer(field: models.Field[Any, Any]) -> Callable[[Any], Any] | None:
    """How a value goes to the database; ``None`` where it goes as it is."""
    if isinstance(field, models.JSONField):
        return _json
    if isinstance(field, models.UUIDField | models.DateTimeField):
        return lambda value: field.get_db_prep_value(value, connection)
    return None


def _json(value: Any) -> str | None:
    return None if value is None else orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS).decode()


def _field(model: type[models.Model], name: str) -> models.Field[Any, Any]:
    field = model._meta.get_field(name)
    assert isinstance(field, models.Field), f"{name} is a stored field"
    return field


def _key(model: type[models.Model]) -> models.Field[Any, Any]:
    key = model._meta.pk
    assert key is not None, "every model has a primary key"
    return key


def _columns(fields: Sequence[models.Field[Any, Any]]) -> str:
    return ", ".join(_column(field) for field in fields)


def _column(field: models.Field[Any, Any]) -> str:
    assert field.column is not None, "stored fields have a column"
    return connection.ops.quote_name(field.column)


def _table(model: type[models.Model]) -> str:
    return connection.ops.quote_name(model._meta.db_table)


LARGE = 500
"""Fewer results are read quickly whatever the plan is."""

_noted: set[type[models.Model]] = set()
_noting = threading.Lock()


def note_prepared(results: int) -> None:
    """To be called when a run's results are there."""
    if results >= LARGE:
        _note(Task, Result)


def note_ended(run: Run) -> None:
    """To be called when a run has ended."""
    if run.total >= LARGE:
        _note(Result, Score, Transcript)


def sample_noted_tables() -> None:
    """Have the tables sampled in which much has changed since this was last done.

    One that another is sampling or altering is left to that. Raises ``DatabaseError``, with the note gone: pages stay
    right without it.
    """
    with _noting:
        tables = sorted(model._meta.db_table for model in _noted)
        _noted.clear()
    if not tables or connection.vendor != "postgresql":
        return
    close_old_connections()
    names = ", ".join(map(connection.ops.quote_name, tables))
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"ANALYZE (SKIP_LOCKED) {names}")


def _note(*tables: type[models.Model]) -> None:
    with _noting:
        _noted.update(tables)


def insert_results(run: Run, tasks: QuerySet[Task], begin: int, repeat: int) -> None:
    """Insert one repeat of ``tasks``, which come after ``begin`` other tasks of the run; those there already stay."""
    names = ("id", "difficulty", "group", "n_shapes", "cluster")
    chosen, parameters = tasks.values(*names, "position").query.sql_with_params()
    group = connection.ops.quote_name("group")
    own_cluster = "CASE WHEN cluster = '' THEN CAST(id AS varchar(32)) ELSE cluster END"
    place = "(%s + ROW_NUMBER() OVER (ORDER BY position) - 1) * %s + %s"
    fixed = "state, outcome, error_kind, error_message, cached, attempts, finish_reason"
    columns = f"run_id, task_id, repeat, position, {fixed}, difficulty, {group}, n_shapes, cluster"
    statement = (
        f"INSERT INTO {connection.ops.quote_name(Result._meta.db_table)} ({columns}) "
        f"SELECT %s, id, %s, {place}, %s, '', '', '', %s, 0, '', "
        f"difficulty, {group}, n_shapes, {own_cluster} FROM ({chosen}) AS chosen WHERE 1 = 1 "
        "ON CONFLICT DO NOTHING"
    )
    given = [run.pk, repeat, begin, run.repeats, repeat, ResultState.PENDING, False, *parameters]
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement, given)
