"""Runs that start by themselves, and what is noticed about them."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from benchmarks.models.runs import Run


class Schedule(models.Model):
    """A request for a run that is made again and again, at the times that ``when`` says in the site's time zone.

    ``next_run_at`` is ``None`` while the schedule is not enabled. Runs start in the name of ``account``, with the
    permissions it has then.
    """

    name = models.CharField(max_length=100, unique=True)
    enabled = models.BooleanField(default=True)
    when = models.CharField(max_length=100, help_text="Every day at 03:00, or a cron expression such as 0 3 * * 1-5")
    request = models.JSONField(help_text="The body of a request for a run, as the API takes it")
    account = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, help_text="Who saved it last"
    )
    next_run_at = models.DateTimeField(null=True)
    last_problem = models.TextField(blank=True, help_text="Why the latest turn started no run")
    last_problem_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("name",)

    def __str__(self) -> str:
        return self.name


class ScheduledRun(models.Model):
    """One turn of a schedule: the run it started, and whether that was held against the one before."""

    schedule = models.ForeignKey(Schedule, on_delete=models.CASCADE, related_name="turns")
    run = models.OneToOneField(Run, on_delete=models.CASCADE, related_name="scheduled")
    due_at = models.DateTimeField()
    compared_at = models.DateTimeField(null=True, help_text="When it was looked for drops, once the run had completed")
    compared_with = models.ForeignKey(Run, null=True, on_delete=models.SET_NULL, related_name="+")

    class Meta:
        ordering = ("-id",)
        indexes = (
            models.Index(fields=("id",), name="turns_to_compare", condition=models.Q(compared_at=None)),
            models.Index(fields=("schedule", "-id"), name="turns_of_a_schedule"),
        )

    def __str__(self) -> str:
        return f"run {self.run_id} of the schedule {self.schedule_id}"


class ScoreDrop(models.Model):
    """A score of a scheduled run that is lower than that of an earlier one, beyond what noise explains.

    Differences and interval ends are in scores from 0 to 1, the later run minus the earlier one.
    """

    turn = models.ForeignKey(ScheduledRun, on_delete=models.CASCADE, related_name="notices")
    compared_with = models.ForeignKey(Run, null=True, on_delete=models.SET_NULL, related_name="+")
    metric = models.CharField(max_length=64)
    difference = models.FloatField()
    low = models.FloatField()
    high = models.FloatField()
    p_adjusted = models.FloatField(help_text="Holm's p-value over the metrics of the two runs")
    n_shared = models.PositiveIntegerField(help_text="Tasks with a score in both runs")
    sentence = models.TextField()
    created_at = models.DateTimeField(auto_now_add=True)
    dismissed_at = models.DateTimeField(null=True)
    dismissed_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL)

    class Meta:
        ordering = ("-id",)
        indexes = (models.Index(fields=("id",), name="open_notices", condition=models.Q(dismissed_at=None)),)

    def __str__(self) -> str:
        return f"{self.metric} of run {self.turn.run_id} dropped"
