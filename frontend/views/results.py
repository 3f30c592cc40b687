"""One result: what was sent, what was expected, what came back, and how it was judged."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from benchmarks.models import Result, Score
from benchmarks.queries import results as reads
from benchmarks.queries.canvas_sets import canvas_of_task
from frontend import params
from frontend.texts import difference, excerpt
from frontend.transcripts import attempt_rows, call_pairs, turns, whole_conversation
from frontend.view_models import MetricRow, metric_row

REASON_LENGTH = 4_000
RETRIES_SHOWN = 50


@require_safe
def result(request: HttpRequest, run_pk: int, pk: int) -> HttpResponse:
    found = _result(run_pk, pk)
    task, kept = found.task, params.kept(request.GET)
    transcript = getattr(found, "transcript", None)
    kept_texts = transcript if transcript and not found.run.texts_pruned else None
    previous, following = reads.result_neighbours(found, params.result_filters(request.GET))
    context = {
        "result": found,
        "run": found.run,
        "task": task,
        "transcript": transcript,
        "turns": turns(transcript.messages) if transcript else [],
        "canvas": canvas_of_task(task),
        "difference": difference(task.expected_output, kept_texts.actual_output) if kept_texts else None,
        "context_parts": [excerpt(str(part)) for part in task.context[:20]],
        "call_pairs": call_pairs(task.expected_tools, kept_texts.tool_calls) if kept_texts else [],
        "scores": [_shown(score) for score in _in_order(found)],
        "attempts": attempt_rows(transcript.attempts) if transcript else [],
        "failed_again": _failed_again(transcript.attempts[-1]) if transcript and transcript.attempts else None,
        "elsewhere": reads.same_task_elsewhere(task, but=found),
        "previous": _address(run_pk, previous, kept),
        "following": _address(run_pk, following, kept),
        "whole": {part: reverse("frontend:whole-text", args=(run_pk, pk, part)) for part in _PARTS},
        "crumbs": [
            ("Runs", reverse("frontend:runs")),
            (f"Run {run_pk}", f"{reverse('frontend:run', args=(run_pk,))}{kept}#results"),
            (task.task_id, None),
        ],
    }
    return render(request, "frontend/runs/result.html", context)


@require_safe
def whole_text(request: HttpRequest, run_pk: int, pk: int, part: str) -> HttpResponse:
    """One long text, byte for byte, as plain text that no browser takes for anything else."""
    if part not in _PARTS:
        raise Http404("there is no such text")
    found = _result(run_pk, pk)
    headers = {"X-Content-Type-Options": "nosniff"}
    gone = found.run.texts_pruned if part in _PRUNED_PARTS else ""
    text = f"This text was {gone}.\n" if gone else _PARTS[part](found)
    return HttpResponse(text, status=410 if gone else 200, content_type="text/plain; charset=utf-8", headers=headers)


_PARTS: dict[str, Any] = {
    "input": lambda result: result.task.input,
    "expected": lambda result: result.task.expected_output,
    "actual": lambda result: result.transcript.actual_output,
    "reasoning": lambda result: result.transcript.reasoning,
    "messages": lambda result: whole_conversation(result.transcript.messages),
    "error": lambda result: result.error_message,
}


_PRUNED_PARTS = frozenset({"actual", "reasoning", "messages"})


def _result(run_pk: int, pk: int) -> Result:
    try:
        return reads.result_detail(run_pk, pk)
    except Result.DoesNotExist:
        raise Http404(f"run {run_pk} has no result {pk}") from None


def _in_order(result: Result) -> list[Score]:
    order = {name: place for place, name in enumerate(result.run.metrics)}
    return sorted(reads.scores_of(result), key=lambda score: order.get(score.metric, len(order)))


def _shown(score: Score) -> dict[str, object]:
    metric: MetricRow = metric_row(score.metric)
    judge = score.judge or {}
    return {
        "metric": metric,
        "status": score.status,
        "value": score.value,
        "reason": excerpt(score.reason, REASON_LENGTH),
        "extracted": None if score.extracted is None else excerpt(score.extracted, REASON_LENGTH),
        "judge_prompt": excerpt(str(judge.get("prompt", "")), REASON_LENGTH),
        "judge_reply": excerpt(str(judge.get("raw_reply", "")), REASON_LENGTH),
        "judged": bool(judge),
        "retries": [_retry(retry, retry["reason"]) for retry in score.detail.get("retries", [])[-RETRIES_SHOWN:]],
    }


def _failed_again(attempt: Mapping[str, Any]) -> dict[str, object] | None:
    """When the last attempt was a retry of an error, and why it failed; ``None`` where it was none or succeeded."""
    retried = attempt.get("retried_at") and attempt["error_kind"]
    return _retry(attempt, attempt["message"]) if retried else None


def _retry(kept: Mapping[str, Any], reason: str) -> dict[str, object]:
    return {"at": datetime.fromisoformat(kept["retried_at"]), "reason": reason}


def _address(run_pk: int, pk: int | None, kept: str) -> str | None:
    return None if pk is None else f"{reverse('frontend:result', args=(run_pk, pk))}{kept}"
