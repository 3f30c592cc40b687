"""Runs read as one: the matrix of model × variant by dataset, and what can be said of the order.

The numbers of a cell are those of its run's summary. Rows are ranked from the scores of each task, once all their runs
have ended; that is computed when it is first read and kept in the cache until one of the runs gets new numbers.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from benchmarks.analysis.comparisons import FACETS
from benchmarks.analysis.kept import kept_for
from benchmarks.analysis.rankings import MIN_COVERAGE, differences, row_values, unranked_reason
from benchmarks.analysis.score_table import metric_of, scores_of
from benchmarks.metrics.registered_metrics import is_score
from benchmarks.models import COMPLETED, TERMINAL, Run
from benchmarks.presentation.comparisons import ranking_sentences
from benchmarks.presentation.numbers import rank_range
from benchmarks.presentation.ranks import BASELINE_UNRANKED, Mark, only_baselines
from benchmarks.queries.judge_words import Judged, in_parentheses, judge_words, judged_scores
from benchmarks.run_parameters import RUN_PARAMETERS
from benchmarks.statistics.ranking import Place, Ranking, Verdict, mean_of_intervals
from benchmarks.summary import NO_NUMBERS, Breakdown, Counted

MOST_TESTED = 24
"""Runs of one dataset up to which all pairs are tested for a list of ranks."""
FORMAT = 3
"""Goes up when ``Standing`` or ``Statement`` changes, so that no old one is read."""


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
    def is_baseline(self) -> bool:
        return all(run.is_baseline for run in self.runs)


@dataclass(frozen=True, slots=True)
class Column:
    """A dataset, with one of its runs; or a ``level`` of a facet of it."""

    run: Run
    level: str = ""


@dataclass(frozen=True, slots=True)
class Statement:
    """What ``sentences`` say of an order: the verdict on the ranked rows with their names, the baselines beside them,
    and the judges behind the scores. Without a verdict, only baselines have run."""

    verdict: Verdict | None
    names: Sequence[str]
    noun: str
    bounds: tuple[float, float] | None
    marks: Sequence[Mark]
    judged: tuple[Judged, ...]

    def sentences(self, known: Mapping[Judged, str]) -> list[str]:
        """Those of ``ranking_sentences``; ``known`` are the ``judge_words`` of ``judged``."""
        measured = in_parentheses(self.judged, known)
        if self.verdict is None:
            return [only_baselines(self.marks, measured), ""]
        return ranking_sentences(
            self.verdict, self.names, self.marks, bounds=self.bounds, measured=measured, noun=self.noun
        )


@dataclass(frozen=True)
class Matrix:
    """Rows come by rank, those without one last, with the ``statement`` on the order, if there is one."""

    metric: str
    columns: Sequence[Column]
    rows: Sequence[Row]
    statement: Statement | None

    @cached_property
    def sentences(self) -> Sequence[str]:
        """Of the statement, in two queries if a judge scored; empty without one."""
        return self.statement.sentences(judge_words(self.statement.judged)) if self.statement else []

    @property
    def is_partial(self) -> bool:
        """Whether models have no rank."""
        return any(row.place is None and not row.is_baseline for row in self.rows)

    @property
    def verdict(self) -> str:
        return " ".join(filter(None, self.sentences))

    @property
    def no_verdict(self) -> str:
        """What stands in place of the verdict if no row is ranked."""
        if any(run.status not in TERMINAL for row in self.rows for run in row.runs):
            return "No ranking yet. A model is ranked once all its runs have ended."
        return "No row is ranked. The reason is beside each model."


@dataclass(frozen=True, slots=True)
class Standing:
    """What is kept of a ranking: a place for each row, and the verdict; ``None`` without rows."""

    places: Sequence[Place] = ()
    verdict: Verdict | None = None


def metrics_of(members: Sequence[Run]) -> list[str]:
    """The metrics by which a matrix can be shown: scores that every dataset has."""
    first = members[0].all_metrics if members else []
    return [name for name in first if is_score(name) and all(name in run.all_metrics for run in members)]


class UnknownChoice(Exception):
    """A filter has a value that no run has; ``problems`` are those of ``unknown_choices``."""

    def __init__(self, problems: Mapping[str, list[str]]) -> None:
        super().__init__(" ".join(text for texts in problems.values() for text in texts))
        self.problems = problems


def unknown_choices(members: Sequence[Run], metric: str, dataset: str) -> dict[str, list[str]]:
    """What to say of a ``metric`` or a ``dataset`` that none of the runs has; empty if they have both."""
    problems: dict[str, list[str]] = {}
    metrics = sorted({name for run in members for name in run.all_metrics})
    slugs = sorted({run.dataset.slug for run in members})
    for name, chosen, known in (("metric", metric, metrics), ("dataset", dataset, slugs)):
        if chosen and chosen not in known:
            problems[name] = [f"No run here has the {name} {chosen}. Choose from: {', '.join(known) or '(none)'}."]
    return problems


def matrix(members: Sequence[Run], metric: str = "", dataset: str = "", facet: str = "") -> Matrix:
    """The runs as a matrix by ``metric``, by default the headline of each run; only of one dataset if it is named.

    The columns of a single dataset can be the levels of a ``facet``, a key of ``FACETS``. Runs that have model, variant
    and dataset in common are rows of their own.
    """
    chosen = [run for run in members if dataset in ("", run.dataset.slug)] or list(members)
    columns: dict[int, Run] = {}
    places: dict[tuple[str, str], dict[int, Run]] = {}
    for run in chosen:
        columns.setdefault(run.dataset_id, run)
        key = (run.model, run.variant)
        if run.dataset_id in places.get(key, {}):
            key = (run.model, f"{run.variant} (run {run.pk})".strip())
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
    statement = _statement(finished, standing.verdict, metric)
    finished.sort(key=lambda row: -row.overall[0] if row.overall and row.place else 2.0)
    heads = [Column(run) for run in columns.values()]
    if facet in FACETS and len(heads) == 1:
        heads, finished = _by_level(heads[0].run, finished, metric, facet)
    return Matrix(metric, heads, finished, statement)


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


def tested(ranked: Sequence[Run], metric: str) -> Matrix | None:
    """Runs on one dataset with the tests of all pairs of models; ``None`` if there are too many pairs."""
    if not is_score(metric) or not 0 < len(ranked) <= MOST_TESTED + sum(run.is_baseline for run in ranked):
        return None
    return matrix(ranked, metric)


def rank_ranges(grid: Matrix | None) -> dict[int, str]:
    """Run → the ranks that the paired tests of a ``tested`` matrix allow: ``1``, ``2–3``."""
    rows = grid.rows if grid else ()
    return {row.runs[0].pk: rank_range(row.place.rank_low, row.place.rank_high) for row in rows if row.place}


def facets_of(run: Run) -> list[str]:
    """By what the columns of the run's dataset can be split; none before the run has ended."""
    breakdown = Run.objects.values_list("breakdown", flat=True).get(pk=run.pk)
    return [name for name in FACETS if name in breakdown]


def matrix_rows(grid: Matrix) -> list[dict[str, object]]:
    """Each run of the matrix for other programs, with the rank and the group of its row."""
    numbers = ("mean", "low", "high", "n", "total", "coverage", "cost_usd", "latency_ms")
    return [
        {
            "model": row.model,
            "variant": row.variant,
            "differs": row.differs,
            "dataset": cell.run.dataset.slug,
            "run": cell.run.pk,
            "status": cell.run.status,
            **{name: getattr(cell, name) for name in numbers},
            "subset": cell.run.subset,
            "rank": [row.place.rank_low, row.place.rank_high] if row.place else None,
            "group": row.place.group if row.place else None,
            "best": row.place.best if row.place else None,
        }
        for row in grid.rows
        for cell in row.cells
        if cell is not None
    ]


def short_names(models: Collection[str]) -> dict[str, str]:
    """Models without their providers; all whole if two would be the same."""
    short = {model: model.partition("/")[2] or model for model in models}
    return short if len(set(short.values())) == len(short) else {model: model for model in models}


def _names(rows: Sequence[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """What sentences call the rows: the model without its provider if that is unambiguous, and the variant if there
    are several."""
    models = {model for model, _ in rows}
    short = short_names(models)
    several = len({variant for _, variant in rows}) > 1
    return {
        (model, variant): f"{short[model]} ({variant})" if several and variant else short[model]
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
        if not is_score(name):
            yield f"{name} is not a score from 0 to 1."
        if name != metric_of(first, metric):
            yield f"Run {run.pk} is scored by other metrics than run {first.pk}."
        if _tasks_of(run) != _tasks_of(first):
            yield f"Run {run.pk} has other tasks than run {first.pk}."
        if run.status not in TERMINAL:
            yield f"Run {run.pk} has not ended."
        elif run.status not in COMPLETED and (cell.coverage or 0.0) < MIN_COVERAGE:
            yield f"Run {run.pk} ended before {MIN_COVERAGE:.0%} of its results had a score."
        elif reason := unranked_reason(run, name):
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


def _statement(rows: Sequence[Row], verdict: Verdict | None, metric: str) -> Statement | None:
    """What can be said of placed rows in the order in which they were ranked; ``None`` if models have run and none is
    ranked."""
    ranked = [row for row in rows if row.place]
    beside = [row for row in rows if row.overall and not row.place]
    if not ranked and (not beside or not all(row.is_baseline for row in rows)):
        return None
    several = len({row.model for row in ranked}) < len(ranked)
    alone = ranked[0].overall if len(ranked) == 1 else None
    return Statement(
        verdict=verdict,
        names=[row.name for row in ranked],
        noun="runs" if several else "models",
        bounds=alone and alone[1:],
        marks=[Mark(row.model.partition("/")[2], row.overall[0]) for row in beside if row.overall],
        judged=judged_scores((run, metric_of(run, metric)) for row in ranked or beside for run in row.runs),
    )


def _by_level(first: Run, rows: Sequence[Row], metric: str, facet: str) -> tuple[list[Column], list[Row]]:
    """The columns and the rows with a cell for each level of the facet."""
    members = [run.pk for row in rows for run in row.runs]
    stored = dict(Run.objects.filter(pk__in=members).values_list("pk", "breakdown"))
    parts = {pk: Breakdown.read(breakdown).facets.get(facet, {}) for pk, breakdown in stored.items()}
    levels = list(dict.fromkeys(level for levels in parts.values() for level in levels))
    split = [
        replace(row, cells=[cell_of(run, metric, level, parts[run.pk].get(level, {})) for level in levels])
        for row in rows
        for run in row.runs
    ]
    return [Column(first, level) for level in levels], split


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
