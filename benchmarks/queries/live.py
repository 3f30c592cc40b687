"""What changes by itself: runs in progress, canvases that are being generated, new runs and versions."""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass

from django.db.models import Count, F, Max, QuerySet, Sum

from benchmarks.models import LIVE, DatasetVersion, Lease, PushedRun, Run, RunKind, Worker
from benchmarks.queries.runs import JUDGING
from tasks_app.models import CanvasSet

_MOST_RUNS = 100
_CLOCK_SECONDS = 10
"""How long times that pass without a new result, such as the elapsed one, may stand still on a page."""
_CHANGING = (
    *("pk", "status", "error_message", "is_prepared", "total", "done", "errors", "added_canvases", "adjustments"),
    *("cost_usd", "judge_cost_usd", "tokens_in", "tokens_out", "summarized_at", "active_since", "is_judging"),
)


@dataclass(frozen=True, slots=True)
class LiveState:
    """``stamp`` changes with everything that lists show of runs, experiments, canvas sets and datasets."""

    is_live: bool
    stamp: str


def live_state() -> LiveState:
    """Five short queries, however much is stored."""
    live = list(
        Run.objects.filter(status__in=LIVE).order_by("-pk").values_list("pk", "status", "done", "errors")[:_MOST_RUNS]
    )
    growing = list(
        CanvasSet.objects.filter(count__lt=F("wanted"), error_message="").order_by("pk").values_list("pk", "count")
    )
    latest = (Run.objects.aggregate(Max("pk")), DatasetVersion.objects.aggregate(Max("pk")))
    pushed = list(PushedRun.objects.filter(run=None).order_by("pk").values_list("pk", "received"))
    minute = int(time.time()) // 60 if live else None  # lists tell for how long a run has been silent
    return LiveState(bool(live or growing), _stamp(live, growing, latest, pushed, minute))


def stamp_of_run(pk: int) -> str | None:
    """Changes with everything that the status of a run shows; ``None`` without such a run. Two short queries."""
    return _stamp_of(Run.objects.filter(pk=pk))


def stamp_of_experiment(pk: int) -> str | None:
    """As ``stamp_of_run``, of the runs of an experiment together; ``None`` without a run."""
    return _stamp_of(Run.objects.filter(experiment=pk))


def stamp_of_judging(kind: RunKind) -> str:
    """Changes with everything that lists of calibrations or of preference runs show. Three short queries."""
    runs = Run.objects.filter(kind=kind)
    ended = runs.aggregate(Count("pk"), Max("pk"), Max("completed_at"))
    return _stamp(_stamp_of(runs.filter(status__in=LIVE)), ended)


def stamp_of_workers() -> str:
    """Changes with what is executed and what waits, and every ``_CLOCK_SECONDS``. Three short queries."""
    leases = Lease.objects.order_by("pk").values_list("worker", "subject", "slots")
    runs = Run.objects.order_by().values_list("status").annotate(Count("pk"), Sum("done"), Sum("total"))
    return _stamp(list(leases), sorted(runs), Worker.objects.count(), int(time.time()) // _CLOCK_SECONDS)


def _stamp_of(chosen: QuerySet[Run]) -> str | None:
    runs = list(chosen.annotate(**JUDGING).order_by("pk").values_list(*_CHANGING))
    if not runs:
        return None
    leases = Lease.objects.filter(run__in=[pk for pk, *_ in runs]).order_by("pk").values_list("run", "waits_until")
    is_live = any(status in LIVE for _, status, *_ in runs)
    return _stamp(runs, list(leases), int(time.time()) // _CLOCK_SECONDS if is_live else None)


def _stamp(*parts: object) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]
