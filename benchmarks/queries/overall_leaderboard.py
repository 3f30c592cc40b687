"""Models ranked over several datasets, by the average of their ranks on each.

On each dataset the latest full run of each model counts, on the newest version that has one and in the setting that
most models have. A rank requires a run on every chosen dataset with scores for ``MIN_COVERAGE`` of its results.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from django.db.models import Q

from benchmarks.analysis.kept import kept_for
from benchmarks.analysis.rankings import differences, unranked_reason
from benchmarks.analysis.score_table import scores_of
from benchmarks.metrics.registered_metrics import is_score
from benchmarks.models import Dataset, Run
from benchmarks.presentation.ranks import BASELINE_UNRANKED, shared_ranks
from benchmarks.queries.leaderboard import Alike, latest_runs
from benchmarks.queries.matrix import Cell, cell_of
from benchmarks.statistics.ranking import MeanRank, mean_ranks

MOST_DATASETS = 12
_RowKey = tuple[str, str]
"""A model as lists name it, and the hash of how it answers."""
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
    """A model, by how it answers, with a cell for each dataset, ``None`` without a full run on it. ``mean_rank`` is
    ``None`` with a ``reason``, as it is for every baseline, and ``rank`` is its place by the mean rank, shared if
    equal. ``differs`` names the parameters in which the rows of models differ."""

    model: str
    cells: Sequence[Cell | None]
    mean_rank: MeanRank | None
    rank: int | None
    reason: str
    differs: str

    @property
    def linked(self) -> str:
        """The model's own name, without the mark of an imported run."""
        return next(cell.run.model for cell in self.cells if cell is not None)

    @property
    def is_baseline(self) -> bool:
        return all(cell.run.is_baseline for cell in self.cells if cell is not None)


@dataclass(frozen=True, slots=True)
class Overall:
    """``offered`` are the datasets that at least two models have run; ``columns`` are the chosen ones. ``unknown`` are
    the names of others that were chosen."""

    offered: Sequence[Dataset]
    columns: Sequence[Column]
    rows: Sequence[OverallRow]
    unknown: Sequence[str] = ()

    @property
    def problem(self) -> str:
        """What to say about the unknown names; empty if there are none."""
        if not self.unknown:
            return ""
        two = "a dataset" if len(self.unknown) == 1 else "datasets"
        known = f"Choose from: {', '.join(dataset.slug for dataset in self.offered)}." if self.offered else ""
        return f"Not {two} with full runs of two models: {', '.join(self.unknown)}. {known}".strip()


def overall_leaderboard(slugs: Sequence[str] = ()) -> Overall:
    """The leaderboard over these datasets, at most ``MOST_DATASETS``; without any, over all that are offered, or the
    most that two models share if no two models share all. It is empty with an unknown one."""
    groups = sorted(_groups(), key=lambda alike: alike.runs[0].dataset.slug)
    offered = [alike.runs[0].dataset for alike in groups]
    if unknown := sorted({*slugs} - {dataset.slug for dataset in offered}):
        return Overall(offered, (), (), unknown)
    chosen = [alike for alike in groups if alike.runs[0].dataset.slug in slugs] if slugs else _shared(groups)
    chosen = chosen[:MOST_DATASETS]
    columns: list[Column] = []
    by_row: dict[_RowKey, list[Cell | None]] = {}
    runs: dict[_RowKey, Run] = {}
    for place, alike in enumerate(chosen):
        metric = _metric(_models(alike))
        label = alike.setting.version(alike.version.number)
        columns.append(Column(alike.runs[0].dataset, label, alike.words, metric))
        for run in (run for run in alike.runs if metric in run.all_metrics):
            cells = by_row.setdefault(_row_of(run), [None] * len(chosen))
            cells[place] = cell_of(run, metric)
            runs[_row_of(run)] = run
    reasons = {row: _reason(cells, columns) for row, cells in by_row.items()}
    ranked = [row for row, reason in reasons.items() if not reason]
    by_rank = dict(
        zip(ranked, _mean_ranks([[cell for cell in by_row[row] if cell] for row in ranked], columns), strict=True)
    )
    ranked.sort(key=lambda row: by_rank[row].mean)
    ranks = dict(zip(ranked, shared_ranks([(by_rank[row].mean,) for row in ranked]), strict=True))
    told = dict(zip(runs, differences([(run, run.asked["answer"]) for run in runs.values()]), strict=True))
    rows = [
        OverallRow(row[0], cells, by_rank.get(row), ranks.get(row), reasons[row], told[row])
        for row, cells in by_row.items()
    ]
    rows.sort(key=lambda row: (row.rank is None, row.rank or row.is_baseline, row.model, row.differs))
    return Overall(offered, columns, rows)


def _groups() -> list[Alike]:
    """For each dataset that at least two models have run, their runs on its newest version, in the setting of most."""
    newest: dict[int, Alike] = {}
    for alike in sorted(latest_runs(Q()), key=lambda alike: (-alike.version.number, -_n_models(alike))):
        newest.setdefault(alike.version.dataset_id, alike)
    return [alike for alike in newest.values() if _n_models(alike) > 1 and _metric(_models(alike))]


def _models(alike: Alike) -> list[Run]:
    """Without baselines, which are shown beside the models but not ranked."""
    return [run for run in alike.runs if not run.is_baseline]


def _n_models(alike: Alike) -> int:
    return len({run.model_label for run in _models(alike)})


def _row_of(run: Run) -> _RowKey:
    return run.model_label, run.answer_key


def _shared(groups: Sequence[Alike]) -> list[Alike]:
    """The groups that the two models with the most groups in common have; all of them if these are fewer than two."""
    of_model: dict[_RowKey, set[int]] = {}
    for place, alike in enumerate(groups):
        for run in _models(alike):
            of_model.setdefault(_row_of(run), set()).add(place)
    alike_models = Counter(map(frozenset, of_model.values()))
    pairs = [a & b for a, b in combinations(alike_models, 2)] + [each for each, n in alike_models.items() if n > 1]
    shared: frozenset[int] = max(pairs, key=len, default=frozenset())
    return [groups[place] for place in sorted(shared)] if len(shared) > 1 else list(groups)


def _metric(runs: Sequence[Run]) -> str:
    """The score from 0 to 1 that most of the runs have, of equals a headline; empty without any."""
    counts = Counter(name for run in runs for name in run.all_metrics if is_score(name))
    headlines = Counter(run.headline for run in runs)
    return max(counts, key=lambda name: (counts[name], headlines[name]), default="")


def _reason(cells: Sequence[Cell | None], columns: Sequence[Column]) -> str:
    """Why a model has no rank; empty if it has one."""
    missing = [column.dataset.slug for cell, column in zip(cells, columns, strict=True) if cell is None]
    if missing:
        return f"No full run on {', '.join(missing)}."
    for cell, column in zip(cells, columns, strict=True):
        if cell is not None and (reason := unranked_reason(cell.run, column.metric)):
            return f"Run {cell.run.pk}: {reason}"
    return BASELINE_UNRANKED if all(cell.run.is_baseline for cell in cells if cell) else ""


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
