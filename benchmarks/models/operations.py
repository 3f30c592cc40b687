"""Worker processes, as they report themselves."""

from __future__ import annotations

from django.db import models


class Worker(models.Model):
    """A worker process that is there, busy or not. One whose ``beat_at`` grows old is gone."""

    name = models.CharField(max_length=300, primary_key=True, help_text="host:pid:token of the process")
    threads = models.PositiveSmallIntegerField(help_text="Jobs it runs at a time")
    started_at = models.DateTimeField()
    heartbeat_at = models.DateTimeField()

    class Meta:
        ordering = ("name",)

    def __str__(self) -> str:
        return self.name
