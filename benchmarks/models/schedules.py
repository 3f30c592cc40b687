"""Schedules, the runs they started, and the score drops found in these."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from benchmarks.models.runs import Run


class Schedule(models.Model):
    """A run request that is repeated at the times of ``when``, in the site's time zone.

    ``next_run_at`` is ``None`` while the schedule is not enabled. Runs use the name of ``account`` and the permissions
    it has when they start.
    """

    name = models.CharField(max_length=100, unique=True)
    enabled = models.BooleanField(default=True)
    when = models.CharField(
        max_length=100, help_text="Time of day such as 03:00, or a cron expression such as 0 3 * * 1-5"
    )
    request = models.JSONField(help_text="Run request, as in the API")
    margin = models.FloatField(
        null=True, help_text="Loss from which a run is reported, as a score from 0 to 1; by default any significant one"
    )
    account = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, help_text="Account that last saved the schedule"
    )
    next_run_at = models.DateTimeField(null=True)
    last_problem = models.TextField(blank=True, help_text="Why no run started at the last due time")
    last_problem_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("name",)

    def __str__(self) -> str:
        return self.name


class ScheduledRun(models.Model):
    """A run that a schedule started, and whether it was compared with earlier ones."""

    schedule = models.ForeignKey(Schedule, on_delete=models.CASCADE, related_name="scheduled_runs")
    run = models.OneToOneField(Run, on_delete=models.CASCADE, related_name="scheduled")
    due_at = models.DateTimeField()
    compared_at = models.DateTimeField(null=True, help_text="When the completed run was compared with earlier ones")
    compared_with = models.ForeignKey(Run, null=True, on_delete=models.SET_NULL, related_name="+")

    class Meta:
        ordering = ("-id",)
        indexes = (
            models.Index(fields=("id",), name="scheduled_runs_to_compare", condition=models.Q(compared_at=None)),
            models.Index(fields=("schedule", "-id"), name="runs_of_a_schedule"),
        )

    def __str__(self) -> str:
        return f"run {self.run_id} of schedule {self.schedule_id}"


class ScoreDrop(models.Model):
    """A score of a scheduled run that is significantly lower than that of an earlier one.

    Difference and interval are in scores from 0 to 1, the later run minus the earlier one. With a margin, low and high
    are the bounds of the gate.
    """

    scheduled_run = models.ForeignKey(ScheduledRun, on_delete=models.CASCADE, related_name="score_drops")
    compared_with = models.ForeignKey(Run, null=True, on_delete=models.SET_NULL, related_name="+")
    metric = models.TextField()
    difference = models.FloatField()
    low = models.FloatField()
    high = models.FloatField()
    p_adjusted = models.FloatField(
        null=True, help_text="Holm's p-value over the metrics of the two runs; none for a schedule with a margin"
    )
    n_shared = models.PositiveIntegerField(help_text="Tasks with a score in both runs")
    sentence = models.TextField()
    created_at = models.DateTimeField(auto_now_add=True)
    dismissed_at = models.DateTimeField(null=True)
    dismissed_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL)

    class Meta:
        ordering = ("-id",)
        indexes = (models.Index(fields=("id",), name="open_score_drops", condition=models.Q(dismissed_at=None)),)

    def __str__(self) -> str:
        return f"{self.metric} of run {self.scheduled_run.run_id} dropped"
