"""How judges agree, from the stored verdicts: a calibrated judge with the known truth, judges of a run with each other,
and a judge with itself.
"""

from __future__ import annotations

import math

from benchmarks import codec
from benchmarks.analysis.score_table import Column, read_scores
from benchmarks.metrics.judge_calibration import JudgedAnswer, agreement
from benchmarks.metrics.panel import judges_named
from benchmarks.metrics.registered_metrics import REGISTERED_METRICS
from benchmarks.models import Run
from benchmarks.statistics.panel import panel_agreement
from benchmarks.summary import Agreement, Mean, Panel


def agreement_numbers(run: Run) -> Agreement:
    """With what the judge has cost so far."""
    name = run.metrics[0]
    # In the order of the results, so that the same verdicts give the same numbers to the last digit.
    asked: tuple[Column, ...] = ("question", "cluster", "phrasing", "correct", "repeat")
    table = read_scores(run, name, "status", *asked, "judge_calls", "instead_of")
    judged = [
        # What another judge said in the place of this one is no verdict of this one.
        JudgedAnswer(
            question, cluster, phrasing, correct, repeat, None if math.isnan(value) or other else value, calls or 0
        )
        for status, question, cluster, phrasing, correct, repeat, calls, other, value in table.rows()
        if status is not None
    ]
    spent = {"tokens_in": run.judge_tokens_in, "tokens_out": run.judge_tokens_out, "cost_usd": run.judge_cost_usd}
    return codec.read(Agreement, codec.stored(agreement(judged, REGISTERED_METRICS[name])) | spent)


def why_no_agreement(run: Run) -> str:
    """Why a run that replays answers has failed although every answer was sent to the judge; empty for all others."""
    if not run.is_replay or run.scores.filter(value__isnull=False).exists():
        return ""
    example = run.scores.order_by("result__position").values_list("reason", flat=True).first()
    return f"The judge returned no verdict on any answer. Example: {example}"


def panel_numbers(run: Run) -> dict[str, Panel]:
    """Judged metric → how its verdicts agree; empty for runs with one verdict for each answer."""
    if len(judges_named(run.judge_model)) * run.judge_repeats < 2:
        return {}
    numbers = {}
    for name in run.metrics:
        metric = run.metric_named(name)
        if metric is None or not metric.judged:
            continue
        table = read_scores(run, name, "cluster", "verdicts")
        judged = [(verdicts, cluster) for verdicts, cluster in table.rows("verdicts", "cluster") if verdicts]
        if judged:
            answers, clusters = zip(*judged, strict=True)
            agreement = panel_agreement(answers, metric.passes_at, clusters)
            same, order = Mean.of(agreement.same), Mean.of(agreement.order)
            numbers[name] = Panel(agreement.n_answers, agreement.judges, same, agreement.alpha, order)
    return numbers
