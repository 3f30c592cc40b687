"""Results, their long texts in a table of their own so that lists stay narrow, and one score per metric."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from benchmarks.metrics.base import WITH_VALUE
from benchmarks.models.datasets import Task
from benchmarks.models.runs import Run
from benchmarks.presentation.labels import OUTCOME, RESULT_STATE, SCORE_STATUS


class ResultState(models.TextChoices):
    PENDING = "pending", RESULT_STATE["pending"]
    CLAIMED = "claimed", RESULT_STATE["claimed"]
    ANSWERED = "answered", RESULT_STATE["answered"]
    JUDGING = "judging", RESULT_STATE["judging"]
    DONE = "done", RESULT_STATE["done"]
    ERROR = "error", RESULT_STATE["error"]


WAITING = (ResultState.PENDING, ResultState.ANSWERED)
TO_DO = (*WAITING, ResultState.CLAIMED, ResultState.JUDGING)


class Outcome(models.TextChoices):
    CORRECT = "correct", OUTCOME["correct"]
    PARTIAL = "partial", OUTCOME["partial"]
    WRONG = "wrong", OUTCOME["wrong"]
    ANSWERED = "answered", OUTCOME["answered"]
    UNPARSABLE = "unparsable", OUTCOME["unparsable"]
    TRUNCATED = "truncated", OUTCOME["truncated"]
    REFUSED = "refused", OUTCOME["refused"]
    PROVIDER_ERROR = "provider_error", OUTCOME["provider_error"]
    INTERNAL_ERROR = "internal_error", OUTCOME["internal_error"]
    JUDGE_ERROR = "judge_error", OUTCOME["judge_error"]
    METRIC_ERROR = "metric_error", OUTCOME["metric_error"]
    CANCELLED = "cancelled", OUTCOME["cancelled"]


LOST = (Outcome.PROVIDER_ERROR, Outcome.INTERNAL_ERROR)
"""Outcomes of results without an answer: the endpoint, or we, failed to get one. A retry asks the model again."""
UNSCORED = (Outcome.JUDGE_ERROR, Outcome.METRIC_ERROR)
"""Outcomes of stored answers that a judge or another metric failed to score. A retry does not ask the model again."""
ERRORS = (*LOST, *UNSCORED)
"""Outcomes that are no fault of the answer and that a retry repeats; they are part of no mean."""


class Result(models.Model):
    """One task asked once in one run. ``difficulty`` to ``cluster`` copy the task's, so that filters need no join.

    ``value`` copies the score of the metric that decides the outcome. Durations are in milliseconds.
    """

    expected_preview: str | None
    actual_preview: str | None
    error_preview: str | None
    """How the expected answer, the answer and the error begin. Only on results that ``queries.results`` lists."""

    # Without an index of its own: those below start with the run, and every index slows each write of a result.
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="results", db_index=False)
    task = models.ForeignKey(Task, on_delete=models.PROTECT, related_name="results")
    repeat = models.PositiveSmallIntegerField(default=1)
    position = models.PositiveIntegerField()
    state = models.CharField(max_length=8, choices=ResultState.choices, default=ResultState.PENDING)
    claimed_by = models.UUIDField(null=True, blank=True)
    outcome = models.CharField(max_length=14, choices=Outcome.choices, blank=True)
    failure = models.CharField(max_length=60, blank=True, help_text="Why the answer is not correct, in a few words")
    value = models.FloatField(null=True, blank=True)
    error_kind = models.CharField(max_length=20, blank=True)
    error_message = models.TextField(blank=True)
    difficulty = models.CharField(max_length=6)
    group = models.CharField(max_length=64, blank=True)
    n_shapes = models.PositiveSmallIntegerField(null=True, blank=True)
    cluster = models.CharField(max_length=32, blank=True)
    duration_ms = models.FloatField(null=True, blank=True)
    first_token_ms = models.FloatField(null=True, blank=True, help_text="Of a streamed answer")
    tokens_per_second = models.FloatField(null=True, blank=True, help_text="After the first token")
    tokens_in = models.PositiveIntegerField(null=True, blank=True)
    tokens_out = models.PositiveIntegerField(null=True, blank=True)
    reasoning_tokens = models.PositiveIntegerField(null=True, blank=True, help_text="Part of the tokens out")
    cached_tokens = models.PositiveIntegerField(null=True, blank=True, help_text="Part of the tokens in")
    cost_usd = models.FloatField(null=True, blank=True)
    judge_cost_usd = models.FloatField(null=True, blank=True)
    user_cost_usd = models.FloatField(
        null=True, blank=True, help_text="Of the simulated user; part of cost_usd. None without one"
    )
    cached = models.BooleanField(default=False)
    attempts = models.PositiveSmallIntegerField(default=0)
    finish_reason = models.CharField(max_length=40, blank=True)
    response_model = models.CharField(
        max_length=200, blank=True, db_default="", help_text="The model that the endpoint says has answered"
    )
    # NULL rather than empty, so that both databases add the column without rewriting the table.
    response_fingerprint = models.CharField(
        max_length=100, null=True, blank=True, help_text="The configuration that the endpoint says has answered"
    )
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("run", "position")
        constraints = (
            models.UniqueConstraint(fields=("run", "task", "repeat"), name="one_result_per_task_and_repeat"),
        )
        indexes = (
            models.Index(fields=("run", "position"), name="results_in_order"),
            models.Index(
                fields=("run", "state", "position"),
                name="results_to_do",
                condition=Q(state__in=("pending", "claimed", "answered", "judging")),
            ),
            models.Index(fields=("run", "outcome", "position"), name="results_by_outcome"),
            models.Index(fields=("run", "group", "position"), name="results_by_group"),
            models.Index(fields=("run", "difficulty", "position"), name="results_by_difficulty"),
            models.Index(fields=("run", "value", "id"), name="results_by_value"),
            models.Index(fields=("run", "duration_ms", "id"), name="results_by_duration"),
        )

    def __str__(self) -> str:
        return f"result {self.pk} of run {self.run_id}"


class Transcript(models.Model):
    """What was sent and what came back, word for word; characters that cannot be stored are replaced and noted."""

    result = models.OneToOneField(Result, primary_key=True, on_delete=models.CASCADE, related_name="transcript")
    messages = models.JSONField(default=list, help_text="Everything sent and received, in OpenAI chat form")
    picture = models.JSONField(null=True, blank=True, help_text="{canvas, sha256} of an image that was sent")
    actual_output = models.TextField(blank=True)
    reasoning = models.TextField(blank=True)
    tool_calls = models.JSONField(default=list)
    retrieved = models.JSONField(
        null=True, blank=True, help_text="Passages that a system looked up, as it reports them"
    )
    attempts = models.JSONField(default=list)
    notes = models.JSONField(default=list, help_text="What was changed to store or count the reply")
    prompt_hash = models.CharField(max_length=64, blank=True)

    def __str__(self) -> str:
        return f"transcript of {self.result_id}"


_WITH_VALUE = sorted(status.value for status in WITH_VALUE)


class Score(models.Model):
    """One metric's verdict on one result: a value, which is the lowest one for a fault of the answer, or the reason for
    its absence."""

    class Status(models.TextChoices):
        SCORED = "scored", SCORE_STATUS["scored"]
        NOT_APPLICABLE = "not_applicable", SCORE_STATUS["not_applicable"]
        UNPARSABLE = "unparsable", SCORE_STATUS["unparsable"]
        TRUNCATED = "truncated", SCORE_STATUS["truncated"]
        REFUSED = "refused", SCORE_STATUS["refused"]
        JUDGE_ERROR = "judge_error", SCORE_STATUS["judge_error"]
        METRIC_ERROR = "metric_error", SCORE_STATUS["metric_error"]
        DOUBTFUL = "doubtful", SCORE_STATUS["doubtful"]

    # Neither has an index of its own: the unique constraint starts with the result, the index below with the run.
    result = models.ForeignKey(Result, on_delete=models.CASCADE, related_name="scores", db_index=False)
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="scores", db_index=False)
    metric = models.CharField(max_length=64)
    status = models.CharField(max_length=14, choices=Status.choices)
    value = models.FloatField(null=True, blank=True)
    reason = models.TextField(blank=True)
    extracted = models.TextField(null=True, blank=True)
    detail = models.JSONField(default=dict, blank=True)
    judge = models.JSONField(null=True, blank=True, help_text="Prompt, raw reply, tokens and cost of a judged metric")

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("result", "metric"), name="one_score_per_metric_and_result"),
            models.CheckConstraint(
                condition=Q(status__in=_WITH_VALUE, value__isnull=False)
                | (~Q(status__in=_WITH_VALUE) & Q(value__isnull=True)),
                name="status_agrees_with_value",
            ),
        )
        indexes = (models.Index(fields=("run", "metric", "value"), name="scores_by_value"),)

    def __str__(self) -> str:
        return f"{self.metric} of {self.result_id}"


class CachedResponse(models.Model):
    """A response stored for runs that use the cache, under the hash of everything that was sent."""

    key = models.CharField(max_length=64, primary_key=True)
    reply = models.JSONField()
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.key
