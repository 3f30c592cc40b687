"""The Celery app. Every worker also runs the periodic work of ``benchmarks.worker``."""

from __future__ import annotations

import os
from typing import Any

from celery import Celery
from celery.signals import worker_init

from codeforge.databases import use_limits

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "codeforge.settings")

app = Celery("codeforge")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks(related_name="jobs")
app.steps["worker"].add("benchmarks.worker:EngineStep")


@worker_init.connect
def _use_limits(**_: Any) -> None:
    use_limits("worker")


@worker_init.connect
def _look_at_the_schema(**_: Any) -> None:
    from django.db import DatabaseError

    from benchmarks.services.operations.schema import schema_problem

    try:
        problem = schema_problem()
    except DatabaseError:  # the worker waits for its database
        return
    if problem:
        raise SystemExit(problem)
