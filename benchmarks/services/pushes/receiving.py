"""Open a run that another tool sends in batches, for example, from CI, and store the results that it sends.

They are stored as they were sent until the run is closed. A request that is repeated, for example, because its response
was lost, changes nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import IntegrityError, transaction
from django.utils import timezone
from rest_framework import serializers

from benchmarks.dataset_format.spec import TaskSpec, as_mapping
from benchmarks.dataset_format.validation import validate_task_fields
from benchmarks.imports.runs import name_of
from benchmarks.metrics.base import ScoreStatus
from benchmarks.models import Dataset, DatasetVersion, PushedResult, PushedRun
from benchmarks.presentation.numbers import plural
from benchmarks.providers.clean_text import storable
from benchmarks.services.access import Caller, account_of, record
from benchmarks.services.errors import InvalidRequest, NotPossible
from benchmarks.services.imports import spaced
from benchmarks.services.pushes.requests import (
    MAX_RESULTS,
    NO_SCORE,
    BatchRequest,
    PushRequest,
    ResultRequest,
    metric_of,
)
from benchmarks.services.requests import check_idempotency_key, fingerprint, validated_by

MAX_RESULT_BYTES = 64 * 2**20
"""Of all results of a run, which are held in memory when it is closed."""
MAX_OPEN = 100
"""Runs that receive results at the same time."""
MAX_REPORTED = 20
TASK_FIELDS = (
    *("name", "input", "messages", "expected_output", "difficulty", "split", "tags", "metadata"),
    *("context", "expected_context", "expected_tools"),
)


@dataclass(frozen=True, slots=True)
class Received:
    """What a batch brought: results that are new, and such that were received before."""

    pushed: PushedRun
    new: int
    repeated: int


def open_push(data: Any, key: str | None = None, user: Caller = None) -> PushedRun:
    """Open a run that receives results. The same request with the same idempotency key returns the same one.

    Raises ``InvalidRequest``, and ``NotPossible`` if the key came with another request or too many runs are open.
    """
    if key is not None:
        check_idempotency_key(key)
    request = validated_by(PushRequest(data=data))
    version = _version(request["dataset"]) if "dataset" in request else None
    account = account_of(user)
    owner = str(account.pk) if account else ""
    sent = fingerprint(data)
    try:
        with transaction.atomic():
            if earlier := _earlier(owner, key, sent):
                return earlier
            if PushedRun.objects.filter(run=None).count() >= MAX_OPEN:
                raise NotPossible(f"{MAX_OPEN} runs receive results. Close or delete some of them first.")
            pushed = PushedRun.objects.create(
                owner=owner,
                key=key,
                fingerprint=sent,
                model=request.pop("model"),
                dataset=request.get("dataset") or request["dataset_name"],
                dataset_version=version,
                expected=request.pop("expected", None),
                request=request,
                created_by=account,
            )
            record(user, "push.open", str(pushed), dataset=pushed.dataset, model=pushed.model)
    except IntegrityError:
        # The same request arrived twice at once, and the other one committed first.
        if earlier := _earlier(owner, key, sent):
            return earlier
        raise
    return pushed


def add_results(pushed_id: int, data: Any) -> Received:
    """Store a batch of results, completely or not at all. Results that were received before are only counted.

    Raises ``InvalidRequest`` with the problems of each result, ``NotPossible`` if the run is closed, full, or has the
    same key or task with other content.
    """
    pushed = PushedRun.objects.select_related("dataset_version").get(pk=pushed_id)
    sent = validated_by(BatchRequest(data=data))["results"]
    rows = _validated_results(pushed, sent)
    with transaction.atomic():
        pushed = PushedRun.objects.select_for_update().get(pk=pushed_id)
        _require_open(pushed)
        known = dict(pushed.results.filter(key__in=[row.key for row in rows]).values_list("key", "fingerprint"))
        changed = [row.key for row in rows if known.get(row.key, row.fingerprint) != row.fingerprint]
        if changed:
            raise NotPossible(
                f"{plural(len(changed), 'result')} had other content when they were received before, for example, "
                f"{changed[0]}. Use a new key for each new result. Nothing of this batch was stored."
            )
        new = [row for row in rows if row.key not in known]
        _require_new_tasks(pushed, new)
        size = sum(len(json.dumps(row.data)) for row in new)
        if pushed.received + len(new) > MAX_RESULTS or pushed.received_bytes + size > MAX_RESULT_BYTES:
            raise NotPossible(
                f"A run takes at most {MAX_RESULTS:,} results of {MAX_RESULT_BYTES // 2**20} MB together. "
                "Push several runs."
            )
        PushedResult.objects.bulk_create(new)
        pushed.received, pushed.received_bytes = pushed.received + len(new), pushed.received_bytes + size
        pushed.received_at = timezone.now()
        pushed.save(update_fields=["received", "received_bytes", "received_at"])
    return Received(pushed, len(new), len(rows) - len(new))


def delete_push(pushed: PushedRun, user: Caller = None) -> None:
    """Delete an open run with the results that it has received. Raises ``NotPossible`` if it is closed."""
    with transaction.atomic():
        locked = PushedRun.objects.select_for_update().get(pk=pushed.pk)
        _require_open(locked)
        record(user, "push.delete", str(locked), dataset=locked.dataset, model=locked.model, results=locked.received)
        locked.delete()


def _require_open(pushed: PushedRun) -> None:
    if pushed.run_id:
        raise NotPossible(f"The run is closed and is run {pushed.run_id} now. To send more results, open a new run.")


def _version(slug: str) -> DatasetVersion:
    dataset = Dataset.objects.select_related("current_version").filter(slug=slug).first()
    if dataset is None or dataset.current_version is None or dataset.kind != Dataset.Kind.YAML:
        raise InvalidRequest({"dataset": [f"YAML dataset {slug} does not exist or has no tasks."]})
    return dataset.current_version


def _earlier(owner: str, key: str | None, sent: str) -> PushedRun | None:
    earlier = PushedRun.objects.filter(owner=owner, key=key).first() if key is not None else None
    if earlier is not None and earlier.fingerprint != sent:
        raise NotPossible(f"This Idempotency-Key was used by another request, for {earlier}. Use a new key.")
    return earlier


def _validated_results(pushed: PushedRun, sent: Sequence[Any]) -> list[PushedResult]:
    """The rows of a batch, not saved. Raises ``InvalidRequest`` with the first problems by result."""
    serializer, rows, problems = ResultRequest(), [], {}
    task_ids = _ids_of_inputs(pushed.dataset_version, sent) if pushed.dataset_version else {}
    for place, item in enumerate(sent):
        try:
            values = serializer.run_validation(item)
            rows.append(_row(pushed, values, task_ids, fingerprint(item)))
        except serializers.ValidationError as error:
            detail = error.detail if isinstance(error.detail, dict) else {"": error.detail}
            for name, messages in detail.items():
                where = f"results[{place}].{name}" if name and name != "non_field_errors" else f"results[{place}]"
                problems[where] = [str(message) for message in _texts(messages)]
        if len(problems) >= MAX_REPORTED:
            break
    if problems:
        raise InvalidRequest(problems)
    if unknown := _unknown_tasks(pushed, rows):
        raise InvalidRequest(unknown)
    if len({row.key for row in rows}) < len(rows):
        raise InvalidRequest({"results": ["Two results of the batch have the same key. Each result needs its own."]})
    return rows


def _texts(messages: Any) -> Iterator[Any]:
    if isinstance(messages, Mapping):
        for place, inner in messages.items():
            yield from (f"{place}: {message}" for message in _texts(inner))
    elif isinstance(messages, list | tuple):
        for message in messages:
            yield from _texts(message)
    else:
        yield messages


def _ids_of_inputs(version: DatasetVersion, sent: Sequence[Any]) -> dict[str, str]:
    """Input → id of the dataset's task, if a result names its task by the input."""
    if all(isinstance(item, dict) and "task_id" in item for item in sent):
        return {}
    return {spaced(text): task for task, text in version.tasks.values_list("task_id", "input")}


def _row(pushed: PushedRun, values: dict[str, Any], task_ids: Mapping[str, str], sent: str) -> PushedResult:
    task = {name: values.pop(name) for name in TASK_FIELDS if name in values}
    task_id = values.pop("task_id", None)
    data: dict[str, Any] = {}
    if pushed.dataset_version_id is None:
        spec = _task(task_id, task)
        task_id, data["task"] = spec.id, as_mapping(spec)
    else:
        if foreign := [name for name in task if name != "input"]:
            raise serializers.ValidationError({foreign[0]: f"Remove it: the tasks are those of {pushed.dataset}."})
        if task_id is None:
            task_id = task_ids.get(spaced(task["input"])) if isinstance(task.get("input"), str) else None
        if task_id is None:
            raise serializers.ValidationError({"input": f"No task of {pushed.dataset} has this input. Set task_id."})
    scores = dict(_scores(pushed, values.pop("scores")))
    if values["error"] and (values["answer"] or scores):
        raise serializers.ValidationError({"error": "A result with an error has neither an answer nor scores."})
    key, repeat = values.pop("key"), values.pop("repeat")
    data |= {"scores": scores, **{name: value for name, value in values.items() if value not in ("", None)}}
    return PushedResult(pushed_run=pushed, key=key, fingerprint=sent, task=task_id, repeat=repeat, data=data)


def _task(task_id: str | None, given: Mapping[str, Any]) -> TaskSpec:
    """The task that a result brings. Raises ``ValidationError`` by field."""
    if task_id is None:
        task_id = f"task-{fingerprint([given.get('input'), given.get('messages')])[:16]}"
    fields = {"id": task_id, "name": name_of(_asked(given)) or task_id, "expected_output": "", **given}
    spec, problems = validate_task_fields(fields)
    if spec is None:
        raise serializers.ValidationError(
            {"task_id" if name == "id" else name: message for name, message in problems.items()}
        )
    return spec


def _asked(given: Mapping[str, Any]) -> str:
    """The question, whatever form it has: checked later."""
    asked = given.get("input")
    if not asked and isinstance(messages := given.get("messages"), list):
        asked = next((each.get("content") for each in reversed(messages) if isinstance(each, dict)), "")
    return asked if isinstance(asked, str) else ""


def _scores(pushed: PushedRun, given: Mapping[str, Any]) -> Iterator[tuple[str, tuple[str, float | None, str]]]:
    """Metric → status, value and reason. Without a value the metric failed, unless the task lacks what it needs."""
    metrics, measurements = pushed.request["metrics"], pushed.request["measurements"]
    for name, score in given.items():
        if name not in metrics and name not in measurements:
            known = ", ".join([*metrics, *measurements]) or "(none)"
            raise serializers.ValidationError(
                {"scores": f"{name} was not named when the run was opened, but: {known}."}
            )
        parts = score if isinstance(score, dict) else {"value": score}
        value, reason, lacks = parts.get("value"), parts.get("reason") or "", parts.get("not_applicable", False)
        if parts.keys() - {"value", "reason", "not_applicable"} or not isinstance(reason, str):
            raise serializers.ValidationError({"scores": f"{name}: send a number, or an object with value and reason."})
        if not isinstance(lacks, bool) or (lacks and value is not None):
            why = "not_applicable is true if the task lacks what the metric needs. Leave out its value."
            raise serializers.ValidationError({"scores": f"{name}: {why}"})
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if value is not None and not (is_number and -1e300 < value < 1e300):
            raise serializers.ValidationError({"scores": f"{name}: the value is not a number."})
        if value is not None and name in metrics and not 0 <= value <= 1:
            raise serializers.ValidationError(
                {"scores": f"{name}: {value:g} is not from 0 to 1. Open the run with it in measurements."}
            )
        metric = metric_of(pushed.request, name)
        if value is None:
            failed = ScoreStatus.NOT_APPLICABLE if lacks else ScoreStatus.METRIC_ERROR
            yield metric, (failed.value, None, storable(reason, []) or NO_SCORE)
        else:
            yield metric, (ScoreStatus.SCORED.value, float(value), storable(reason, []))


def _unknown_tasks(pushed: PushedRun, rows: Sequence[PushedResult]) -> dict[str, list[str]]:
    if pushed.dataset_version is None:
        return {}
    known = {
        *pushed.dataset_version.tasks.filter(task_id__in={row.task for row in rows}).values_list("task_id", flat=True)
    }
    unknown = [(place, row.task) for place, row in enumerate(rows) if row.task not in known]
    return {
        f"results[{place}].task_id": [f"{pushed.dataset} has no task {task}."] for place, task in unknown[:MAX_REPORTED]
    }


def _require_new_tasks(pushed: PushedRun, new: Sequence[PushedResult]) -> None:
    """Each task is asked once for each repeat, and stays the same task. Raises ``NotPossible``."""
    stored = pushed.results.filter(task__in={row.task for row in new})
    keys = {(task, repeat): key for task, repeat, key in stored.values_list("task", "repeat", "key")}
    tasks = dict(stored.values_list("task", "data__task"))
    for row in new:
        if (row.task, row.repeat) in keys:
            raise NotPossible(
                f"Results {keys[row.task, row.repeat]} and {row.key} are of the same task {row.task} and repeat "
                f"{row.repeat}. Number repeated questions by repeat. Nothing of this batch was stored."
            )
        if row.data.get("task") != tasks.get(row.task, row.data.get("task")):
            raise NotPossible(
                f"Result {row.key} has another input or expected answer than the earlier results of task {row.task}. "
                "Use another task_id. Nothing of this batch was stored."
            )
        keys[row.task, row.repeat] = row.key
        tasks[row.task] = row.data.get("task")
