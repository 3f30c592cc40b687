"""What earlier runs tell about how far the next two will differ."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.models import Dataset, Run, RunStatus, Score

COMPLETED = (RunStatus.COMPLETED, RunStatus.COMPLETED_WITH_ERRORS)
LOOKED_AT = 20
FEWEST_TASKS = 20
"""Two runs that share fewer tasks tell too little about the share on which they differ."""
MOST_RESULTS = 20_000
"""Larger runs would take longer to compare than somebody waits for a plan."""


@dataclass(frozen=True, slots=True)
class Pilot:
    """Two earlier runs, and on how many of the tasks that they share their scores differ."""

    a: Run
    b: Run
    n_shared: int
    n_changed: int

    @property
    def discordance(self) -> float:
        """Above 0 also where nothing differed: the next two may."""
        return max(self.n_changed, 1) / self.n_shared


def latest_pilot(dataset: Dataset, model: str, metric: str) -> Pilot | None:
    """The latest run of the model (or of any) beside the latest of another model, each task asked once.

    ``None`` where the dataset has no two such runs, or they are too small or too large.
    """
    earlier = Run.objects.filter(
        dataset=dataset, status__in=COMPLETED, repeats=1, total__range=(FEWEST_TASKS, MOST_RESULTS)
    ).exclude(model__startswith="baseline/")
    found = [run for run in earlier.order_by("-pk")[:LOOKED_AT] if metric in run.metrics]
    one = next((run for run in found if run.model == model), next(iter(found), None))
    other = next((run for run in found if one is not None and run.model != one.model), None)
    if one is None or other is None:
        return None
    a, b = sorted((one, other), key=lambda run: run.pk)
    first, second = _values(a, metric), _values(b, metric)
    shared = [task for task in first if task in second]
    changed = sum(first[task] != second[task] for task in shared)
    return Pilot(a, b, len(shared), changed) if len(shared) >= FEWEST_TASKS else None


def _values(run: Run, metric: str) -> dict[str, float | None]:
    """Content hash of each scored task → its score."""
    scored = Score.objects.filter(run=run, metric=metric, value__isnull=False).order_by()
    return dict(scored.values_list("result__task__content_hash", "value").iterator(chunk_size=5_000))
