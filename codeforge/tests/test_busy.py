"""A request whose data is locked, or whose database is away, is told to try again."""

from __future__ import annotations

import sqlite3
from typing import Any

import psycopg
import pytest
from django.db import Error, InterfaceError, InternalError, OperationalError
from django.test import Client

from benchmarks.engine.execution import lifecycle
from codeforge import access
from tests.support.factories import config_for, make_run

pytestmark = pytest.mark.django_db

SECRET = "could not connect to postgresql://codeforge:hunter22@database"


def caused(error: Error, cause: Exception, **attributes: str) -> Error:
    """Django's error with the database's own as its cause."""
    vars(cause).update(attributes)
    error.__cause__ = cause
    return error


LOCKED = "Another process is changing the same data."
AWAY = "The database is not available."
CASES: list[tuple[Error, str]] = [
    (caused(OperationalError(), sqlite3.OperationalError(SECRET), sqlite_errorname="SQLITE_BUSY"), LOCKED),
    (caused(OperationalError(), sqlite3.OperationalError(SECRET), sqlite_errorname="SQLITE_FULL"), AWAY),
    (caused(OperationalError(), psycopg.errors.LockNotAvailable(SECRET)), LOCKED),
    (caused(OperationalError(), psycopg.errors.DeadlockDetected(SECRET)), LOCKED),
    (caused(OperationalError(), psycopg.errors.QueryCanceled(SECRET)), "The database took too long to respond."),
    (caused(OperationalError(), psycopg.OperationalError(SECRET)), AWAY),
    (caused(InternalError(), psycopg.errors.IdleInTransactionSessionTimeout(SECRET)), AWAY),
    (caused(InterfaceError(), psycopg.InterfaceError(SECRET)), AWAY),
]


@pytest.mark.parametrize(("error", "problem"), CASES, ids=lambda value: type(getattr(value, "__cause__", "")).__name__)
def test_programs_and_people_are_told_to_try_again(
    client: Client, settings: Any, monkeypatch: pytest.MonkeyPatch, error: Error, problem: str
) -> None:
    def refuse(*_: Any, **__: Any) -> bool:
        raise error

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


def test_so_are_those_whose_permissions_cannot_be_read(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """The gate in front of the pages reads them before any view is called."""

    def away(*_: Any) -> bool:
        raise OperationalError(SECRET)

    monkeypatch.setattr(access, "may_read", away)
    client.raise_request_exception = False
    page = client.get("/runs/")
    assert (page.status_code, page.headers["Retry-After"]) == (503, "5")
    assert "This page cannot be displayed now." in page.content.decode()


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
