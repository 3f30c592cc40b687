"""What the variants of an experiment change: each variant of a model compared with the model's first one."""

from __future__ import annotations

import functools
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from benchmarks.analysis.kept import has_ended, kept_for
from benchmarks.analysis.matrices import Grid, Row, short_names
from benchmarks.analysis.score_table import compare_scores, metric_of, scores_of, task_scores
from benchmarks.metrics.registered_metrics import is_score
from benchmarks.presentation.numbers import number, plural, points, signed_points
from benchmarks.presentation.ranks import listed
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

    def without(self, variants: Collection[str]) -> Effects:
        """The effects of the other variants."""
        return replace(self, rows=[row for row in self.rows if row.variant not in variants])

    @property
    def reference(self) -> str:
        """The variant that all rows are compared with; empty if models have different ones."""
        references = {row.reference for row in self.rows}
        return references.pop() if len(references) == 1 else ""

    @property
    def sentence(self) -> str:
        """What each variant changes, by the average where there are several datasets; of many variants how many effects
        are significant. Empty without variants."""
        changes: dict[str, list[tuple[str, Effect]]] = {}
        short = short_names({row.model for row in self.rows})
        for row in self.rows:
            effect = row.overall or (row.cells[0] if len(self.datasets) == 1 else None)
            if effect is not None:
                changes.setdefault(row.variant, []).append((short[row.model], effect))
        if len(changes) > _MOST_NAMED:
            clear = sum(effect.is_clear for of_models in changes.values() for _, effect in of_models)
            return f"{number(clear) if clear else 'No'} effects of variants are significant."
        return " ".join(_change(variant, of_models) for variant, of_models in changes.items())


_MOST_NAMED = 3
"""Variants, and models of one effect, that a sentence names."""


def _change(variant: str, of_models: Sequence[tuple[str, Effect]]) -> str:
    """``Step by step lowers every model by 43.0 (31.3 to 55.3) to 93.1 points (70.7 to 97.2).``"""
    name = variant[:1].upper() + variant[1:]
    groups: list[tuple[str, list[tuple[str, Effect]]]] = [
        ("raises", [each for each in of_models if each[1].is_clear and each[1].difference > 0]),
        ("lowers", [each for each in of_models if each[1].is_clear and each[1].difference <= 0]),
    ]
    said = [f"{verb} {_whom(changed, len(of_models))} by {_sizes(changed)}" for verb, changed in groups if changed]
    others = len(of_models) - sum(len(changed) for _, changed in groups)
    if said:
        rest = f"; its {plural(others, 'other effect')} {'is' if others == 1 else 'are'} not significant"
        return f"{name} {' and '.join(said)}{rest if others else ''}."
    differences = sorted((effect for _, effect in of_models), key=lambda effect: effect.difference)
    first, last = differences[0], differences[-1]
    if len(differences) == 1:
        between = f"{signed_points(first.difference)} points, {signed_points(first.low)} to {signed_points(first.high)}"
    else:
        between = f"{signed_points(first.difference)} to {signed_points(last.difference)} points by model"
    return f"{name} makes no significant difference ({between})."


def _whom(changed: Sequence[tuple[str, Effect]], n_models: int) -> str:
    if len(changed) == n_models:
        return changed[0][0] if n_models == 1 else "both models" if n_models == 2 else "every model"
    return listed([model for model, _ in changed]) if len(changed) <= _MOST_NAMED else plural(len(changed), "model")


def _sizes(changed: Sequence[tuple[str, Effect]]) -> str:
    """The smallest and the largest change, each with its interval."""
    by_size = sorted((effect for _, effect in changed), key=lambda effect: abs(effect.difference))
    bounds = [(each.low, each.high) if each.difference > 0 else (-each.high, -each.low) for each in by_size]
    words = [
        (points(abs(effect.difference)), f"({points(low)} to {points(high)})")
        for effect, (low, high) in zip(by_size, bounds, strict=True)
    ]
    first, last = words[0], words[-1]
    return f"{first[0]} points {first[1]}" if len(words) == 1 else f"{' '.join(first)} to {last[0]} points {last[1]}"


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
