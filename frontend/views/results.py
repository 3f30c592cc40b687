"""One result: what was sent, what was expected, what came back, and how it was scored."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from benchmarks.dataset_format.messages import images_of
from benchmarks.metrics.conversations import turn_answers
from benchmarks.models import LOST, Dataset, Outcome, Result, Run, Score, Transcript
from benchmarks.presentation.actions import ACTIONS, refusal
from benchmarks.presentation.numbers import plural
from benchmarks.presentation.sentences import FAILS_ALIKE, error_advice, score_with_status
from benchmarks.queries import results as reads
from benchmarks.queries.canvas_sets import canvas_of_task, doubt_about
from benchmarks.queries.steps import Steps, has_steps
from benchmarks.services.access import may, may_launch
from frontend import params
from frontend.texts import (
    Excerpt,
    attempt_rows,
    call_pairs,
    difference,
    differing_fields,
    excerpt,
    messages_as_json,
    passages_of,
    turns,
    written_expectation,
)
from frontend.view_models import metric_row
from frontend.views.result_labels import labels_on_page
from frontend.views.shared import may_copy, or_404

REASON_LENGTH = 1_000
"""Characters of the reason for a score and of what its judge read and wrote; the rest has an address of its own."""
HEAD_LENGTH = 280
"""Characters of a reason in the verdict at the head."""
AGREES: dict[str, float] = {Outcome.CORRECT: 1.0, Outcome.WRONG: 0.0}
"""Outcome → the value of another score that says the same, so that its reason tells nothing new."""
RETRIES_SHOWN = 50
TURN_LENGTH = 2_000


@require_safe
def result(request: HttpRequest, run_pk: int, pk: int) -> HttpResponse:
    result = _result(run_pk, pk)
    task, kept = result.task, params.kept(request.GET)
    transcript = getattr(result, "transcript", None)
    texts = None if result.run.texts_pruned else transcript
    steps = Steps(result) if texts and (texts.tool_calls or has_steps(result)) else None
    previous, following = reads.result_neighbors(result, params.result_filters(request.GET))
    scores = [_shown(score, texts, result.outcome) for score in reads.scores_of(result)]
    calls = call_pairs(task.expected_tools, texts.tool_calls) if texts else []
    detailed = [score for score in scores if not score["is_told"]]
    fields = marked = None
    if texts and not task.other_answers:
        compared = task.expected_output, texts.actual_output
        fields = differing_fields(*compared)
        marked = None if fields else difference(*compared)
    context = {
        "result": result,
        "run": result.run,
        "task": task,
        "transcript": transcript,
        "turns": turns(transcript.messages) if transcript else [],
        "answered": _final_answer(texts),
        "sent_question_only": bool(texts and texts.messages == [{"role": "user", "content": task.input}]),
        "canvas": canvas_of_task(task),
        "doubt": doubt_about(task),
        "fields": fields,
        "difference": marked,
        "passages": passages_of(task.context, texts.retrieved if texts else None),
        "images": images_of(task.messages),
        "unanswered": bool(result.error_message and not (transcript and transcript.actual_output)),
        "call_pairs": calls,
        "calls_alike": all(pair.equal and pair.expected == pair.made for pair in calls),
        "has_steps": steps is not None,
        "fault": steps.fault(task, written_expectation) if steps else None,
        "scores": scores,
        "detailed": detailed,
        "only_judged": detailed == scores[:1] and not any(map(_says_more, detailed)),
        "told_below": [score for score in scores[1:] if score["is_told"] and score["agrees"]],
        "conversation": _conversation(result, texts),
        "seed": result.run.sent_seed(result.repeat),
        "attempts": attempt_rows(transcript.attempts) if transcript else [],
        "request_noun": _request_noun(transcript),
        "advice": error_advice(result.error_kind, result.outcome) if result.error_message else "",
        "retry": _retry_label(request, result.run),
        "fails_alike": result.error_kind in FAILS_ALIKE,
        "rescore": may_launch(request.user) and refusal("rescore", result.run) is None,
        "failed_again": _failed_again(transcript.attempts[-1]) if transcript and transcript.attempts else None,
        "may_copy": may_copy(request, result.run),
        "may_fix": result.run.dataset.kind == Dataset.Kind.YAML and may(request.user, "benchmarks.change_task"),
        "may_ask_again": may_launch(request.user) and refusal("again", result.run) is None,
        "may_try_rubric": may_launch(request.user) and texts is not None and result.outcome not in LOST,
        "labels": labels_on_page(request, result, steps.counts().total if steps else 0),
        "elsewhere": reads.same_task_elsewhere(task, but=result),
        "previous": _address(run_pk, previous, kept),
        "following": _address(run_pk, following, kept),
        "whole": {part: reverse("frontend:whole-text", args=(run_pk, pk, part)) for part in _TEXTS},
        "crumbs": [
            ("Runs", reverse("frontend:runs")),
            (f"Run {run_pk}", f"{reverse('frontend:run', args=(run_pk,))}{kept}#results"),
            (task.task_id, None),
        ],
    }
    return render(request, "frontend/runs/result.html", context)


@require_safe
def whole_text(request: HttpRequest, run_pk: int, pk: int, part: str) -> HttpResponse:
    """One long text, byte for byte, as plain text that no browser interprets as anything else."""
    if part not in _TEXTS:
        raise Http404("This text does not exist.")
    result = _result(run_pk, pk)
    read, prunable = _TEXTS[part]
    # "Gone" (410), not "not found": the text existed, and no later request will find it.
    pruned = result.run.texts_pruned if prunable else ""
    return HttpResponse(
        f"This text was {pruned}.\n" if pruned else read(result),
        status=410 if pruned else 200,
        content_type="text/plain; charset=utf-8",
        headers={"X-Content-Type-Options": "nosniff"},
    )


_TEXTS: dict[str, tuple[Callable[[Result], str], bool]] = {
    "input": (lambda result: result.task.input, False),
    "expected": (lambda result: result.task.expected_output, False),
    "actual": (lambda result: result.transcript.actual_output, True),
    "reasoning": (lambda result: result.transcript.reasoning, True),
    "messages": (lambda result: messages_as_json(result.transcript.messages), True),
    "scores": (lambda result: "\n\n".join(_texts_of(score) for score in reads.scores_of(result)), True),
    "error": (lambda result: result.error_message, False),
}
"""Part of the address → how to read the text, and whether pruning deletes it."""


def _result(run_pk: int, pk: int) -> Result:
    return or_404(lambda: reads.result_detail(run_pk, pk), f"Result {pk} does not exist in run {run_pk}.")


def _conversation(result: Result, transcript: Transcript | None) -> list[dict[str, object]]:
    """The turns of a scripted conversation: what the user said, what was expected and answered, and each verdict."""
    task, turns = result.task, result.task.turns or ()
    opening = sum(message["role"] == "user" for message in task.messages or ())
    answers = turn_answers(transcript.messages, opening, transcript.actual_output) if transcript else []
    verdicts = [
        (metric_row(score.metric), {verdict["turn"]: verdict for verdict in score.detail.get("turns", ())})
        for score in reads.scores_of(result)
    ]
    return [
        {
            "number": number,
            "user": excerpt(turn["user"], TURN_LENGTH),
            "expected": excerpt(_expected(turn if number < len(turns) else vars(task)), TURN_LENGTH),
            "answer": excerpt(answers[number - 1], TURN_LENGTH) if number <= len(answers) else None,
            "verdicts": [
                {
                    "metric": metric.title,
                    "score": score_with_status(verdict["value"], verdict["status"]),
                    "right": verdict["value"] == 1,
                    "reason": verdict["reason"],
                }
                for metric, by_turn in verdicts
                if (verdict := by_turn.get(number))
            ],
        }
        for number, turn in enumerate(turns, 1)
    ]


def _final_answer(texts: Transcript | None) -> Excerpt | None:
    """What the model said after the stored messages; ``None`` if they end with it."""
    if texts is None or not texts.actual_output:
        return None
    last = texts.messages[-1] if texts.messages else {}
    is_last = last.get("role") == "assistant" and last.get("content") == texts.actual_output
    return None if is_last else excerpt(texts.actual_output, TURN_LENGTH)


def _expected(turn: Mapping[str, Any]) -> str:
    """What a turn, or the task for its last one, states in words: texts, pattern, constraints."""
    texts = turn.get("expected_output") or ""
    stated = [" / ".join(texts) if isinstance(texts, list) else texts, *(turn.get("other_answers") or ())]
    stated += [f"pattern: {turn['pattern']}"] if turn.get("pattern") else []
    stated += [f"constraints: {json.dumps(turn['constraints'], ensure_ascii=False)}"] if turn.get("constraints") else []
    return "\n".join(filter(None, stated))


def _shown(score: Score, texts: Transcript | None, outcome: str | None) -> dict[str, object]:
    judge = score.judge or {}
    answer = texts.actual_output.strip().casefold() if texts else ""
    extracted = score.extracted if score.extracted and score.extracted.casefold() != answer else None
    shown = {
        "metric": metric_row(score.metric),
        "text": score_with_status(score.value, score.status),
        "reason": excerpt(score.reason, REASON_LENGTH),
        "extracted": None if extracted is None else excerpt(extracted, REASON_LENGTH),
        "judge_prompt": excerpt(str(judge.get("prompt", "")), REASON_LENGTH),
        "judge_reply": excerpt(str(judge.get("raw_reply", "")), REASON_LENGTH),
        "judge_notes": judge.get("notes", ()),
        "second_judge": score.detail.get("judge"),
        "verdicts": score.detail.get("verdicts_of", ()),
        "judged": bool(judge),
        "agrees": score.value == AGREES.get(outcome or ""),
        "retries": [_retry(retry, retry["reason"]) for retry in score.detail.get("retries", [])[-RETRIES_SHOWN:]],
    }
    return shown | {"is_told": texts is not None and not shown["judged"] and not _says_more(shown)}


def _says_more(shown: Mapping[str, Any]) -> bool:
    """Whether something of a score, besides what its judge read and wrote, does not fit the head of the page."""
    more = ("retries", "verdicts", "judge_notes")
    whole = len(shown["reason"].text) <= HEAD_LENGTH and not shown["reason"].left_out
    return not whole or shown["extracted"] is not None or any(shown[name] for name in more)


def _texts_of(score: Score) -> str:
    """What the page shows of a score, in full."""
    judge = score.judge or {}
    texts = {
        "Compared part of the answer": score.extracted,
        "Prompt of the judge": judge.get("prompt"),
        "Response of the judge": judge.get("raw_reply"),
    }
    head = f"{metric_row(score.metric).title}: {score_with_status(score.value, score.status)}\n{score.reason}"
    return "\n\n".join([head, *(f"{title}:\n{text}" for title, text in texts.items() if text)])


def _retry_label(request: HttpRequest, run: Run) -> str:
    """What the button says that retries the errors of the run; empty if that is not possible."""
    possible = may_launch(request.user) and refusal("retry", run) is None
    return ACTIONS["retry"].label.format(errors=plural(run.errors, "error")) if possible else ""


def _request_noun(texts: Transcript | None) -> str:
    """Of a conversation or with tools, several requests were answered, which are no attempts at one answer."""
    answered = sum(not attempt["error_kind"] for attempt in texts.attempts) if texts else 0
    return "Request" if answered > 1 else "Attempt"


def _failed_again(attempt: Mapping[str, Any]) -> dict[str, object] | None:
    """When the last attempt retried an error, and why it failed; ``None`` if it did not, or succeeded."""
    failed = attempt.get("retried_at") and attempt["error_kind"]
    return _retry(attempt, attempt["message"]) if failed else None


def _retry(attempt: Mapping[str, Any], reason: str) -> dict[str, object]:
    return {"at": datetime.fromisoformat(attempt["retried_at"]), "reason": reason}


def _address(run_pk: int, pk: int | None, kept: str) -> str | None:
    return None if pk is None else f"{reverse('frontend:result', args=(run_pk, pk))}{kept}"
