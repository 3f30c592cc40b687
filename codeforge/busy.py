"""Answers 503 instead of a server error if the database is locked, too slow or unavailable; of another schema, which no
later request finds mended, it says what to do.

``codeforge.databases`` limits how long a request waits for it.
"""

from __future__ import annotations

import logging

from django.db import DatabaseError, InterfaceError, InternalError, OperationalError
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.utils.deprecation import MiddlewareMixin

from benchmarks.extras import command
from benchmarks.services.operations.schema import migrations_problem, schema_problem

logger = logging.getLogger(__name__)

RETRY_AFTER_SECONDS = 5
LOCKED = "Another process is changing the same data."
SLOW = "The database took too long to respond."
UNAVAILABLE = "The database is not available."
LACKING = ("SQLITE_ERROR", "42703", "42P01")
"""SQLite's code of a statement that does not fit the tables; PostgreSQL's of an undefined column and table."""
OTHER_SCHEMA = (
    "The database has a different schema from this version. For what differs and what to do, run "
    f"`{command('doctor')}` or see the web server log."
)
BY_SQLSTATE = {"55P03": LOCKED, "40P01": LOCKED, "57014": SLOW}


class BusyMiddleware(MiddlewareMixin):
    """Answers for views. Errors of other middleware reach ``error_pages.server_error``, which does the same."""

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        return busy_answer(request, error)


def busy_answer(request: HttpRequest, error: BaseException | None) -> HttpResponse | None:
    """Tell programs in JSON, and people on a page, to try again; ``None`` for any other error.

    The web server's log gets the database's message.
    """
    if _lacks_something(error) and (lasting := _lasting_problem()):
        logger.error("%s %s: %s (%s)", request.method, request.path, lasting, error)
        if request.path.startswith("/api/"):
            return JsonResponse({"detail": OTHER_SCHEMA}, status=500)
        return render(None, "500.html", {"problem": OTHER_SCHEMA}, status=500)
    if not isinstance(error, OperationalError | InterfaceError | InternalError):
        return None
    logger.warning("%s %s: the database does not respond: %s", request.method, request.path, error)
    problem = _problem(error)
    response: HttpResponse
    if request.path.startswith("/api/"):
        response = JsonResponse({"detail": f"{problem} Try again in a few seconds."}, status=503)
    else:
        changing = request.method not in ("GET", "HEAD")
        response = render(None, "503.html", {"problem": problem, "changing": changing}, status=503)
    response["Retry-After"] = str(RETRY_AFTER_SECONDS)
    response["Cache-Control"] = "no-store"
    return response


def _lacks_something(error: BaseException | None) -> bool:
    """Whether a table or a column is not there. Of a locked database nothing is asked that would take longer."""
    cause = getattr(error, "__cause__", None)
    code = getattr(cause, "sqlite_errorname", None) or getattr(cause, "sqlstate", None)
    return isinstance(error, DatabaseError) and code in LACKING


def _lasting_problem() -> str:
    """What no later request will find mended: tables that are not those of this version."""
    try:
        return schema_problem() or migrations_problem()
    except (DatabaseError, InterfaceError):
        return ""


def _problem(error: DatabaseError | InterfaceError) -> str:
    """What to say. The database's own message may contain its address, so it is not shown."""
    cause = error.__cause__
    if getattr(cause, "sqlite_errorname", "").startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return LOCKED
    return BY_SQLSTATE.get(getattr(cause, "sqlstate", None) or "", UNAVAILABLE)
