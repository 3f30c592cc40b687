"""The table of workers."""

from __future__ import annotations

from benchmarks.models import Run
from benchmarks.presentation.cells import Cell, Group, Moment, Part, State, run_link, soft
from benchmarks.presentation.numbers import MISSING
from benchmarks.presentation.sentences import silent
from benchmarks.presentation.tables import Column, Table
from benchmarks.queries.operations import WorkerRow


def _state(worker: WorkerRow) -> Cell:
    if not worker.alive:
        return State("failed", "No heartbeat")
    if worker.runs and all(silent(run) for run in worker.runs):
        return State("paused", "Waiting for endpoint")
    return State("running", "Busy") if worker.runs else State("queued", "Idle")


def _runs(worker: WorkerRow) -> Cell:
    load = soft(f"{len(worker.runs)} of {worker.threads} at once")
    return [*(Group(_run(run), block=True) for run in worker.runs), load]


def _run(run: Run) -> list[Part]:
    return [run_link(run.pk, "nowrap"), soft(f" {run.model} on {run.dataset.title}")]


WORKERS = Table[WorkerRow](
    "Workers, busy ones first",
    [
        Column("Host and process", lambda worker: worker.name, "name"),
        Column("Status", _state, look="nowrap"),
        Column("Runs", _runs, only="page"),
        Column("Runs", lambda worker: [Group(_run(run), block=True) for run in worker.runs] or MISSING, only="text"),
        Column("Max concurrent requests", lambda worker: worker.slots, "number"),
        Column("Runs at once", lambda worker: worker.threads, "number", only="text"),
        Column("Started", lambda worker: Moment(worker.started_at), look="nowrap"),
        Column("Last seen", lambda worker: Moment(worker.heartbeat_at), look="nowrap"),
    ],
    region=True,
    look="by-line",
)
