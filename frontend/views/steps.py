"""What an agent did for a result, step by step, and beside what another one did for the same task."""

from __future__ import annotations

import json
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from benchmarks.metrics.task_parts import Row
from benchmarks.metrics.worlds import Change
from benchmarks.models import Outcome, Result
from benchmarks.models.steps import in_words
from benchmarks.presentation.labels import OUTCOME
from benchmarks.presentation.numbers import n_of
from benchmarks.providers.steps import MESSAGE
from benchmarks.queries import results as reads
from benchmarks.queries.reviews import labels_of_answer
from benchmarks.queries.steps import StepFilters, StepPage, Steps, calls_beside, world_state
from benchmarks.services.access import may_see_reviewers
from benchmarks.services.labels import reviewer_name
from frontend import params
from frontend.reviews import contradiction
from frontend.steps import step_rows
from frontend.texts import Excerpt, excerpt, written_expectation
from frontend.views.shared import or_404

FEW = 5
"""Steps that are read at a glance: nothing searches them."""
SAME = 60
"""Characters by which the last step and the final answer are known to be the same."""


@require_safe
def steps(request: HttpRequest, run_pk: int, pk: int) -> HttpResponse:
    result = _result(run_pk, pk)
    found = Steps(result)
    filters = StepFilters(
        first=params.whole_number(request.GET, "from") or 1,
        failed=params.text(request.GET, "only") == "failed",
        calls=params.text(request.GET, "only") == "calls",
        text=params.text(request.GET, "text"),
    )
    page, filtered = found.page(filters), filters != StepFilters(filters.first)
    counts, others = found.counts(), reads.same_task_elsewhere(result.task, but=result)
    scores = list(reads.scores_of(result))
    previous, following = reads.result_neighbors(result, params.result_filters(request.GET))
    labels = labels_of_answer(result, reviewer_name(request.user), may_see_reviewers(request.user))
    context = {
        "result": result,
        "labels": {"contradiction": contradiction(labels, result)},
        "run": result.run,
        "task": result.task,
        "outcome": OUTCOME.get(result.outcome, ""),
        "counts": counts,
        "filters": filters,
        "filtered": filtered,
        "searchable": counts.total > FEW or filtered,
        "comparable": counts.calls and others,
        "page": page,
        "rows": step_rows(page.rows, lambda step: reverse("frontend:step", args=(run_pk, pk, step.position))),
        "scores": scores,
        "reason": next((score.reason for score in scores), ""),
        "answer": _answer(result, page) if not filtered else None,
        "fault": found.fault(result.task, written_expectation),
        "next_failed": found.next_failed(filters.first if "from" in request.GET else 0),
        "others": others,
        "others_said": f"{n_of(sum(each.outcome == Outcome.CORRECT for each in others), len(others))} correct",
        "beside": _beside(found, others, params.whole_number(request.GET, "beside")),
        "has_world": bool(result.task.world or result.run.dataset_version.world),
        "state": _state(result) if params.text(request.GET, "view") == "state" else None,
        "previous": previous,
        "following": following,
        "crumbs": [
            ("Runs", reverse("frontend:runs")),
            (f"Run {run_pk}", f"{reverse('frontend:run', args=(run_pk,))}#results"),
            (result.task.task_id, reverse("frontend:result", args=(run_pk, pk))),
            ("Steps", None),
        ],
    }
    return render(request, "frontend/runs/steps.html", context)


@require_safe
def step(request: HttpRequest, run_pk: int, pk: int, position: int) -> HttpResponse:
    """One step with all that it says, as JSON that no browser interprets as anything else."""
    found = Steps(_result(run_pk, pk))
    whole = or_404(lambda: found.step(position), f"Step {position} does not exist in result {pk}.").step.as_json()
    return HttpResponse(
        json.dumps(whole, ensure_ascii=False, indent=2),
        content_type="text/plain; charset=utf-8",
        headers={"X-Content-Type-Options": "nosniff"},
    )


def _result(run_pk: int, pk: int) -> Result:
    return or_404(lambda: reads.result_detail(run_pk, pk), f"Result {pk} does not exist in run {run_pk}.")


def _answer(result: Result, page: StepPage) -> Excerpt | None:
    """What the agent said at the end; ``None`` on earlier pages, if the last step says it, or without a stored text."""
    transcript = getattr(result, "transcript", None)
    answer = transcript.actual_output if transcript and not result.run.texts_pruned else ""
    last = page.rows[-1] if page.rows else None
    is_told = last is not None and last.kind == MESSAGE and answer.strip().startswith(last.begins[:SAME].strip())
    return None if page.following or is_told or not answer else excerpt(answer)


def _state(result: Result) -> dict[str, Any] | None:
    """The rows that changed, field by field, and those that the task expects at the end."""
    found = None if result.run.texts_pruned else world_state(result)
    if found is None:
        return None
    expected = [
        (f"{each['table']}: {in_words(each['where'])}", each.get("count", 1), holds) for each, holds in found.expected
    ]
    return {"changes": [(change, _fields(change)) for change in found.changes], "expected": expected}


def _fields(change: Change) -> list[tuple[str, str, str, bool]]:
    """Name, value before, value after, and whether they differ; empty where there is none."""
    before, after = change.before or {}, change.after or {}

    def shown(row: Row, name: str) -> str:
        return in_words(row[name]) if name in row else ""

    names = {**before, **after}
    return [(name, shown(before, name), shown(after, name), before.get(name) != after.get(name)) for name in names]


def _beside(found: Steps, others: list[Result], key: int | None) -> dict[str, Any] | None:
    """The calls beside those of another result of the same task; ``None`` if it is none of them."""
    if key is None or key not in {other.pk for other in others}:
        return None
    other = reads.result_of_any_run(key)
    return {"result": other, "pairs": calls_beside(found, Steps(other))}
