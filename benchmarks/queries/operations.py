"""The state of the installation: active workers, pending work and its age, work done, storage."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import connection
from django.db.models import Count, F, Min, Sum
from django.utils import timezone

from benchmarks.engine.workers import ALIVE_FOR
from benchmarks.models import LIVE, TERMINAL, Lease, Run, RunStatus, Worker
from benchmarks.queries.resources.operations import InstallationResource
from benchmarks.queries.runs import turns


@dataclass(frozen=True, slots=True)
class WorkerRow:
    """A worker process. ``runs`` are those it executes now, with their models and benchmarks, ``slots`` its maximum of
    requests in flight."""

    name: str
    threads: int
    started_at: datetime
    heartbeat_at: datetime
    alive: bool
    runs: list[Run]
    slots: int


def workers() -> list[WorkerRow]:
    """All known workers: busy ones first, those without a heartbeat last. Three queries."""
    silent_since = timezone.now() - ALIVE_FOR
    leases: dict[str, list[Lease]] = {}
    for lease in Lease.objects.filter(run__isnull=False, heartbeat_at__gt=silent_since).order_by("run"):
        leases.setdefault(lease.worker, []).append(lease)
    leased = [lease.run_id for held in leases.values() for lease in held if lease.run_id]
    runs = Run.objects.filter(pk__in=leased).select_related("dataset").defer("breakdown").annotate(**turns()).in_bulk()
    rows = [
        WorkerRow(
            name=worker.name.rpartition(":")[0],
            threads=worker.threads,
            started_at=worker.started_at,
            heartbeat_at=worker.heartbeat_at,
            alive=worker.heartbeat_at > silent_since,
            runs=[
                runs[pk] for pk in dict.fromkeys(lease.run_id for lease in leases.get(worker.name, [])) if pk in runs
            ],
            slots=sum(lease.slots for lease in leases.get(worker.name, [])),
        )
        for worker in Worker.objects.all()
    ]
    return sorted(rows, key=lambda row: (not row.alive, not row.runs, row.name))


def installation() -> InstallationResource:
    """Six queries, whose cost does not grow with the number of results."""
    now = timezone.now()
    alive = Worker.objects.filter(heartbeat_at__gt=now - ALIVE_FOR).aggregate(n=Count("name"), threads=Sum("threads"))
    leases = Lease.objects.filter(run__isnull=False, heartbeat_at__gt=now - ALIVE_FOR)
    busy = leases.aggregate(n=Count("worker", distinct=True))
    counted = dict(Run.objects.order_by().values_list("status").annotate(Count("id")))
    waiting = Run.objects.filter(status=RunStatus.QUEUED).aggregate(since=Min("created_at"))["since"]
    # From the counters of runs, which change with their results: counting results would read all of them.
    live = Run.objects.filter(status__in=LIVE).aggregate(left=Sum(F("total") - F("done")))
    totals = Run.objects.aggregate(
        done=Sum("done"), errors=Sum("errors"), cost=Sum("cost_usd"), judge_cost=Sum("judge_cost_usd")
    )
    return InstallationResource(
        runs={status: counted.get(status, 0) for status in RunStatus.values},
        workers_alive=alive["n"],
        workers_busy=busy["n"],
        worker_threads=alive["threads"] or 0,
        queue_depth=live["left"] or 0,
        queue_age_seconds=(now - waiting).total_seconds() if waiting else 0.0,
        results_done=totals["done"] or 0,
        results_failed=totals["errors"] or 0,
        cost_usd=(totals["cost"] or 0.0) + (totals["judge_cost"] or 0.0),
    )


@dataclass(frozen=True, slots=True)
class Storage:
    """The database, its size in bytes, and the next time at which texts of a run are due to be deleted."""

    database: str
    size: int
    next_retention: datetime | None


def storage(texts_days: int | None) -> Storage:
    """``texts_days``: days after a run's end for which its texts are kept; ``None`` keeps them. Two queries."""
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SELECT current_setting('server_version'), pg_database_size(current_database())")
        else:
            cursor.execute("SELECT sqlite_version(), page_count * page_size FROM pragma_page_count, pragma_page_size")
        version, size = cursor.fetchone()
    kept = Run.objects.filter(status__in=TERMINAL, texts_pruned_at=None, total__gt=0)
    oldest = None if texts_days is None else kept.aggregate(ended=Min("completed_at"))["ended"]
    return Storage(
        database=f"{connection.display_name} {version.split()[0]}",
        size=size,
        next_retention=oldest and oldest + timedelta(days=texts_days or 0),
    )
