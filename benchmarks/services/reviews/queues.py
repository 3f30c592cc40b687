"""Review queues: draw answers for people to label, hand them out one by one, close and delete queues.

Handing out follows a lock on the queue. A person keeps a claimed answer for ``CLAIMED_FOR``; after that it is offered
to others too, so that nobody who went home keeps it.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterable
from typing import Any

from django.db import transaction
from django.utils import timezone
from rest_framework import serializers

from benchmarks.metrics.preference import Preference
from benchmarks.models import OF_MODELS, Experiment, Label, Result, ReviewItem, ReviewQueue, Run
from benchmarks.models.reviews import CLAIMED, LABELED, SKIPPED, results_of_answer
from benchmarks.presentation.labels import SAMPLING, STRATUM
from benchmarks.services.access import Caller, account_of, record
from benchmarks.services.errors import InvalidRequest, NotPossible
from benchmarks.services.labels import LabelRequest, label_result, reviewer_name, valid_label, withdraw_label
from benchmarks.services.requests import StrictBoolean, StrictRequest, StrictText, validated_by
from benchmarks.services.reviews.pairs import draw_pairs
from benchmarks.services.reviews.sampling import FILTERS, answers_of, draw

MAX_SIZE, MAX_RUNS = 2_000, 50


class ReviewRequest(StrictRequest):
    """A request for a review queue. Its answers come from ``runs`` or from the runs of an experiment."""

    name = StrictText(max_length=200, help_text="Title")
    description = StrictText(
        required=False, allow_blank=True, default="", max_length=2_000, help_text="Instructions for the reviewers"
    )
    metric = StrictText(max_length=64, help_text="The metric on whose scale people label")
    runs = serializers.ListField(
        required=False,
        default=list,
        max_length=MAX_RUNS,
        child=serializers.IntegerField(min_value=1),
        help_text="Runs whose answers are drawn",
    )
    experiment = serializers.IntegerField(
        required=False, allow_null=True, default=None, min_value=1, help_text="All of its runs, instead of runs"
    )
    preference = serializers.IntegerField(
        required=False,
        allow_null=True,
        default=None,
        min_value=1,
        help_text="Draw pairs of this preference run",
    )
    outcome = StrictText(required=False, allow_blank=True, default="", max_length=14, help_text="Only this outcome")
    reason = StrictText(required=False, allow_blank=True, default="", max_length=60, help_text="Only this failure")
    difficulty = StrictText(
        required=False, allow_blank=True, default="", max_length=6, help_text="Only this difficulty"
    )
    group = StrictText(required=False, allow_blank=True, default="", max_length=64, help_text="Only this task class")
    method = serializers.ChoiceField(
        required=False, default="random", choices=list(SAMPLING.items()), help_text="How answers are drawn"
    )
    by = serializers.ChoiceField(
        required=False, default="model", choices=list(STRATUM.items()), help_text="Groups of a stratified draw"
    )
    size = serializers.IntegerField(
        required=False, default=100, min_value=1, max_value=MAX_SIZE, help_text="Answers to draw"
    )
    overlap = serializers.IntegerField(
        required=False, default=20, min_value=0, max_value=MAX_SIZE, help_text="Answers that two people label"
    )
    seed = serializers.IntegerField(
        required=False, default=0, min_value=0, max_value=2**31 - 1, help_text="The same seed draws the same answers"
    )
    blind = StrictBoolean(required=False, default=True, help_text="Hide model, judge, scores and other labels")

    def validate_metric(self, name: str) -> str:
        return LabelRequest().validate_metric(name)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        given = [bool(attrs["runs"]), attrs["experiment"] is not None, attrs["preference"] is not None]
        if attrs["metric"] != Preference.name:
            if given[2]:
                message = f"Pairs of a preference run are labeled by the metric {Preference.name}."
                raise serializers.ValidationError({"metric": [message]})
            if sum(given) != 1:
                raise serializers.ValidationError({"runs": ["Choose runs or an experiment."]})
            return attrs
        if sum(given) != 1:
            raise serializers.ValidationError({"runs": ["Choose runs, an experiment or a preference run."]})
        if attrs["method"] != "random":
            raise serializers.ValidationError({"method": ["Pairs of answers are drawn at random."]})
        if filtered := [name for name in FILTERS if attrs[name]]:
            raise serializers.ValidationError({filtered[0]: ["Pairs of answers cannot be filtered. Remove this."]})
        return attrs


def create_review(data: Any, user: Caller = None) -> ReviewQueue:
    """Draw the answers and store the queue. Raises ``InvalidRequest`` naming the bad fields.

    ``overlap`` of the answers, chosen by the seed, are labeled by two people; all of them if there are fewer.
    """
    request = validated_by(ReviewRequest(data=data))
    sampling = {name: request[name] for name in ("method", "size", "seed")}
    if request["metric"] == Preference.name:
        with transaction.atomic():
            drawn, source = draw_pairs(request, user)
            # Not a random sample of answers: means of runs are not corrected by choices between two of them.
            return _store_review(request, drawn, source, {**sampling, "method": "pairs"}, user)
    runs = _runs_of(request)
    filters = {name: request[name] for name in FILTERS if request[name]}
    answers = answers_of(runs, filters)
    drawn = draw(answers, runs, request)
    if request["method"] == "stratified":
        sampling["by"] = request["by"]
    source = {"runs": [run.pk for run in runs], "experiment": request["experiment"], "filters": filters}
    return _store_review(request, drawn, {**source, "answers": len(answers)}, sampling, user)


def _store_review(
    request: dict[str, Any], drawn: list[int], source: dict[str, Any], sampling: dict[str, Any], user: Caller
) -> ReviewQueue:
    twice = set(random.Random(request["seed"]).sample(drawn, min(request["overlap"], len(drawn))))
    with transaction.atomic():
        queue = ReviewQueue.objects.create(
            name=request["name"],
            description=request["description"],
            metric=request["metric"],
            source=source,
            sampling=sampling,
            blind=request["blind"],
            overlap=len(twice),
            created_by=account_of(user),
        )
        items = [
            ReviewItem(queue=queue, result_id=pk, position=position, wanted=2 if pk in twice else 1)
            for position, pk in enumerate(drawn, 1)
        ]
        ReviewItem.objects.bulk_create(items, batch_size=500)
        record(user, "review.create", f"review {queue.pk}", answers=len(items), sampling=sampling)
    return queue


def _runs_of(request: dict[str, Any]) -> list[Run]:
    if request["experiment"] is not None:
        if not Experiment.objects.filter(pk=request["experiment"]).exists():
            raise InvalidRequest({"experiment": [f"Experiment {request['experiment']} does not exist."]})
        runs = list(Run.objects.filter(experiment=request["experiment"]).order_by("pk")[:MAX_RUNS])
        if not runs:
            raise InvalidRequest({"experiment": [f"Experiment {request['experiment']} has no runs."]})
        return runs
    by_id = Run.objects.filter(OF_MODELS).in_bulk(request["runs"])
    if missing := [str(pk) for pk in request["runs"] if pk not in by_id]:
        raise InvalidRequest({"runs": [f"Runs that do not exist: {', '.join(missing)}. Remove them."]})
    return [by_id[pk] for pk in sorted(by_id)]


def start_labeling(queue: ReviewQueue, user: Caller = None) -> ReviewItem | None:
    """Claim the next answer for the caller, or return the one claimed before. ``None`` if none is left."""
    with transaction.atomic():
        items = _locked_items(queue)
        return _claimed(items, reviewer_name(user)) or _claim_next(items, reviewer_name(user))


def save_and_next(queue: ReviewQueue, item_pk: int, data: Any, user: Caller = None) -> ReviewItem | None:
    """Store the caller's label of a claimed answer and claim the next one. Raises as ``label_result`` does.

    ``NotPossible`` if the answer is not the caller's, for example, because it was saved from another tab.
    """
    reviewer = reviewer_name(user)
    with transaction.atomic():
        items = _locked_items(queue)
        item = _item_of(items, item_pk, reviewer)
        label_result(item.result, {**data, "metric": queue.metric}, user, queue)
        item.mark(reviewer, LABELED)
        return _claim_next(items, reviewer)


def label_answer(result: Result, data: Any, user: Caller = None) -> None:
    """Store the caller's label of a result outside a review. Where the answer is in an open review by that metric and
    the caller has a place, it counts there. Raises as ``label_result`` does.
    """
    reviewer = reviewer_name(user)
    with transaction.atomic():
        answers, metric = results_of_answer(result), valid_label(result, data)["metric"]
        waiting = ReviewItem.objects.filter(result__in=answers, queue__metric=metric, queue__closed_at=None)
        item = next((item for item in waiting.order_by("queue") if _is_open_to(item, reviewer)), None)
        label_result(result, data, user, item.queue if item else None)
        if item:
            item.mark(reviewer, LABELED)


def _is_open_to(item: ReviewItem, reviewer: str) -> bool:
    """Whether the person can label it, or has labeled it; the queue is locked from here on."""
    ReviewQueue.objects.select_for_update().get(pk=item.queue_id)
    item.refresh_from_db()
    return item.state_for(reviewer) in (CLAIMED, LABELED) or item.has_place(time.time())


def skip_and_next(queue: ReviewQueue, item_pk: int, user: Caller = None) -> ReviewItem | None:
    """Leave a claimed answer to others and claim the next one."""
    reviewer = reviewer_name(user)
    with transaction.atomic():
        items = _locked_items(queue)
        _item_of(items, item_pk, reviewer).mark(reviewer, SKIPPED)
        return _claim_next(items, reviewer)


def undo(queue: ReviewQueue, user: Caller = None) -> ReviewItem:
    """Go back to the answer that the caller labeled or skipped last; a label of it is withdrawn.

    Raises ``NotPossible`` if there is none.
    """
    reviewer = reviewer_name(user)
    with transaction.atomic():
        items = _locked_items(queue)
        done = [item for item in items if item.state_for(reviewer) in (LABELED, SKIPPED)]
        if not done:
            raise NotPossible("You have nothing to undo in this review.")
        last = max(done, key=lambda item: item.reviewers[reviewer][1])
        if last.state_for(reviewer) == LABELED:
            withdraw_label(last.result, queue.metric, user)
        if claimed := _claimed(items, reviewer):
            del claimed.reviewers[reviewer]
            claimed.save(update_fields=["reviewers"])
        last.mark(reviewer, CLAIMED)
    return last


def close_review(queue: ReviewQueue, user: Caller = None) -> None:
    """End the labeling; blind labels become visible. Closing again changes nothing."""
    with transaction.atomic():
        if ReviewQueue.objects.filter(pk=queue.pk, closed_at=None).update(closed_at=timezone.now()):
            record(user, "review.close", f"review {queue.pk}")


def reopen_review(queue: ReviewQueue, user: Caller = None) -> None:
    with transaction.atomic():
        if ReviewQueue.objects.filter(pk=queue.pk).exclude(closed_at=None).update(closed_at=None):
            record(user, "review.reopen", f"review {queue.pk}")


def delete_review(queue: ReviewQueue, user: Caller = None) -> None:
    """Delete a queue. The labels that were given in it stay with their answers."""
    with transaction.atomic():
        record(user, "review.delete", f"review {queue.pk}", name=queue.name)
        Label.objects.filter(queue=queue).update(queue=None)
        queue.delete()


def _locked_items(queue: ReviewQueue) -> list[ReviewItem]:
    """The items in order, with the queue locked, so that two people are not handed the same last answer."""
    locked = ReviewQueue.objects.select_for_update().get(pk=queue.pk)
    if locked.closed_at is not None:
        raise NotPossible(f"The review {locked.name} is closed. Ask whoever created it to reopen it.")
    return list(locked.items.all())


def _claimed(items: Iterable[ReviewItem], reviewer: str) -> ReviewItem | None:
    return next((item for item in items if item.state_for(reviewer) == CLAIMED), None)


def _item_of(items: Iterable[ReviewItem], pk: int, reviewer: str) -> ReviewItem:
    item = next((item for item in items if item.pk == pk and item.state_for(reviewer) == CLAIMED), None)
    if item is None:
        raise NotPossible("This answer is no longer yours to label. The next one is shown.")
    return item


def _claim_next(items: Iterable[ReviewItem], reviewer: str) -> ReviewItem | None:
    now = time.time()
    for item in items:
        if reviewer not in item.reviewers and item.has_place(now):
            item.mark(reviewer, CLAIMED)
            return item
    return None
