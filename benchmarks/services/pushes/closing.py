"""Close a run that received results: check it, and store it as an import of a file does."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from django.db import transaction
from django.db.models import Max
from django.utils import timezone

from benchmarks.dataset_format.spec import TaskSpec
from benchmarks.dataset_format.validation import validate_task_fields
from benchmarks.imports.assembly import with_all_scores
from benchmarks.imports.runs import ImportedResult, ImportedRun
from benchmarks.metrics.base import Score, ScoreStatus
from benchmarks.metrics.imported import PUSHED
from benchmarks.models import DatasetVersion, PushedResult, PushedRun, Run, Task
from benchmarks.presentation.numbers import plural
from benchmarks.providers.steps import TOOL_CALL, step_of
from benchmarks.services.access import Caller
from benchmarks.services.errors import InvalidRequest, NotPossible
from benchmarks.services.imports import ImportRequest, chosen_metrics, imported_tasks, named_here, store_run
from benchmarks.services.pushes.requests import MAX_BATCH, NO_SCORE, CloseRequest, metric_of, metrics_of
from benchmarks.services.requests import validated_by

TOLERANCE = 1e-6
"""By which a mean given at the end may differ, relative to means above 1."""
_NUMBERS = ("duration_ms", "cost_usd", "tokens_in", "tokens_out", "reasoning_tokens", "cached_tokens")


def close_push(pushed_id: int, data: Any, user: Caller = None) -> Run:
    """Make the run, ended and with its summary. A run that is closed already is returned.

    Raises ``InvalidRequest``, and ``NotPossible`` if the number of results or a mean is another one than given; then
    the run stays open.
    """
    given = validated_by(CloseRequest(data=data))
    with transaction.atomic():
        pushed = PushedRun.objects.select_for_update(of=("self",)).select_related("run").get(pk=pushed_id)
        if pushed.run is not None:
            return pushed.run
        wanted = {count for count in (given.get("count"), pushed.expected) if count is not None}
        if not wanted:
            raise InvalidRequest({"count": ["Enter the number of results, because the run was opened without it."]})
        for count in wanted - {pushed.received}:
            raise NotPossible(
                f"The run has received {plural(pushed.received, 'result')}; {count:,} are expected. "
                "It stays open. Send what is missing, or open a new run."
            )
        run = _store(pushed, user)
        _require_means(run, pushed, given["means"])
        pushed.run = run
        pushed.save(update_fields=["run"])
        pushed.results.all().delete()
    return run


def _store(pushed: PushedRun, user: Caller) -> Run:
    """The run with all results that were received. Raises ``NotPossible``."""
    specs: dict[str, TaskSpec] = {}
    results = []
    for row in pushed.results.iterator(chunk_size=MAX_BATCH):
        if "task" in row.data and row.task not in specs:
            spec, _ = validate_task_fields(row.data["task"])
            assert spec is not None, "it was validated when it was received"
            specs[row.task] = spec
        results.append(_result(row))
    request = pushed.request
    metrics = metrics_of(request)
    source = ImportedRun(
        format=PUSHED,
        model=pushed.model,
        name=pushed.dataset,
        tasks=[*specs.values()],
        results=with_all_scores(results, Score(ScoreStatus.METRIC_ERROR, reason=NO_SCORE), metrics),
        metrics=metrics,
        parameters=request["parameters"],
        tags=request["tags"],
        completed_at=timezone.now(),
    )
    origin = {"tool": request["tool"]} if request["tool"] else {}
    how = ImportRequest(origin, chosen_metrics(request["own_metrics"]), None, None, user, request["name"])
    version, tasks = _asked_tasks(pushed) if pushed.dataset_version_id else imported_tasks(source, how)
    key = hashlib.sha256(f"{PUSHED} {pushed.pk} {pushed.created_at.isoformat()}".encode()).hexdigest()
    return store_run(named_here(source), version, tasks, how, key).run


def _asked_tasks(pushed: PushedRun) -> tuple[DatasetVersion, dict[str, Task]]:
    """The tasks of the dataset by id. Raises ``NotPossible`` unless all were asked in every repeat."""
    version = pushed.dataset_version
    assert version is not None
    repeats = pushed.results.aggregate(most=Max("repeat"))["most"]
    if pushed.received != version.task_count * repeats:
        raise NotPossible(
            f"{pushed.dataset} has {plural(version.task_count, 'task')}, so {plural(repeats, 'repeat')} are "
            f"{version.task_count * repeats:,} results; the run has received {pushed.received:,}. It stays open. "
            "Send the others, with an error where there is no answer."
        )
    return version, {task.task_id: task for task in version.tasks.all()}


def _result(row: PushedResult) -> ImportedResult:
    data = row.data
    return ImportedResult(
        task_id=row.task,
        repeat=row.repeat,
        answer=data.get("answer", ""),
        reasoning=data.get("reasoning", ""),
        tool_calls=[_stored_call(call) for call in data.get("tool_calls", _calls_of(data.get("steps", ())))],
        retrieved=data.get("retrieved"),
        steps=partial(map, step_of, data["steps"]) if data.get("steps") else None,
        scores={
            metric: Score(ScoreStatus(status), value, reason)
            for metric, (status, value, reason) in data["scores"].items()
        },
        error=data.get("error"),
        finish_reason=data.get("finish_reason", ""),
        **{name: data.get(name) for name in _NUMBERS},
    )


def _calls_of(steps: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The calls among the steps, of a result that does not name them itself."""
    calls = (step for step in steps if step["kind"] == TOOL_CALL)
    return [{"name": step.get("name", ""), "arguments": step.get("arguments", {})} for step in calls]


def _stored_call(call: Mapping[str, Any]) -> dict[str, object]:
    arguments = call["arguments"]
    is_object = isinstance(arguments, dict)
    return {
        "name": call["name"],
        "arguments": arguments if is_object else None,
        "raw": json.dumps(arguments),
        "malformed": not is_object,
    }


def _require_means(run: Run, pushed: PushedRun, given: Mapping[str, float]) -> None:
    for name, wanted in given.items():
        metric = metric_of(pushed.request, name)
        mean = run.numbers_of(metric).mean
        if mean is None:
            raise NotPossible(f"The mean of {name} is {wanted:g} as given, and no result has this score.")
        if abs(mean - wanted) > TOLERANCE * max(1.0, abs(mean)):
            raise NotPossible(f"The mean of {name} is {wanted:.6g} as given, and {mean:.6g} here. The run stays open.")
