"""``/healthz`` and ``/readyz`` for load balancers, compose and systemd, without login, host name or HTTPS.

``/healthz``: the process responds. ``/readyz``: requests can be served, because the database and the broker respond and
can be written, every migration is applied, and the tables are those that they make. Neither reveals more than which of
these fails.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from django.conf import settings
from django.db import DatabaseError, connection, transaction
from django.db.migrations.recorder import MigrationRecorder
from django.db.models import F
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils.deprecation import MiddlewareMixin

from benchmarks.services.operations.schema import migrations_problem, schema_problem

TIMEOUT_SECONDS = 2.0
SILENT = "does not respond"


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
        "migrations": "unknown while the database does not respond" if database == SILENT else migrations_state(),
        "broker": broker_state(),
    }


def database_state() -> str:
    """Whether the database responds and a change can be stored. Without its first table there is nothing to change."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
        if not MigrationRecorder(connection).has_table():
            return "ok"
    except DatabaseError:
        return SILENT
    oldest = MigrationRecorder.Migration.objects.order_by("pk")[:1]
    try:
        with transaction.atomic():
            # The same value again is stored again. Read-only databases and full disks refuse it.
            MigrationRecorder.Migration.objects.filter(pk__in=[row.pk for row in oldest]).update(applied=F("applied"))
    except DatabaseError:
        return "cannot be written. Check for a full disk, missing permissions or a read-only database"
    return "ok"


def migrations_state() -> str:
    return schema_problem() or migrations_problem() or "ok"


def broker_state() -> str:
    if not settings.REDIS_URL:
        try:
            with tempfile.TemporaryFile(dir=Path(settings.STATE_DIR) / "broker") as probe:
                probe.write(b"0" * 4096)
                probe.flush()
        except OSError:
            return "its folder in the state directory cannot be written. Check for a full disk or missing permissions"
        return "ok"
    import redis  # a twentieth of the start of every process, also where there is no Redis

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
