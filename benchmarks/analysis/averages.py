"""An experiment read as a test of models alone: the mean of each over the variants, which are taken as a sample of
prompts, or of seeds, like them (``statistics/crossed.py``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from benchmarks.analysis.kept import kept_for
from benchmarks.analysis.matrices import Grid, Row, short_names
from benchmarks.analysis.score_table import scores_of
from benchmarks.models import Run
from benchmarks.presentation.ranks import BASELINE_UNRANKED
from benchmarks.statistics.crossed import FEWEST, Answers, Crossed, Shares, crossed
from benchmarks.statistics.intervals import mean_interval
from benchmarks.statistics.ranking import Place, Ranking, Scores, Verdict, averaged, mean_of_intervals

_FORMAT = 1
"""Goes up when ``Averages`` changes, so that no old one is read."""

Bounds = tuple[float, float, float]
"""Mean, low and high."""


@dataclass(frozen=True, slots=True)
class Average:
    """A model over all variants: on each dataset, ``overall``, and the mean of each variant over the datasets.

    ``shares`` says what tasks, variants and the rest make up of the variance of single scores; ``None`` if none varies.
    """

    model: str
    name: str
    is_baseline: bool = False
    cells: Sequence[Bounds] = ()
    overall: Bounds | None = None
    by_variant: Sequence[float] = ()
    shares: Shares | None = None
    place: Place | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Averages:
    """``rows`` come by rank, those without one last; the ``verdict`` is on the ``ranked`` names, in their order."""

    variants: Sequence[str]
    datasets: Sequence[str]
    rows: Sequence[Average]
    ranked: Sequence[str]
    verdict: Verdict | None


def can_average(grid: Grid) -> bool:
    """Whether the runs of a matrix have enough variants to say something of others."""
    return len(_variants(grid)) >= FEWEST


def averages(grid: Grid) -> Averages:
    """The models of a matrix of datasets that ``can_average``. A model has a rank if each of its variants could."""
    variants = _variants(grid)
    by_model: dict[str, dict[str, Row]] = {}
    for row in grid.rows:
        by_model.setdefault(row.model, {})[row.variant] = row
    names = short_names(by_model)
    reasons = {model: _reason(rows, variants) for model, rows in by_model.items()}
    whole = {model: [rows[name] for name in variants] for model, rows in by_model.items() if not reasons[model]}
    members = [run for rows in whole.values() for row in rows for run in row.runs]
    found, verdict = (
        kept_for(f"averages:{_FORMAT}:{grid.metric}", members, lambda: _averages(whole, grid.metric))
        if whole
        else ({}, None)
    )
    rows = [
        replace(found[model], name=names[model]) if model in found else Average(model, names[model], reason=reason)
        for model, reason in reasons.items()
    ]
    return Averages(
        variants=variants,
        datasets=[column.run.dataset.slug for column in grid.columns],
        rows=sorted(rows, key=lambda row: -row.place.mean if row.place else 2.0),
        ranked=[row.name for row in rows if row.place],
        verdict=verdict,
    )


def _variants(grid: Grid) -> list[str]:
    """The names of the variants, as they were launched."""
    rows = sorted(grid.rows, key=lambda row: min(run.pk for run in row.runs))
    return list(dict.fromkeys(row.variant for row in rows if row.variant))


def _reason(rows: Mapping[str, Row], variants: Sequence[str]) -> str:
    """Why a model has no average; empty if it has one."""
    if missing := [name for name in variants if name not in rows]:
        return f"It has no runs with {', '.join(missing)}."
    return next((row.reason for row in rows.values() if row.overall is None), "")


def _averages(whole: Mapping[str, Sequence[Row]], metric: str) -> tuple[dict[str, Average], Verdict | None]:
    """The averages of models by their rows, which come in the order of the variants; ``name`` is still to be set."""
    models = list(whole)
    columns = range(len(next(iter(whole.values()))[0].cells))
    datasets = [_over_variants([[row.runs[at] for row in rows] for rows in whole.values()], metric) for at in columns]
    found = {model: _average(model, datasets, place) for place, model in enumerate(models)}
    baselines = {model for model, rows in whole.items() if all(row.is_baseline for row in rows)}
    contenders = [place for place, model in enumerate(models) if model not in baselines]
    for model in baselines:
        found[model] = replace(found[model], is_baseline=True, reason=BASELINE_UNRANKED)
    if not contenders:
        return found, None
    ranking = Ranking([_only(each, contenders) for each in datasets])
    for place, own in zip(ranking.places(), contenders, strict=True):
        found[models[own]] = replace(found[models[own]], place=place)
    return found, ranking.verdict()


def _over_variants(runs: Sequence[Sequence[Run]], metric: str) -> Scores:
    """The averages on one dataset, of runs by model and variant: a row for each model."""
    n_variants = len(runs[0])
    scores = scores_of([run for own in runs for run in own], metric)
    return averaged([_only(scores, range(place, len(scores.values), n_variants)) for place in range(n_variants)])


def _only(scores: Scores, rows: Sequence[int]) -> Scores:
    """The scores of these candidates, on the same tasks."""
    chosen = list(rows)
    missing = None if scores.missing is None else scores.missing[chosen]
    return Scores(scores.values[chosen], scores.clusters, missing, [_only(each, chosen) for each in scores.variants])


def _average(model: str, datasets: Sequence[Scores], place: int) -> Average:
    alone = [_bounds(each, place) for each in datasets]
    each = [crossed([_answers(scores, place)]) for scores in datasets]
    together = crossed([_answers(scores, place) for scores in datasets])
    return Average(
        model=model,
        name=model,
        cells=[_widened(found, bounds) for found, bounds in zip(each, alone, strict=True)],
        overall=_widened(together, mean_of_intervals(alone)),
        by_variant=together.by_variant if together else (),
        shares=together.shares if together else None,
    )


def _bounds(scores: Scores, place: int) -> Bounds:
    """The mean over the scored tasks with its interval for these variants alone."""
    import numpy as np

    known = ~np.isnan(scores.values[place])
    found = mean_interval(scores.values[place][known].tolist(), scores.clusters[known].tolist())
    return found.mean or 0.0, found.low or 0.0, found.high or 0.0


def _answers(scores: Scores, place: int) -> Answers:
    import numpy as np

    return Answers(np.stack([variant.values[place] for variant in scores.variants]), scores.clusters)


def _widened(found: Crossed | None, bounds: Bounds) -> Bounds:
    """The interval for variants like these; nothing is known of it if no task has a score in every variant."""
    mean, low, high = found.widened(*bounds) if found else (bounds[0], 0.0, 1.0)
    return mean, max(0.0, low), min(1.0, high)
