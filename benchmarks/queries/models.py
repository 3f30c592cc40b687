"""One model over all its runs: what it cost, and where it stands among the others on each dataset."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Max, Min, Q, Sum

from benchmarks.analysis.matrices import Cell, Row
from benchmarks.models import OF_MODELS, Run
from benchmarks.presentation.ranks import under
from benchmarks.queries.leaderboard import Alike, completed_runs, latest_runs
from benchmarks.queries.matrix import matrix


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

    ``row`` has its score and its place; ``others`` is the mean of the other models that have a rank; ``under`` is the
    baseline that it does not reach, empty if there is none.
    """

    cell: Cell
    row: Row
    setting: str
    n_models: int
    others: float | None
    under: str

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
    runs = Run.objects.filter(OF_MODELS, model=model).order_by()
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


def model_standings(model: str) -> list[ModelStanding]:
    """Where a model stands on each dataset by its newest full run, the newest first."""
    datasets = completed_runs().order_by().filter(model=model).values("dataset")
    newest: dict[int, tuple[Run, Alike]] = {}
    for alike in latest_runs(Q(dataset__in=datasets)):
        for run in alike.runs:
            if run.model == model and (run.dataset_id not in newest or newest[run.dataset_id][0].pk < run.pk):
                newest[run.dataset_id] = (run, alike)
    return [_standing(run, alike) for run, alike in sorted(newest.values(), key=lambda standing: -standing[0].pk)]


def _standing(run: Run, alike: Alike) -> ModelStanding:
    metric = run.headline
    others = [other for other in alike.runs if other.model != run.model and metric in other.all_metrics]
    grid = matrix([run, *others], metric)
    rows = grid.rows
    row = next(row for row in rows if row.runs[0].pk == run.pk)
    ranked = [other.overall[0] for other in rows if other.place and other.overall and other is not row]
    cell = row.cells[0]
    assert cell is not None, "the run is in its row"
    mean = sum(ranked) / len(ranked) if ranked else None
    marks = grid.statement.marks if grid.statement else ()
    below = under(row.overall[0], marks) if row.place and row.overall else ""
    return ModelStanding(cell, row, alike.words, len(ranked) + (row.place is not None), mean, below)
