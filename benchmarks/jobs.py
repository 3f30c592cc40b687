"""Celery jobs: IDs in, the engine called. A job may run twice, late or never; the sweep makes up for what is lost."""

from __future__ import annotations

from typing import Any

from celery import Task, shared_task
from celery.signals import before_task_publish
from django.db import close_old_connections

from benchmarks.engine.canvas_sets import generation
from benchmarks.engine.execution.dispatch import work_on_run_once
from benchmarks.engine.execution.executor import STOPPING
from benchmarks.engine.execution.finishing import refresh_audited, refresh_doubtful
from benchmarks.engine.execution.sweeper import runs_without_worker
from benchmarks.tracing import trace_headers, within


@before_task_publish.connect
def carry_trace(headers: dict[str, object], **_: Any) -> None:
    """Send the current span along with a job."""
    headers.update(trace_headers())


@shared_task(name="benchmarks.jobs.work_on_run", bind=True)
def work_on_run(self: Task[Any, Any], run_id: int) -> None:
    """Work on a run under one lease, then enqueue it again if something is left."""
    close_old_connections()
    headers = {name: self.request.get(name) for name in ("traceparent", "tracestate")}
    with within({name: value for name, value in headers.items() if isinstance(value, str)}):
        if work_on_run_once(run_id, work_on_run.delay):
            work_on_run.delay(run_id)


@shared_task(name="benchmarks.jobs.sweep")
def sweep() -> None:
    """Enqueue every run and canvas set that nobody works on, because a worker died or a job was lost."""
    close_old_connections()
    for run_id in runs_without_worker():
        work_on_run.delay(run_id)
    for set_id in generation.sets_without_worker():
        generate_canvases.delay(set_id)


@shared_task(name="benchmarks.jobs.generate_canvases")
def generate_canvases(set_id: int) -> None:
    """Generate the canvases that a set lacks, then audit the new ones."""
    close_old_connections()
    generation.work_on(set_id, STOPPING.is_set)
    refresh_audited(set_id)


@shared_task(name="benchmarks.jobs.refresh_doubtful_references")
def refresh_doubtful_references(dataset_id: int) -> None:
    """Refresh the numbers of a dataset's runs after references were marked as doubtful, or as sound again."""
    close_old_connections()
    refresh_doubtful(dataset_id)
