"""Runs read as one: the matrix of model × variant by dataset, and what can be said of the order.

The numbers of a cell are those of its run's summary. Rows are ranked from the scores of each task, once all their runs
have ended; that is computed when it is first read and kept in the cache until one of the runs gets new numbers.
"""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from django.core.cache import cache

from benchmarks.metrics.registered_metrics import is_score
from benchmarks.models import COMPLETED, TERMINAL, Run
from benchmarks.presentation.numbers import MISSING, interval, percent
from benchmarks.queries.leaderboard import MIN_COVERAGE, unranked_reason
from benchmarks.queries.statistics import CACHE_SECONDS, task_scores
from benchmarks.statistics.ranking import Place, Ranking, Scores, mean_of_intervals
from benchmarks.statistics.sentences import ranking_sentence

_FORMAT = 1
"""Goes up when ``Standing`` changes, so that no old one is read."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One run in the matrix, with the strict mean of the chosen metric; ``None`` before anything is scored."""

    run: Run
    mean: float | None
    low: float | None
    high: float | None
    n: int
    total: int | None
    coverage: float | None

    @property
    def cost_usd(self) -> float | None:
        """Of model and judge; ``None`` if a part of it is unknown."""
        own, judge = self.run.cost_usd, self.run.judge_cost_usd
        return None if own is None or judge is None else own + judge

    @property
    def latency_ms(self) -> float | None:
        """The median."""
        latency = self.run.summary.get("latency_ms") or {}
        return latency.get("p50")


@dataclass(frozen=True, slots=True)
class Row:
    """A model in one variant. ``cells`` has a cell for each dataset, ``None`` where it has no run.

    ``overall`` is the plain average of the datasets with its interval; it and ``place`` are ``None`` with a ``reason``.
    """

    model: str
    variant: str
    name: str
    cells: Sequence[Cell | None]
    overall: tuple[float, float, float] | None = None
    place: Place | None = None
    reason: str = ""

    @property
    def runs(self) -> list[Run]:
        return [cell.run for cell in self.cells if cell is not None]


@dataclass(frozen=True, slots=True)
class Matrix:
    """``columns`` are a run of each dataset; rows come by rank, those without one last."""

    metric: str
    columns: Sequence[Run]
    rows: Sequence[Row]
    verdict: str


@dataclass(frozen=True, slots=True)
class Standing:
    """What is kept of a ranking: a place for each row, and the verdict."""

    places: Sequence[Place]
    verdict: str


def metrics_of(members: Sequence[Run]) -> list[str]:
    """The metrics by which a matrix can be shown: scores that every dataset has, else what the runs begin with."""
    common = [name for name in (members[0].metrics if members else ()) if all(name in run.metrics for run in members)]
    return [name for name in common if is_score(name)]


def matrix(members: Sequence[Run], metric: str = "", dataset: str = "") -> Matrix:
    """The runs as a matrix by ``metric``, by default the first one of each run; only of one dataset if it is named."""
    chosen = [run for run in members if dataset in ("", run.dataset.slug)] or list(members)
    columns: dict[int, Run] = {}
    places: dict[tuple[str, str], dict[int, Run]] = {}
    for run in chosen:
        columns.setdefault(run.dataset_id, run)
        places.setdefault((run.model, run.variant), {})[run.dataset_id] = run
    names = _names(list(places))
    rows = [
        Row(model, variant, names[model, variant], [_cell(by_dataset.get(key), metric) for key in columns])
        for (model, variant), by_dataset in places.items()
    ]
    reasons = [_unranked(row, metric) for row in rows]
    ranked = [row for row, reason in zip(rows, reasons, strict=True) if not reason]
    standing = _standing(ranked, metric)
    placed = iter(standing.places)
    finished = [
        _placed(row, reason, None if reason or not standing.places else next(placed))
        for row, reason in zip(rows, reasons, strict=True)
    ]
    finished.sort(key=lambda row: -row.overall[0] if row.overall and row.place else 2.0)
    return Matrix(metric, list(columns.values()), finished, standing.verdict)


def matrix_rows(found: Matrix) -> list[dict[str, Any]]:
    """Each run of the matrix for other programs, with the rank and the group of its row."""
    numbers = ("mean", "low", "high", "n", "total", "coverage", "cost_usd", "latency_ms")
    return [
        {
            "model": row.model,
            "variant": row.variant,
            "dataset": cell.run.dataset.slug,
            "run": cell.run.pk,
            "status": cell.run.status,
            **{name: getattr(cell, name) for name in numbers},
            "rank": [row.place.rank_low, row.place.rank_high] if row.place else None,
            "group": row.place.group if row.place else None,
            "best": row.place.best if row.place else None,
        }
        for row in found.rows
        for cell in row.cells
        if cell is not None
    ]


def metric_of(run: Run, metric: str) -> str:
    """The chosen metric if the run has it, else its first."""
    return metric if metric in run.metrics else run.metrics[0]


def _names(rows: Sequence[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """What sentences call the rows: the model without its provider if that is unambiguous, and the variant if there
    are several."""
    models = {model for model, _ in rows}
    short = {model: model.partition("/")[2] or model for model in models}
    if len(set(short.values())) < len(models):
        short = {model: model for model in models}
    several = len({variant for _, variant in rows}) > 1
    return {(model, variant): f"{short[model]} ({variant})" if several else short[model] for model, variant in rows}


def _cell(run: Run | None, metric: str) -> Cell | None:
    if run is None:
        return None
    numbers = run.summary.get("metrics", {}).get(metric_of(run, metric), {})
    mean, low, high, total, coverage = (numbers.get(name) for name in ("mean", "low", "high", "n_expected", "coverage"))
    return Cell(run, mean, low, high, numbers.get("n", 0), total, coverage)


def _unranked(row: Row, metric: str) -> str:
    """Why a row has no rank; empty if it has one."""
    for cell in row.cells:
        if cell is None:
            return "It has no run on one of the datasets."
        run, name = cell.run, metric_of(cell.run, metric)
        if not is_score(name):
            return f"{name} is not a score from 0 to 1."
        if run.status not in TERMINAL:
            return f"Run {run.pk} has not ended."
        if run.status not in COMPLETED and (cell.coverage or 0.0) < MIN_COVERAGE:
            return f"Run {run.pk} ended before {percent(MIN_COVERAGE)} of its results had a score."
        if reason := unranked_reason(run, name):
            return f"Run {run.pk}: {reason}"
    return ""


def _placed(row: Row, reason: str, place: Place | None) -> Row:
    if reason:
        return Row(row.model, row.variant, row.name, row.cells, reason=reason)
    parts = [(cell.mean or 0.0, cell.low or 0.0, cell.high or 0.0) for cell in row.cells if cell]
    return Row(row.model, row.variant, row.name, row.cells, mean_of_intervals(parts), place)


def _standing(ranked: Sequence[Row], metric: str) -> Standing:
    """The places of the ranked rows, from the cache unless a run has new numbers."""
    if not ranked:
        return Standing([], "")
    # The time of the summary is part of the key: a run whose errors are retried gets a new one.
    stamps = ":".join(
        f"{run.pk}-{run.summarized_at.timestamp() if run.summarized_at else 0}" for row in ranked for run in row.runs
    )
    key = f"experiment:{_FORMAT}:{metric}:{hashlib.sha256(stamps.encode()).hexdigest()}"
    standing: Standing | None = cache.get(key)
    if standing is None:
        standing = _computed(ranked, metric)
        cache.set(key, standing, CACHE_SECONDS)
    return standing


def _computed(ranked: Sequence[Row], metric: str) -> Standing:
    datasets = [_scores([row.runs[column] for row in ranked], metric) for column in range(len(ranked[0].cells))]
    ranking = Ranking(datasets)
    verdict = ranking_sentence(ranking, [row.name for row in ranked])
    if ranking.n == 1:
        row = _placed(ranked[0], "", None)
        mean, low, high = row.overall or (None, None, None)
        verdict = f"{row.name} scores {MISSING if mean is None else f'{mean:.3f}'} ({interval(low, high)})."
    return Standing(ranking.places(), verdict)


def _scores(members: Sequence[Run], metric: str) -> Scores:
    """The scores of runs on one dataset, by task of identical content."""
    import numpy as np

    columns: dict[Hashable, int] = {}
    clusters: dict[Hashable, int] = {}
    of_columns: list[int] = []
    rows = []
    for run in members:
        scores, cluster_of = task_scores(run, metric_of(run, metric))
        for task in scores:
            if task not in columns:
                columns[task] = len(columns)
                of_columns.append(clusters.setdefault(cluster_of[task], len(clusters)))
        rows.append(scores)
    values = np.full((len(rows), len(columns)), np.nan)
    for place, scores in enumerate(rows):
        known = [(columns[task], value) for task, value in scores.items() if value is not None]
        if known:
            at, given = zip(*known, strict=True)
            values[place, list(at)] = given
    return Scores(values, np.array(of_columns, dtype=np.int64))
