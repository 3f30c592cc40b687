"""One model over all its runs: what it cost, and where it stands among the others on each dataset."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Max, Min, Q, Sum

from benchmarks.models import DatasetVersion, Run
from benchmarks.queries.leaderboard import MOST_RUNS, Setting, completed_runs, is_whole, setting_of
from benchmarks.queries.matrix import Cell, Row, matrix


@dataclass(frozen=True, slots=True)
class ModelTotals:
    """Over all runs of a model but checks of judges. ``cost_usd`` is the known part of the cost of the model alone,
    ``None`` if none is known; of ``n_unknown`` runs it is unknown."""

    runs: int
    datasets: int
    results: int
    first: datetime
    last: datetime
    cost_usd: float | None
    n_unknown: int


@dataclass(frozen=True, slots=True)
class ModelStanding:
    """The model's latest full run on a dataset among those of the other models, on the same tasks in the same setting.

    ``row`` has its score and its place; ``others`` is the mean of the other models that have a rank.
    """

    cell: Cell
    row: Row
    setting: str
    n_models: int
    others: float | None

    @property
    def n_above(self) -> int:
        """How many models score significantly lower."""
        return self.n_models - self.row.place.rank_high if self.row.place else 0

    @property
    def n_below(self) -> int:
        """How many models score significantly higher."""
        return self.row.place.rank_low - 1 if self.row.place else 0


def model_totals(model: str) -> ModelTotals | None:
    """``None`` if the model has no runs."""
    runs = Run.objects.filter(model=model, calibration__isnull=True).order_by()
    known = runs.aggregate(cost_usd=Sum("cost_usd"))
    totals = runs.aggregate(
        runs=Count("pk"),
        datasets=Count("dataset", distinct=True),
        results=Sum("done"),
        first=Min("created_at"),
        last=Max("created_at"),
        n_unknown=Count("pk", filter=Q(cost_usd=None, total__gt=0)),
    )
    return ModelTotals(**totals, **known) if totals["runs"] else None


def model_standings(own: Sequence[Run]) -> list[ModelStanding]:
    """Where a model stands, by its completed runs, newest first: on each dataset by the newest full one."""
    by_id = DatasetVersion.objects.in_bulk({run.dataset_version_id for run in own})
    latest: dict[int, Run] = {}
    for run in own:
        if is_whole(run, by_id[run.dataset_version_id]):
            latest.setdefault(run.dataset_id, run)
    versions = {run.dataset_version_id for run in latest.values()}
    groups: dict[tuple[int, Setting], dict[str, int]] = {}
    # Most of these runs are not the latest of their model, so only the summaries of those that are get read.
    for run in completed_runs().filter(dataset_version__in=versions).defer("summary")[:MOST_RUNS]:
        if is_whole(run, by_id[run.dataset_version_id]):
            groups.setdefault((run.dataset_version_id, setting_of(run)), {}).setdefault(run.model, run.pk)
    alike = {run.pk: groups.get((run.dataset_version_id, setting_of(run)), {}) for run in latest.values()}
    read = completed_runs().in_bulk({pk for group in alike.values() for pk in group.values()})
    found = []
    for run in latest.values():
        metric, setting = run.metrics[0], setting_of(run)
        settings = [other for version, other in groups if version == run.dataset_version_id]
        others_here = [read[pk] for model, pk in alike[run.pk].items() if model != run.model]
        rows = matrix([run, *(other for other in others_here if metric in other.metrics)], metric).rows
        row = next(row for row in rows if row.runs[0].pk == run.pk)
        ranked = [other.overall[0] for other in rows if other.place and other.overall and other is not row]
        cell = row.cells[0]
        assert cell is not None, "the run is in its row"
        n_models = len(ranked) + (row.place is not None)
        others = sum(ranked) / len(ranked) if ranked else None
        found.append(ModelStanding(cell, row, setting.words(settings), n_models, others))
    return found
