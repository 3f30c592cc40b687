"""What the runs on a dataset version say of its tasks: flags, discrimination, and how much the version can show.

Runs are comparable if they have all tasks, asked in the same way, and scores for most of them; baselines do not count.
Each model counts by its latest run. An analysis is kept in the cache until there are other runs or new numbers, so a
page reads only the rows that it shows.
"""

from __future__ import annotations

import hashlib
import threading
from collections import defaultdict
from collections.abc import Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from django.core.cache import cache
from django.db import connection

from benchmarks.analysis.kept import CACHE_SECONDS
from benchmarks.analysis.rankings import metrics_of, unranked_reason
from benchmarks.analysis.task_analysis import TaskAnalysis, analyzed
from benchmarks.metrics.registered_metrics import is_score
from benchmarks.models import OF_BASELINES, DatasetVersion
from benchmarks.queries.leaderboard import (
    DECISIVE,
    MOST_READ,
    Setting,
    completed_runs,
    is_whole,
    like_of,
    setting_of,
)

MOST_RUNS = 60
"""The latest runs that are analyzed."""
QUICK = 5_000
"""An analysis of this many scores takes some hundredths of a second, for which a page can wait."""
_FORMAT = 6
"""Goes up when ``TaskAnalysis`` or its numbers change, so that no old one is read."""

_background = ThreadPoolExecutor(1, "task-analysis")
_started: dict[str, Future[TaskAnalysis]] = {}
_starting = threading.Lock()


@dataclass(frozen=True, slots=True)
class _Request:
    """An analysis of ``version`` by ``metric``, one of ``metrics``, from the runs with these ids; ``others`` has a run
    of each other setting, ``key`` is its place in the cache."""

    version: DatasetVersion
    runs: Sequence[int]
    others: Sequence[int]
    metric: str
    metrics: Sequence[str]
    key: str


def task_analysis(version: DatasetVersion, metric: str = "") -> TaskAnalysis:
    """The analysis of a version by ``metric``, by default the headline of most runs."""
    request = _request(version, metric)
    cached: TaskAnalysis | None = cache.get(request.key)
    return cached or _computed(request)


def task_analysis_if_ready(version: DatasetVersion, metric: str = "") -> TaskAnalysis | None:
    """The same if it is in the cache or quick to compute. Otherwise ``None``, while a thread of this process computes
    it for a later read."""
    request = _request(version, metric)
    cached: TaskAnalysis | None = cache.get(request.key)
    if cached is not None:
        return cached
    if len(request.runs) * version.task_count <= QUICK:
        return _computed(request)
    with _starting:
        future = _started.get(request.key)
        if future is None:
            _started[request.key] = _background.submit(_in_background, request)
        elif future.done():
            del _started[request.key]
            return future.result()
    return None


def _in_background(request: _Request) -> TaskAnalysis:
    try:
        return _computed(request)
    finally:
        connection.close()  # no request ends in this thread, which would


def _computed(request: _Request) -> TaskAnalysis:
    read = list(completed_runs().filter(pk__in=[*request.runs, *request.others]))
    covered = [run for run in read if run.pk in request.runs and not unranked_reason(run, request.metric)]
    settings = [setting_of(run) for run in read]
    setting = setting_of(covered[0]).words(settings, quotes=False) if covered else ""
    analysis = analyzed(request.version, covered, request.metric, request.metrics, setting)
    cache.set(request.key, analysis, CACHE_SECONDS)
    return analysis


def _request(version: DatasetVersion, metric: str) -> _Request:
    chosen, others = _comparable_runs(version)
    metrics = [name for name in metrics_of(_latest(chosen)) if is_score(name)]
    if metric not in metrics:
        metric = next(iter(metrics), "")
    runs = _latest(run for run in chosen if metric in (run.headline, *run.metrics))
    # The time of the summary is part of the key: a run whose errors are retried gets a new one.
    stamps = ":".join(f"{run.pk}-{run.summarized_at.timestamp() if run.summarized_at else 0}" for run in runs)
    digest = hashlib.sha256(f"{version.task_count}:{metric}:{metrics}:{others}:{stamps}".encode()).hexdigest()
    key = f"task-analysis:{_FORMAT}:{version.pk}:{digest}"
    return _Request(version, [run.pk for run in runs], others, metric, metrics, key)


def _comparable_runs(version: DatasetVersion) -> tuple[list[Any], list[int]]:
    """The runs of the setting that most models have, newest first, and the newest run of each other setting."""
    groups: dict[Setting, list[Any]] = defaultdict(list)
    columns = (*DECISIVE, "metrics", "summarized_at")
    candidates = completed_runs().filter(dataset_version=version, limit=None).select_related(None)
    candidates = candidates.values_list(*columns, named=True)
    for run in candidates.exclude(OF_BASELINES, import_format="")[:MOST_READ]:
        if is_whole(run, version):
            groups[like_of(run)].append(run)
    chosen = max(groups.values(), key=lambda runs: len({_label(run) for run in runs}), default=[])
    return chosen, [runs[0].pk for runs in groups.values() if runs is not chosen]


def _latest(runs: Iterable[Any]) -> list[Any]:
    """The latest run of each model, of runs that come newest first."""
    latest: dict[tuple[str, bool], Any] = {}
    for run in runs:
        latest.setdefault(_label(run), run)
    return list(latest.values())[:MOST_RUNS]


def _label(run: Any) -> tuple[str, bool]:
    """Runs that were imported count as another model."""
    return run.model, bool(run.import_format)
