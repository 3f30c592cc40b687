"""Set aside the scores of tasks whose reference is doubtful: by the audit of their canvas set, or marked by a person.

Such a score says nothing about the model. It keeps its value in ``Score.detail``, but has none in summaries, in
comparisons and in rankings, unless the run includes doubtful expected answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db import transaction
from django.db.models import Q

from benchmarks.engine.execution.scoring import leading_value, outcome_of, scores_by_result
from benchmarks.engine.sql import among, update_rows
from benchmarks.metrics.base import Metric
from benchmarks.metrics.base import ScoreStatus as Status
from benchmarks.metrics.registered_metrics import metric_named
from benchmarks.models import Result, ResultState, Run, Task
from benchmarks.models import Score as StoredScore
from tasks_app.models import Question

BATCH = 1_000


def apply_audit(run: Run) -> bool:
    """Set aside and put back scores until they agree with audit, marks and ``Run.include_doubtful``.

    Called before a run is summarized. Returns whether anything changed.
    """
    canvas_set = run.dataset.canvas_set
    audits = canvas_set.audit.get("tasks", {}).values() if canvas_set else ()
    marked = Q(is_doubtful=True)
    if any(audit["wrong"] or audit["undetermined"] for audit in audits):
        marked |= Q(question__audit__in=Question.DOUBTS)
    doubtful = Task.objects.filter(marked, version=run.dataset_version_id)
    if not run.n_doubtful and not doubtful.exists():
        return False
    if run.include_doubtful:
        doubtful = doubtful.none()
    metrics = [metric for name in run.metrics if (metric := metric_named(name))]
    scores = run.scores.filter(metric__in=[metric.name for metric in metrics if metric.decides_outcome]).order_by()
    valued = scores.filter(value__isnull=False, result__task__in=doubtful)
    set_aside = scores.filter(status=StoredScore.Status.DOUBTFUL).exclude(result__task__in=doubtful)
    changed = False
    for chosen in (valued, set_aside):
        columns = chosen.values_list("pk", "result", "status", "value", "detail")
        while batch := list(columns[:BATCH]):
            with transaction.atomic():
                update_rows(StoredScore, ("status", "value", "detail"), map(_turned, batch))
                _update_outcomes(metrics, list({result for _, result, *_ in batch}))
            changed = True
    return changed


def _turned(row: Sequence[Any]) -> tuple[Any, ...]:
    """A score with a value without it, and the other way round."""
    pk, _, status, value, detail = row
    if status == Status.DOUBTFUL:
        kept = detail["set_aside"]
        return kept["status"], kept["value"], {key: part for key, part in detail.items() if key != "set_aside"}, pk
    return Status.DOUBTFUL.value, None, {**detail, "set_aside": {"status": status, "value": value}}, pk


def _update_outcomes(metrics: Sequence[Metric], result_ids: Sequence[int]) -> None:
    scores = scores_by_result(StoredScore.objects.filter(result__in=among(result_ids)))
    results = Result.objects.filter(pk__in=among(result_ids), state__in=(ResultState.DONE, ResultState.ERROR))
    rows = [
        (*outcome_of(metrics, scores[pk], finish_reason), leading_value(metrics, scores[pk]), pk)
        for pk, finish_reason in results.values_list("pk", "finish_reason")
    ]
    update_rows(Result, ("outcome", "failure", "value"), rows)
