"""The table of workers."""

from __future__ import annotations

from benchmarks.presentation.cells import Cell, Group, Moment, run_link, tag
from benchmarks.presentation.tables import Column, Table
from benchmarks.queries.operations import WorkerRow


def _runs(worker: WorkerRow) -> Cell:
    silent = [] if worker.alive else [tag("No heartbeat")]
    if not worker.runs:
        return silent or "Idle"
    return [*silent, Group([run_link(run, "nowrap") for run in worker.runs], between=", ")]


WORKERS = Table[WorkerRow](
    "Workers, busy ones first",
    [
        Column("Host and process", lambda worker: worker.name, "name"),
        Column("Runs", _runs),
        Column("Max concurrent requests", lambda worker: worker.slots, "number"),
        Column("Job slots", lambda worker: worker.threads, "number"),
        Column("Started", lambda worker: Moment(worker.started_at), look="nowrap"),
        Column("Last seen", lambda worker: Moment(worker.heartbeat_at), look="nowrap"),
    ],
    region=True,
)
