"""Examining a judge: answers of known truth are judged through the engine, with its limits and retries, and compared.

Verdicts are stored as they come. A calibration that is broken off, by whatever, goes on with those it has.
"""

from __future__ import annotations

import asyncio
import logging
import random
import uuid
from collections import defaultdict
from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotYet
from dataclasses import asdict
from datetime import timedelta
from queue import Empty, SimpleQueue
from typing import Any

from django.db import transaction
from django.utils import timezone

from benchmarks.engine.execution.budget import Price, price_of
from benchmarks.engine.execution.db_retry import retry_db
from benchmarks.engine.execution.event_loop import ENGINE_LOOP
from benchmarks.engine.execution.executor import GRACE_SECONDS, STOPPING
from benchmarks.engine.execution.model_clients import model_client
from benchmarks.engine.execution.request_pool import EngineJudge, judge_failure
from benchmarks.metrics.base import JudgedMetric, JudgeUsage, Score, ScoreStatus
from benchmarks.metrics.judge_calibration import (
    Calibration,
    CalibrationCase,
    CanvasQuestion,
    JudgedCase,
    calibrate,
    calibration_cases,
)
from benchmarks.metrics.registered_metrics import REGISTERED_METRICS
from benchmarks.models import JudgeCalibration, JudgeVerdict, Task
from benchmarks.providers.base import known_sum
from benchmarks.providers.retrying import Breaker
from tasks_app.models import Question

logger = logging.getLogger(__name__)

HEARTBEAT_SECONDS = 0.25
DEAD_AFTER = timedelta(seconds=90)
ENQUEUE_AGAIN_AFTER = timedelta(seconds=5)

_Status = JudgeCalibration.Status


def work_on_calibration(calibration_id: int) -> bool:
    """Judge what is not judged yet, and compare. False where it is not waiting (any more)."""
    visit = uuid.uuid4()
    waiting = JudgeCalibration.objects.filter(pk=calibration_id, status=_Status.QUEUED)
    if not waiting.update(status=_Status.RUNNING, claimed_by=visit, heartbeat_at=timezone.now()):
        return False
    calibration = JudgeCalibration.objects.get(pk=calibration_id)
    try:
        _work(calibration)
    except Exception:
        logger.exception("calibration %s ended with an error", calibration_id)
        _end(calibration, _Status.FAILED, error_message="A worker met an unexpected error; its log has the details.")
    return True


def calibrations_without_worker() -> list[int]:
    """Take those back whose worker is gone, and return all that wait for one."""
    now = timezone.now()
    dead = JudgeCalibration.objects.filter(status=_Status.RUNNING, heartbeat_at__lt=now - DEAD_AFTER)
    dead.update(status=_Status.QUEUED, claimed_by=None)
    waiting = JudgeCalibration.objects.filter(status=_Status.QUEUED, created_at__lt=now - ENQUEUE_AGAIN_AFTER)
    return list(waiting.order_by("id").values_list("id", flat=True))


def cases_of(calibration: JudgeCalibration) -> list[CalibrationCase]:
    """The answers that are to be judged: the same for the same tasks, seed and numbers."""
    rows = Task.objects.filter(pk__in=calibration.task_ids or drawn_tasks(calibration)).order_by("position")
    return calibration_cases(
        [CanvasQuestion(task.task_id, task.cluster, task.group, task.input, task.expected_output) for task in rows],
        phrasings=calibration.phrasings,
        repeats=calibration.repeats,
        seed=calibration.seed,
    )


def drawn_tasks(calibration: JudgeCalibration) -> list[int]:
    """As many of each task class, drawn by the seed, and never one whose reference answer is known to be wrong."""
    version = calibration.canvas_set.dataset.current_version
    tasks = Task.objects.filter(version=version).exclude(question__audit=Question.Audit.WRONG)
    by_class: dict[str, list[int]] = defaultdict(list)
    for pk, group in tasks.order_by("position").values_list("pk", "group"):
        by_class[group].append(pk)
    rng = random.Random(calibration.seed)
    for ids in by_class.values():
        rng.shuffle(ids)
    return _dealt(list(by_class.values()), calibration.questions)


def _dealt(piles: Sequence[list[int]], most: int) -> list[int]:
    """Up to ``most`` from the piles in turn, so that no pile gives more than it has to."""
    dealt: list[int] = []
    for round_number in range(max(map(len, piles), default=0)):
        for pile in piles:
            if len(dealt) == most:
                return dealt
            if round_number < len(pile):
                dealt.append(pile[round_number])
    return dealt


_Key = tuple[str, str, bool, int]
"""Question, wording, right or not, repeat: what names one answer of a calibration."""


def _key(case: CalibrationCase) -> _Key:
    return (*case.answer_key, case.repeat)


def _work(calibration: JudgeCalibration) -> None:
    metric = REGISTERED_METRICS[calibration.metric]
    assert isinstance(metric, JudgedMetric), "the request was checked"
    cases = cases_of(calibration)
    if not cases:
        reason = "The set has no two questions whose answers tell a right one from a wrong one."
        _end(calibration, _Status.FAILED, error_message=reason)
        return
    known = _stored(calibration)
    judging = _Judging(
        calibration, metric, [case for case in cases if _key(case) not in known or not known[_key(case)].status]
    )
    future = ENGINE_LOOP.submit(judging.run())
    try:
        while not _done(future) and _write_down(calibration, judging.judged(), known):
            pass
    finally:
        judging.over = True  # whatever ended this, nothing more is asked
    if not _done(future, GRACE_SECONDS):
        future.cancel()
    _write_down(calibration, judging.judged(), known)
    if not future.cancelled():
        future.result()
    _conclude(calibration, metric, judging, [_judged(case, known[_key(case)]) for case in cases if _key(case) in known])


def _done(future: Future[None], seconds: float = HEARTBEAT_SECONDS) -> bool:
    try:
        future.exception(timeout=seconds)
    except NotYet:
        return False
    return True


def _stored(calibration: JudgeCalibration) -> dict[_Key, JudgeVerdict]:
    return {(row.question, row.wording, row.right, row.repeat): row for row in calibration.verdicts.all()}


def _write_down(calibration: JudgeCalibration, judged: Sequence[JudgedCase], known: dict[_Key, JudgeVerdict]) -> bool:
    """Store verdicts, which are paid for whatever has become of the calibration, and tell how far it has got.

    False where the calibration was ended or deleted meanwhile, or is another worker's by now.
    """
    for one in judged:
        known[_key(one.case)] = _row(calibration, one, known.get(_key(one.case)))
    rows = [known[_key(one.case)] for one in judged]
    return retry_db(lambda: _store(calibration, rows, known.values()), f"calibration {calibration.pk}")


def _store(calibration: JudgeCalibration, rows: Sequence[JudgeVerdict], known: Iterable[JudgeVerdict]) -> bool:
    with transaction.atomic():
        found = JudgeCalibration.objects.select_for_update().filter(pk=calibration.pk)
        now = found.first()
        if now is None:
            return False
        JudgeVerdict.objects.bulk_create(
            rows, update_conflicts=True, unique_fields=KEY_FIELDS, update_fields=SAID_FIELDS
        )
        found.update(done=sum(bool(row.status) for row in known), heartbeat_at=timezone.now())
    return now.status == _Status.RUNNING and now.claimed_by == calibration.claimed_by


KEY_FIELDS = ("calibration", "question", "wording", "right", "repeat")
SAID_FIELDS = ("status", "value", "reason", "calls", "tokens_in", "tokens_out", "cost_usd")


def _row(calibration: JudgeCalibration, one: JudgedCase, before: JudgeVerdict | None) -> JudgeVerdict:
    """The verdict as it is stored, with what an earlier try took added to it."""
    usage = one.score.usage or JudgeUsage()
    question, wording, right, repeat = _key(one.case)
    costs = [one.cost_usd, before.cost_usd] if before else [one.cost_usd]
    return JudgeVerdict(
        calibration=calibration,
        question=question,
        wording=wording,
        right=right,
        repeat=repeat,
        status=one.score.status.value,
        value=one.score.value,
        reason=one.score.reason,
        calls=usage.calls + (before.calls if before else 0),
        tokens_in=known_sum(usage.tokens_in, before.tokens_in if before else 0),
        tokens_out=known_sum(usage.tokens_out, before.tokens_out if before else 0),
        cost_usd=None if None in costs else sum(cost for cost in costs if cost is not None),
    )


def _judged(case: CalibrationCase, row: JudgeVerdict) -> JudgedCase:
    usage = JudgeUsage(row.calls, row.tokens_in, row.tokens_out)
    status = ScoreStatus(row.status) if row.status else ScoreStatus.JUDGE_ERROR
    return JudgedCase(case, Score(status, row.value, row.reason, usage=usage), row.cost_usd)


class _Judging:
    """Asks the judge about cases, so many at a time, until ``over``. Lives on the engine loop."""

    def __init__(self, calibration: JudgeCalibration, metric: JudgedMetric, cases: Sequence[CalibrationCase]) -> None:
        self.metric = metric
        self.breaker = Breaker()
        self.over = False
        self._judged: SimpleQueue[JudgedCase] = SimpleQueue()
        self._left = iter(cases)
        self._lanes = calibration.concurrency
        self._judge = EngineJudge(model_client(calibration.judge_model))
        self._price = price_of(calibration.judge_model)

    async def run(self) -> None:
        async with asyncio.TaskGroup() as slots:
            for _ in range(self._lanes):
                slots.create_task(self._lane())

    def judged(self) -> list[JudgedCase]:
        """What came since this was asked last. May be called on any thread."""
        came = []
        while True:
            try:
                came.append(self._judged.get_nowait())
            except Empty:
                return came

    async def _lane(self) -> None:
        for case in self._left:
            if self.over or self.breaker.tripped or STOPPING.is_set():
                return
            score = await self.metric.judge(case.item(), self._judge)
            self.breaker.record(judge_failure(score))
            self._judged.put(JudgedCase(case, score, _cost(self._price, score.usage)))


def _cost(price: Price, usage: JudgeUsage | None) -> float | None:
    return 0.0 if usage is None else price.cost(usage.tokens_in, usage.tokens_out)


def _conclude(
    calibration: JudgeCalibration, metric: JudgedMetric, judging: _Judging, judged: Sequence[JudgedCase]
) -> None:
    """End the calibration, give it back to be gone on with, or only tell what it has cost where another ended it."""
    found = calibrate(judged, metric)
    spent = {"tokens_in": found.tokens_in, "tokens_out": found.tokens_out, "cost_usd": found.cost_usd}
    JudgeCalibration.objects.filter(pk=calibration.pk, claimed_by=calibration.claimed_by).update(**spent)
    if reason := judging.breaker.tripped:
        reason = f"The judge {calibration.judge_model}: {reason}"
    elif len(judged) < calibration.total:
        _end(calibration, _Status.QUEUED, completed_at=None)
        return
    elif not found.n_answers:
        reason = f"The judge gave no verdict on any answer, for example: {judged[0].score.reason}"
    if reason:
        _end(calibration, _Status.FAILED, error_message=reason)
    else:
        _end(calibration, _Status.COMPLETED, numbers=plain_numbers(found))


def plain_numbers(found: Calibration) -> dict[str, Any]:
    """A calibration as JSON can hold it: the length bias by "right" and "wrong" answers."""
    numbers = asdict(found)
    numbers["length_bias"] = {
        "right" if right else "wrong": comparison for right, comparison in numbers["length_bias"].items()
    }
    return numbers


def _end(calibration: JudgeCalibration, to: _Status, **fields: Any) -> None:
    """Move the calibration on, unless it was cancelled, or is another worker's, meanwhile."""
    mine = JudgeCalibration.objects.filter(pk=calibration.pk, status=_Status.RUNNING, claimed_by=calibration.claimed_by)
    mine.update(**{"status": to, "completed_at": timezone.now(), **fields})
