"""What people say of results: write, correct and withdraw labels.

A label is about an answer. A rescored run has results of its own for the same answers, so labels are stored at the
oldest result of an answer, and every scoring of it shows and counts them.
"""

from __future__ import annotations

from typing import Any, TypedDict, cast

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone
from rest_framework import serializers

from benchmarks.engine.sql import lock
from benchmarks.metrics.preference import POINTS, Preference
from benchmarks.metrics.registered_metrics import REGISTERED_METRICS, metric_named
from benchmarks.metrics.rubrics import DEFAULT_SCALE, LEVELS
from benchmarks.models import LOST, Flag, Label, Outcome, Result, ReviewItem, ReviewQueue, Run, StoredStep
from benchmarks.models.reviews import LOCAL_REVIEWER, results_of_answer, rubric_of_label, scorings_of
from benchmarks.models.steps import steps_of_messages
from benchmarks.presentation.numbers import number, plural
from benchmarks.services.access import Caller, account_of, record
from benchmarks.services.errors import InvalidRequest, NotPossible
from benchmarks.services.requests import StrictInteger, StrictNumber, StrictRequest, StrictText, validated_by

WITHOUT_ANSWER = ("", *LOST, Outcome.CANCELLED)
"""Outcomes of results that have no answer to label."""
MAX_REASON = 5_000


class LabelValues(TypedDict):
    """The fields of a valid label."""

    metric: str
    value: float | None
    reason: str
    first_wrong_step: int | None
    flags: list[str]


class LabelRequest(StrictRequest):
    """What a person says of one result by one metric. A label needs a value, a flag or a reason."""

    metric = StrictText(max_length=64, help_text="The metric on whose scale the value is")
    value = StrictNumber(
        required=False, allow_null=True, default=None, help_text="In the metric's range, on its scale; null: no verdict"
    )
    reason = StrictText(required=False, allow_blank=True, default="", max_length=MAX_REASON, help_text="Why, in words")
    first_wrong_step = StrictInteger(
        required=False,
        allow_null=True,
        default=None,
        min_value=0,
        help_text="Number of the first wrong step of an agent, 0 if none is wrong; null: not said",
    )
    flags = serializers.ListField(
        required=False,
        default=list,
        max_length=len(Flag),
        child=serializers.ChoiceField(Flag.choices),
        help_text="What is wrong with the task or the answer",
    )

    def validate_metric(self, name: str) -> str:
        metric = metric_named(name)
        if name != Preference.name and (metric is None or not metric.decides_outcome):
            known = ", ".join(name for name, metric in REGISTERED_METRICS.items() if metric.decides_outcome)
            raise serializers.ValidationError(f"Answers cannot be labeled by {name!r}. Choose one of: {known}.")
        return name

    def validate_flags(self, flags: list[str]) -> list[str]:
        return [flag for flag in Flag.values if flag in flags]

    def validate(self, attrs: LabelValues) -> LabelValues:
        attrs["reason"] = attrs["reason"].strip()
        if attrs["value"] is None and not attrs["flags"] and not attrs["reason"]:
            raise serializers.ValidationError({"value": ["Choose a value or a flag, or write a reason."]})
        return attrs


def valid_label(result: Result, data: Any) -> LabelValues:
    """The fields of a label of this result. Raises ``InvalidRequest`` naming the bad fields."""
    valid = cast(LabelValues, validated_by(LabelRequest(data=data)))
    if (valid["metric"] == Preference.name) != result.run.is_preference:
        allowed = f"only by {Preference.name}" if result.run.is_preference else f"not by {Preference.name}"
        raise InvalidRequest({"metric": [f"Label this result {allowed}."]})
    if valid["value"] is not None and (problem := _value_problem(result, valid["metric"], valid["value"])):
        raise InvalidRequest({"value": [problem]})
    if valid["first_wrong_step"] is not None and (problem := _step_problem(result, valid["first_wrong_step"])):
        raise InvalidRequest({"first_wrong_step": [problem]})
    return valid


def _step_problem(result: Result, position: int) -> str:
    """Why the answer has no such step; empty if it has. 0 is no step, but of an answer that has some."""
    total = StoredStep.objects.filter(result=result).count() or len(steps_of_messages(result))
    if not total:
        return "The answer has no steps."
    return f"The answer has {plural(total, 'step')}." if position > total else ""


def _value_problem(result: Result, name: str, value: float) -> str:
    """Why the value is not one of the metric's; empty if it is."""
    metric, rubric = metric_named(name), rubric_of_label(name, result)
    if metric is None:
        return ""
    if name == Preference.name:
        known = value in POINTS.values()
        return "" if known else "Choose 1 (first answer), 0.5 (tie) or 0 (second answer)."
    if rubric and rubric.scale != DEFAULT_SCALE:
        levels = LEVELS[rubric.scale]
        listed = ", ".join(f"{level.value:g} ({level.title})" for level in levels)
        known = value in [level.value for level in levels]
        return "" if known else f"{metric.title} has the values {listed}. Choose one of them."
    low, high = metric.range
    if value >= low and (high is None or value <= high):
        return ""
    bounds = f"from {low:g} to {high:g}" if high is not None else f"of {number(low)} or more"
    return f"{metric.title} has values {bounds}. Enter one of them."


def reviewer_name(user: Caller) -> str:
    """The name under which labels of this caller are stored."""
    account = account_of(user)
    return account.get_username() if account else LOCAL_REVIEWER


def label_result(result: Result, data: Any, user: Caller = None, queue: ReviewQueue | None = None) -> Label:
    """Store what a person says of a result. It replaces what the same person said of it by the same metric.

    The same label again changes nothing. Raises ``InvalidRequest`` naming the bad fields, ``NotPossible`` if the result
    has no answer.
    """
    valid = valid_label(result, data)
    if result.outcome in WITHOUT_ANSWER:
        raise NotPossible(f"Result {result.pk} has no answer to label.")
    with transaction.atomic():
        author = reviewer_name(user)
        home, current = _locked(result, valid["metric"], author)
        queue = review_of(current, queue)
        if current and current.queue == queue and all(getattr(current, name) == value for name, value in valid.items()):
            return current
        label = replace_label(home, current, valid, queue, author_name=author, author=account_of(user))
        action = "label.correct" if current else "label.add"
        record(user, action, f"result {result.pk}", metric=label.metric, value=label.value, flags=label.flags)
    return label


def withdraw_label(result: Result, metric: str, user: Caller = None) -> Label | None:
    """Take back the caller's own label by this metric; it stays in the history. ``None`` if there is none."""
    with transaction.atomic():
        _, current = _locked(result, metric, reviewer_name(user))
        if current is not None:
            Label.objects.filter(pk=current.pk).update(replaced_at=timezone.now())
            record(user, "label.withdraw", f"result {result.pk}", metric=metric)
    return current


def review_of(current: Label | None, queue: ReviewQueue | None) -> ReviewQueue | None:
    """The review in which a label counts that is given in ``queue``, or in none, in place of the current one.

    A random review keeps its labels: without those that another review asked for again, it would be no random sample.
    """
    if current and current.queue and (queue is None or current.queue.is_random_sample):
        return current.queue
    return queue


def replace_label(
    home: int,
    current: Label | None,
    values: LabelValues,
    queue: ReviewQueue | None,
    *,
    author_name: str,
    author: User | None,
) -> Label:
    """Write a label at the result ``home`` in place of the current one, in the caller's transaction."""
    if current is not None:
        Label.objects.filter(pk=current.pk).update(replaced_at=timezone.now())
    return Label.objects.create(result_id=home, queue=queue, author_name=author_name, author=author, **values)


def _locked(result: Result, metric: str, author: str) -> tuple[int, Label | None]:
    """The result at which labels of this answer are stored, and the person's current label by the metric.

    Raises ``Result.DoesNotExist`` if the result has been deleted.
    """
    answers = results_of_answer(result)
    if not answers:
        raise Result.DoesNotExist
    # Two requests of one person follow each other, and a run that is being deleted passes on all of its labels.
    runs = Run.objects.filter(pk__in=Result.objects.filter(pk=answers[0]).values("run"))
    if not lock(runs, no_key=True):
        raise Result.DoesNotExist
    current = Label.objects.filter(result__in=answers, metric=metric, author_name=author, replaced_at=None)
    return answers[0], current.first()


def pass_on_labels(run: Run) -> None:
    """Give the labels and review items of a run that is being deleted to the oldest other scoring of its answers.

    Without another scoring they are deleted with the answers. Call it in the transaction of the deletion.
    """
    labels, items = Label.objects.filter(result__run=run), ReviewItem.objects.filter(result__run=run)
    rows: list[Label | ReviewItem] = [*labels.select_related("result__task"), *items.select_related("result__task")]
    if not rows:
        return
    others = Result.objects.filter(scorings_of(run)).exclude(run=run).order_by("-run")
    heirs = {(task, repeat): pk for task, repeat, pk in others.values_list("task__task_id", "repeat", "pk")}
    for row in rows:
        heir = heirs.get((row.result.task.task_id, row.result.repeat))
        if heir is not None:
            type(row).objects.filter(pk=row.pk).update(result=heir)
    labels.delete()
    items.delete()
