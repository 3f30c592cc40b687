"""Scores corrected for guessing, beside the raw ones: by task class with their average, or over multiple choice."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from benchmarks.engine.summaries.guessing import CANVAS_METRIC, CHOICE_METRIC, choice_guess_rate
from benchmarks.engine.summaries.means import WHOLE, Means, plain
from benchmarks.engine.summaries.sums import Cell, Sums, added, cluster_parts
from benchmarks.models import Run
from benchmarks.statistics.chance import GroupMean, Part, corrected_average, corrected_interval
from benchmarks.statistics.intervals import Interval


def chance_numbers(run: Run, cells: Mapping[Cell, Sums], means: Means, guesses: Mapping[str, float]) -> dict[str, Any]:
    """Metric → ``{"groups": [{"group", "guess", "raw", "corrected"}], "average", "left_out"}``; empty where no guess
    rate is known. A group named "" is all tasks with choices.
    """
    found = {}
    if guesses:
        found[CANVAS_METRIC] = _by_task_class(run, cells, means, guesses)
    if CHOICE_METRIC in run.metrics and (rate := choice_guess_rate(run)) is not None and rate < 1:
        raw = means[CHOICE_METRIC, WHOLE, ()]
        corrected = corrected_interval(raw, rate)
        found[CHOICE_METRIC] = _numbers({"": (rate, raw, corrected)}, corrected, [])
    return found


def _by_task_class(run: Run, cells: Mapping[Cell, Sums], means: Means, guesses: Mapping[str, float]) -> dict[str, Any]:
    groups = {
        name: (rate, raw, corrected_interval(raw, rate))
        for name, rate in guesses.items()
        if (raw := means.get((CANVAS_METRIC, ("group",), (name,)))) is not None and raw.mean is not None
    }
    left_out = [name for name in run.task_classes if name not in groups]
    if len(groups) == 1:
        average = next(iter(groups.values()))[2]
    else:
        sums = added(cells.items(), lambda cell: cell.group if cell.metric == CANVAS_METRIC else None)
        grouped = {name: GroupMean(sums[name].n, sums[name].mean, rate) for name, (rate, *_) in groups.items()}
        average = corrected_average(grouped, _parts_of(run, grouped))
    return _numbers(groups, average, left_out)


def _parts_of(run: Run, groups: Mapping[str, GroupMean]) -> Iterator[list[Part]]:
    for cluster in cluster_parts(run, CANVAS_METRIC):
        parts = [(part.group, part.n, part.total, part.squares) for part in cluster if part.group in groups]
        if parts:
            yield parts


def _numbers(
    groups: Mapping[str, tuple[float, Interval, Interval]], average: Interval, left_out: list[str]
) -> dict[str, Any]:
    return {
        "groups": [
            {"group": name, "guess": rate, "raw": plain(raw), "corrected": plain(corrected)}
            for name, (rate, raw, corrected) in groups.items()
        ],
        "average": plain(average),
        "left_out": left_out,
    }
