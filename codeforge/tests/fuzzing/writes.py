"""What a request writes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connection, transaction

OWN_ROWS = ("django_session", "axes_", "benchmarks_apitoken")
"""Tables in which a visitor's own visit leaves a trace."""


@contextmanager
def undone() -> Iterator[list[str]]:
    """Collects the statements of the block that write rows of others than the visitor, and undoes them."""
    written: list[str] = []

    def note(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if sql.startswith(("INSERT", "UPDATE", "DELETE")) and not any(table in sql[:80] for table in OWN_ROWS):
            written.append(sql[:120])
        return execute(sql, params, many, context)

    with transaction.atomic(), connection.execute_wrapper(note):
        yield written
        transaction.set_rollback(True)
