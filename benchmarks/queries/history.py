"""Scores over time: full runs of one model on one dataset, asked in the same way, scheduled or single."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.db.models import Q

from benchmarks.analysis.comparisons import Compared, as_one_family, compared_runs
from benchmarks.analysis.rankings import row_values
from benchmarks.asking import difference, key_of
from benchmarks.models import Dataset, Run
from benchmarks.queries.leaderboard import Setting, is_whole, scored_runs, setting_of
from benchmarks.summary import Expected

MOST_RUNS = 200
"""How many of the latest completed runs are read."""
MOST_POINTS = 60


@dataclass(frozen=True, slots=True)
class Point:
    """A run with the strict mean of the metric. ``is_new_version``: the run before asked another version."""

    run: Run
    mean: float
    numbers: Expected
    is_new_version: bool


@dataclass(frozen=True, slots=True)
class History:
    """The runs of one model, oldest first, by the headline that they share. ``setting`` names what they ask and how the
    model answers, where that is not the same in all histories; it is empty otherwise."""

    dataset: Dataset
    model: str
    metric: str
    setting: str
    points: Sequence[Point]

    @property
    def last(self) -> Point:
        return self.points[-1]


def latest_runs(**chosen: Any) -> list[Run]:
    """The latest ``scored_runs`` with these values of their columns, newest first, without answers scored again."""
    return scored_runs(MOST_RUNS, Q(rescored_from=None, **chosen))


def histories(candidates: Sequence[Run], least: int = 2) -> list[History]:
    """The histories in ``candidates`` (``scored_runs``, newest first) with at least so many points, the one with the
    newest run first."""
    series: dict[tuple[int, str, str, Setting, str, bool], list[Run]] = {}
    settings: dict[int, set[Setting]] = {}
    rows: dict[tuple[int, str], dict[str, dict[str, object]]] = {}
    for run in candidates:
        metric = run.headline
        mean = run.numbers_of(metric).mean
        if mean is not None and is_whole(run, run.dataset_version):
            # The number of tasks changes with the version, which is marked.
            setting = replace(setting_of(run), tasks=0, added_canvases=0)
            settings.setdefault(run.dataset_id, set()).add(setting)
            values = row_values(run, metric)
            row = key_of(values)
            rows.setdefault((run.dataset_id, run.model_label), {})[row] = values
            like = (run.dataset_id, run.model_label, metric, setting, row, run.subset is not None)
            series.setdefault(like, []).append(run)
    found: list[History] = []
    for (dataset, model, metric, setting, row, is_estimate), runs in series.items():
        if len(runs) >= least:
            of_model = rows[dataset, model]
            told = (setting.words(settings[dataset]), difference(of_model[row], of_model.values()))
            words = ", ".join(filter(None, (*told, "estimated from a subset" * is_estimate)))
            found.append(History(runs[0].dataset, model, metric, words, _points(runs[::-1], metric)))
    return found


def latest_changes(histories: Sequence[History]) -> dict[int, Compared]:
    """Id of the last run of each history → how it compares with the run before on their shared tasks.

    All comparisons are one family, so that among histories in which nothing changed at most 5% show any change.
    """
    pairs = []
    for history in histories:
        before, last = history.points[-2].run, history.last.run
        names = {run.pk: f"run {run.pk}" for run in (before, last)}
        pairs += compared_runs([before, last], names, metrics=[history.metric])
    return {pair.b.pk: pair for pair in as_one_family(pairs)}


def _points(runs: Sequence[Run], metric: str) -> list[Point]:
    points: list[Point] = []
    version = None
    for run in runs[-MOST_POINTS:]:
        numbers, content = run.numbers_of(metric), (run.dataset_version_id, run.added_canvases)
        assert numbers.mean is not None, "a series has no runs without a mean"
        is_new_version = version not in (None, content)
        points.append(Point(run, numbers.mean, numbers, is_new_version))
        version = content
    return points
