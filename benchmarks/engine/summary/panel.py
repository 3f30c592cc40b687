"""How the judges of a run agree, and a judge with itself, from the verdicts that are stored with the scores."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from benchmarks.engine.summary.means import stored
from benchmarks.metrics.panel import judges_named
from benchmarks.models import Run
from benchmarks.statistics.panel import Verdict, panel_agreement


def panel_numbers(run: Run) -> dict[str, dict[str, Any]]:
    """Judged metric → ``PanelAgreement`` as JSON; empty for runs with one verdict for each answer."""
    if len(judges_named(run.judge_model)) * run.judge_repeats < 2:
        return {}
    numbers = {}
    for name in run.metrics:
        metric = run.metric_named(name)
        if metric is None or not metric.judged:
            continue
        rows = run.scores.filter(metric=name, detail__has_key="verdicts_of").order_by("result__position", "result_id")
        answers, clusters = [], []
        for detail, cluster in rows.values_list("detail", "result__cluster").iterator(chunk_size=500):
            verdicts = detail["verdicts_of"]
            answers.append([Verdict(row["judge"], row["value"], row["reordered"]) for row in verdicts])
            clusters.append(cluster)
        if answers:
            agreement = panel_agreement(answers, metric.passes_at, clusters)
            numbers[name] = {
                "n_answers": agreement.n_answers,
                "judges": [asdict(judge) for judge in agreement.judges],
                "same": stored(agreement.same),
                "alpha": agreement.alpha,
                "order": stored(agreement.order),
            }
    return numbers
