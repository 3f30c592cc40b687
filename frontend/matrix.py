"""The matrix of runs as pages show it: its rows in words, and its charts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from django.http import HttpRequest, QueryDict
from django.template.defaultfilters import pluralize

from benchmarks.analysis.averages import Average, can_average
from benchmarks.analysis.comparisons import FACETS
from benchmarks.analysis.effects import effects
from benchmarks.analysis.matrices import Cell, Row, cell_of, latency_title
from benchmarks.analysis.score_table import metric_of
from benchmarks.models import Experiment, Run
from benchmarks.presentation.numbers import (
    chance,
    milliseconds,
    money,
    n_of,
    number,
    percent,
    rank_range,
)
from benchmarks.presentation.ranks import Mark
from benchmarks.presentation.sentences import applies_to
from benchmarks.providers.base import known_sum
from benchmarks.queries import matrix as reads
from benchmarks.queries.corrected_ranks import CORRECTED, can_correct, corrected_ranks, corrected_sentence
from benchmarks.queries.experiments import AVERAGE, EACH, averages_variants
from benchmarks.queries.interval_covers import covers_of
from benchmarks.queries.matrix import Matrix
from benchmarks.queries.tables.corrected_ranks import CORRECTED_RANKS
from benchmarks.summary import Expected
from frontend import charts, params
from frontend.chart_parts import Chart, Measure
from frontend.charts import Contender
from frontend.chips import Choice, choice
from frontend.large_ruler import LargeRuler, Scored
from frontend.parting import parting
from frontend.preferences import Ranked
from frontend.ruler import ends
from frontend.view_models import metric_row

TINTS = (0.2, 0.5, 0.7, 0.86)
"""Where the tint of a cell becomes stronger."""
VARIANTS = {EACH: "Each variant", AVERAGE: "Averaged over variants"}
JUDGES = {"": "As judged", CORRECTED: "Corrected by labels"}
MARGINS = ("1", "2", "5", "10")
"""Points within which two scores can count as the same, as offered."""


@dataclass(frozen=True, slots=True)
class BoardCell:
    """A run in the matrix. ``tint`` is from 1 to 5 by the score, 0 without. ``n_of`` is empty if the head has it."""

    cell: Cell
    tint: int
    n_of: str
    coverage: str
    percent: int

    @property
    def run(self) -> Run:
        return self.cell.run


@dataclass(frozen=True, slots=True)
class BoardRow:
    """A row of the matrix in words. ``braces`` are what the columns of braces show here: the letter of a group that the
    row is in, and the piece of the brace."""

    row: Row
    rank: str
    cells: Sequence[BoardCell | None]
    cost: float | None
    """US dollars per 1,000 results, of model and judge."""
    latency_ms: float | None
    tokens_out: float | None
    braces: Sequence[tuple[str, str]] = ()
    preferences: Sequence[Ranked | None] = ()
    """Its places in the strengths that the page shows."""


@dataclass(frozen=True, slots=True)
class AveragedRow:
    """A model over all variants in words, with its braces as in ``BoardRow``."""

    row: Average
    braces: Sequence[tuple[str, str]] = ()

    @property
    def rank(self) -> str:
        return rank_range(self.row.place.rank_low, self.row.place.rank_high) if self.row.place else ""

    @property
    def best(self) -> str:
        return chance(self.row.place.best) if self.row.place else ""

    @property
    def shares(self) -> Sequence[str]:
        """Of the variance: variants, tasks, and the rest."""
        shares = self.row.shares
        return [percent(part) for part in (shares.variants, shares.tasks, shares.rest)] if shares else []


def shared_counts(cells: Sequence[Sequence[Cell | None]]) -> list[str]:
    """What each column counts, ``n = 26 of 26``, where that is the same in all of its rows; else nothing."""
    counts = [{_count(cell) for cell in column if cell} for column in zip(*cells, strict=True)]
    return [next(iter(found)) if len(found) == 1 else "" for found in counts]


def board_row(row: Row, braces: Sequence[tuple[str, str]] = (), counts: Sequence[str] = ()) -> BoardRow:
    """``counts`` are what the heads of the columns say already."""
    place = row.place
    wholes = list({cell.run.pk: cell for cell in row.cells if cell is not None}.values())
    costs, done = [cell.cost_usd for cell in wholes], sum(cell.run.done for cell in wholes)
    tokens = known_sum(*(cell.run.tokens_out for cell in wholes))
    return BoardRow(
        row=row,
        rank=rank_range(place.rank_low, place.rank_high) if place else "",
        cells=[
            None if cell is None else _board_cell(cell, told)
            for cell, told in zip(row.cells, counts or [""] * len(row.cells), strict=True)
        ],
        cost=None if None in costs or not done else 1000 * sum(filter(None, costs)) / done,
        latency_ms=row.latency_ms,
        tokens_out=tokens / done if done and tokens is not None else None,
        braces=braces,
    )


def braces(groups: Sequence[str]) -> list[list[tuple[str, str]]]:
    """The letter and the piece in each column of braces, for rows that are in these groups (``"A B"``).

    A brace goes from the first to the last row of its group; braces that overlap stand in different columns. Pieces are
    ``first``, ``middle``, ``last`` and ``alone`` of a brace, ``past`` beside a row that is not in the group, or empty.
    """
    members: dict[str, list[int]] = {}
    for at, letters in enumerate(groups):
        for letter in letters.split():
            members.setdefault(letter, []).append(at)
    columns: list[list[tuple[str, str]]] = []
    for letter, rows in members.items():
        span = range(rows[0], rows[-1] + 1)
        column = next((column for column in columns if not any(column[at][1] for at in span)), None)
        if column is None:
            column = [("", "")] * len(groups)
            columns.append(column)
        for at in span:
            column[at] = (letter, _piece(at, span)) if at in rows else ("", "past")
    return [[column[at] for column in columns] for at in range(len(groups))]


def _piece(at: int, span: range) -> str:
    if len(span) == 1:
        return "alone"
    return "first" if at == span[0] else "last" if at == span[-1] else "middle"


def large_ruler(grid: Matrix, guess: float | None) -> LargeRuler:
    """The overall scores of the ranked rows; baselines and what guessing scores beside them."""
    scored = [
        Scored(row.name.removesuffix(f" ({row.variant})"), row.variant, *row.overall, row.place.group)
        for row in grid.rows
        if row.place and row.overall
    ]
    baselines = [
        Mark(row.model.partition("/")[2], row.overall[0])
        for row in grid.rows
        if row.is_baseline and row.overall and not row.place
    ]
    return LargeRuler(scored, baselines, guess)


def guess_over(grid: Matrix, metric: str) -> float | None:
    """The average over the columns of what guessing scores; ``None`` unless it is known for each."""
    guesses = [
        next((guess for cell in column if cell and (guess := cell.run.guess_of(metric_of(cell.run, metric)))), None)
        for column in zip(*(row.cells for row in grid.rows), strict=True)
    ]
    known = [guess for guess in guesses if guess is not None]
    return sum(known) / len(known) if known and len(known) == len(guesses) else None


def _parts_of_datasets(grid: Matrix, metric: str) -> list[str]:
    """The datasets of which the metric of the matrix applies to a part of the tasks, each in a sentence."""
    parts: dict[str, None] = {}
    for run in (column.run for column in grid.columns):
        name = metric_of(run, metric)
        title = f"{metric_row(name).title} on {run.dataset.title}"
        parts[applies_to(title, run.numbers_of(name))] = None
    return list(filter(None, parts))


def matrix_context(request: HttpRequest, runs: Sequence[Run]) -> dict[str, Any]:
    """What a page shows of runs read as one, by ``?metric=``, ``?dataset=``, ``?columns=`` and ``?margin=``."""
    metric, dataset, facet = (params.text(request.GET, name) for name in ("metric", "dataset", "columns"))
    margin = params.margin(request.GET)
    grid = reads.matrix(runs, metric, dataset, facet, margin=margin)
    ranked = [row for row in grid.rows if row.place]
    joined = braces([row.place.group for row in ranked if row.place])
    alone = grid.columns[0].run if len({column.run.dataset_id for column in grid.columns}) == 1 else None
    datasets = reads.matrix(runs, metric, dataset) if facet else grid
    changes = effects(datasets)
    counts, guess = shared_counts([row.cells for row in grid.rows]), guess_over(grid, metric)
    first = [board_row(row, own, counts) for row, own in zip(ranked, joined, strict=True)]
    rest = [board_row(row, (), counts) for row in grid.rows if not row.place]
    bounds = [abs(bound) for row in changes.rows for e in (*row.cells, row.overall) if e for bound in (e.low, e.high)]
    return {
        "matrix": grid,
        "of_datasets": datasets,
        "problems": [text for texts in reads.unknown_choices(runs, metric, dataset).values() for text in texts],
        "lead": grid.sentences[:2],
        "none_right": grid.none_right,
        "failing": next((run for row in reads.none_right_rows(grid.rows) for run in row.runs), None),
        "change": changes.without(reads.none_right_variants(grid.rows)).sentence,
        "aside": _parts_of_datasets(grid, metric),
        "beside": [*grid.sentences[2:], *filter(None, [grid.same_sentence])],
        "covers": covers_of(runs).sentence if ranked else "",
        "ruler": large_ruler(grid, guess),
        "parting": parting([row for row in grid.rows if row.place]),
        "ranked": first,
        "unranked": rest,
        "columns": [*zip(grid.columns, counts or [""] * len(grid.columns), strict=True)],
        "has_overall": bool(facet) or len(grid.columns) > 1,
        "latency_title": latency_title(grid.rows),
        "metrics": [metric_row(name) for name in reads.metrics_of(runs)],
        "datasets": sorted({(run.dataset.slug, run.dataset.title) for run in runs}),
        "facets": reads.facets_of(alone) if alone else [],
        "metric": metric,
        "guess": guess,
        "margin": f"{100 * margin:g}",
        "has_margin": bool(grid.same_sentence),
        "dataset": dataset,
        "facet": facet,
        "effects": changes,
        "effect_bound": ends(bounds),
        "has_variants": any(run.variant for run in runs),
    }


def comparison_choices(query: QueryDict, shown: Mapping[str, Any]) -> list[Choice]:
    """What a comparison can be of, by the context of its page."""
    datasets, metrics = shown.get("datasets", []), [(row.name, row.title) for row in shown["metrics"]]
    choices = []
    if len(datasets) > 1:
        choices.append(choice(query, "dataset", "Benchmark", [("", "All benchmarks"), *datasets], shown["dataset"]))
    if len(metrics) > 1 and "matrix" in shown:
        titles = [("", "Task score"), *metrics]
        choices.append(choice(query, "metric", "Metric", titles, params.text(query, "metric")))
    elif len(metrics) > 1:
        choices.append(choice(query, "metric", "Metric", metrics, shown["metric"]))
    if facets := shown.get("facets"):
        titles = [("", "Whole benchmark"), *((name, f"By {FACETS[name].lower()}") for name in facets)]
        choices.append(choice(query, "columns", "Columns", titles, shown["facet"]))
    if "variants_shown" in shown:
        choices.append(choice(query, "variants", "Variants", VARIANTS.items(), shown["variants_shown"]))
    if "judge" in shown:
        choices.append(choice(query, "judge", "Judge", JUDGES.items(), shown["judge"]))
    if shown["has_margin"]:
        points = sorted({*MARGINS, shown["margin"]}, key=float)
        titles = [(each, f"Same within {each} point{pluralize(each)}") for each in points]
        choices.append(choice(query, "margin", "Difference", titles, shown["margin"]))
    return choices


def corrected_context(request: HttpRequest, grid: Matrix) -> dict[str, Any]:
    """What stands in place of the matrix by ``?judge=corrected``, and the switch; nothing if no judge scores it."""
    names = {metric_of(run, grid.metric) for row in grid.rows for run in row.runs}
    metric = names.pop() if len(names) == 1 else ""
    if not can_correct(metric):
        return {}
    context: dict[str, Any] = {"judge": ""}
    if request.GET.get("judge") != CORRECTED:
        return context
    try:
        places = corrected_ranks([run for row in grid.rows for run in row.runs], metric)
    except ValueError as problem:
        return context | {"problems": [str(problem)]}
    return context | {
        "judge": CORRECTED,
        "corrected": CORRECTED_RANKS.of(places),
        "lead": [corrected_sentence(places), ""],
        "change": "",
        "aside": [],
        "covers": "",
    }


def averages_context(request: HttpRequest, experiment: Experiment, datasets: Matrix) -> dict[str, Any]:
    """What stands in place of the matrix if models are averaged over the variants, by ``?variants=``; without enough
    variants nothing. ``datasets`` is the matrix with a column for each."""
    if not can_average(datasets):
        return {}
    averages = averages_variants(experiment, params.text(request.GET, "variants"))
    models = reads.averaged_models(datasets) if averages else None
    if models is None:
        return {"variants_shown": EACH}
    rows, runs = models.found.rows, [run for row in datasets.rows for run in row.runs]
    joined = iter(braces([row.place.group for row in rows if row.place]))
    scored = [Scored(row.name, "", *row.overall, row.place.group) for row in rows if row.place and row.overall]
    beside = [Mark(row.name, row.overall[0]) for row in rows if row.is_baseline and row.overall]
    return {
        "variants_shown": AVERAGE,
        "averages": models.found,
        "averaged": [AveragedRow(row, next(joined) if row.place else ()) for row in rows],
        "lead": models.sentences[:2],
        "change": "",
        "aside": models.sentences[2:],
        "covers": covers_of(runs, over_variants=True).sentence,
        "ruler": LargeRuler(scored, beside, None),
        "facets": [],
    }


def matrix_charts(context: Mapping[str, Any]) -> list[Chart | None]:
    """The score of ranked rows against their cost and their latency."""
    ranked: Sequence[BoardRow] = context["ranked"]
    names = {metric_of(run, context["metric"]) for each in ranked for run in each.row.runs}
    measure = metric_row(names.pop()) if len(names) == 1 else Measure("score", "Mean score")
    contenders = [
        Contender(each.row.name, _level(each.row, context["metric"]), each.cost, each.latency_ms, each.row.model)
        for each in ranked
    ]
    latency = latency_title(each.row for each in ranked)
    return [charts.quality_against(by, contenders, measure, latency, context["guess"]) for by in ("cost", "latency")]


def versus(a: Run, b: Run) -> list[tuple[str, str, str, str]]:
    """What two runs cost and took: the measure, the number of each run, and how the second differs."""
    rows = [board_row(Row(run.model, run.variant, "", [cell_of(run, "")])) for run in (a, b)]
    measures = (
        ("$ per 1,000 results", [row.cost for row in rows], money),
        ("Median latency", [row.latency_ms for row in rows], milliseconds),
        ("Tokens out per result", [row.tokens_out for row in rows], partial(number, digits=1)),
    )
    shown = [(name, first, second, write(first), write(second)) for name, (first, second), write in measures]
    # What is written in the same way does not differ by some percent.
    return [
        (name, a, b, "equal" if first and a == b else _change(first, second)) for name, first, second, a, b in shown
    ]


_MOST_PERCENT = 3
"""Times as much up to which a change is written in percent, because ``+1,150%`` is harder to read than ``12 times``."""


def _change(first: float | None, second: float | None) -> str:
    """``−88%``, ``+40%``, ``equal``, or ``12 times``."""
    if not first or second is None:
        return ""
    ratio = second / first
    if ratio >= _MOST_PERCENT:
        return f"{number(round(ratio, 1 if ratio < 10 else None))} times"
    change = round(100 * (ratio - 1))
    return f"{change:+}%".replace("-", "−") if change else "equal"


def _level(row: Row, metric: str) -> Expected:
    mean, low, high = row.overall or (None, None, None)
    numbers = [run.numbers_of(metric_of(run, metric)) for run in row.runs]
    expected = sum(part.n_expected or 0 for part in numbers)
    return Expected(mean, sum(part.n for part in numbers), low, high, n_expected=expected)


def _n_of(cell: Cell) -> str:
    n = n_of(cell.n, cell.total or 0)
    subset = cell.run.numbers.subset
    # The levels of an estimate are plain means of the drawn tasks.
    return f"n = {n}, estimate for {number(subset.n_tasks)} tasks" if subset and not cell.level else f"n = {n}"


def _count(cell: Cell) -> str:
    return "" if cell.total is None or cell.run.is_live else _n_of(cell)


def _board_cell(cell: Cell, told: str) -> BoardCell:
    tint = 0 if cell.mean is None else 1 + sum(cell.mean >= bound for bound in TINTS)
    covered = cell.coverage is None or cell.coverage >= 1
    run = cell.run
    return BoardCell(
        cell,
        tint,
        "" if (count := _count(cell)) == told else count,
        "" if covered else f"{percent(cell.coverage or 0.0)} scored",
        100 * run.done // run.total if run.total else 0,
    )
