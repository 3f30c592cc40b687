"""Models ranked over several datasets, by the average of their ranks on each.

A rank requires a run on every dataset with scores for ``MIN_COVERAGE`` of its results.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from benchmarks.analysis.kept import kept_for
from benchmarks.analysis.matrices import Cell, cell_of
from benchmarks.analysis.rankings import differences, unranked_reason
from benchmarks.analysis.score_table import scores_of
from benchmarks.metrics.registered_metrics import is_score
from benchmarks.models import Dataset, Run
from benchmarks.presentation.numbers import rank_range
from benchmarks.presentation.ranks import BASELINE_UNRANKED, shared_ranks
from benchmarks.statistics.ranking import MeanRank, mean_rank_places, mean_ranks

_RowKey = tuple[str, str]
"""A model as lists name it, and the hash of how it answers."""
_FORMAT = 3
"""Goes up when what is kept of the ranking changes, so that no old one is read."""


@dataclass(frozen=True, slots=True)
class Column:
    """One dataset with its ``runs``, one of each model and way of answering, and what they have in common:
    ``setting_told`` is the ``setting`` without texts of prompts."""

    dataset: Dataset
    version_label: str
    setting: str
    metric: str
    runs: Sequence[Run]
    setting_told: str = ""


@dataclass(frozen=True, slots=True)
class OverallRow:
    """A model, by how it answers, with a cell for each dataset, ``None`` without a full run on it. ``mean_rank`` is
    ``None`` with a ``reason``, as it is for every baseline, and ``rank`` is its place by the mean rank, shared if
    equal, and ``places`` are the first and last that the ranges of all mean ranks leave to it. ``differs`` names the
    parameters in which the rows of models differ."""

    model: str
    cells: Sequence[Cell | None]
    mean_rank: MeanRank | None
    rank: int | None
    places: tuple[int, int] | None
    reason: str
    differs: str

    @property
    def ranks(self) -> str:
        """``1``, ``2–3``; empty without a rank."""
        return rank_range(*self.places) if self.places else ""

    @property
    def linked(self) -> str:
        """The model's own name, without the mark of an imported run."""
        return next(cell.run.model for cell in self.cells if cell is not None)

    @property
    def named(self) -> str:
        return f"{self.model} ({self.differs})" if self.differs else self.model

    @property
    def is_baseline(self) -> bool:
        return all(cell.run.is_baseline for cell in self.cells if cell is not None)


def overall_rows(columns: Sequence[Column]) -> list[OverallRow]:
    """A row for each model, by how it answers: by rank, then those without one, and at last the baselines."""
    by_row: dict[_RowKey, list[Cell | None]] = {}
    latest: dict[_RowKey, Run] = {}
    for place, column in enumerate(columns):
        for run in (run for run in column.runs if column.metric in run.all_metrics):
            cells = by_row.setdefault(_row_of(run), [None] * len(columns))
            cells[place] = cell_of(run, column.metric)
            latest[_row_of(run)] = run
    reasons = {row: _reason(cells, columns) for row, cells in by_row.items()}
    ranked = [row for row, reason in reasons.items() if not reason]
    by_rank = dict(
        zip(ranked, _mean_ranks([[cell for cell in by_row[row] if cell] for row in ranked], columns), strict=True)
    )
    places = dict(zip(ranked, mean_rank_places([by_rank[row] for row in ranked]), strict=True))
    ranked.sort(key=lambda row: by_rank[row].mean)
    ranks = dict(zip(ranked, shared_ranks([(by_rank[row].mean,) for row in ranked]), strict=True))
    told = dict(zip(latest, differences([(run, run.asked["answer"]) for run in latest.values()]), strict=True))
    rows = [
        OverallRow(row[0], cells, by_rank.get(row), ranks.get(row), places.get(row), reasons[row], told[row])
        for row, cells in by_row.items()
    ]
    return sorted(rows, key=lambda row: (row.rank is None, row.rank or row.is_baseline, row.model, row.differs))


def models_of(runs: Sequence[Run]) -> list[Run]:
    """Without baselines, which are shown beside the models but not ranked."""
    return [run for run in runs if not run.is_baseline]


def shared_places(groups: Sequence[Sequence[Run]]) -> list[int]:
    """The places of the groups that the two models with the most groups in common have; of all groups if these are
    fewer than two."""
    of_model: dict[_RowKey, set[int]] = {}
    for place, runs in enumerate(groups):
        for run in models_of(runs):
            of_model.setdefault(_row_of(run), set()).add(place)
    alike_models = Counter(map(frozenset, of_model.values()))
    pairs = [a & b for a, b in combinations(alike_models, 2)] + [each for each, n in alike_models.items() if n > 1]
    shared: frozenset[int] = max(pairs, key=len, default=frozenset())
    return sorted(shared) if len(shared) > 1 else list(range(len(groups)))


def common_metric(runs: Sequence[Run]) -> str:
    """The score from 0 to 1 that most runs of models have, of equals a headline; empty without any."""
    counts = Counter(name for run in models_of(runs) for name in run.all_metrics if is_score(name))
    headlines = Counter(run.headline for run in models_of(runs))
    return max(counts, key=lambda name: (counts[name], headlines[name]), default="")


def _row_of(run: Run) -> _RowKey:
    return run.model_label, run.answer_key


def _reason(cells: Sequence[Cell | None], columns: Sequence[Column]) -> str:
    """Why a model has no rank; empty if it has one."""
    missing = [column.dataset.title for cell, column in zip(cells, columns, strict=True) if cell is None]
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
