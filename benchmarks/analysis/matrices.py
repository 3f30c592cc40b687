"""Runs ranked over datasets: a grid of model × variant by dataset, with what the paired tests say of its rows.

The numbers of a cell are those of its run's summary. Rows are ranked from the scores of each task, once all their runs
have ended; that is computed when it is first read and kept in the cache until one of the runs gets new numbers.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from benchmarks.analysis.kept import kept_for
from benchmarks.analysis.rankings import MIN_COVERAGE, differences, row_values, unranked_reason
from benchmarks.analysis.score_table import metric_of, scores_of
from benchmarks.metrics.registered_metrics import is_score
from benchmarks.models import COMPLETED, TERMINAL, Run
from benchmarks.presentation.ranks import BASELINE_UNRANKED
from benchmarks.run_parameters import RUN_PARAMETERS
from benchmarks.statistics.ranking import Place, Ranking, Verdict, mean_of_intervals
from benchmarks.summary import NO_NUMBERS, Counted

PLAIN = "plain"
"""What the first variant of an experiment is called unless somebody renames it."""
FORMAT = 8
"""Goes up when ``Standing``, or a statement that is made of it, changes, so that no old one is read."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One run in the matrix, with the strict mean of ``metric``; ``None`` before anything is scored.

    ``level`` is set where the cell is a part of the dataset.
    """

    run: Run
    mean: float | None
    low: float | None
    high: float | None
    n: int
    total: int | None
    coverage: float | None
    level: str = ""

    @property
    def cost_usd(self) -> float | None:
        """Of model and judge; ``None`` if a part of it is unknown, as what scored answers cost in another run."""
        own, judge = self.run.answers_cost_usd, self.run.judge_cost_usd
        return None if own is None or judge is None else own + judge

    @property
    def latency_ms(self) -> float | None:
        """The median."""
        latency = self.run.numbers.latency_ms
        return latency.p50 if latency else None


@dataclass(frozen=True, slots=True)
class Row:
    """A model in one variant. ``cells`` has a cell for each column, ``None`` where it has no run or no result.

    ``overall`` is the plain average of the datasets with its interval; it and ``place`` are ``None`` with a ``reason``.
    A baseline that could be ranked has ``overall``, but no ``place``. ``differs`` names the parameters in which the row
    differs from others: ``temperature 0``.
    """

    model: str
    variant: str
    name: str
    cells: Sequence[Cell | None]
    overall: tuple[float, float, float] | None = None
    place: Place | None = None
    reason: str = ""
    differs: str = ""

    @property
    def runs(self) -> list[Run]:
        """Each run of the row once."""
        return list({cell.run.pk: cell.run for cell in self.cells if cell is not None}.values())

    @property
    def latency_ms(self) -> float | None:
        """The median of its run; of several, the mean of their medians."""
        of_runs = {cell.run.pk: cell.latency_ms for cell in self.cells if cell is not None}
        known = [latency for latency in of_runs.values() if latency is not None]
        return sum(known) / len(known) if known else None

    @property
    def is_baseline(self) -> bool:
        return all(run.is_baseline for run in self.runs)


def latency_title(rows: Iterable[Row]) -> str:
    """What ``latency_ms`` of the rows is called."""
    return "Mean of median latencies" if any(len(row.runs) > 1 for row in rows) else "Median latency"


@dataclass(frozen=True, slots=True)
class Column:
    """A dataset, with one of its runs; or a ``level`` of a facet of it."""

    run: Run
    level: str = ""


@dataclass(frozen=True)
class Grid:
    """Rows come by rank, those without one last."""

    metric: str
    columns: Sequence[Column]
    rows: Sequence[Row]


@dataclass(frozen=True, slots=True)
class Standing:
    """What is kept of a ranking: a place for each row, and the verdict; ``None`` without rows."""

    places: Sequence[Place] = ()
    verdict: Verdict | None = None


@dataclass(frozen=True, slots=True)
class Ranked:
    """The ``verdict`` is on the ``rows`` that have a place, in their order."""

    columns: Sequence[Column]
    rows: Sequence[Row]
    verdict: Verdict | None

    @property
    def by_rank(self) -> list[Row]:
        """Those without a rank come last."""
        return sorted(self.rows, key=lambda row: -row.place.mean if row.place else 2.0)


def ranked_rows(members: Sequence[Run], metric: str) -> Ranked:
    """A row for each model and variant, by ``metric``, or by the headline of each run without one.

    Runs that have model, variant and dataset in common are rows of their own.
    """
    columns: dict[int, Run] = {}
    places: dict[tuple[str, str], dict[int, Run]] = {}
    for run in members:
        columns.setdefault(run.dataset_id, run)
        key = (run.model, run.variant)
        if run.dataset_id in places.get(key, {}):
            key = (run.model, ", ".join(filter(None, (run.variant, f"run {run.pk}"))))
        places.setdefault(key, {})[run.dataset_id] = run
    names = _names(list(places))
    rows = [
        Row(model, variant, names[model, variant], [cell_of(by_dataset.get(key), metric) for key in columns])
        for (model, variant), by_dataset in places.items()
    ]
    rows = [replace(row, differs=words) for row, words in zip(rows, _differences(rows, metric), strict=True)]
    reasons = [next(_unranked(row, metric, list(columns.values())), "") for row in rows]
    ranked = [row for row, reason in zip(rows, reasons, strict=True) if not reason and not row.is_baseline]
    standing = _standing(ranked, metric)
    placed = iter(standing.places)
    finished = [
        _placed(row, reason, None if reason or row.is_baseline else next(placed))
        for row, reason in zip(rows, reasons, strict=True)
    ]
    return Ranked([Column(run) for run in columns.values()], finished, standing.verdict)


def _differences(rows: Sequence[Row], metric: str) -> list[str]:
    """For each row, the parameters in which its runs differ from those of other rows on the same dataset."""
    told: list[list[str]] = [[] for _ in rows]
    for column in zip(*(row.cells for row in rows), strict=True):
        present = [place for place, cell in enumerate(column) if cell is not None]
        runs = [cell.run for cell in column if cell is not None]
        values = [{**run.asked.get("question", {}), **row_values(run, metric_of(run, metric))} for run in runs]
        for place, words in zip(present, differences(list(zip(runs, values, strict=True))), strict=True):
            told[place].append(words)
    return [", ".join(dict.fromkeys(filter(None, words))) for words in told]


def short_names(models: Collection[str]) -> dict[str, str]:
    """Models without their providers; all whole if two would be the same."""
    short = {model: model.partition("/")[2] or model for model in models}
    return short if len(set(short.values())) == len(short) else {model: model for model in models}


def _names(rows: Sequence[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """What sentences call the rows: the model without its provider if that is unambiguous, and the variant if there
    are several. Beside other models, one that is asked plainly goes by its own name."""
    models = {model for model, _ in rows}
    short = short_names(models)
    several = len({variant for _, variant in rows}) > 1
    unnamed = {"", PLAIN} if len(models) > 1 else {""}
    return {
        (model, variant): f"{short[model]} ({variant})" if several and variant not in unnamed else short[model]
        for model, variant in rows
    }


def cell_of(
    run: Run | None, metric: str, level: str = "", of_level: Mapping[str, Counted] | None = None
) -> Cell | None:
    """The numbers of a run, or those of a level of it."""
    if run is None:
        return None
    means: Mapping[str, Counted] = run.numbers.metrics if of_level is None else of_level
    of = means.get(metric_of(run, metric), NO_NUMBERS)
    return Cell(run, of.mean, of.low, of.high, of.n, of.n_expected, of.coverage, level)


def _unranked(row: Row, metric: str, columns: Sequence[Run]) -> Iterator[str]:
    """Why a row has no rank; nothing if it has one."""
    for cell, first in zip(row.cells, columns, strict=True):
        if cell is None:
            yield "It has no run on one of the datasets."
            continue
        run, name = cell.run, metric_of(cell.run, metric)
        if run.status not in TERMINAL:
            yield f"Run {run.pk} has not ended."
        elif run.status not in COMPLETED and (cell.coverage or 0.0) < MIN_COVERAGE:
            yield f"Run {run.pk} ended before {MIN_COVERAGE:.0%} of its results had a score."
        if not is_score(name):
            yield f"{name} is not a score from 0 to 1."
        if name != metric_of(first, metric):
            yield f"Run {run.pk} is scored by other metrics than run {first.pk}."
        if _tasks_of(run) != _tasks_of(first):
            yield f"Run {run.pk} has other tasks than run {first.pk}."
        if run.status in TERMINAL and (reason := unranked_reason(run, name)):
            yield f"Run {run.pk}: {reason}"


def _tasks_of(run: Run) -> tuple[object, ...]:
    part = (row.value_of(run) for row in RUN_PARAMETERS.values() if row.selects)
    return run.dataset_version_id, run.added_canvases, *part


def _placed(row: Row, reason: str, place: Place | None) -> Row:
    if reason:
        return replace(row, reason=reason)
    parts = [(cell.mean or 0.0, cell.low or 0.0, cell.high or 0.0) for cell in row.cells if cell]
    reason = "" if place else BASELINE_UNRANKED
    return replace(row, overall=mean_of_intervals(parts), place=place, reason=reason)


def _standing(ranked: Sequence[Row], metric: str) -> Standing:
    """The places of the ranked rows."""
    if not ranked:
        return Standing()
    members = [run for row in ranked for run in row.runs]
    return kept_for(f"ranking:{FORMAT}:{metric}", members, lambda: _ranking(ranked, metric))


def _ranking(ranked: Sequence[Row], metric: str) -> Standing:
    ranking = Ranking(
        [scores_of([row.runs[column] for row in ranked], metric) for column in range(len(ranked[0].cells))]
    )
    return Standing(ranking.places(), ranking.verdict())
