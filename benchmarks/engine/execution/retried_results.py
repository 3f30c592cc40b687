"""Trying again what ended in an error: the error stays until a success replaces it, and each try is written down.

While a result waits to be tried again its row still says how it failed, so a worker that dies on it loses nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from django.utils import timezone

from benchmarks.engine.execution.outcomes import FAILED
from benchmarks.engine.execution.sql import update_rows
from benchmarks.engine.execution.work_items import Answer, Judged
from benchmarks.metrics.base import JudgeUsage, Score, ScoreStatus
from benchmarks.models import Result, ResultState, Transcript
from benchmarks.models import Score as StoredScore
from benchmarks.providers.retrying import Attempt

Attempts = Sequence[Attempt | Mapping[str, Any]]
MOST_KEPT = 200
"""Attempts, and failed judgings, that are kept of one result however often it is tried again: the latest."""


def attempts_before(ids: Sequence[int]) -> dict[int, Attempts]:
    """Result id → the attempts that ended in the error it has, for results that are tried again."""
    return dict(Transcript.objects.filter(pk__in=ids).values_list("pk", "attempts")) if ids else {}


def all_attempts(answer: Answer, before: Mapping[int, Attempts]) -> Attempts:
    """The attempts behind an answer; those of a later try follow the earlier ones and say when that was."""
    earlier = before.get(answer.question.result_id)
    if earlier is None:
        return answer.attempts
    now = timezone.now().isoformat()
    return [*earlier, *({**asdict(attempt), "retried_at": now} for attempt in _tried(answer))][-MOST_KEPT:]


def _tried(answer: Answer) -> Sequence[Attempt]:
    """A try that failed before anything was sent is written down too."""
    if answer.attempts or answer.error is None:
        return answer.attempts
    return [Attempt(1, 0.0, 0.0, answer.error.kind, answer.error.status, answer.error.message, 0.0)]


def write_failed_again(answers: Sequence[Answer], before: Mapping[int, Attempts]) -> None:
    """End results with the error they had, and add the attempts that failed again."""
    tried = [(answer.question.result_id, all_attempts(answer, before)) for answer in answers]
    update_rows(Transcript, ("attempts",), ((attempts, result_id) for result_id, attempts in tried))
    ended = ((ResultState.ERROR, None, len(attempts), result_id) for result_id, attempts in tried)
    update_rows(Result, ("state", "claimed_by", "attempts"), ended)


def failed_scores(ids: Sequence[int]) -> dict[int, dict[str, StoredScore]]:
    """Result id → metric → the score that could not be taken, for results that are judged again."""
    found: dict[int, dict[str, StoredScore]] = defaultdict(dict)
    if ids:
        for score in StoredScore.objects.filter(result__in=ids, status__in=FAILED):
            found[score.result_id][score.metric] = score
    return found


def with_errors_kept(judged: Judged, known: Mapping[str, StoredScore]) -> Judged:
    """The same, but a metric that failed before and fails again keeps its error, with the new one written beside it."""
    new = {**judged.request.rescored, **judged.scores}
    again = {name: score for name, score in new.items() if name in known and score.status in FAILED}
    if not again:
        return judged
    return replace(
        judged,
        request=replace(judged.request, rescored=_without(again, judged.request.rescored)),
        scores=_without(again, judged.scores),
        kept={name: _failed_again(known[name], score) for name, score in again.items()},
        unscored=(*judged.unscored, *(score.usage for score in again.values() if score.usage)),
    )


def _without(again: Mapping[str, Score], scores: Mapping[str, Score]) -> dict[str, Score]:
    return {name: score for name, score in scores.items() if name not in again}


def _failed_again(stored: StoredScore, score: Score) -> Score:
    retries = [*stored.detail.get("retries", ()), {"retried_at": timezone.now().isoformat(), "reason": score.reason}]
    return Score(
        ScoreStatus(stored.status),
        reason=stored.reason,
        extracted=stored.extracted,
        usage=JudgeUsage(**stored.judge) if stored.judge else None,
        detail={**stored.detail, "retries": retries[-MOST_KEPT:]},
    )
