"""The books of a shift: claiming results, and writing down what came of them.

Claims and endings are conditional UPDATEs inside one transaction with the run's counters, so a job that runs twice, or
a shift that was taken for dead, changes nothing twice. Answers are written in batches.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple, TypeVar

from django.db import connection, transaction
from django.db.models import F, QuerySet
from django.utils import timezone

from benchmarks.engine.execution import retried_results
from benchmarks.engine.execution.budget import Price
from benchmarks.engine.execution.outcomes import failed_score, leading_value, outcome_of
from benchmarks.engine.execution.sql import among, update_rows, upsert_rows
from benchmarks.engine.execution.work_items import Answer, Judged, Question, ToJudge
from benchmarks.metrics.base import Metric, Score
from benchmarks.models import CachedResponse, Lease, Outcome, Result, ResultState, Run, Transcript
from benchmarks.models import Score as StoredScore
from benchmarks.providers.base import ChatReply, Message, known_sum

ENDINGS = (
    "state",
    "claimed_by",
    "outcome",
    "value",
    "error_kind",
    "error_message",
    "duration_ms",
    "tokens_in",
    "tokens_out",
    "cost_usd",
    "judge_cost_usd",
    "cached",
    "attempts",
    "finish_reason",
    "finished_at",
)
JUDGE_ENDINGS = (
    "state",
    "claimed_by",
    "outcome",
    "value",
    "error_kind",
    "error_message",
    "judge_cost_usd",
    "finished_at",
)
TRANSCRIPT = ("messages", "picture", "actual_output", "reasoning", "tool_calls", "attempts", "notes", "prompt_hash")
SCORE = ("run", "status", "value", "reason", "extracted", "detail", "judge")
MAX_ERROR = 2_000


@dataclass(frozen=True, slots=True)
class ResultStore:
    """What the ledger needs to know of a shift's run."""

    run_id: int
    lease: Lease
    metrics: Sequence[Metric]
    price: Price
    judge_price: Price


@dataclass(frozen=True, slots=True)
class Scored:
    """An answer with the scores it has so far; ``to_judge`` says whether a judge still has to be asked."""

    answer: Answer
    scores: Mapping[str, Score]
    to_judge: bool
    judge_reserve_usd: float = 0.0


def claim(lease: Lease, state: ResultState, most: int) -> list[int]:
    """Claim up to ``most`` results that wait in ``state`` (pending or answered); returns their ids in order.

    None for a shift that was ended meanwhile, as nobody would give back what it claims.
    """
    into = ResultState.CLAIMED if state is ResultState.PENDING else ResultState.JUDGING
    with transaction.atomic():
        if Lease.objects.select_for_update().filter(pk=lease.pk).first() is None:
            return []
        waiting = Result.objects.filter(run=lease.run, state=state).order_by("position")
        if connection.features.has_select_for_update_skip_locked:
            waiting = waiting.select_for_update(skip_locked=True)
        ids = list(waiting.values_list("id", flat=True)[:most])
        if ids:
            Result.objects.filter(id__in=among(ids), state=state).update(state=into, claimed_by=lease.pk)
        return ids


Work = TypeVar("Work", Question, ToJudge)


def reserve_for(lease: Lease, units: Sequence[Work], *, idle: bool = False) -> list[Work]:
    """Set the worst-case cost of as many units aside as the budget covers, in order; the others are unclaimed.

    ``idle`` says that nothing of this shift is under way. Then, if it is alone on the run, nothing at all is, and what
    is still reserved was left by a worker that died: it is free again. Where the cost so far is unknown, because the
    endpoint reports no tokens, no further request is known to fit.
    """
    assert lease.run_id is not None, "executors hold leases on runs"
    with transaction.atomic():
        run = Run.objects.select_for_update().get(pk=lease.run_id)
        if idle and not run.leases.exclude(pk=lease.pk).exists():
            run.reserved_usd = 0.0
        spent = (run.cost_usd or 0.0) + (run.judge_cost_usd or 0.0)
        unknown = run.cost_usd is None or run.judge_cost_usd is None
        left = -1.0 if unknown else (run.budget_usd or 0.0) - spent - run.reserved_usd
        fitting: list[Work] = []
        reserved = 0.0
        for unit in units:
            if reserved + unit.reserved_usd > left:
                break
            reserved += unit.reserved_usd
            fitting.append(unit)
        Run.objects.filter(pk=run.pk).update(reserved_usd=run.reserved_usd + reserved)
        _unclaim(lease, [unit.result_id for unit in units[len(fitting) :]])
    return fitting


def give_back_claims(lease: Lease) -> None:
    """Make what the lease claimed available again; in the transaction that deletes the lease, with its run locked."""
    if lease.run_id is None:
        return
    _give_back(Result.objects.filter(run=lease.run_id, claimed_by=lease.pk))
    if not Lease.objects.filter(run=lease.run_id).exists():
        Run.objects.filter(pk=lease.run_id).update(reserved_usd=0.0)  # nothing is in flight, so nothing can cost


def _unclaim(lease: Lease, ids: Sequence[int]) -> None:
    _give_back(Result.objects.filter(id__in=ids, claimed_by=lease.pk))


def _give_back(claimed: QuerySet[Result]) -> None:
    claimed.filter(state=ResultState.CLAIMED).update(state=ResultState.PENDING, claimed_by=None)
    claimed.filter(state=ResultState.JUDGING).update(state=ResultState.ANSWERED, claimed_by=None)


def write_answers(book: ResultStore, batch: Sequence[Scored]) -> set[int]:
    """Write answered and failed results; returns the ids that were this shift's to write.

    A result that is tried again after an error keeps that error, and all that belongs to it, where it fails again.
    """
    with transaction.atomic():
        owned = _owned(book, [scored.answer.question.result_id for scored in batch], ResultState.CLAIMED)
        mine = [scored for scored in batch if scored.answer.question.result_id in owned]
        before = retried_results.attempts_before([id for id, held in owned.items() if held.outcome])
        failed_again = [s.answer for s in mine if s.answer.error and s.answer.question.result_id in before]
        new = [s for s in mine if not (s.answer.error and s.answer.question.result_id in before)]
        upsert_rows(Transcript, ("result",), TRANSCRIPT, (_transcript(scored.answer, before) for scored in new))
        _upsert_scores(book, [(scored.answer.question.result_id, scored.scores) for scored in new])
        rows = [_answer_row(book, scored, before) for scored in new]
        _update_results(ENDINGS, rows)
        retried_results.write_failed_again(failed_again, before)
        ended = [row["state"] for row in rows if row["state"] != ResultState.JUDGING]
        ended += [ResultState.ERROR] * len(failed_again)
        _count(book, ended, released=_released(mine), answers=[scored.answer for scored in mine])
        _remember(new)
    return set(owned)


def write_judged(book: ResultStore, batch: Sequence[Judged]) -> None:
    """Write the scores of judged metrics, and with them the end of their results.

    Where judging was broken off, what it brought is written and its result stays claimed. A metric that failed before
    and fails again keeps the error it had.
    """
    with transaction.atomic():
        owned = _owned(book, [judged.request.result_id for judged in batch], ResultState.JUDGING)
        mine = [judged for judged in batch if judged.request.result_id in owned]
        known = retried_results.failed_scores([id for id, held in owned.items() if held.outcome])
        mine = [retried_results.with_errors_kept(judged, known.get(judged.request.result_id, {})) for judged in mine]
        _upsert_scores(book, [(judged.request.result_id, judged.all_scores) for judged in mine])
        rows = [_judged_row(book, judged, owned[judged.request.result_id]) for judged in mine]
        ended = [row for row in rows if row["state"] != ResultState.JUDGING]
        _update_results(JUDGE_ENDINGS, ended)
        _update_results(("judge_cost_usd",), [row for row in rows if row["state"] == ResultState.JUDGING])
        usages = [usage for judged in mine for usage in judged.usages]
        Run.objects.filter(pk=book.run_id).update(
            done=F("done") + len(ended),
            errors=F("errors") + sum(row["state"] == ResultState.ERROR for row in ended),
            judge_tokens_in=F("judge_tokens_in") + known_sum(*(usage.tokens_in for usage in usages)),
            judge_tokens_out=F("judge_tokens_out") + known_sum(*(usage.tokens_out for usage in usages)),
            judge_cost_usd=F("judge_cost_usd") + _cost_of_judging(book, mine),
            reserved_usd=F("reserved_usd") - sum(judged.request.reserved_usd for judged in mine),
        )


class _Held(NamedTuple):
    """What a claimed result has from before: the outcome of an error that is tried again, and what judging cost."""

    outcome: str
    judge_cost_usd: float | None


def _owned(book: ResultStore, ids: Sequence[int], state: ResultState) -> dict[int, _Held]:
    claimed = Result.objects.filter(id__in=among(ids), claimed_by=book.lease.pk, state=state)
    if connection.features.has_select_for_update:
        claimed = claimed.select_for_update()
    rows = claimed.values_list("id", "outcome", "judge_cost_usd")
    return {id: _Held(outcome, judge_cost) for id, outcome, judge_cost in rows}


def _answer_row(book: ResultStore, scored: Scored, before: Mapping[int, retried_results.Attempts]) -> dict[str, Any]:
    answer, error = scored.answer, scored.answer.error
    cost = 0.0 if answer.from_cache else book.price.cost(answer.tokens_in, answer.tokens_out)
    row: dict[str, Any] = {
        "id": answer.question.result_id,
        "claimed_by": None,
        "outcome": "",
        "value": None,
        "error_kind": "",
        "error_message": "",
        "duration_ms": answer.duration_ms,
        "tokens_in": answer.tokens_in,
        "tokens_out": answer.tokens_out,
        "cost_usd": cost,
        "judge_cost_usd": None,
        "cached": answer.from_cache,
        "attempts": len(before.get(answer.question.result_id, ())) + len(answer.attempts),
        "finish_reason": finish_reason(answer.reply),
        "finished_at": timezone.now(),
    }
    if error is not None:
        failed = {"error_kind": error.kind, "error_message": error.message[:MAX_ERROR]}
        return row | failed | {"state": ResultState.ERROR, "outcome": Outcome.PROVIDER_ERROR}
    if scored.to_judge:
        waiting = {"state": ResultState.JUDGING, "claimed_by": book.lease.pk, "finished_at": None}
        return row | waiting | {"judge_cost_usd": 0.0}
    return row | _ending(book, scored.scores, row["finish_reason"])


def _judged_row(book: ResultStore, judged: Judged, held: _Held) -> dict[str, Any]:
    """A result's judge cost grows with each judging, so that those of a run's results add up to the run's."""
    cost = _sum((held.judge_cost_usd, _cost_of_judging(book, [judged])))
    row = {"id": judged.request.result_id, "judge_cost_usd": cost, "state": ResultState.JUDGING}
    if judged.broken_off:
        return row
    scores = {**judged.request.scores, **judged.all_scores}
    ended = {"claimed_by": None, "finished_at": timezone.now()}
    return row | ended | _ending(book, scores, judged.request.finish_reason)


def _cost_of_judging(book: ResultStore, batch: Iterable[Judged]) -> float | None:
    usages = (usage for judged in batch for usage in judged.usages)
    return _sum(book.judge_price.cost(usage.tokens_in, usage.tokens_out) for usage in usages)


def _ending(book: ResultStore, scores: Mapping[str, Score], ended: str) -> dict[str, Any]:
    outcome = outcome_of(book.metrics, scores, ended)
    failed = failed_score(scores)
    return {
        "state": ResultState.ERROR if failed else ResultState.DONE,
        "outcome": outcome,
        "value": leading_value(book.metrics, scores),
        "error_kind": "judge" if failed else "",
        "error_message": failed.reason[:MAX_ERROR] if failed else "",
    }


def finish_reason(reply: ChatReply | None) -> str:
    if reply is None:
        return ""
    return "refusal" if reply.refusal is not None else reply.finish_reason[:40]


def _sum(costs: Iterable[float | None]) -> float | None:
    total = 0.0
    for cost in costs:
        if cost is None:
            return None
        total += cost
    return total


def _released(batch: Sequence[Scored]) -> float:
    """Reserved money that is free again: all of a result's, but what its judge may still cost."""
    return sum(s.answer.question.reserved_usd - (s.judge_reserve_usd if s.to_judge else 0.0) for s in batch)


def _count(book: ResultStore, ended: Sequence[ResultState], *, released: float, answers: Sequence[Answer]) -> None:
    """Move the run's counters by the results that ended, and by every reply that was paid for."""
    paid = [answer for answer in answers if answer.replies]
    Run.objects.filter(pk=book.run_id).update(
        done=F("done") + len(ended),
        errors=F("errors") + ended.count(ResultState.ERROR),
        tokens_in=F("tokens_in") + known_sum(*(answer.tokens_in for answer in paid)),
        tokens_out=F("tokens_out") + known_sum(*(answer.tokens_out for answer in paid)),
        cost_usd=F("cost_usd") + _sum(book.price.cost(answer.tokens_in, answer.tokens_out) for answer in paid),
        reserved_usd=F("reserved_usd") - released,
    )


def _update_results(names: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> None:
    update_rows(Result, names, ([*(row[name] for name in names), row["id"]] for row in rows))


def _transcript(answer: Answer, before: Mapping[int, retried_results.Attempts]) -> tuple[Any, ...]:
    reply = answer.reply
    calls = [
        {"name": call.name, "arguments": call.arguments, "raw": call.raw_arguments, "malformed": call.malformed}
        for call in answer.tool_calls
    ]
    return (
        answer.question.result_id,
        [_without_pixels(message) for message in answer.messages],
        answer.question.prompt.picture,
        (reply.text or reply.refusal or "") if reply else "",
        (reply.reasoning or "") if reply else "",
        calls,
        retried_results.all_attempts(answer, before),
        reply.notes if reply else (),
        answer.question.prompt.hash(),
    )


def _without_pixels(message: Message) -> Message:
    """A message as it is stored: the picture itself is drawn again from its canvas when it is shown."""
    content = message.get("content")
    if not isinstance(content, list):
        return message
    parts = [{"type": "picture"} if part["type"] == "image_url" else part for part in content]
    return {**message, "content": parts}


def _upsert_scores(book: ResultStore, batch: Sequence[tuple[int, Mapping[str, Score]]]) -> None:
    rows = (
        (
            result_id,
            name,
            book.run_id,
            score.status.value,
            score.value,
            score.reason,
            score.extracted,
            score.detail,
            score.usage,
        )
        for result_id, scores in batch
        for name, score in scores.items()
    )
    upsert_rows(StoredScore, ("result", "metric"), SCORE, rows)


def _remember(batch: Sequence[Scored]) -> None:
    """Keep replies for the cache, of runs that use it."""
    fresh = [
        CachedResponse(key=s.answer.question.cache_key, reply=asdict(s.answer.reply))
        for s in batch
        if s.answer.question.cache_key and s.answer.reply and not s.answer.from_cache and not s.answer.tool_calls
    ]
    if fresh:
        CachedResponse.objects.bulk_create(fresh, ignore_conflicts=True)
