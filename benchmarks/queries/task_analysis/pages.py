"""The tasks of an analyzed version, filtered and page by page, for the dashboard, the API and commands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

from django.db.models import F, Q
from django.db.models.functions import Left

from benchmarks.analysis.task_analysis import FLAGS, TaskAnalysis
from benchmarks.models import DatasetVersion, Task
from benchmarks.presentation.numbers import n_of

DOUBTFUL = "doubtful"
PAGE_SIZE = 25
MOST_COLUMNS = 12
_PREVIEW = 80


@dataclass(frozen=True, slots=True)
class AnalysisFilters:
    """``flag`` is a key of ``FLAGS`` or ``DOUBTFUL``, or empty: all tasks, flagged ones first, then the hardest.
    With ``folds_easy``, a page without other filters leaves out those whose only flag is that they are too easy, if
    others have another one."""

    flag: str = ""
    group: str = ""
    text: str = ""
    folds_easy: bool = False


@dataclass(frozen=True, slots=True)
class AnalyzedTask:
    """``shares`` are the mean scores by model, ``None`` where there is none. ``flags`` are kinds with a detail each."""

    task: Task
    shares: Sequence[float | None]
    discrimination: float | None
    flags: Sequence[tuple[str, str]]
    duplicate_of: Task | None


@dataclass(frozen=True, slots=True)
class AnalysisPage:
    """``n_easy`` tasks are left out because they are only too easy."""

    rows: Sequence[AnalyzedTask]
    number: int
    pages: int
    count: int
    n_easy: int = 0


def analysis_page(
    version: DatasetVersion,
    analysis: TaskAnalysis,
    filters: AnalysisFilters,
    page: int = 1,
    *,
    size: int = PAGE_SIZE,
    few: int = 0,
) -> AnalysisPage:
    """One page of the tasks, in three queries at most. The last one has up to ``few`` more than ``size``."""
    places = _matching(version, analysis, filters)
    easy = _only_easy(analysis) if filters == AnalysisFilters(folds_easy=True) else set()
    places = [place for place in places if place not in easy]
    pages = max(1, -(-(len(places) - few) // size))
    page = min(max(page, 1), pages)
    shown = places[(page - 1) * size : page * size + (few if page == pages else 0)]
    return AnalysisPage(_rows(analysis, shown), page, pages, len(places), len(easy))


def doubtful_tasks(version: DatasetVersion) -> int:
    """How many tasks of a version a person marked as doubtful."""
    return version.tasks.filter(is_doubtful=True).count()


def _only_easy(analysis: TaskAnalysis) -> set[int]:
    """Places of the tasks that have no other flag than that they are too easy; empty if no task has another flag."""
    others = {place for kind, places in analysis.flags.items() if kind != "saturated" for place in places}
    return set(analysis.flags["saturated"]) - others if others else set()


def _matching(version: DatasetVersion, analysis: TaskAnalysis, filters: AnalysisFilters) -> list[int]:
    chosen = analysis.flags.get(filters.flag)
    if chosen is None:
        flagged = analysis.flagged
        chosen = [*flagged, *sorted(set(range(len(analysis.tasks))).difference(flagged), key=_mean_of(analysis))]
    conditions = Q(is_doubtful=True) if filters.flag == DOUBTFUL else Q()
    if filters.group:
        conditions &= Q(group=filters.group) if version.facets.get("group") else Q(difficulty=filters.group)
    if filters.text:
        conditions &= Q(task_id__icontains=filters.text) | Q(name__icontains=filters.text)
    if not conditions:
        return list(chosen)
    matching = set(version.tasks.filter(conditions).values_list("pk", flat=True))
    ids = analysis.tasks.tolist()
    return [place for place in chosen if ids[place] in matching]


def _mean_of(analysis: TaskAnalysis) -> Callable[[int], float]:
    """Place of a task → its mean over models; 0 without a score."""
    import numpy as np

    known = ~np.isnan(analysis.values)
    means = np.nan_to_num(analysis.values).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    return cast(Callable[[int], float], means.tolist().__getitem__)


def _rows(analysis: TaskAnalysis, places: Sequence[int]) -> list[AnalyzedTask]:
    import numpy as np

    kinds: dict[int, list[str]] = {place: [] for place in places}
    for kind, flagged in analysis.flags.items():
        for place in kinds.keys() & set(flagged):
            kinds[place].append(kind)
    others = {place: analysis.duplicates[place].of for place in places if place in analysis.duplicates}
    ids = analysis.tasks.tolist()
    tasks = (
        Task.objects.only("task_id", "name", "difficulty", "group", "is_doubtful", "version")
        .annotate(
            input_preview=Left("input", _PREVIEW),
            expected_preview=Left("expected_output", _PREVIEW),
            canvas_index=F("question__canvas__index"),
        )
        .in_bulk([ids[place] for place in {*places, *others.values()}])
    )
    return [
        AnalyzedTask(
            task=tasks[ids[place]],
            shares=[None if np.isnan(value) else float(value) for value in analysis.values[:, place]],
            discrimination=None if np.isnan(value := analysis.discrimination[place]) else float(value),
            flags=[(kind, _detail(analysis, place, kind)) for kind in FLAGS if kind in kinds[place]],
            duplicate_of=tasks[ids[others[place]]] if place in others else None,
        )
        for place in places
        if ids[place] in tasks
    ]


def _detail(analysis: TaskAnalysis, place: int, kind: str) -> str:
    if kind in ("suspect", "missed"):
        suspect = analysis.suspects[place]
        confirmed = "; the audit confirms the expected answer" if kind == "missed" else ""
        return f"{n_of(suspect.agreeing, suspect.strong)} of the best models answer {suspect.answer}{confirmed}"
    if kind == "duplicate":
        return "same text as" if analysis.duplicates[place].is_equal else "similar text to"
    return {
        "negative": "better models get it wrong more often",
        "never": "wrong in every run",
        "saturated": "right for the best models",
    }[kind]
