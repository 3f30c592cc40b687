"""Worker processes, as they report themselves, and what they hold."""

from __future__ import annotations

import uuid

from django.db import models
from django.db.models import Q

from benchmarks.models.runs import Run


class Worker(models.Model):
    """A running worker process, busy or idle. One whose ``heartbeat_at`` is old is gone."""

    name = models.CharField(max_length=300, primary_key=True, help_text="host:pid:token of the process")
    threads = models.PositiveSmallIntegerField(help_text="Jobs that run at the same time")
    started_at = models.DateTimeField()
    heartbeat_at = models.DateTimeField()

    class Meta:
        ordering = ("name",)

    def __str__(self) -> str:
        return self.name


class Lease(models.Model):
    """A worker's hold on a run, or on another subject that has one worker at a time. See ``engine/lease.py``."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    run = models.ForeignKey(Run, null=True, blank=True, on_delete=models.CASCADE, related_name="leases")
    subject = models.CharField(max_length=80, help_text="What is worked on: run 12, canvas set 3, retention")
    worker = models.CharField(max_length=300, help_text="host:pid:token of the process, the token made at its start")
    slots = models.PositiveSmallIntegerField(
        default=0, help_text="Requests this lease may have in flight; 0 while it prepares a run"
    )
    started_at = models.DateTimeField(auto_now_add=True)
    heartbeat_at = models.DateTimeField()
    waits_until = models.DateTimeField(null=True, help_text="Until when the endpoint of the run asked to wait")

    class Meta:
        constraints = (
            # A run is shared by several workers, anything else has one.
            models.UniqueConstraint(fields=("subject",), condition=Q(run__isnull=True), name="one_lease_per_subject"),
        )
        indexes = (models.Index(fields=("heartbeat_at",), name="leases_by_heartbeat"),)

    def __str__(self) -> str:
        return f"lease on {self.subject} by {self.worker}"
