"""Models ranked over several datasets, by the average of their ranks on each.

On each dataset the latest full run of each model counts, on the newest version that has one and in the setting that
most models have. A rank requires a run on every chosen dataset with scores for ``MIN_COVERAGE`` of its results.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.metrics.registered_metrics import is_score
from benchmarks.models import Dataset, DatasetVersion, Run
from benchmarks.queries.leaderboard import Setting, completed_runs, is_whole, setting_of, unranked_reason
from benchmarks.queries.matrix import Cell, cell_of, scores_of
from benchmarks.queries.statistics import kept_for
from benchmarks.statistics.ranking import MeanRank, mean_ranks

MOST_RUNS = 2_000
MOST_DATASETS = 12
_FORMAT = 1
"""Goes up when what is kept of the ranking changes, so that no old one is read."""


@dataclass(frozen=True, slots=True)
class Column:
    """One dataset with what its runs have in common."""

    dataset: Dataset
    version_label: str
    setting: str
    metric: str


@dataclass(frozen=True, slots=True)
class OverallRow:
    """A model with a cell for each dataset, ``None`` without a full run on it. ``mean_rank`` is ``None`` with a
    ``reason``, and ``rank`` is its place by the mean rank, shared if equal."""

    model: str
    cells: Sequence[Cell | None]
    mean_rank: MeanRank | None
    rank: int | None
    reason: str

    @property
    def linked(self) -> str:
        """The model's own name, without the mark of an imported run."""
        return next(cell.run.model for cell in self.cells if cell is not None)


@dataclass(frozen=True, slots=True)
class Overall:
    """``offered`` are the datasets that at least two models have run; ``columns`` are the chosen ones."""

    offered: Sequence[Dataset]
    columns: Sequence[Column]
    rows: Sequence[OverallRow]


def overall_leaderboard(slugs: Sequence[str] = ()) -> Overall:
    """The leaderboard over these datasets, at most ``MOST_DATASETS``; without any, over all that are offered."""
    groups = _latest_runs()
    offered = sorted((runs[0].dataset for _, _, runs in groups), key=lambda dataset: dataset.slug)
    chosen = [group for group in groups if group[2][0].dataset.slug in slugs] or groups
    chosen = sorted(chosen, key=lambda group: group[2][0].dataset.slug)[:MOST_DATASETS]
    columns: list[Column] = []
    by_model: dict[str, list[Cell | None]] = {}
    for place, (setting, settings, runs) in enumerate(chosen):
        metric = _metric(runs)
        label = setting.version(runs[0].dataset_version.number)
        columns.append(Column(runs[0].dataset, label, setting.words(settings), metric))
        for run in (run for run in runs if metric in run.metrics):
            cells = by_model.setdefault(run.model_label, [None] * len(chosen))
            cells[place] = cell_of(run, metric)
    reasons = {model: _reason(cells, columns) for model, cells in by_model.items()}
    ranked = [model for model, reason in reasons.items() if not reason]
    mean_rank = _mean_ranks([[cell for cell in by_model[model] if cell] for model in ranked], columns)
    by_rank = dict(zip(ranked, mean_rank, strict=True))
    rows = [
        OverallRow(
            model,
            cells,
            by_rank.get(model),
            1 + sum(other.mean < by_rank[model].mean - 1e-9 for other in mean_rank) if model in by_rank else None,
            reasons[model],
        )
        for model, cells in by_model.items()
    ]
    rows.sort(key=lambda row: (row.rank is None, row.mean_rank.mean if row.mean_rank else 0.0, row.model))
    return Overall(offered, columns, rows)


def _latest_runs() -> list[tuple[Setting, list[Setting], list[Run]]]:
    """For each dataset that at least two models have run: the setting that counts, all settings, and its runs."""
    # Most of these runs are not the latest of their model, so only the summaries of those that are get read.
    completed = list(completed_runs().defer("summary")[:MOST_RUNS])
    versions = DatasetVersion.objects.only("number", "dataset", "facets")
    by_id = versions.in_bulk({run.dataset_version_id for run in completed})
    found: dict[int, dict[int, dict[Setting, dict[str, int]]]] = {}
    for run in completed:
        version = by_id[run.dataset_version_id]
        if is_whole(run, version):
            by_setting = found.setdefault(run.dataset_id, {}).setdefault(version.number, {})
            by_setting.setdefault(setting_of(run), {}).setdefault(run.model_label, run.pk)
    newest = [by_version[max(by_version)] for by_version in found.values()]
    chosen = [(max(group, key=lambda setting: len(group[setting])), group) for group in newest]
    read = completed_runs().in_bulk({pk for setting, group in chosen for pk in group[setting].values()})
    return [
        (setting, list(group), runs)
        for setting, group in chosen
        if len(runs := [read[pk] for pk in group[setting].values() if pk in read]) > 1 and _metric(runs)
    ]


def _metric(runs: Sequence[Run]) -> str:
    """The score from 0 to 1 that most of the runs have, the first of equals; empty without any."""
    counts = Counter(name for run in runs for name in run.metrics if is_score(name))
    return max(counts, key=lambda name: counts[name], default="")


def _reason(cells: Sequence[Cell | None], columns: Sequence[Column]) -> str:
    """Why a model has no rank; empty if it has one."""
    missing = [column.dataset.slug for cell, column in zip(cells, columns, strict=True) if cell is None]
    if missing:
        return f"No full run on {', '.join(missing)}."
    for cell, column in zip(cells, columns, strict=True):
        if cell is not None and (reason := unranked_reason(cell.run, column.metric)):
            return f"Run {cell.run.pk}: {reason}"
    return ""


def _mean_ranks(rows: Sequence[Sequence[Cell]], columns: Sequence[Column]) -> list[MeanRank]:
    """The mean rank of each row, from the cache unless a run has new numbers."""
    if not rows:
        return []
    members = [cell.run for row in rows for cell in row]
    names = ",".join(column.metric for column in columns)

    def compute() -> list[MeanRank]:
        return mean_ranks(
            [scores_of([row[place].run for row in rows], column.metric) for place, column in enumerate(columns)]
        )

    return kept_for(f"overall:{_FORMAT}:{names}", members, compute)
