"""What people say of results: labels, and the queues from which results are given to people to label."""

from __future__ import annotations

import time
from itertools import chain

from django.conf import settings
from django.db import models
from django.db.models import Q

from benchmarks.dataset_format.spec import resolved_rubric
from benchmarks.metrics.rubrics import PREFIX, Rubric, TaskRubric
from benchmarks.models.results import Result
from benchmarks.models.runs import Run
from benchmarks.presentation.labels import LABEL_FLAG

LOCAL_REVIEWER = "local user"
"""Who labels in development mode, which has no accounts. No account can have this name."""


CLAIMED_FOR = 30 * 60.0
"""Seconds for which a claimed answer is kept for the person who looks at it."""
CLAIMED, LABELED, SKIPPED = "claimed", "labeled", "skipped"


class Flag(models.TextChoices):
    REFERENCE_DOUBTFUL = "reference_doubtful", LABEL_FLAG["reference_doubtful"]
    TASK_UNCLEAR = "task_unclear", LABEL_FLAG["task_unclear"]
    ANSWER_UNREADABLE = "answer_unreadable", LABEL_FLAG["answer_unreadable"]


class ReviewQueue(models.Model):
    """Results sampled for people to label by one metric.

    ``source`` names the runs and the filters that the results were drawn from, ``sampling`` how and with which seed. In
    a review of pairs, ``source`` also names the preference run whose results they are.
    Reviewers of a blind queue see neither the model, nor scores, nor labels of others before they have finished.
    """

    name = models.CharField(max_length=200)
    description = models.TextField(blank=True)
    metric = models.CharField(max_length=64)
    source = models.JSONField(help_text="{runs, experiment, filters, answers: how many were drawn from}")
    sampling = models.JSONField(help_text="{method, by, size, seed}")
    blind = models.BooleanField(default=True)
    overlap = models.PositiveSmallIntegerField(default=0, help_text="How many of the items two people label")
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL)
    created_at = models.DateTimeField(auto_now_add=True)
    closed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("-id",)

    def __str__(self) -> str:
        return self.name

    @property
    def is_random_sample(self) -> bool:
        """Whether its answers are a random sample of its runs, together with those of earlier random reviews."""
        return self.sampling.get("method") in ("random", "rest") and not self.source.get("filters")

    @property
    def is_of_pairs(self) -> bool:
        """Whether people choose between two answers: its results are those of a preference run."""
        return "preference" in self.source


class ReviewItem(models.Model):
    """One result in a queue; ``wanted`` is how many people are to label it.

    ``reviewers`` holds what each person did with it last: name → ``[state, moment]``, the state being ``claimed``,
    ``labeled`` or ``skipped``, the moment in seconds since 1970.
    """

    queue = models.ForeignKey(ReviewQueue, on_delete=models.CASCADE, related_name="items")
    result = models.ForeignKey(Result, on_delete=models.CASCADE, related_name="review_items")
    position = models.PositiveIntegerField()
    wanted = models.PositiveSmallIntegerField(default=1)
    reviewers = models.JSONField(default=dict, blank=True, help_text="Name → [state, moment]")

    class Meta:
        ordering = ("queue", "position")
        constraints = (models.UniqueConstraint(fields=("queue", "result"), name="one_item_per_result_and_queue"),)

    def __str__(self) -> str:
        return f"item {self.position} of queue {self.queue_id}"

    def state_for(self, reviewer: str) -> str:
        """What this person did with it last; empty if nothing."""
        return str(self.reviewers[reviewer][0]) if reviewer in self.reviewers else ""

    def mark(self, reviewer: str, state: str) -> None:
        """Store what this person did with it, with the time."""
        self.reviewers[reviewer] = [state, time.time()]
        self.save(update_fields=["reviewers"])

    def n_labels(self) -> int:
        """How many people have labeled it."""
        return sum(state == LABELED for state, _ in self.reviewers.values())

    def has_place(self, now: float) -> bool:
        """Whether fewer people have labeled it, or are about to, than are to label it. ``now``: seconds since 1970."""
        claimed = sum(state == CLAIMED and now - moment < CLAIMED_FOR for state, moment in self.reviewers.values())
        return bool(self.n_labels() + claimed < self.wanted)


class Label(models.Model):
    """What one person says of one result by one metric.

    ``value`` is in the metric's range, and ``None`` if the person only flags the result. A correction adds a row and
    sets ``replaced_at`` of the one before, so that what was said first is never lost; withdrawing sets it without a new
    row. A label is about an answer: it is stored at the oldest scoring of the answer, and counts for all of them.
    """

    result = models.ForeignKey(Result, on_delete=models.CASCADE, related_name="labels", db_index=False)
    metric = models.CharField(max_length=64)
    value = models.FloatField(null=True, blank=True)
    reason = models.TextField(blank=True)
    first_wrong_step = models.PositiveIntegerField(
        null=True, blank=True, help_text="Number of the first wrong step, 0 if none is wrong"
    )
    flags = models.JSONField(default=list, blank=True)
    queue = models.ForeignKey(ReviewQueue, null=True, blank=True, on_delete=models.SET_NULL, related_name="labels")
    author = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL)
    author_name = models.CharField(
        max_length=150, help_text="Outlives the account; labels that are imported have only it"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    replaced_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("result", "metric", "id")
        constraints = (
            models.UniqueConstraint(
                fields=("result", "metric", "author_name"),
                condition=Q(replaced_at__isnull=True),
                name="one_current_label_per_person",
            ),
        )
        indexes = (models.Index(fields=("result", "metric"), name="labels_of_a_result"),)
        permissions = (
            ("label_result", "Can label results"),
            ("see_reviewers", "Can see who labeled a result"),
        )

    def __str__(self) -> str:
        return f"label {self.pk} of result {self.result_id}"


def scorings_of(run: Run, prefix: str = "") -> Q:
    """The results of all runs that score the answers of ``run``, itself among them; ``prefix`` leads to the results."""
    source = run.rescored_from or run.pk
    return Q(**{f"{prefix}run": source}) | Q(**{f"{prefix}run__rescored_from": source})


def results_of_answer(result: Result) -> list[int]:
    """The ids of all results of the same answer, oldest run first. Labels of the answer are stored at the first."""
    same = Result.objects.filter(scorings_of(result.run), task__task_id=result.task.task_id, repeat=result.repeat)
    return list(same.order_by("run", "pk").values_list("pk", flat=True))


def rubric_of_label(name: str, result: Result) -> Rubric | None:
    """The rubric on whose scale the result is labeled; ``None`` if the metric is none, or its text is not stored.

    Labels are stored at the oldest scoring of an answer, which may be older than the rubric.
    """
    if name != TaskRubric.name and not name.startswith(PREFIX):
        return None
    others = Result.objects.filter(pk__in=results_of_answer(result)).exclude(pk=result.pk).order_by("-pk")
    for each in chain([result], others.select_related("run", "task__version").iterator()):
        stored = each.task.rubric and resolved_rubric(each.task.rubric, each.task.version.rubrics)
        values = stored if name == TaskRubric.name else each.run.rubrics.get(name.removeprefix(PREFIX))
        if values:
            return Rubric.of(values)
    return None
