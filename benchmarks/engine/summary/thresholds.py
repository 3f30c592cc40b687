"""The difficulty at which a model is half way between guessing and perfect, over shapes and over steps to follow."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Sum
from django.db.models.fields.json import KeyTransform

from benchmarks.engine.summary.chance import CANVAS_METRIC
from benchmarks.engine.summary.means import Cell, Sums, added, cluster_parts
from benchmarks.models import Run
from benchmarks.statistics.psychometric import Level, fit_threshold

SHAPES = "n_shapes"
STEPS = ("tracking_steps", "inference_steps")
"""Measures of a question's difficulty that its task class notes."""

ALL_CLASSES = ""
MOST_LAPSES = 0.06


@dataclass(frozen=True, slots=True)
class Series:
    """Scores by one measure of difficulty; of one task class, or of all together under ``ALL_CLASSES``."""

    measure: str
    group: str
    guess: float
    levels: Sequence[Level]


def threshold_numbers(run: Run, cells: Mapping[Cell, Sums], guesses: Mapping[str, float]) -> list[dict[str, Any]]:
    """The fitted threshold of every series with two difficulties or more, that over all task classes first."""
    if not guesses:
        return []
    by_shapes = added(
        cells.items(),
        lambda cell: (
            (cell.group, cell.n_shapes) if cell.metric == CANVAS_METRIC and cell.n_shapes is not None else None
        ),
    )
    scored = {key: sums for key, sums in by_shapes.items() if sums.n and key[0] in guesses}
    if not scored:
        return []
    effects = _design_effects(run, scored)
    series = [
        *_over_all_classes(scored, guesses, effects[ALL_CLASSES]),
        *_over_shapes(scored, guesses, effects),
        *_over_steps(run, guesses, effects),
    ]
    return [_fitted(one) for one in series if len(one.levels) > 1]


def _over_all_classes(
    scored: Mapping[tuple[str, int], Sums], guesses: Mapping[str, float], effect: float
) -> Iterator[Series]:
    """The plain average over the task classes at each number of shapes where all of them have scores.

    Leaving a class out where it does not apply would change the mix of questions along the curve.
    """
    classes = sorted({group for group, _ in scored})
    if len(classes) < 2:
        return
    levels = []
    for n_shapes in sorted({n_shapes for _, n_shapes in scored}):
        found = [scored[name, n_shapes] for name in classes if (name, n_shapes) in scored]
        if len(found) < len(classes):
            continue
        n = sum(sums.n for sums in found)
        mean = sum(sums.mean for sums in found) / len(found)
        unevenness = n * sum(1 / sums.n for sums in found) / len(found) ** 2
        levels.append(Level(n_shapes, min(mean * n, n), n, effect * unevenness))
    guess = sum(guesses[name] for name in classes) / len(classes)
    yield Series(SHAPES, ALL_CLASSES, guess, levels)


def _over_shapes(
    scored: Mapping[tuple[str, int], Sums], guesses: Mapping[str, float], effects: Mapping[str, float]
) -> Iterator[Series]:
    for name, guess in guesses.items():
        levels = [
            Level(n_shapes, sums.total, sums.n, effects.get(name, 1.0))
            for (group, n_shapes), sums in sorted(scored.items())
            if group == name
        ]
        yield Series(SHAPES, name, guess, levels)


def _over_steps(run: Run, guesses: Mapping[str, float], effects: Mapping[str, float]) -> Iterator[Series]:
    for measure in STEPS:
        steps = KeyTransform(measure, "result__task__question__difficulty")
        rows = (
            run.scores.filter(metric=CANVAS_METRIC, value__isnull=False, result__group__in=list(guesses))
            .order_by()
            .values_list("result__group")
            .annotate(steps=steps, n=Count("pk"), total=Sum("value"))
        )
        levels: dict[str, list[Level]] = defaultdict(list)
        for group, difficulty, n, total in rows:
            if difficulty is not None:
                levels[group].append(Level(float(difficulty), total, n, effects.get(group, 1.0)))
        for group, found in sorted(levels.items()):
            yield Series(measure, group, guesses[group], sorted(found, key=lambda level: level.difficulty))


def _design_effects(run: Run, scored: Mapping[tuple[str, int], Sums]) -> dict[str, float]:
    """By what the questions of one canvas, or the tries of one question, multiply the variance of a mean.

    It is the sum of the squared sums of each cluster's deviations over that of the squared deviations, which are taken
    from the mean of their own cell, so that difficulty is not taken for dependence; at least 1.
    """
    together: dict[str, float] = defaultdict(float)
    for cluster in cluster_parts(run, CANVAS_METRIC):
        whole = 0.0
        for part in cluster:
            if part.n_shapes is None or (cell := scored.get((part.group, part.n_shapes))) is None:
                continue
            deviation = part.total - part.n * cell.mean
            together[part.group] += deviation**2
            whole += deviation
        together[ALL_CLASSES] += whole**2
    apart: dict[str, float] = defaultdict(float)
    for (group, _), sums in scored.items():
        apart[group] += sums.squared_deviations
        apart[ALL_CLASSES] += sums.squared_deviations
    return {name: max(1.0, together[name] / apart[name]) if apart[name] > 0 else 1.0 for name in apart}


def _fitted(series: Series) -> dict[str, Any]:
    # Where nearly every guess is right, lapses of the usual size would reach half way down to guessing.
    found = fit_threshold(series.levels, series.guess, lapse_limit=min(MOST_LAPSES, (1 - series.guess) / 4))
    return {
        "measure": series.measure,
        "group": series.group,
        "guess": series.guess,
        "status": found.status.value,
        "threshold": found.threshold,
        "low": found.low,
        "high": found.high,
        "slope": found.slope,
        "lapse": found.lapse,
        "n": found.n,
        "note": found.note,
        "levels": [
            {"difficulty": level.difficulty, "mean": level.right / level.n, "n": level.n} for level in series.levels
        ],
    }
