"""What the variants of an experiment change: each variant of a model compared with the model's first one."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace

from benchmarks.analysis.kept import has_ended, kept_for
from benchmarks.analysis.matrices import Grid, Row
from benchmarks.analysis.score_table import compare_scores, metric_of, scores_of, task_scores
from benchmarks.metrics.registered_metrics import is_score
from benchmarks.presentation.numbers import number, points
from benchmarks.statistics.paired import holm
from benchmarks.statistics.ranking import LEVEL, Scores, difference_p_value, mean_of_intervals

_FORMAT = 4
"""Goes up when ``Effects`` changes, so that no old one is read."""


@dataclass(frozen=True, slots=True)
class Effect:
    """What a variant changes in the mean, with its 95% interval and Holm's p-value."""

    difference: float
    low: float
    high: float
    p_adjusted: float = 1.0

    @property
    def is_clear(self) -> bool:
        return self.p_adjusted <= LEVEL


@dataclass(frozen=True, slots=True)
class EffectRow:
    """A variant of a model compared with the model's first one: on each dataset, and on their average."""

    model: str
    variant: str
    reference: str
    cells: Sequence[Effect | None]
    overall: Effect | None


@dataclass(frozen=True, slots=True)
class Effects:
    """``datasets`` are those of the cells. All effects are one family of ``size`` comparisons."""

    datasets: Sequence[str] = ()
    rows: Sequence[EffectRow] = ()
    size: int = 0

    @property
    def sentence(self) -> str:
        """The significant effect, or their number; empty without variants."""
        clear = [
            (row, where, effect)
            for row in self.rows
            for where, effect in [*zip(self.datasets, row.cells, strict=True), ("average", row.overall)]
            if effect is not None and effect.is_clear
        ]
        if not self.size:
            return ""
        if len(clear) != 1:
            return f"{number(len(clear)) if clear else 'No'} effects of variants are significant."
        [(row, where, effect)] = clear
        low, high = sorted((abs(effect.low), abs(effect.high)))
        return (
            f"{row.variant} {'improves' if effect.difference > 0 else 'worsens'} {row.model} on {where} by "
            f"{points(abs(effect.difference))} points ({points(low)} to {points(high)}); no other effect of a variant "
            "is significant."
        )


def effects(grid: Grid) -> Effects:
    """What each variant changes against the model's first one, on the runs of a matrix of datasets that have ended."""
    by_model: dict[str, list[Row]] = {}
    for row in sorted(grid.rows, key=lambda row: min(run.pk for run in row.runs)):
        if row.runs[0].variant:
            by_model.setdefault(row.model, []).append(row)
    pairs = [
        (rows[0], other)
        for rows in by_model.values()
        for other in rows
        if other.runs[0].variant != rows[0].runs[0].variant
    ]
    if not pairs:
        return Effects()
    datasets = [column.run.dataset.slug for column in grid.columns]
    members = [run for row in grid.rows for run in row.runs if has_ended(run)]
    return kept_for(f"effects:{_FORMAT}:{grid.metric}", members, lambda: _effects(datasets, pairs, grid.metric))


def _effects(datasets: Sequence[str], pairs: Sequence[tuple[Row, Row]], metric: str) -> Effects:
    read = functools.cache(task_scores)  # the first variant of a model is compared with each of the others
    compared: list[tuple[list[Effect | None], Effect | None]] = []
    p_values: list[float] = []
    for reference, row in pairs:
        cells: list[Effect | None] = []
        scores: list[Scores] = []
        for before, after in zip(reference.cells, row.cells, strict=True):
            both = [cell.run for cell in (before, after) if cell is not None and has_ended(cell.run)]
            effect = None
            if len(both) == 2 and is_score(metric_of(both[0], metric)):
                first, second = (read(run, metric_of(run, metric)) for run in both)
                comparison = compare_scores(first, second)
                if comparison.difference is not None and comparison.low is not None and comparison.high is not None:
                    effect = Effect(comparison.difference, comparison.low, comparison.high)
                    p_values.append(comparison.p_decisive if comparison.p_decisive is not None else 1.0)
                    scores.append(scores_of(both, metric, read))
            cells.append(effect)
        overall = None
        if len(scores) == len(cells) > 1:
            overall = Effect(*mean_of_intervals([(e.difference, e.low, e.high) for e in cells if e]))
            p_values.append(difference_p_value(scores, 1, 0))
        compared.append((cells, overall))
    adjusted = iter(holm(p_values))
    rows = []
    for (reference, row), (cells, overall) in zip(pairs, compared, strict=True):
        judged = [replace(effect, p_adjusted=next(adjusted)) if effect else None for effect in (*cells, overall)]
        rows.append(EffectRow(row.model, row.variant, reference.variant, judged[:-1], judged[-1]))
    return Effects(datasets, rows, len(p_values))
