"""How the judges of a run agree, and a judge with itself, from the verdicts that are stored with the scores."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from benchmarks.analysis.score_table import read_scores
from benchmarks.engine.summary.means import stored
from benchmarks.metrics.panel import judges_named
from benchmarks.models import Run
from benchmarks.statistics.panel import panel_agreement


def panel_numbers(run: Run) -> dict[str, dict[str, Any]]:
    """Judged metric → ``PanelAgreement`` as JSON; empty for runs with one verdict for each answer."""
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
            numbers[name] = {
                "n_answers": agreement.n_answers,
                "judges": [asdict(judge) for judge in agreement.judges],
                "same": stored(agreement.same),
                "alpha": agreement.alpha,
                "order": stored(agreement.order),
            }
    return numbers
