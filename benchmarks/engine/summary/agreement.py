"""A judge calibration's numbers, from the stored verdicts: how well the judge agrees with the known truth."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

from benchmarks.analysis.score_table import read_scores
from benchmarks.metrics.judge_calibration import JudgedAnswer, agreement
from benchmarks.metrics.registered_metrics import REGISTERED_METRICS
from benchmarks.models import Run


def agreement_numbers(run: Run) -> dict[str, Any]:
    """Return ``Agreement`` as JSON, with what the judge has cost so far (``None`` is unknown)."""
    name = run.metrics[0]
    # In the order of the results, so that the same verdicts give the same numbers to the last digit.
    table = read_scores(run, name, "status", "question", "cluster", "phrasing", "correct", "repeat", "judge_calls")
    judged = [
        JudgedAnswer(question, cluster, phrasing, correct, repeat, None if math.isnan(value) else value, calls or 0)
        for status, question, cluster, phrasing, correct, repeat, calls, value in table.rows()
        if status is not None
    ]
    spent = {"tokens_in": run.judge_tokens_in, "tokens_out": run.judge_tokens_out, "cost_usd": run.judge_cost_usd}
    return asdict(agreement(judged, REGISTERED_METRICS[name])) | spent


def why_no_agreement(run: Run) -> str:
    """Why a run that replays answers has failed although every answer was sent to the judge; empty for all others."""
    if not run.is_replay or run.scores.filter(value__isnull=False).exists():
        return ""
    example = run.scores.order_by("result__position").values_list("reason", flat=True).first()
    return f"The judge returned no verdict on any answer. Example: {example}"
