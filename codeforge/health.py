"""``/healthz`` and ``/readyz`` for load balancers, compose and systemd, without login, host name or HTTPS.

``/healthz``: the process responds. ``/readyz``: requests can be served, because the database and the broker respond and
every migration is applied. Neither reveals more than which of these fails.
"""

from __future__ import annotations

import os
from pathlib import Path

import redis
from django.conf import settings
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils.deprecation import MiddlewareMixin

TIMEOUT_SECONDS = 2.0


class HealthMiddleware(MiddlewareMixin):
    """Responds before all other middleware, which would redirect a probe to HTTPS or reject its host name."""

    def process_request(self, request: HttpRequest) -> HttpResponse | None:
        if request.method in ("GET", "HEAD"):
            if request.path == "/healthz":
                return JsonResponse({"status": "alive"}, headers={"Cache-Control": "no-store"})
            if request.path == "/readyz":
                return _readiness()
        return None


def checks() -> dict[str, str]:
    """What a request depends on → ``ok``, or the problem, without addresses and passwords."""
    database = database_state()
    return {
        "database": database,
        "migrations": migrations_state() if database == "ok" else "unknown while the database does not respond",
        "broker": broker_state(),
    }


def database_state() -> str:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError:
        return "does not respond"
    return "ok"


def migrations_state() -> str:
    executor = MigrationExecutor(connection)
    missing = executor.migration_plan(executor.loader.graph.leaf_nodes())
    return f"{len(missing)} migrations not applied. Run `manage.py migrate`." if missing else "ok"


def broker_state() -> str:
    if not settings.REDIS_URL:
        writable = os.access(Path(settings.STATE_DIR) / "broker" / "queue", os.W_OK)
        return "ok" if writable else "its folder in the state directory is not writable"
    try:
        client = redis.Redis.from_url(
            settings.REDIS_URL, socket_timeout=TIMEOUT_SECONDS, socket_connect_timeout=TIMEOUT_SECONDS
        )
        with client:
            client.ping()
    except redis.RedisError:
        return "does not respond"
    return "ok"


def _readiness() -> HttpResponse:
    states = checks()
    ready = all(state == "ok" for state in states.values())
    answer = {"status": "ready" if ready else "not ready", "checks": states}
    return JsonResponse(answer, status=200 if ready else 503, headers={"Cache-Control": "no-store"})
