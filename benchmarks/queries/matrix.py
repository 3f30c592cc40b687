"""Runs read as one: the matrix of model × variant by dataset, and what can be said of the order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property

from benchmarks.analysis.averages import Average, Averages, averages, can_average
from benchmarks.analysis.comparisons import FACETS
from benchmarks.analysis.matrices import Column, Grid, Row, cell_of, ranked_rows
from benchmarks.analysis.same_rows import pair_edges
from benchmarks.analysis.score_table import metric_of
from benchmarks.metrics.registered_metrics import is_score
from benchmarks.models import LIVE, TERMINAL, Outcome, Run, RunKind
from benchmarks.presentation.comparisons import (
    none_right_sentence,
    ranking_sentences,
    same_rows_sentence,
    variance_sentence,
)
from benchmarks.presentation.numbers import MISSING, chance, interval, percent, rank_range, score
from benchmarks.presentation.ranks import Mark, only_baselines
from benchmarks.queries.judge_words import Judged, in_parentheses, judge_words, judged_scores
from benchmarks.statistics.margins import MARGIN
from benchmarks.statistics.ranking import Verdict
from benchmarks.summary import Breakdown

MOST_TESTED = 24
"""Runs of one dataset up to which all pairs are tested for a list of ranks."""


@dataclass(frozen=True, slots=True)
class Statement:
    """What ``sentences`` say of an order: the verdict on the ranked rows with their names, the baselines beside them,
    and the judges behind the scores. Without a verdict, only baselines have run. Where whole variants or rows have no
    answer right, ``none_right`` says so, which comes before any order."""

    verdict: Verdict | None
    names: Sequence[str]
    noun: str
    bounds: tuple[float, float] | None
    marks: Sequence[Mark]
    judged: tuple[Judged, ...]
    none_right: str = ""

    def sentences(self, known: Mapping[Judged, str]) -> list[str]:
        """Those of ``ranking_sentences``; ``known`` are the ``judge_words`` of ``judged``."""
        measured = in_parentheses(self.judged, known)
        if self.verdict is None:
            return [only_baselines(self.marks, measured), ""]
        return ranking_sentences(
            self.verdict, self.names, self.marks, bounds=self.bounds, measured=measured, noun=self.noun
        )


@dataclass(frozen=True)
class Matrix(Grid):
    """With the ``statement`` on the order, if there is one."""

    statement: Statement | None
    margin: float = MARGIN
    """The difference, from 0 to 1, within which rows count as the same."""

    @cached_property
    def same_sentence(self) -> str:
        """Which ranked rows are the same within the margin; empty with fewer than two, or too many."""
        ranked = [row for row in self.rows if row.place]
        if not 1 < len(ranked) <= MOST_TESTED:
            return ""
        return same_rows_sentence([row.name for row in ranked], pair_edges(ranked, self.metric), self.margin)

    @property
    def none_right(self) -> str:
        return self.statement.none_right if self.statement else ""

    @cached_property
    def sentences(self) -> Sequence[str]:
        """Of the statement, in two queries if a judge scored; empty without one."""
        return self.statement.sentences(judge_words(self.statement.judged)) if self.statement else []

    @property
    def is_partial(self) -> bool:
        """Whether models have no rank yet, because their runs have not ended."""
        waiting = (row for row in self.rows if row.place is None and not row.is_baseline)
        return any(run.status not in TERMINAL for row in waiting for run in row.runs)

    @property
    def is_rescoring(self) -> bool:
        """Whether stored answers are being scored again, so that scores are to change though no answer is missing."""
        live = (run for row in self.rows for run in row.runs if run.status in LIVE)
        return any(run.kind == RunKind.RESCORED for run in live)

    @property
    def verdict(self) -> str:
        return " ".join(filter(None, [self.none_right, *self.sentences]))

    @property
    def no_verdict(self) -> str:
        """What stands in place of the verdict if no row is ranked."""
        if self.is_rescoring:
            return "Scores are provisional until rescoring ends."
        if any(run.status not in TERMINAL for row in self.rows for run in row.runs):
            return "No ranking yet. A model is ranked once all its runs have ended."
        return "No row is ranked. The reason is beside each model."


@dataclass(frozen=True)
class AveragedModels:
    """The models of an experiment averaged over its variants, with the ``statement`` on their order if there is one."""

    found: Averages
    statement: Statement | None
    none_right: str = ""
    """That of the matrix."""

    @cached_property
    def sentences(self) -> Sequence[str]:
        """What the order says, and what the variants contribute; in two queries if a judge scored."""
        said = self.statement.sentences(judge_words(self.statement.judged)) if self.statement else []
        return [
            *said,
            variance_sentence(len(self.found.variants), [row.shares for row in self.found.rows if row.place]),
        ]

    @property
    def said(self) -> list[str]:
        """All that there is to say, in order."""
        return [*filter(None, [self.none_right, *self.sentences])]


def averaged_models(grid: Matrix) -> AveragedModels | None:
    """``None`` with too few variants. ``grid`` is a matrix of datasets."""
    if not can_average(grid):
        return None
    found = averages(grid)
    ranked = {row.model for row in found.rows if row.place}
    beside = [row for row in found.rows if row.is_baseline and row.overall]
    alone = next((row.overall for row in found.rows if row.place), None) if len(ranked) == 1 else None
    runs = [run for row in grid.rows if row.model in ranked for run in row.runs]
    statement = Statement(
        verdict=found.verdict,
        names=found.ranked,
        noun="models",
        bounds=alone and alone[1:],
        marks=[Mark(row.name, row.overall[0]) for row in beside if row.overall],
        judged=judged_scores((run, metric_of(run, grid.metric)) for run in runs),
    )
    return AveragedModels(found, statement if ranked else None, grid.none_right)


def average_rows(models: AveragedModels) -> list[dict[str, object]]:
    """Each model for other programs."""
    return [_average_row(models.found, row) for row in models.found.rows]


def _average_row(found: Averages, row: Average) -> dict[str, object]:
    mean, low, high = row.overall or (None, None, None)
    return {
        "model": row.model,
        "mean": mean,
        "low": low,
        "high": high,
        "datasets": {
            slug: dict(zip(("mean", "low", "high"), bounds, strict=True))
            for slug, bounds in zip(found.datasets, row.cells, strict=False)
        },
        "variants": dict(zip(found.variants, row.by_variant, strict=False)),
        "variance": asdict(row.shares) if row.shares else None,
        "rank": [row.place.rank_low, row.place.rank_high] if row.place else None,
        "group": row.place.group if row.place else None,
        "best": row.place.best if row.place else None,
        "reason": row.reason,
    }


def average_texts(found: Averages) -> tuple[list[str], list[list[str]]]:
    """Heads and rows of a table of them in words."""
    heads = ["Rank", "Model", "Mean (95% interval)", "Group", "Best", *found.variants, "Variance by variants"]
    rows = [
        [
            rank_range(row.place.rank_low, row.place.rank_high) if row.place else MISSING,
            ", ".join(filter(None, [row.model, row.reason])),
            f"{score(row.overall[0])} ({interval(row.overall[1], row.overall[2])})" if row.overall else MISSING,
            row.place.group if row.place else MISSING,
            chance(row.place.best) if row.place else MISSING,
            *(map(score, row.by_variant) if row.by_variant else [MISSING] * len(found.variants)),
            percent(row.shares.variants) if row.shares else MISSING,
        ]
        for row in found.rows
    ]
    return heads, rows


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


def matrix(
    members: Sequence[Run], metric: str = "", dataset: str = "", facet: str = "", *, margin: float = MARGIN
) -> Matrix:
    """The runs as a matrix by ``metric``, by default the headline of each run; only of one dataset if it is named.

    The columns of a single dataset can be the levels of a ``facet``, a key of ``FACETS``. Runs that have model, variant
    and dataset in common are rows of their own.
    """
    chosen = [run for run in members if dataset in ("", run.dataset.slug)] or list(members)
    ranked = ranked_rows(chosen, metric)
    statement = _statement(ranked.rows, ranked.verdict, metric)
    columns, rows = ranked.columns, ranked.by_rank
    if facet in FACETS and len(columns) == 1:
        columns, rows = _by_level(columns[0].run, rows, metric, facet)
    return Matrix(metric, columns, rows, statement, margin)


def tested(ranked: Sequence[Run], metric: str) -> Matrix | None:
    """Runs on one dataset with the tests of all pairs of models; ``None`` if there are too many pairs."""
    if not is_score(metric) or not 0 < len(ranked) <= MOST_TESTED + sum(run.is_baseline for run in ranked):
        return None
    return matrix(ranked, metric)


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
        none_right=_none_right(ranked),
    )


def none_right_rows(rows: Sequence[Row]) -> list[Row]:
    """The ranked rows that score 0 on everything."""
    return [row for row in rows if row.place and row.overall and row.overall[0] == 0]


def none_right_variants(rows: Sequence[Row]) -> list[str]:
    """The variants of which each ranked row scores 0, if there are others."""
    ranked, wrong = [row for row in rows if row.place], none_right_rows(rows)
    variants = dict.fromkeys(row.variant for row in wrong if row.variant)
    others = {row.variant for row in ranked if row not in wrong}
    return [variant for variant in variants if variant not in others] if len({r.variant for r in ranked}) > 1 else []


def _none_right(rows: Sequence[Row]) -> str:
    """That whole variants or rows have no answer right; empty if none has."""
    wrong = none_right_rows(rows)
    variants = none_right_variants(rows)
    whose = [] if len(wrong) == len(rows) else [f"with {variant}" for variant in variants]
    whose += [f"by {row.name}" for row in wrong if len(wrong) < len(rows) and row.variant not in variants]
    outcomes = [run.numbers.outcomes for row in wrong for run in row.runs]
    unparsable = sum(counts.get(Outcome.UNPARSABLE, 0) for counts in outcomes)
    return none_right_sentence(whose, unparsable, sum(sum(counts.values()) for counts in outcomes))


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
