"""What was measured of judges on answers whose truth is known, and every verdict that it rests on."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from tasks_app.models import CanvasSet


class JudgeCalibration(models.Model):
    """One examination of a judge: right and wrong answers to the questions of a canvas set, judged and compared.

    ``numbers`` is the ``Calibration`` of ``benchmarks.metrics.judge_calibration`` as plain values, empty until it has
    ended. A cost is ``None`` where the price is unknown, and tokens where a reply came without their count, never 0.
    """

    class Status(models.TextChoices):
        QUEUED = "queued"
        RUNNING = "running"
        COMPLETED = "completed"
        FAILED = "failed"
        CANCELLED = "cancelled"

    judge_model = models.CharField(max_length=200)
    metric = models.CharField(max_length=64, default="correctness")
    canvas_set = models.ForeignKey(CanvasSet, on_delete=models.CASCADE, related_name="judge_calibrations")
    questions = models.PositiveIntegerField(help_text="At most so many questions of the set")
    repeats = models.PositiveSmallIntegerField(default=1, help_text="How often each answer is judged")
    phrasings = models.JSONField(default=list, help_text="Names of the wordings of the answers")
    concurrency = models.PositiveSmallIntegerField(default=8)
    seed = models.PositiveIntegerField(default=0, help_text="Draws the questions and the order of the answers")
    task_ids = models.JSONField(
        default=list,
        db_default=models.Value([], models.JSONField()),
        blank=True,
        help_text="The tasks drawn, so that a set may grow meanwhile",
    )

    status = models.CharField(max_length=9, choices=Status.choices, default=Status.QUEUED)
    error_message = models.TextField(blank=True)
    total = models.PositiveIntegerField(default=0, help_text="Answers to be judged, repeats counted")
    done = models.PositiveIntegerField(default=0)
    numbers = models.JSONField(default=dict, blank=True)
    tokens_in = models.PositiveBigIntegerField(default=0, null=True)
    tokens_out = models.PositiveBigIntegerField(default=0, null=True)
    cost_usd = models.FloatField(null=True, blank=True)

    code_version = models.CharField(max_length=60, blank=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL)
    created_at = models.DateTimeField(auto_now_add=True)
    claimed_by = models.UUIDField(null=True, blank=True, help_text="The visit of a worker that is at it")
    heartbeat_at = models.DateTimeField(null=True, blank=True, help_text="When the worker on it was last seen")
    completed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("-id",)
        indexes = (models.Index(fields=("judge_model", "status", "id"), name="calibrations_of_a_judge"),)

    def __str__(self) -> str:
        return f"calibration {self.pk} of {self.judge_model}"


class JudgeVerdict(models.Model):
    """What a judge made of one answer of a calibration, stored as it came, so that no verdict is paid for twice.

    ``status`` is that of a score; empty where the judging failed and is to be tried again. Tokens and cost are those of
    every try, ``None`` where they are unknown.
    """

    calibration = models.ForeignKey(JudgeCalibration, on_delete=models.CASCADE, related_name="verdicts")
    question = models.CharField(max_length=200, help_text="The task's id in its dataset")
    wording = models.CharField(max_length=40)
    right = models.BooleanField()
    repeat = models.PositiveSmallIntegerField()
    status = models.CharField(max_length=14, blank=True)
    value = models.FloatField(null=True, blank=True)
    reason = models.TextField(blank=True)
    calls = models.PositiveIntegerField(default=0)
    tokens_in = models.PositiveIntegerField(null=True, blank=True)
    tokens_out = models.PositiveIntegerField(null=True, blank=True)
    cost_usd = models.FloatField(null=True, blank=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=("calibration", "question", "wording", "right", "repeat"), name="one_verdict_per_answer"
            ),
        )

    def __str__(self) -> str:
        return f"verdict on {self.question} in calibration {self.calibration_id}"
