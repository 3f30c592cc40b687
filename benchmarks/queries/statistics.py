"""What runs tell when they are set against each other, in numbers and in words. Pages, API and commands read it here.

Every comparison of two runs is kept in the cache once both have ended, under the times of their final numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from typing import TypeVar

from django.core.cache import cache as kept
from django.db.models import FilteredRelation, Q

from benchmarks.metrics.registered_metrics import is_score
from benchmarks.models import TERMINAL, Result, Run
from benchmarks.statistics.contamination import Contamination, Sample, published_against_fresh
from benchmarks.statistics.paired import Comparison, TaskScores, compare, holm
from benchmarks.statistics.sentences import comparison_sentence, contamination_sentence, missing_sentence

KEPT_SECONDS = 24 * 3600
_FORMAT = 1
"""Goes up when what is kept changes its form, so that nothing old is read as new."""

Found = TypeVar("Found")


@dataclass(frozen=True, slots=True)
class Compared:
    """Run ``b`` against run ``a`` on one metric, as one of ``family_size`` comparisons."""

    a: Run
    b: Run
    metric: str
    comparison: Comparison
    p_adjusted: float | None
    """Holm's p-value within the family; ``None`` where there was nothing to test."""
    family_size: int
    name_a: str
    name_b: str

    @property
    def is_clear(self) -> bool:
        """Whether the difference stands also after the correction for the whole family."""
        return (
            self.p_adjusted is not None
            and self.p_adjusted <= 1 - self.comparison.confidence
            and self.comparison.is_clear
        )

    @property
    def is_drop(self) -> bool:
        """Whether ``b`` is worse for real: by the paired test, corrected for the whole family."""
        return self.is_clear and self.comparison.difference is not None and self.comparison.difference < 0

    @property
    def sentence(self) -> str:
        return self._sentence(newer_first=False)

    @property
    def change_sentence(self) -> str:
        """The same with ``b`` as the newer run, which is the subject although it may be worse."""
        return self._sentence(newer_first=True)

    def _sentence(self, *, newer_first: bool) -> str:
        return comparison_sentence(
            self.comparison,
            self.name_a,
            self.name_b,
            p_adjusted=self.p_adjusted,
            family_size=self.family_size,
            newer_first=newer_first,
        )

    @property
    def missing_sentence(self) -> str:
        """What tasks without a score could do to the difference; empty where none lacks one."""
        return missing_sentence(self.comparison, self.name_a, self.name_b)


def labels(chosen: Sequence[Run]) -> dict[int, str]:
    """Run id → its model, with the run's number where several runs asked the same model."""
    models = [run.model_label for run in chosen]
    names = zip(chosen, models, strict=True)
    return {run.pk: name if models.count(name) == 1 else f"{name} (run {run.pk})" for run, name in names}


def common_metrics(chosen: Sequence[Run]) -> list[str]:
    """Metrics that every chosen run has and that score from 0 to 1, in the order of the first run."""
    if not chosen:
        return []
    common = set.intersection(*({*run.metrics} for run in chosen))
    return [name for name in chosen[0].metrics if name in common and is_score(name)]


def compared_runs(chosen: Sequence[Run], names: Mapping[int, str] | None = None) -> list[Compared]:
    """Every pair of runs on every metric they have in common, the earlier one as A: all of them one family.

    Runs are compared on the tasks of identical content that they share. Pairs come in the order of ``chosen``, the
    metrics of a pair in that of the first run. ``names`` are what sentences call the runs, by default their labels.
    """
    scores = cache(task_scores)
    found = [
        (a, b, metric, _comparison(a, b, metric, scores))
        for a, b in combinations(chosen, 2)
        for metric in common_metrics(chosen)
    ]
    p_values = [comparison.p_value for *_, comparison in found if comparison.p_value is not None]
    adjusted = iter(holm(p_values))
    names = labels(chosen) if names is None else names
    return [
        Compared(
            a,
            b,
            metric,
            comparison,
            None if comparison.p_value is None else next(adjusted),
            len(p_values),
            names[a.pk],
            names[b.pk],
        )
        for a, b, metric, comparison in found
    ]


TaskScoresAndClusters = tuple[TaskScores[Hashable], dict[Hashable, Hashable]]


def task_scores(run: Run, metric: str) -> TaskScoresAndClusters:
    """Content hash → mean score over repeats (``None`` where nothing was scored), and → the cluster of the task."""
    rows = (
        Result.objects.filter(run=run)
        .annotate(found=FilteredRelation("scores", condition=Q(scores__metric=metric)))
        .values_list("task__content_hash", "found__value", "cluster")
    )
    values: dict[Hashable, list[float]] = {}
    clusters: dict[Hashable, Hashable] = {}
    for task, score, cluster in rows.iterator(chunk_size=5_000):
        scored = values.setdefault(task, [])
        if score is not None:
            scored.append(score)
        clusters[task] = cluster or task
    return {task: math.fsum(scored) / len(scored) if scored else None for task, scored in values.items()}, clusters


def _comparison(a: Run, b: Run, metric: str, scores: Callable[[Run, str], TaskScoresAndClusters]) -> Comparison:
    def computed() -> Comparison:
        (first, clusters), (second, _) = scores(a, metric), scores(b, metric)
        return compare(first, second, clusters)

    return _kept(f"comparison:{metric}", (a, b), computed)


def _kept(what: str, runs: Iterable[Run], compute: Callable[[], Found]) -> Found:
    """Computed once for runs that have ended, until one of them gets new numbers."""
    runs = tuple(runs)
    if not all(run.status in TERMINAL and run.summarized_at for run in runs):
        return compute()
    stamps = ":".join(f"{run.pk}-{run.summarized_at.timestamp()}" for run in runs if run.summarized_at)
    key = f"statistics:{_FORMAT}:{what}:{stamps}"
    found: Found | None = kept.get(key)
    if found is None:
        found = compute()
        kept.set(key, found, KEPT_SECONDS)
    return found


@dataclass(frozen=True, slots=True)
class ContaminationCheck:
    """A run on a published set held against the same run on fresh canvases, on the first metric of both."""

    published: Run
    fresh: Run
    found: Contamination | None
    """``None`` while one of the two has not ended."""

    @property
    def sentence(self) -> str:
        if self.found is None:
            status = self.fresh.get_status_display()
            return f"Run {self.fresh.pk} repeats the questions on fresh canvases. Status: {status}."
        return contamination_sentence(self.found)


def contamination_check(run: Run) -> ContaminationCheck | None:
    """The latest check of a run, or the one that the run itself is; ``None`` where there is none.

    Strata are the numbers of shapes, and results on one canvas one cluster, whatever the task class.
    """
    fresh = run if run.fresh_of_id is not None else run.fresh_runs.order_by("-pk").first()
    published = None if fresh is None else run if fresh is not run else run.fresh_of
    if fresh is None or published is None:
        return None
    if published.status not in TERMINAL or fresh.status not in TERMINAL:
        return ContaminationCheck(published, fresh, None)

    def computed() -> Contamination:
        old, new = _samples(published), _samples(fresh)
        nothing = Sample((), ())
        strata = sorted({*old, *new})
        return published_against_fresh({str(n): (old.get(n, nothing), new.get(n, nothing)) for n in strata})

    return ContaminationCheck(published, fresh, _kept("contamination", (published, fresh), computed))


def _samples(run: Run) -> dict[int, Sample]:
    """The scored values of the run's first metric with their canvases, by number of shapes."""
    rows = run.scores.filter(metric=run.metrics[0], value__isnull=False).order_by()
    found: dict[int, tuple[list[float], list[str]]] = {}
    for n_shapes, value, cluster in rows.values_list("result__n_shapes", "value", "result__cluster").iterator(5_000):
        if n_shapes is not None and value is not None:
            values, clusters = found.setdefault(n_shapes, ([], []))
            values.append(value)
            clusters.append(cluster)
    return {n_shapes: Sample(values, clusters) for n_shapes, (values, clusters) in found.items()}
