"""A request whose data is locked, or whose database is away, is told to try again."""

from __future__ import annotations

import sqlite3
from typing import Any

import psycopg
import pytest
from django.db import Error, InterfaceError, InternalError, OperationalError
from django.test import Client

from benchmarks.engine.execution import lifecycle
from tests.support.factories import config_for, make_run

pytestmark = pytest.mark.django_db

SECRET = "could not connect to postgresql://codeforge:hunter22@database"


def sqlite_error(name: str) -> sqlite3.OperationalError:
    error = sqlite3.OperationalError(SECRET)
    error.sqlite_errorname = name
    return error


CASES: list[tuple[type[Error], Exception, str]] = [
    (OperationalError, sqlite_error("SQLITE_BUSY"), "Another process is changing the same data."),
    (OperationalError, sqlite_error("SQLITE_FULL"), "The database is not available."),
    (OperationalError, psycopg.errors.LockNotAvailable(SECRET), "Another process is changing the same data."),
    (OperationalError, psycopg.errors.DeadlockDetected(SECRET), "Another process is changing the same data."),
    (OperationalError, psycopg.errors.QueryCanceled(SECRET), "The database took too long to respond."),
    (OperationalError, psycopg.OperationalError(SECRET), "The database is not available."),
    (InternalError, psycopg.errors.IdleInTransactionSessionTimeout(SECRET), "The database is not available."),
    (InterfaceError, psycopg.InterfaceError(SECRET), "The database is not available."),
]


@pytest.mark.parametrize(("kind", "cause", "problem"), CASES, ids=str)
def test_programs_and_people_are_told_to_try_again(
    client: Client,
    settings: Any,
    monkeypatch: pytest.MonkeyPatch,
    kind: type[Error],
    cause: Exception,
    problem: str,
) -> None:
    def refuse(*_: Any, **__: Any) -> bool:
        raise kind(SECRET) from cause

    settings.CODEFORGE = config_for("http://127.0.0.1:9/v1")
    run = make_run()
    monkeypatch.setattr(lifecycle, "move", refuse)
    answer = client.post(f"/api/v1/benchmarks/runs/{run.pk}/cancel")
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "5")
    assert answer.json() == {"detail": f"{problem} Try again in a few seconds."}
    page = client.post(f"/runs/{run.pk}/do/cancel/")
    assert (page.status_code, page.headers["Retry-After"]) == (503, "5")
    assert problem in page.content.decode()
    assert "hunter22" not in page.content.decode()
    assert "default-src 'none'" in page.headers["Content-Security-Policy"]


def test_an_error_of_our_own_statements_is_no_reason_to_try_again(
    client: Client, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> bool:
        raise Error("syntax error")

    settings.CODEFORGE = config_for("http://127.0.0.1:9/v1")
    run = make_run()
    monkeypatch.setattr(lifecycle, "move", fail)
    client.raise_request_exception = False
    assert client.post(f"/api/v1/benchmarks/runs/{run.pk}/cancel").status_code == 500
