"""Calibrations for tests: made verdicts on the answers that a real one would ask about, compared by the real code."""

from __future__ import annotations

import random
from typing import Any

from django.utils import timezone

from benchmarks.engine.calibrating import cases_of, plain_numbers
from benchmarks.metrics.base import JudgedMetric, JudgeUsage, Score, ScoreStatus
from benchmarks.metrics.judge_calibration import WORDINGS, CalibrationCase, JudgedCase, calibrate
from benchmarks.metrics.registered_metrics import REGISTERED_METRICS
from benchmarks.models import JudgeCalibration
from tasks_app.models import CanvasSet
from tests.support.page_factories import make_canvas_set

Status = JudgeCalibration.Status


def make_calibration(canvas_set: CanvasSet | None = None, mistakes: float = 0.2, **fields: Any) -> JudgeCalibration:
    """A completed calibration whose judge errs on a share of the answers, or one in the state that ``fields`` say."""
    canvas_set = canvas_set or CanvasSet.objects.first() or make_canvas_set((3, 4, 5, 6))
    given = {
        "judge_model": "loop/judge",
        "canvas_set": canvas_set,
        "questions": 24,
        "phrasings": list(WORDINGS),
        "repeats": 2,
        "status": Status.COMPLETED,
        "cost_usd": 0.25,
    }
    calibration = JudgeCalibration(**{**given, **fields})
    metric = REGISTERED_METRICS["correctness"]
    assert isinstance(metric, JudgedMetric)
    cases = cases_of(calibration)
    calibration.total = len(cases)
    if calibration.status == Status.COMPLETED:
        found = calibrate(_judged(cases, mistakes), metric)
        calibration.numbers = calibration.numbers or plain_numbers(found)
        calibration.done = calibration.total
        calibration.tokens_in, calibration.tokens_out = found.tokens_in, found.tokens_out
    if calibration.status in (Status.COMPLETED, Status.FAILED):
        calibration.completed_at = timezone.now()
    calibration.save()
    return calibration


def _judged(cases: list[CalibrationCase], mistakes: float) -> list[JudgedCase]:
    rng = random.Random(5)
    usage = JudgeUsage(calls=1, tokens_in=700, tokens_out=40)
    judged = []
    for case in cases:
        kind = case.right if rng.random() >= mistakes else rng.choice((None, not case.right))
        value = 0.5 if kind is None else float(kind)
        judged.append(JudgedCase(case, Score(ScoreStatus.SCORED, value, usage=usage), 0.0001))
    return judged
