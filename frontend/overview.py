"""What the overview shows, so that its templates compute nothing: what changed, and the standing on each dataset."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchmarks.analysis.comparisons import Compared
from benchmarks.analysis.rankings import Place, runs_to_test
from benchmarks.models import Run
from benchmarks.presentation.numbers import points
from benchmarks.presentation.sentences import n_of_expected, total_cost
from benchmarks.queries.history import History, latest_changes
from benchmarks.queries.judge_words import Judged, judge_words
from benchmarks.queries.leaderboard import Standing
from benchmarks.queries.matrix import Matrix, rank_ranges, tested
from frontend.view_models import MetricRow, RunRow, metric_row, run_rows

MODELS, DATASETS = 4, 6
"""Columns and rows of what changed, at most."""
PANELS, PLACES = 6, 5
"""Standings, and models in each, at most. Baselines come after them."""
BASELINES = 2


@dataclass(frozen=True, slots=True)
class Change:
    """A history with how its last run compares with the one before; ``change`` only if the test finds one, in words,
    and ``direction`` is then up or down."""

    history: History
    n_of: str
    compared: Compared | None
    change: str
    direction: str


@dataclass(frozen=True, slots=True)
class ChangesRow:
    """One dataset by one metric. ``cells`` has each model with its history, ``None`` without one."""

    history: History
    title: str
    cells: Sequence[tuple[str, Change | None]]


@dataclass(frozen=True, slots=True)
class Changes:
    """Datasets by models, those with a change first. ``more`` histories have no place in it."""

    models: Sequence[str]
    rows: Sequence[ChangesRow]
    more: int


@dataclass(frozen=True, slots=True)
class StandingRow:
    """A model's place with its numbers; ``rank`` is a range where the paired tests cannot separate models."""

    place: Place
    score: MetricRow
    rank: str
    cost: str


@dataclass(frozen=True, slots=True)
class StandingPanel:
    """The standing on one dataset, with what can be said of it. ``more`` models are not shown."""

    standing: Standing
    sentence: str
    metric: MetricRow
    rows: Sequence[StandingRow]
    more: int


@dataclass(frozen=True, slots=True)
class Live:
    """Runs in progress: those that send requests, and those that wait for a worker."""

    running: Sequence[RunRow]
    queued: Sequence[RunRow]
    sentence: str


def live_runs(runs: Sequence[Run]) -> Live:
    rows = run_rows(runs)
    queued = [row for row in reversed(rows) if row.run.status == "queued"]
    running = [row for row in rows if row.run.status != "queued"]
    parts = [(len(running), "running"), (len(queued), "queued")]
    return Live(running, queued, ", ".join(f"{count} {word}" for count, word in parts if count))


def changes(histories: Sequence[History]) -> Changes:
    """Histories as a table of datasets by models, at most ``DATASETS`` by ``MODELS``."""
    compared = latest_changes(histories)
    every = sorted(
        (_change(each, compared.get(each.last.run.pk)) for each in histories), key=lambda each: not each.change
    )
    models = list(dict.fromkeys(each.history.model for each in every))[:MODELS]
    by_row: dict[tuple[int, str, str], dict[str, Change]] = {}
    for each in every:
        history = each.history
        if history.model in models:
            # A model with two judges has two histories; the one with a change or the newest is shown.
            by_row.setdefault((history.dataset.pk, history.metric, history.setting), {}).setdefault(history.model, each)
    rows = [
        ChangesRow(
            next(iter(cells.values())).history,
            metric_row(metric).title,
            [(model, cells.get(model)) for model in models],
        )
        for (_, metric, _), cells in list(by_row.items())[:DATASETS]
    ]
    return Changes(models, rows, len(every) - sum(cell is not None for row in rows for _, cell in row.cells))


def standing_panels(standings: Sequence[Standing]) -> list[StandingPanel]:
    """The first standings, each with its best models and baselines."""
    # All models are tested, not only those shown, because a range may reach beyond them.
    grids = [tested(runs_to_test(standing.places), standing.metric) for standing in standings[:PANELS]]
    known = judge_words({each for grid in grids if grid and grid.statement for each in grid.statement.judged})
    return [_panel(standing, grid, known) for standing, grid in zip(standings, grids, strict=False)]


def _panel(standing: Standing, grid: Matrix | None, known: Mapping[Judged, str]) -> StandingPanel:
    models = [place for place in standing.places if not place.run.is_baseline]
    baselines = [place for place in standing.places if place.run.is_baseline]
    ranges = rank_ranges(grid)
    rows = [_standing_row(place, standing.metric, ranges) for place in (*models[:PLACES], *baselines[:BASELINES])]
    said = grid.statement.sentences(known)[:2] if grid and grid.statement else []
    more = len(models) - len(models[:PLACES])
    return StandingPanel(standing, " ".join(filter(None, said)), metric_row(standing.metric), rows, more)


def _standing_row(place: Place, metric: str, ranges: Mapping[int, str]) -> StandingRow:
    run = place.run
    return StandingRow(
        place,
        metric_row(metric, place.numbers),
        ranges.get(run.pk) or str(place.rank or ""),
        total_cost(run.cost_usd, run.judge_cost_usd if run.judge_model else 0.0),
    )


def _change(history: History, compared: Compared | None) -> Change:
    change, direction = "", ""
    if compared is not None and compared.is_clear and compared.comparison.difference is not None:
        difference = compared.comparison.difference
        direction = "up" if difference > 0 else "down"
        change = f"{'▲' if difference > 0 else '▼'} {points(abs(difference))} points"
    last = history.last
    return Change(history, n_of_expected(last.n, last.n_expected), compared, change, direction)
