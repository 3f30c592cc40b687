"""What PostgreSQL's planner knows of the rows of a run that has just been made or has just ended.

Autovacuum looks for new rows once a minute, and its list of frequent values does not have a run that is younger. Then
the planner takes the run for a single row, and joins it with others by reading it again for each of theirs: comparing
a fresh run of 5,000 results with one of 50 took 2.4 s instead of 4 ms. SQLite plans by its indexes alone.

Sampling large tables takes up to a second, so no run waits for it: who makes rows notes it here, and the worker's
rounds see to it. What a worker that dies has noted, autovacuum makes up for.
"""

from __future__ import annotations

import threading

from django.db import close_old_connections, connection, models, transaction

from benchmarks.models import Result, Run, Score, Task, Transcript

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
