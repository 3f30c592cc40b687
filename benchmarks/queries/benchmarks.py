"""Benchmarks: what models can be run on, with what they recently scored there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.analysis.gaps import gap_shown, tasks_per_cluster
from benchmarks.analysis.rankings import Place
from benchmarks.engine.execution.presets import preset_metrics
from benchmarks.metrics.deciding import is_deciding
from benchmarks.metrics.registered_metrics import is_score
from benchmarks.models import OF_BASELINES, Dataset, Run
from benchmarks.presentation.labels import metric_title
from benchmarks.presentation.numbers import plural, whole_points
from benchmarks.presentation.ranks import only_baselines
from benchmarks.queries import leaderboard as reads
from benchmarks.queries.judge_words import joined, judge_words, judged_scores

RECENT = 200
"""Completed runs from which the scores of the benchmarks are taken; as many of baselines."""
MOST_NAMED = 2
"""Models that share the best score and are named; of more, the number is shown."""
SATURATED = 0.95
"""The interval of the best score lies above it."""
_COARSE = 0.2
"""The smallest gap that few tasks can show."""


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A dataset of ``recently_run_datasets`` with its ``standing``, if a recent full run of a model has a score.

    ``leaders`` are the models to name, ``judged`` says who gave the score, ``unranked`` why the best has no rank, and
    ``under`` which baseline exceeds it, or that only baselines have run.
    """

    dataset: Any
    standing: reads.Standing | None = None
    judged: str = ""
    unranked: str = ""
    under: str = ""

    @property
    def best(self) -> Place | None:
        return self.standing.places[0] if self.standing else None

    @property
    def leaders(self) -> Sequence[Run]:
        """The models to name; empty if there are too many."""
        tied = [place.run for place in self.standing.leaders] if self.standing else []
        return [] if len(tied) > MOST_NAMED else tied or ([self.best.run] if self.best else [])

    @property
    def tie(self) -> str:
        n = len(self.standing.leaders) if self.standing else 0
        return f"{plural(n, 'model')} tie" if n > 1 else ""

    @property
    def means(self) -> list[float]:
        """Of the models that are shown, best first."""
        places = self.standing.places if self.standing else ()
        return [place.numbers.mean for place in places if place.numbers.mean is not None and not place.run.is_baseline]

    @property
    def has_marks(self) -> bool:
        """Whether its means can stand on a ruler from 0 to 1."""
        return self.standing is not None and is_score(self.standing.metric)

    @property
    def guess(self) -> float | None:
        return self.best.run.guess_of(self.standing.metric) if self.best and self.standing else None

    @property
    def few_tasks(self) -> str:
        """What so few tasks can show of two models; empty if they are enough."""
        gap = gap_shown(self.dataset.current_version.task_count, tasks_per_cluster(self.dataset))
        if gap is None:
            return "Can show no gap between two models"
        return f"Can show only gaps of {whole_points(gap)} points or more" if gap > _COARSE else ""

    @property
    def is_saturated(self) -> bool:
        """Whether the best model has nearly every point."""
        low = self.best.numbers.low_missing if self.best else None
        return low is not None and low >= SATURATED

    @property
    def otherwise(self) -> str:
        """That new runs are scored by another metric than these; else empty."""
        metric = scored_otherwise(self.dataset, self.standing.metric) if self.standing else ""
        return f"New runs: {metric}" if metric else ""

    @property
    def newer(self) -> str:
        """That the scores are of an older version; else empty."""
        current = self.dataset.current_version.number
        return f"Version {current} has no full run" if self.standing and self.standing.version.number < current else ""


def benchmarks_of(datasets: Sequence[Any]) -> list[Benchmark]:
    """The datasets with their standings among recent runs, in seven queries."""
    best = _standings()
    shown = {dataset.pk: best[dataset.pk] for dataset in datasets if dataset.pk in best}
    reads.read_guesses([standing.places[0].run for standing in shown.values()])
    judged = {
        pk: judged_scores((place.run, standing.metric) for place in standing.leaders) for pk, standing in shown.items()
    }
    known = judge_words({pair for pairs in judged.values() for pair in pairs})
    return [
        _benchmark(dataset, shown.get(dataset.pk), joined(judged.get(dataset.pk, ()), known)) for dataset in datasets
    ]


def _standings() -> Mapping[int, reads.Standing]:
    # Read apart, so that many runs of one kind do not hide those of the other.
    recent = reads.scored_runs(RECENT, ~OF_BASELINES) + reads.scored_runs(RECENT, OF_BASELINES)
    recent.sort(key=lambda run: -run.pk)
    return {standing.version.dataset_id: standing for standing in reads.standings(recent)}


def _benchmark(dataset: Any, standing: reads.Standing | None, judged: str) -> Benchmark:
    if standing is None:
        return Benchmark(dataset)
    first = standing.places[0]
    if first.run.is_baseline:
        return Benchmark(dataset, under=only_baselines(standing.marks) if standing.marks else "")
    return Benchmark(dataset, standing, judged, first.reason, "" if first.reason else standing.under)


def scored_otherwise(dataset: Dataset, metric: str) -> str:
    """The metric by which forms score new runs, in words, if these scores are by another; else empty."""
    preset = preset_metrics(dataset)
    return metric_title(preset[0]) if preset and metric not in preset and not is_deciding(metric) else ""
