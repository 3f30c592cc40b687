"""``/healthz`` and ``/readyz`` for load balancers, compose and systemd: no login, host name or https needed.

``/healthz`` says that the process answers. ``/readyz`` says that a request would be served: the database and the broker
answer, and every migration is applied. Neither tells more than which of them does not.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import redis
from django.conf import settings
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, HttpResponse, JsonResponse

PATIENCE_SECONDS = 2.0


class HealthMiddleware:
    """Answers before all other middleware, which would redirect a probe to https or refuse its host name."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.method in ("GET", "HEAD"):
            if request.path == "/healthz":
                return JsonResponse({"status": "alive"}, headers={"Cache-Control": "no-store"})
            if request.path == "/readyz":
                return _readiness()
        return self.get_response(request)


def checks() -> dict[str, str]:
    """What a request depends on → ``ok``, or what is wrong with it in words that hold no address or password."""
    database = database_state()
    return {
        "database": database,
        "migrations": migrations_state() if database == "ok" else "unknown while the database does not answer",
        "broker": broker_state(),
    }


def database_state() -> str:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError:
        return "does not answer"
    return "ok"


def migrations_state() -> str:
    executor = MigrationExecutor(connection)
    missing = executor.migration_plan(executor.loader.graph.leaf_nodes())
    return f"{len(missing)} not applied; run manage.py migrate" if missing else "ok"


def broker_state() -> str:
    if not settings.REDIS_URL:
        writable = os.access(Path(settings.STATE_DIR) / "broker" / "queue", os.W_OK)
        return "ok" if writable else "its folder in the state directory cannot be written"
    try:
        client = redis.Redis.from_url(
            settings.REDIS_URL, socket_timeout=PATIENCE_SECONDS, socket_connect_timeout=PATIENCE_SECONDS
        )
        with client:
            client.ping()
    except redis.RedisError:
        return "does not answer"
    return "ok"


def _readiness() -> HttpResponse:
    found = checks()
    ready = all(state == "ok" for state in found.values())
    answer = {"status": "ready" if ready else "not ready", "checks": found}
    return JsonResponse(answer, status=200 if ready else 503, headers={"Cache-Control": "no-store"})
