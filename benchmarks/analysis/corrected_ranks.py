"""Runs ranked by a judge's means after correction by people's labels.

Two runs differ if the interval of their corrected difference excludes 0 at 5% over all pairs (Bonferroni), also with
every answer without a verdict counted against the run that leads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from benchmarks.analysis.judge_agreement import AnswersOf, corrected_by_labels, random_reviews
from benchmarks.analysis.rankings import MIN_COVERAGE
from benchmarks.metrics.base import Metric
from benchmarks.models import Run
from benchmarks.presentation.numbers import percent, plural
from benchmarks.statistics.prediction_powered import FEWEST, CorrectedMean, corrected_difference
from benchmarks.statistics.spread import normal_quantile


@dataclass(frozen=True, slots=True)
class CorrectedPlace:
    """A run by its corrected mean. Without ``ranks``, the lowest and the highest it may have, there is a ``reason``."""

    run: Run
    means: CorrectedMean | None
    n_judged: int
    n_labels: int
    coverage: float
    """The share of the expected answers that have a verdict."""
    ranks: tuple[int, int] | None = None
    reason: str = ""

    @property
    def least(self) -> float:
        """The corrected mean with every answer without a verdict counted 0."""
        return self.means.mean * self.coverage if self.means else 0.0


def corrected_places(runs: Sequence[Run], metric: Metric) -> list[CorrectedPlace]:
    """The runs by corrected mean, those without a rank last. They are runs on the same tasks."""
    reviewed = {pk for queue in random_reviews(metric.name) for pk in queue.source.get("runs", ())}
    read = [_read(run, metric, is_reviewed=bool({run.pk, run.rescored_from} & reviewed)) for run in runs]
    ranked = sorted((place for place in read if not place.reason), key=lambda place: -place.least)
    better = {place.run.pk: 0 for place in ranked}
    worse = dict(better)
    n_pairs = max(1, len(ranked) * (len(ranked) - 1) // 2)
    for first, second in combinations(ranked, 2):
        if _leads(first, second, n_pairs):
            worse[first.run.pk] += 1
            better[second.run.pk] += 1
    placed = [replace(place, ranks=(1 + better[place.run.pk], len(ranked) - worse[place.run.pk])) for place in ranked]
    return [*placed, *(place for place in read if place.reason)]


def _read(run: Run, metric: Metric, *, is_reviewed: bool) -> CorrectedPlace:
    if metric.name not in run.all_metrics:
        return CorrectedPlace(run, None, 0, 0, 0.0, reason=f"It is not scored by {metric.title}.")
    numbers = run.numbers_of(metric.name)
    coverage = numbers.n / numbers.n_expected if numbers.n_expected else 0.0
    if not is_reviewed:
        reason = f"No random review was drawn from it. {FEWEST} labels are needed."
        return CorrectedPlace(run, None, numbers.n, 0, coverage, reason=reason)
    answers = AnswersOf(run, metric)
    means, n_labels = corrected_by_labels([answers]), len(answers.labeled)
    reason = "" if means else f"{plural(FEWEST - n_labels, 'more label')} needed, on answers of its random review."
    if means and coverage < MIN_COVERAGE:
        reason = f"{percent(coverage)} of its answers have a verdict; a rank needs {MIN_COVERAGE:.0%}."
    return CorrectedPlace(run, means, len(answers.judged), n_labels, coverage, reason=reason)


def _leads(first: CorrectedPlace, second: CorrectedPlace, n_pairs: int) -> bool:
    """Whether the first is significantly better, whatever the answers without a verdict are."""
    if first.means is None or second.means is None:
        return False
    found = corrected_difference(first.means, second.means)
    widened = normal_quantile(1 - 0.025 / n_pairs) / normal_quantile(0.975)
    low = found.difference - widened * (found.difference - found.low)
    missing = (1 - first.coverage) * first.means.mean + (1 - second.coverage) * (1 - second.means.mean)
    return low - missing > 0
