"""What the runs on a dataset version say of its tasks: flags, discrimination, and how much the version can show.

Runs are comparable if they have all tasks, shown in the same way, and scores for most of them; baselines do not count.
Each model counts once: the latest run of each of its variants, averaged. An analysis is kept in the cache until there
are other runs or new numbers, so a page reads only the rows that it shows.
"""

from __future__ import annotations

import hashlib
import threading
from collections import defaultdict
from collections.abc import Hashable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

from django.core.cache import cache
from django.db import connection

from benchmarks.analysis.kept import CACHE_SECONDS
from benchmarks.analysis.rankings import metrics_of, unranked_reason
from benchmarks.analysis.task_analysis import TaskAnalysis, analyzed
from benchmarks.metrics.registered_metrics import is_score
from benchmarks.models import DatasetVersion
from benchmarks.queries.leaderboard import DECISIVE, MOST_READ, completed_runs, is_whole, like_of
from benchmarks.run_parameters import Decides, deciding

MOST_RUNS = 60
"""The latest runs that are analyzed."""
QUICK = 5_000
"""An analysis of this many scores takes some hundredths of a second, for which a page can wait."""
_VARIANTS = ("system_prompt", "prompt_template", "include_doubtful")
"""Prompts are variants of a model here, and doubtful references have no score in any run."""
_LIKE = tuple(row for row in deciding(Decides.QUESTION) if row.name not in (*_VARIANTS, "tasks"))
"""What comparable runs have in common. They all have every task class."""
_FORMAT = 5
"""Goes up when ``TaskAnalysis`` or its numbers change, so that no old one is read."""

_background = ThreadPoolExecutor(1, "task-analysis")
_started: dict[str, Future[TaskAnalysis]] = {}
_starting = threading.Lock()


@dataclass(frozen=True, slots=True)
class _Request:
    """An analysis of ``version`` by ``metric``, one of ``metrics``, from the runs with these ids; ``key`` is its
    place in the cache."""

    version: DatasetVersion
    runs: Sequence[int]
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
    candidates = completed_runs().filter(pk__in=request.runs)
    covered = [run for run in candidates if not unranked_reason(run, request.metric)]
    analysis = analyzed(request.version, covered, request.metric, request.metrics)
    cache.set(request.key, analysis, CACHE_SECONDS)
    return analysis


def _request(version: DatasetVersion, metric: str) -> _Request:
    runs = _comparable_runs(version)
    metrics = [name for name in metrics_of(runs) if is_score(name)]
    if metric not in metrics:
        metric = next(iter(metrics), "")
    runs = [run for run in runs if metric in (run.headline, *run.metrics)]
    # The time of the summary is part of the key: a run whose errors are retried gets a new one.
    stamps = ":".join(f"{run.pk}-{run.summarized_at.timestamp() if run.summarized_at else 0}" for run in runs)
    digest = hashlib.sha256(f"{version.task_count}:{metric}:{metrics}:{stamps}".encode()).hexdigest()
    return _Request(
        version, [run.pk for run in runs], metric, metrics, f"task-analysis:{_FORMAT}:{version.pk}:{digest}"
    )


def _comparable_runs(version: DatasetVersion) -> list[Any]:
    """The latest run of each model and variant, among runs of the setting that most models have; newest first."""
    groups: dict[Hashable, list[Any]] = defaultdict(list)
    stored = {row.field or "parameters" for row in _LIKE} - {*DECISIVE}
    columns = (*DECISIVE, *sorted(stored), "metrics", "variant", "summarized_at")
    candidates = completed_runs().filter(dataset_version=version, limit=None).select_related(None)
    candidates = candidates.values_list(*columns, named=True)
    for run in candidates.exclude(model__startswith="baseline/", import_format="")[:MOST_READ]:
        if is_whole(run, version):
            extent = replace(like_of(run), question="")
            groups[(extent, *(str(row.value_of(run)) for row in _LIKE))].append(run)
    chosen = max(groups.values(), key=lambda runs: len({_label(run) for run in runs}), default=[])
    latest: dict[tuple[Any, ...], Any] = {}
    for run in chosen[:MOST_RUNS]:
        latest.setdefault((*_label(run), run.variant, run.question_key, run.answer_key), run)
    return list(latest.values())


def _label(run: Any) -> tuple[str, bool]:
    """Runs that were imported count as another model."""
    return run.model, bool(run.import_format)
