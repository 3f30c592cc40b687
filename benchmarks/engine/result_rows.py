"""Pending results for tasks, inserted inside the database: no row passes through this process."""

from __future__ import annotations

from django.db import connection, transaction
from django.db.models import QuerySet

from benchmarks.models import Result, ResultState, Run, Task


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
