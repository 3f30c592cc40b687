"""Calibrations for tests: made verdicts on the answers that real ones send to the judge, compared by the same code."""

from __future__ import annotations

import os
import random
from dataclasses import asdict
from typing import Any
from unittest import mock

from django.utils import timezone

from benchmarks.metrics.judge_calibration import JudgedAnswer, agreement
from benchmarks.metrics.registered_metrics import REGISTERED_METRICS
from benchmarks.models import COMPLETED, TERMINAL, Run
from benchmarks.services.judges import start_calibration
from tasks_app.models import CanvasSet
from tests.support.page_factories import make_canvas_set


def make_calibration(
    canvas_set: CanvasSet | None = None, mistakes: float = 0.2, without_verdict: int = 0, **fields: Any
) -> Run:
    """A completed calibration whose judge errs on a share of the answers, or one with the ``fields`` given.

    The judge returns no verdict on the first ``without_verdict`` answers.
    """
    canvas_set = canvas_set or CanvasSet.objects.first() or make_canvas_set((3, 4, 5, 6))
    request = {name: fields.pop(name) for name in ("questions", "repeats", "seed") if name in fields}
    given = {"judge_model": "openai/gpt-4o", "canvas_set": canvas_set.slug, "questions": 24, "repeats": 2, **request}
    with mock.patch.dict(os.environ, OPENAI_API_KEY="sk-for-no-request"):
        run = start_calibration(given)
    given = {"judge_model": "loop/judge", "status": "completed", "judge_cost_usd": 0.25, **fields}
    if given["status"] in TERMINAL:
        given["completed_at"] = timezone.now()
    if given["status"] in COMPLETED:
        judged = _judged(run, mistakes, without_verdict)
        numbers = asdict(agreement(judged, REGISTERED_METRICS["correctness"]))
        counts = {"total": len(judged), "done": len(judged)}
        tokens = {"judge_tokens_in": 700 * len(judged), "judge_tokens_out": 40 * len(judged)}
        given = {"summary": {"agreement": numbers}, **counts, **tokens, **given}
    Run.objects.filter(pk=run.pk).update(**given)
    run.refresh_from_db()
    return run


def _judged(run: Run, mistakes: float, without_verdict: int) -> list[JudgedAnswer]:
    rng = random.Random(5)
    judged: list[JudgedAnswer] = []
    for repeat in range(1, run.repeats + 1):
        for task in run.dataset_version.tasks.order_by("position"):
            known = task.known_answer or {}
            correct = known["correct"]
            verdict = correct if rng.random() >= mistakes else rng.choice((None, not correct))
            value = None if task.position <= without_verdict else 0.5 if verdict is None else float(verdict)
            judged.append(
                JudgedAnswer(known["question"], task.cluster, known["phrasing"], correct, repeat, value, calls=1)
            )
    return judged
