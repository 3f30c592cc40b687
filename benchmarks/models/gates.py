"""Series of gates: how often a system was held against an earlier run, and what each check said."""

from __future__ import annotations

from django.db import models

from benchmarks.models.runs import Run
from benchmarks.models.schedules import Schedule
from benchmarks.statistics.margins import Verdict


class GateSeries(models.Model):
    """Checks that share one bound on false alarms: those of a schedule with a margin, or of a gate with a name.

    A new version of the dataset, or a reset, begins a new ``period``, whose checks are counted from 1.
    """

    name = models.CharField(max_length=100, unique=True)
    schedule = models.OneToOneField(Schedule, null=True, on_delete=models.CASCADE, related_name="gate_series")
    dataset = models.CharField(max_length=100, blank=True, help_text="Slug of the dataset of the latest check")
    version = models.CharField(max_length=100, blank=True, help_text="Version of the dataset in this period")
    period = models.PositiveIntegerField(default=1, help_text="How often the series has begun")
    begun_at = models.DateTimeField(help_text="Since when checks are counted")
    counted = models.PositiveIntegerField(default=0, help_text="Checks in this period")
    created_at = models.DateTimeField(auto_now_add=True)
    latest_checks: list[GateCheck]
    """Set by ``queries.gates``"""

    class Meta:
        ordering = ("name",)

    def __str__(self) -> str:
        return self.name


class GateCheck(models.Model):
    """One run held against an earlier one. Difference and bounds are scores from 0 to 1, ``run`` minus ``against``."""

    series = models.ForeignKey(GateSeries, on_delete=models.CASCADE, related_name="checks")
    period = models.PositiveIntegerField(help_text="The period of the series in which it counts")
    number = models.PositiveIntegerField(help_text="Its place in the period, from 1")
    run = models.ForeignKey(Run, null=True, on_delete=models.SET_NULL, related_name="gate_checks")
    against = models.ForeignKey(Run, null=True, on_delete=models.SET_NULL, related_name="+")
    metric = models.TextField(blank=True)
    margin = models.FloatField(help_text="The tolerated loss, as a score from 0 to 1")
    difference = models.FloatField(null=True)
    low = models.FloatField(null=True, help_text="Lower bound, missing scores counted against a pass")
    high = models.FloatField(null=True, help_text="Upper bound, missing scores counted against “worse”")
    n = models.PositiveIntegerField(help_text="Shared tasks with a score in both runs")
    n_missing = models.PositiveIntegerField(help_text="Shared tasks without a score in one")
    verdict = models.CharField(max_length=20, choices=[(each.value, each.value) for each in Verdict])
    sentence = models.TextField()
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("-id",)
        constraints = (
            models.UniqueConstraint(fields=("series", "period", "run", "against"), name="one_check_of_a_pair"),
        )

    def __str__(self) -> str:
        return f"check {self.number} of {self.series_id}"
