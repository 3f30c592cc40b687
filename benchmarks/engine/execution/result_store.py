"""Store of a run's results: claims and finished answers, written in batches.

Claims and completions are conditional UPDATEs in one transaction with the run's counters. A job that runs twice, or a
worker that returns after its lease expired, therefore changes nothing twice.

A result that is retried after an error keeps its error until a success replaces it, so a worker that dies on it loses
nothing. Every attempt is recorded.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any, NamedTuple, TypeVar
from uuid import UUID

from django.db import connection, transaction
from django.db.models import QuerySet
from django.utils import timezone

from benchmarks.engine.execution.budget import money_left, price_of
from benchmarks.engine.execution.reply_cache import store_responses
from benchmarks.engine.execution.scoring import FAILED, MAX_ERROR, InternalError, ending_of
from benchmarks.engine.execution.step_store import write_steps
from benchmarks.engine.execution.work_items import Answer, Judged, Question, Scored, ToJudge
from benchmarks.engine.sql import among, count_progress, lock, update_rows, upsert_rows
from benchmarks.metrics.base import JudgeUsage, Metric, Score, ScoreStatus
from benchmarks.models import Experiment, Lease, Outcome, Result, ResultState, Run, StoredStep, Transcript
from benchmarks.models import Score as StoredScore
from benchmarks.providers.base import Message, known_sum
from benchmarks.providers.retrying import Attempt
from benchmarks.providers.steps import step_of
from benchmarks.worker_metrics import count_cost

TRANSCRIPT = (
    *("messages", "picture", "actual_output", "reasoning", "tool_calls", "retrieved", "attempts", "notes"),
    "prompt_hash",
)
SCORE = ("run", "status", "value", "reason", "extracted", "detail", "judge")
MAX_KEPT = 200
"""Attempts, and failed judgings, that are stored of one result however often it is retried: the latest."""

Work = TypeVar("Work", Question, ToJudge)
Attempts = Sequence[Attempt | Mapping[str, object]]


class _Claimed(NamedTuple):
    """What a claimed result brings along: the outcome of the error that is retried, and what judging it has cost."""

    outcome: str
    judge_cost_usd: float | None


class ResultStore:
    """Writes the results that one lease claims."""

    def __init__(self, run: Run, lease: Lease, metrics: Sequence[Metric]) -> None:
        self.run_id = run.pk
        self.experiment_id = run.experiment_id
        self.lease_id = lease.pk
        self.metrics = metrics
        self.model = run.model
        self.judge_model = run.judge_model or run.model
        self.price = price_of(self.model)
        self.judge_price = price_of(self.judge_model)
        self.user_model = run.user_model
        self.user_price = price_of(run.user_model or run.model)

    def claim(self, state: ResultState, limit: int) -> list[int]:
        """Claim up to ``limit`` results in ``state`` (pending or answered); return their IDs in order.

        A lease that was released claims nothing, because nobody would give its claims back.
        """
        claimed = ResultState.CLAIMED if state is ResultState.PENDING else ResultState.JUDGING
        with transaction.atomic():
            # Locking the lease orders this against its release: either the release sees these claims, or there is no
            # lease any more.
            if not lock(Lease.objects.filter(pk=self.lease_id)):
                return []
            waiting = Result.objects.filter(run_id=self.run_id, state=state).order_by("position")
            if connection.features.has_select_for_update_skip_locked:
                waiting = waiting.select_for_update(skip_locked=True)  # leases of one run do not wait for each other
            ids = list(waiting.values_list("id", flat=True)[:limit])
            if ids:
                Result.objects.filter(id__in=among(ids), state=state).update(state=claimed, claimed_by=self.lease_id)
            return ids

    def reserve(self, units: Sequence[Work], key: UUID, *, idle: bool = False) -> list[Work]:
        """Reserve the worst-case cost of as many units as the budget covers, in order; unclaim and drop the others.

        ``key`` is new for each reservation: if the answer to its commit is lost, it is not made again.

        ``idle`` says that this lease has nothing in progress. If it is also the run's only lease, nothing at all is in
        progress, and any reservation left was made by a worker that died: it is dropped. While the cost so far is
        unknown, because the endpoint reports no tokens, no request is known to fit. A lease that was released reserves
        nothing, because nobody would free it.
        """
        with transaction.atomic():
            # The locks make reservations of several leases, and of all runs of an experiment, add up, so their sum
            # never exceeds the budget. Always the experiment first, or two runs could wait for each other.
            if self.experiment_id is not None:
                lock(Experiment.objects.filter(pk=self.experiment_id))
            run = Run.objects.select_for_update().get(pk=self.run_id)
            if not run.leases.filter(pk=self.lease_id).exclude(reservation=key).update(reservation=key):
                mine = Result.objects.filter(id__in=among([unit.result_id for unit in units]), claimed_by=self.lease_id)
                held = set(mine.values_list("id", flat=True))
                return [unit for unit in units if unit.result_id in held]
            if idle and not run.leases.exclude(pk=self.lease_id).exists():
                run.reserved_usd = 0.0
            left = money_left(run)
            fitting: list[Work] = []
            reserved = 0.0
            for unit in units:
                if left is None or reserved + unit.reserved_usd > left:
                    break  # no cheaper one overtakes it, or expensive questions would be starved
                reserved += unit.reserved_usd
                fitting.append(unit)
            Run.objects.filter(pk=run.pk).update(reserved_usd=run.reserved_usd + reserved)
            rest = [unit.result_id for unit in units[len(fitting) :]]
            _give_back(Result.objects.filter(id__in=rest, claimed_by=self.lease_id))
        return fitting

    def write_answers(self, batch: Sequence[Scored]) -> list[int]:
        """Write answered and failed results; return the IDs of those that this lease still held."""
        # One transaction with the run's counters: a worker that dies before it commits leaves claims, which are given
        # back and asked again. It locks results before the run, and a release the other way round. If both meet over a
        # lease that expired, PostgreSQL ends one of them, which is then retried (``retry_db``).
        with transaction.atomic():
            held = self._held([scored.result_id for scored in batch], ResultState.CLAIMED)
            if not held:
                return []  # whoever has lost its lease writes nothing, not even when the run progressed
            batch = [scored for scored in batch if scored.result_id in held]
            # Of results that are retried: the attempts that ended in their present error.
            retried = [id for id, claimed in held.items() if claimed.outcome]
            stored = Transcript.objects.filter(pk__in=retried).values_list("pk", "attempts") if retried else ()
            earlier: dict[int, Attempts] = dict(stored)
            failed_again = [s.answer for s in batch if s.answer.error and s.result_id in earlier]
            new = [s for s in batch if not (s.answer.error and s.result_id in earlier)]
            transcripts = (_transcript(scored.answer, earlier.get(scored.result_id)) for scored in new)
            upsert_rows(Transcript, ("result",), TRANSCRIPT, transcripts)
            upsert_scores(self.run_id, ((scored.result_id, scored.scores) for scored in new))
            _replace_steps([scored.answer for scored in new], earlier)
            rows = [self._answer_row(scored, earlier.get(scored.result_id)) for scored in new]
            _update_results(rows)
            if failed_again:
                _write_failed_again(failed_again, earlier)
            ended = [row["state"] for row in rows if row["state"] != ResultState.JUDGING]
            self._count_answers(batch, [*ended, *[ResultState.ERROR] * len(failed_again)])
            store_responses([scored.answer for scored in new])
        return list(held)

    def write_judged(self, batch: Sequence[Judged]) -> list[int]:
        """Write the scores of deferred metrics, with the last of them the end of their results; return as above.

        Where judging is unfinished or was aborted, the scores it brought are written and the result stays claimed.
        """
        with transaction.atomic():
            held = self._held([judged.result_id for judged in batch], ResultState.JUDGING)
            if not held:
                return []
            errors = _stored_errors([id for id, claimed in held.items() if claimed.outcome])
            batch = [judged for judged in batch if judged.result_id in held]
            scores = {judged.result_id: _keeping_errors(judged, errors.get(judged.result_id, {})) for judged in batch}
            upsert_scores(self.run_id, scores.items())
            rows = []
            for judged in batch:
                known = _known(judged, errors.get(judged.result_id, {}))
                rows.append(self._judged_row(judged, known | scores[judged.result_id], held[judged.result_id]))
            # Two statements, because all rows of one have the same fields.
            ended = [row for row in rows if "state" in row]
            _update_results(ended)
            _update_results([row for row in rows if "state" not in row])
            usages = [usage for judged in batch for usage in judged.usages]
            cost = self._cost_of_judging(batch)
            count_progress(
                self.run_id,
                done=len(ended),
                errors=sum(row["state"] == ResultState.ERROR for row in ended),
                judge_tokens_in=known_sum(*(usage.tokens_in for usage in usages)),
                judge_tokens_out=known_sum(*(usage.tokens_out for usage in usages)),
                judge_cost_usd=cost,
                # One reservation covers all metrics of a result, and is free with the last of them.
                reserved_usd=-sum(j.request.reserved_usd for j in batch if not j.unfinished),
            )
            # Counters of this process cannot be rolled back, so they count what is committed.
            transaction.on_commit(partial(count_cost, self.judge_model, cost))
        return list(held)

    def _held(self, ids: Sequence[int], state: ResultState) -> dict[int, _Claimed]:
        """Those of the results that are still this lease's, locked: others may have taken them since it expired."""
        claimed = Result.objects.filter(id__in=among(ids), claimed_by=self.lease_id, state=state).order_by()
        if connection.features.has_select_for_update:
            claimed = claimed.select_for_update()
        rows = claimed.values_list("id", "outcome", "judge_cost_usd")
        return {id: _Claimed(outcome, judge_cost) for id, outcome, judge_cost in rows}

    def _answer_row(self, scored: Scored, earlier: Attempts | None) -> dict[str, Any]:
        answer, error = scored.answer, scored.answer.error
        row: dict[str, Any] = {
            "id": answer.result_id,
            "state": ResultState.ERROR,
            "claimed_by": None,
            "outcome": Outcome.PROVIDER_ERROR,
            "failure": "",
            "value": None,
            "error_kind": "",
            "error_message": "",
            "duration_ms": answer.duration_ms,
            "first_token_ms": answer.first_token_ms,
            "tokens_per_second": answer.tokens_per_second,
            "tokens_in": answer.tokens_in,
            "tokens_out": answer.tokens_out,
            "reasoning_tokens": answer.reasoning_tokens,
            "cached_tokens": answer.cached_tokens,
            "cost_usd": 0.0 if answer.from_cache else self._cost_of(answer),
            "user_cost_usd": self._cost_of_user(answer) if answer.user_spent else None,
            "judge_cost_usd": None,
            "cached": answer.from_cache,
            "attempts": len(earlier or ()) + len(answer.attempts),
            "finish_reason": answer.finish_reason,
            "response_model": answer.response_model,
            "response_fingerprint": answer.response_fingerprint,
            "finished_at": timezone.now(),
        }
        if error is not None:
            outcome = Outcome.INTERNAL_ERROR if isinstance(error, InternalError) else Outcome.PROVIDER_ERROR
            return row | {"outcome": outcome, "error_kind": error.kind, "error_message": error.message[:MAX_ERROR]}
        if scored.to_judge:
            # It stays claimed: this lease has the answer in memory and judges it.
            waiting = {"state": ResultState.JUDGING, "claimed_by": self.lease_id, "outcome": "", "finished_at": None}
            return row | waiting | {"judge_cost_usd": 0.0}
        return row | ending_of(self.metrics, scored.scores, answer.finish_reason)

    def _judged_row(self, judged: Judged, scores: Mapping[str, Score], claimed: _Claimed) -> dict[str, Any]:
        """The judge cost of a result grows with each judging, so those of a run's results add up to the run's."""
        cost = _sum((claimed.judge_cost_usd, self._cost_of_judging([judged])))
        row = {"id": judged.result_id, "judge_cost_usd": cost}
        if judged.aborted or judged.unfinished:
            return row
        ended = {"claimed_by": None, "finished_at": timezone.now()}
        return row | ended | ending_of(self.metrics, scores, judged.request.finish_reason)

    def _cost_of(self, answer: Answer) -> float | None:
        """Of the whole conversation, with its simulated user; what a system says itself comes before the price."""
        own = answer.cost_usd
        if own is None:
            own = self.price.cost(answer.tokens_in, answer.tokens_out, answer.cached_tokens)
        return _sum((own, self._cost_of_user(answer)))

    def _cost_of_user(self, answer: Answer) -> float | None:
        spent = answer.user_spent
        return self.user_price.cost(spent.tokens_in, spent.tokens_out, spent.cached_tokens) if spent else 0.0

    def _cost_of_judging(self, batch: Iterable[Judged]) -> float | None:
        usages = (usage for judged in batch for usage in judged.usages)
        return _sum(map(self._cost_of_usage, usages))

    def _cost_of_usage(self, usage: JudgeUsage) -> float | None:
        if usage.by_model:
            return _sum(price_of(model).cost(*tokens) for model, *tokens in usage.by_model)
        return self.judge_price.cost(usage.tokens_in, usage.tokens_out, usage.cached_tokens)

    def _count_answers(self, batch: Sequence[Scored], ended: Sequence[ResultState]) -> None:
        """Add the results that ended, and every reply that was paid for, to the run's counters."""
        paid = [scored.answer for scored in batch if scored.answer.replies]
        # All of a result's reservation is free again, except for what its judge may still cost.
        released = sum(s.answer.question.reserved_usd - (s.judge_reserve_usd if s.to_judge else 0.0) for s in batch)
        cost, user_cost = _sum(map(self._cost_of, paid)), _sum(map(self._cost_of_user, paid))
        users = [answer.user_spent for answer in paid if answer.user_spent]
        count_progress(
            self.run_id,
            done=len(ended),
            errors=ended.count(ResultState.ERROR),
            tokens_in=known_sum(*(answer.tokens_in for answer in paid)),
            tokens_out=known_sum(*(answer.tokens_out for answer in paid)),
            cost_usd=cost,
            user_tokens_in=known_sum(*(spent.tokens_in for spent in users)),
            user_tokens_out=known_sum(*(spent.tokens_out for spent in users)),
            user_cost_usd=user_cost,
            reserved_usd=-released,
        )
        own = None if cost is None or user_cost is None else cost - user_cost
        transaction.on_commit(partial(count_cost, self.model, own))
        if users:
            transaction.on_commit(partial(count_cost, self.user_model, user_cost))


def note_adjustments(run_id: int, known: Mapping[str, Mapping[str, str]]) -> None:
    """Add to what requests of the run go without: ``model`` or ``judge`` → name → sentence."""
    with transaction.atomic():
        # The lock lets leases that find out different things at once keep both.
        run = Run.objects.select_for_update().only("adjustments").get(pk=run_id)
        merged = {role: {**run.adjustments.get(role, {}), **notes} for role, notes in known.items()}
        Run.objects.filter(pk=run_id).update(adjustments={**run.adjustments, **merged})


def upsert_scores(run_id: int, batch: Iterable[tuple[int, Mapping[str, Score]]]) -> None:
    """Store the scores of results, given by ID and metric."""
    rows = (
        (result_id, name, run_id, s.status.value, s.value, s.reason, s.extracted, s.detail, s.usage)
        for result_id, scores in batch
        for name, s in scores.items()
    )
    upsert_rows(StoredScore, ("result", "metric"), SCORE, rows)


def give_back_claims(lease: Lease) -> None:
    """Make what a lease claimed available again; in the transaction that deletes the lease, with its run locked."""
    if lease.run_id is None:
        return
    _give_back(Result.objects.filter(run=lease.run_id, claimed_by=lease.pk))
    if not Lease.objects.filter(run=lease.run_id).exists():
        Run.objects.filter(pk=lease.run_id).update(reserved_usd=0.0)  # nothing is in flight, so nothing can cost


def _give_back(claimed: QuerySet[Result]) -> None:
    claimed.filter(state=ResultState.CLAIMED).update(state=ResultState.PENDING, claimed_by=None)
    claimed.filter(state=ResultState.JUDGING).update(state=ResultState.ANSWERED, claimed_by=None)


def _update_results(rows: Sequence[Mapping[str, object]]) -> None:
    """Update results by ``id``; all rows have the same fields."""
    if rows:
        names = [name for name in rows[0] if name != "id"]
        update_rows(Result, names, ([*(row[name] for name in names), row["id"]] for row in rows))


def _sum(costs: Iterable[float | None]) -> float | None:
    total = 0.0
    for cost in costs:
        if cost is None:
            return None
        total += cost
    return total


def _transcript(answer: Answer, earlier: Attempts | None) -> tuple[Any, ...]:
    reply = answer.reply
    calls = [
        {"name": call.name, "arguments": call.arguments, "raw": call.raw_arguments, "malformed": call.malformed}
        for call in answer.tool_calls
    ]
    return (
        answer.result_id,
        [_without_pixels(message) for message in answer.messages],
        answer.question.prompt.picture,
        answer.text,
        (reply.reasoning or "") if reply else "",
        calls,
        answer.retrieved,
        _all_attempts(answer, earlier),
        [*(reply.notes if reply else ()), *answer.notes],
        answer.question.prompt.hash(),
    )


def _replace_steps(answers: Sequence[Answer], retried: Mapping[int, Attempts]) -> None:
    """Store what systems say that they did. Of a result that is retried, it was another time."""
    if again := [answer.result_id for answer in answers if answer.result_id in retried]:
        StoredStep.objects.filter(result__in=again).delete()
    write_steps((answer.result_id, map(step_of, answer.steps)) for answer in answers if answer.steps)


def _without_pixels(message: Message) -> Message:
    """A message as it is stored. An image in it is not: the page takes it from the canvas or the task."""
    content = message.get("content")
    if not isinstance(content, list):
        return message
    parts = [{"type": "picture"} if _has_pixels(part) else part for part in content]
    return {**message, "content": parts}


def _has_pixels(part: Mapping[str, Any]) -> bool:
    return part["type"] == "image_url" and str(part["image_url"]["url"]).startswith("data:")


def _all_attempts(answer: Answer, earlier: Attempts | None) -> Attempts:
    """The attempts behind an answer. Those of a retry follow the earlier ones, with its time."""
    if earlier is None:
        return answer.attempts
    attempts = answer.attempts
    if answer.error is not None and not attempts:  # it failed before anything was sent, which is recorded too
        attempts = [Attempt(1, 0.0, 0.0, answer.error.kind, answer.error.status, answer.error.message, 0.0)]
    now = timezone.now().isoformat()
    return [*earlier, *({**asdict(attempt), "retried_at": now} for attempt in attempts)][-MAX_KEPT:]


def _write_failed_again(answers: Sequence[Answer], earlier: Mapping[int, Attempts]) -> None:
    """End results with the error they had, and add the attempts that failed again."""
    attempts = [(_all_attempts(answer, earlier[answer.result_id]), answer.result_id) for answer in answers]
    update_rows(Transcript, ("attempts",), attempts)
    ended = ((ResultState.ERROR, None, len(tries), result_id) for tries, result_id in attempts)
    update_rows(Result, ("state", "claimed_by", "attempts"), ended)


def _stored_errors(ids: Sequence[int]) -> dict[int, dict[str, StoredScore]]:
    """Result ID → metric → the score that failed, for results that are judged again."""
    errors: dict[int, dict[str, StoredScore]] = defaultdict(dict)
    if ids:
        for score in StoredScore.objects.filter(result__in=ids, status__in=FAILED):
            errors[score.result_id][score.metric] = score
    return errors


def _keeping_errors(judged: Judged, errors: Mapping[str, StoredScore]) -> dict[str, Score]:
    """The scores to store. A metric that failed before and fails again keeps its first error, the new one in it."""
    scores = {**judged.request.rescored, **judged.scores}
    for name in errors.keys() & scores.keys():
        if scores[name].status in FAILED:
            scores[name] = _failed_again(errors[name], scores[name])
    return scores


def _known(judged: Judged, errors: Mapping[str, StoredScore]) -> dict[str, Score]:
    """The scores that are stored already; of a metric that just failed again, its first error."""
    first = {name: Score(ScoreStatus(error.status), reason=error.reason) for name, error in errors.items()}
    known = judged.request.scores
    return {name: first.get(name, score) if score.status in FAILED else score for name, score in known.items()}


def _failed_again(stored: StoredScore, score: Score) -> Score:
    retries = [*stored.detail.get("retries", ()), {"retried_at": timezone.now().isoformat(), "reason": score.reason}]
    return Score(
        ScoreStatus(stored.status),
        reason=stored.reason,
        extracted=stored.extracted,
        usage=JudgeUsage(**stored.judge) if stored.judge else None,
        detail={**stored.detail, "retries": retries[-MAX_KEPT:]},
    )
