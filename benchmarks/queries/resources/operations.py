"""The state of the installation, as other programs read it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from benchmarks.queries.resources.base import Resource, fields_of


@dataclass(frozen=True, kw_only=True)
class InstallationResource(Resource):
    runs: Mapping[str, int]
    """Status → number of runs"""
    workers_alive: int
    """Worker processes that send heartbeats"""
    workers_busy: int
    """Worker processes that execute a run"""
    worker_threads: int
    """Jobs that the live workers execute at a time"""
    queue_depth: int
    """Results of live runs that are not done"""
    queue_age_seconds: float
    """How long the oldest queued run waits; 0 if none is queued"""
    results_done: int
    """Results with an answer or an error"""
    results_failed: int
    """Results that ended in an error"""
    cost_usd: float
    """Known costs of models and judges"""


FIGURES = {field.name: field.text for field in fields_of(InstallationResource) if field.name != "runs"}
"""The figures of the installation, each with what it means."""
