"""The table of workers."""

from __future__ import annotations

from benchmarks.presentation.cells import Cell, Group, Moment, Part, State, run_link
from benchmarks.presentation.numbers import MISSING
from benchmarks.presentation.tables import Column, Table
from benchmarks.queries.operations import WorkerRow


def _state(worker: WorkerRow) -> Part:
    if not worker.alive:
        return State("failed", "No heartbeat")
    return State("running", "Busy") if worker.runs else State("queued", "Idle")


def _runs(worker: WorkerRow) -> Cell:
    return Group([run_link(run, "nowrap") for run in worker.runs], between=", ") if worker.runs else MISSING


WORKERS = Table[WorkerRow](
    "Workers, busy ones first",
    [
        Column("Host and process", lambda worker: worker.name, "name"),
        Column("Status", _state, look="nowrap"),
        Column("Runs", _runs),
        Column("Max concurrent requests", lambda worker: worker.slots, "number"),
        Column("Job slots", lambda worker: worker.threads, "number"),
        Column("Started", lambda worker: Moment(worker.started_at), look="nowrap"),
        Column("Last seen", lambda worker: Moment(worker.heartbeat_at), look="nowrap"),
    ],
    region=True,
)
