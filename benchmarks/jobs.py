"""Celery jobs: ids in, the engine called. A job may come twice, late or never; the sweep makes up for what is lost."""

from __future__ import annotations

from typing import Any

from celery import Task, shared_task
from celery.signals import before_task_publish
from django.db import close_old_connections

from benchmarks.engine import calibrating
from benchmarks.engine.canvas_sets import generation
from benchmarks.engine.execution import dispatch
from benchmarks.engine.execution.executor import STOPPING
from benchmarks.engine.execution.sweeper import runs_without_worker
from benchmarks.tracing import carried, within


@before_task_publish.connect
def carry_trace(headers: dict[str, Any], **_: Any) -> None:
    """Send the current span along with a job."""
    headers.update(carried())


@shared_task(name="benchmarks.jobs.work_on_run", bind=True)
def work_on_run(self: Task[Any, Any], run_id: int) -> None:
    """Work one shift on a run: prepare it, ask, write down, close; then ring again for whatever is left."""
    close_old_connections()
    with within(_sent_with(self)):
        if dispatch.work_on_run_once(run_id, work_on_run.delay):
            work_on_run.delay(run_id)


@shared_task(name="benchmarks.jobs.sweep")
def sweep() -> None:
    """Find runs, canvas sets and calibrations that nobody works on, whatever died or got lost, and ring for each."""
    close_old_connections()
    for run_id in runs_without_worker():
        work_on_run.delay(run_id)
    for set_id in generation.idle_sets():
        draw_canvases.delay(set_id)
    for calibration_id in calibrating.calibrations_without_worker():
        calibrate_judge.delay(calibration_id)


@shared_task(name="benchmarks.jobs.draw_canvases")
def draw_canvases(set_id: int) -> None:
    """Draw a canvas set until it has what is wanted, then audit what is new."""
    close_old_connections()
    generation.work_on(set_id, STOPPING.is_set)


@shared_task(name="benchmarks.jobs.calibrate_judge")
def calibrate_judge(calibration_id: int) -> None:
    """Examine a judge on answers of known truth."""
    close_old_connections()
    calibrating.work_on_calibration(calibration_id)


def _sent_with(job: Task[Any, Any]) -> dict[str, str]:
    """What ``carry_trace`` put into the job's message."""
    sent = {name: job.request.get(name) for name in ("traceparent", "tracestate")}
    return {name: value for name, value in sent.items() if isinstance(value, str)}
