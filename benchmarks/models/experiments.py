"""Experiments: runs that are launched together, share one budget and are read as one."""

from __future__ import annotations

from django.conf import settings
from django.db import models


class Experiment(models.Model):
    """Datasets × models × variants, one run each. Its status and its numbers are those of its runs.

    ``request`` is what it was launched with, as in the API, with the models that were added later. ``budget_usd`` holds
    for all runs together.
    """

    name = models.CharField(max_length=200)
    description = models.TextField(blank=True)
    tags = models.JSONField(default=list, blank=True)
    request = models.JSONField()
    budget_usd = models.FloatField(null=True, blank=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("-id",)

    def __str__(self) -> str:
        return f"experiment {self.pk}"
