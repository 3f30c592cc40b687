"""A run against itself: how its repeats differ, and what a gate makes of that."""

from __future__ import annotations

from collections import defaultdict

from benchmarks.analysis.score_table import metric_of, read_scores
from benchmarks.models import Run
from benchmarks.statistics.self_check import SelfCheck, self_check


def check_of_run(run: Run, margin: float, *, nightly: bool = False) -> SelfCheck:
    """The check by the headline, on the tasks with a score in every repeat. Raises ``ValueError`` without such tasks
    or with fewer than two repeats."""
    rows: dict[object, list[float]] = defaultdict(list)
    for task, value in read_scores(run, metric_of(run, run.headline), "task").scored.rows("task", "value"):
        rows[task].append(value)
    return self_check([row for row in rows.values() if len(row) == run.repeats], margin, nightly=nightly)
