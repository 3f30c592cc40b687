"""What the runs on a dataset version say of its tasks: flags, discrimination, and how much the version can show.

Runs are comparable if they have all tasks, shown in the same way, and scores for most of them; baselines do not count.
Each model counts once: the latest run of each of its variants, averaged. The analysis is computed when it is first
read and kept in the cache until there are other runs or new numbers, so a page reads only the rows that it shows.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from django.core.cache import cache
from django.db.models import Q
from django.db.models.functions import Left

from benchmarks.metrics.extraction import extract_text
from benchmarks.metrics.registered_metrics import is_score
from benchmarks.models import Dataset, DatasetVersion, Run, Score, Task
from benchmarks.presentation.labels import prompt_variant
from benchmarks.presentation.numbers import n_of, number, plural, points, score
from benchmarks.queries.leaderboard import Setting, setting_of, unranked_reason, whole_runs
from benchmarks.queries.statistics import CACHE_SECONDS
from benchmarks.queries.task_grid import score_vector
from benchmarks.statistics import task_analysis as statistics
from benchmarks.statistics.paired import compare

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FLAGS = {
    "suspect": "Suspect reference",
    "negative": "Negative discrimination",
    "never": "Never solved",
    "saturated": "Saturated",
    "duplicate": "Duplicate",
}
"""What can be wrong with a task, the most serious first."""
DOUBTFUL = "doubtful"
PAGE_SIZE = 50
MOST_COLUMNS = 12
MOST_RUNS = 60
"""The latest runs that are analyzed."""
_FORMAT = 1
"""Goes up when ``TaskAnalysis`` changes, so that no old one is read."""
_PREVIEW = 80
_LONGEST_ANSWER = 200
"""Longer answers are texts, which are never the same."""
_CHUNK = 500


@dataclass(frozen=True, slots=True)
class Model:
    """A model with the mean over its runs; ``strong`` ones belong to the better half."""

    name: str
    runs: Sequence[int]
    mean: float
    strong: bool


@dataclass(frozen=True, slots=True)
class Separation:
    """The smallest difference between two models that the tasks show with 80% power; ``None``: none at all."""

    better: Model
    worse: Model
    difference: float | None


@dataclass(frozen=True, slots=True)
class TaskAnalysis:
    """``tasks`` are ids in the order of the dataset; arrays have a column or an entry for each of them.

    ``models`` come best first, and are the rows of ``values``. ``flags`` maps kinds to places of tasks, ``details`` the
    place of a task to what its flag rests on.
    """

    metric: str
    metrics: Sequence[str]
    setting: str
    models: Sequence[Model]
    n_runs: int
    tasks: NDArray[np.int64]
    values: NDArray[np.float64]
    discrimination: NDArray[np.float64]
    flags: Mapping[str, Sequence[int]]
    suspects: Mapping[int, statistics.Suspect]
    duplicates: Mapping[int, statistics.Duplicate]
    effective: statistics.Effective | None
    separations: Sequence[Separation]

    @property
    def flagged(self) -> list[int]:
        """Places of all flagged tasks, those with the most serious flags first."""
        return list(dict.fromkeys(place for kind in FLAGS for place in self.flags[kind]))

    @property
    def verdict(self) -> str:
        tasks = plural(len(self.tasks), "task")
        if self.effective is None:
            return f"Not enough comparable runs to judge the {tasks}: at least 2 models are required."
        interval = ""
        if self.effective.low is not None:
            interval = f" ({number(self.effective.low)} to {number(self.effective.high)})"
        return f"The {tasks} are worth about {number(self.effective.tasks)} fully informative ones{interval}."

    @property
    def findings(self) -> str:
        """How many tasks have each flag; empty without any."""
        words = {
            "suspect": "a suspect reference",
            "negative": "negative discrimination",
            "never": "no correct answer yet",
            "saturated": "a correct answer from every strong model",
            "duplicate": "a duplicate before them",
        }
        counts = [(len(self.flags[kind]), text) for kind, text in words.items() if self.flags[kind]]
        return f"{', '.join(f'{number(count)} with {text}' for count, text in counts)}." if counts else ""

    @property
    def separation_sentences(self) -> list[str]:
        sentences = []
        for each in self.separations:
            better, worse = each.better, each.worse
            pair = f"Between {better.name} ({score(better.mean)}) and {worse.name} ({score(worse.mean)})"
            if each.difference is None:
                sentences.append(f"{pair}, no difference is detected with 80% power.")
            else:
                detected = f"{points(each.difference)} points or more"
                sentences.append(f"{pair}, differences of {detected} are detected with 80% power.")
        return sentences

    @property
    def limits(self) -> str:
        """What needs more models; empty if nothing does."""
        n = len(self.models)
        if n < statistics.FEWEST_STRONG:
            return f"Flags from answers require {statistics.FEWEST_STRONG} models; there {_are(n)}."
        if n < statistics.FEWEST_MODELS:
            return f"Discrimination requires {statistics.FEWEST_MODELS} models; there {_are(n)}."
        return ""


@dataclass(frozen=True, slots=True)
class AnalysisFilters:
    """``flag`` is a key of ``FLAGS`` or ``DOUBTFUL``, or empty: all tasks, flagged ones first."""

    flag: str = ""
    group: str = ""
    text: str = ""


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
    rows: Sequence[AnalyzedTask]
    number: int
    pages: int
    count: int


def task_analysis(version: DatasetVersion, metric: str = "") -> TaskAnalysis:
    """The analysis of a version by ``metric``, by default the first metric of most runs."""
    runs = _comparable_runs(version)
    metrics = list(dict.fromkeys(name for run in runs for name in run.metrics if is_score(name)))
    firsts = Counter(run.metrics[0] for run in runs if run.metrics[0] in metrics)
    if metric not in metrics:
        metric = firsts.most_common(1)[0][0] if firsts else next(iter(metrics), "")
    runs = [run for run in runs if metric in run.metrics and not unranked_reason(run, metric)]
    # The time of the summary is part of the key: a run whose errors are retried gets a new one.
    stamps = ":".join(f"{run.pk}-{run.summarized_at.timestamp() if run.summarized_at else 0}" for run in runs)
    digest = hashlib.sha256(f"{version.task_count}:{metric}:{metrics}:{stamps}".encode()).hexdigest()
    key = f"task-analysis:{_FORMAT}:{version.pk}:{digest}"
    analysis: TaskAnalysis | None = cache.get(key)
    if analysis is None:
        analysis = _computed(version, runs, metric, metrics)
        cache.set(key, analysis, CACHE_SECONDS)
    return analysis


def analysis_page(
    version: DatasetVersion, analysis: TaskAnalysis, filters: AnalysisFilters, page: int = 1, *, size: int = PAGE_SIZE
) -> AnalysisPage:
    """One page of the tasks, in three queries at most."""
    places = _matching(version, analysis, filters)
    pages = max(1, -(-len(places) // size))
    page = min(max(page, 1), pages)
    shown = places[(page - 1) * size : page * size]
    return AnalysisPage(_rows(analysis, shown), page, pages, len(places))


def doubtful_tasks(version: DatasetVersion) -> int:
    """How many tasks of a version a person marked as doubtful."""
    return version.tasks.filter(is_doubtful=True).count()


def _comparable_runs(version: DatasetVersion) -> list[Run]:
    """The latest run of each model and variant, among runs of the setting that most models have; newest first."""
    groups: dict[Setting, list[Run]] = defaultdict(list)
    for run in whole_runs(version)[0]:
        if not run.is_baseline:
            # Prompts are variants of a model here, and doubtful references have no score in any run.
            groups[replace(setting_of(run), system_prompt="", prompt_template="", include_doubtful=False)].append(run)
    chosen = max(groups.values(), key=lambda runs: len({run.model_label for run in runs}), default=[])
    latest: dict[tuple[str, ...], Run] = {}
    for run in chosen[:MOST_RUNS]:
        asked = setting_of(run)
        latest.setdefault((run.model_label, run.variant, asked.system_prompt, asked.prompt_template), run)
    return list(latest.values())


def _computed(version: DatasetVersion, runs: Sequence[Run], metric: str, metrics: Sequence[str]) -> TaskAnalysis:
    import numpy as np

    known = list(version.tasks.order_by("position").values_list("pk", "cluster"))
    tasks = np.array([pk for pk, _ in known], dtype=np.int64)
    values, models = _scores(runs, metric, tasks)
    strong, rest = np.array([model.strong for model in models], dtype=bool), statistics.rest_scores(values)
    correlation = statistics.discrimination(values, rest)
    negative = statistics.is_negative(correlation, len(models))
    suspects, duplicates = {}, _duplicates(version)
    wrong = np.flatnonzero(statistics.mostly_wrong(values, strong)).tolist()
    for places in (wrong[start : start + _CHUNK] for start in range(0, len(wrong), _CHUNK)):
        answers = _wrong_answers(models, metric, tasks[places].tolist())
        for place in places:
            given = [answers.get((row, int(tasks[place]))) for row in range(len(models))]
            found = statistics.suspect_reference(values[:, place], rest[:, place], strong, given)
            if found is not None:
                suspects[place] = found
    flags = {
        "suspect": list(suspects),
        "negative": [place for place in np.flatnonzero(negative).tolist() if place not in suspects],
        "never": [place for place in np.flatnonzero(statistics.never_solved(values)).tolist() if place not in suspects],
        "saturated": np.flatnonzero(statistics.saturated(values, strong)).tolist(),
        "duplicate": list(duplicates),
    }
    return TaskAnalysis(
        metric=metric,
        metrics=metrics,
        setting=next((prompt_variant(run.representation, run.few_shot) for run in runs if run.representation), ""),
        models=models,
        n_runs=len(runs),
        tasks=tasks,
        values=values.astype(np.float32),
        discrimination=correlation.astype(np.float32),
        flags=flags,
        suspects=suspects,
        duplicates=duplicates,
        effective=statistics.effective_tasks(values),
        separations=list(_separations(models, values, [cluster for _, cluster in known])),
    )


def _scores(runs: Sequence[Run], metric: str, tasks: NDArray[np.int64]) -> tuple[NDArray[np.float64], list[Model]]:
    """The scores of each model, averaged over its runs, and the models, both best first."""
    import numpy as np

    by_model: dict[str, list[Run]] = defaultdict(list)
    for run in runs:
        by_model[run.model_label].append(run)
    order = np.argsort(tasks)
    rows = []
    for own in by_model.values():
        values = np.full((len(own), len(tasks)), np.nan)
        for row, run in zip(values, own, strict=True):
            scored, scores = score_vector(run, metric)
            row[order[np.searchsorted(tasks, scored, sorter=order)]] = scores
        known = ~np.isnan(values)
        with np.errstate(invalid="ignore"):
            rows.append(np.where(known, values, 0.0).sum(axis=0) / known.sum(axis=0))
    if not rows:
        return np.zeros((0, len(tasks))), []
    found = np.array(rows)
    means, strong = np.nanmean(found, axis=1), statistics.strong_models(found)
    best_first = np.argsort(-means, kind="stable").tolist()
    named = list(by_model.items())
    models = [
        Model(named[row][0], [run.pk for run in named[row][1]], float(means[row]), bool(strong[row]))
        for row in best_first
    ]
    return found[best_first], models


def _wrong_answers(models: Sequence[Model], metric: str, tasks: Sequence[int]) -> dict[tuple[int, int], str]:
    """(Row of a model, task) → the most frequent of its wrong answers, as a comparable text."""
    row_of = {run: row for row, model in enumerate(models) for run in model.runs}
    wrong = Score.objects.filter(
        Q(status=Score.Status.SCORED, value__lt=statistics.RIGHT),
        run__in=list(row_of),
        metric=metric,
        result__task__in=tasks,
    )
    texts = wrong.annotate(answer=Left("result__transcript__actual_output", 4 * _LONGEST_ANSWER))
    given: dict[tuple[int, int], Counter[str]] = defaultdict(Counter)
    for run, task, extracted, answer in texts.values_list("run_id", "result__task_id", "extracted", "answer"):
        text = extracted or (extract_text(answer).text if answer else "")
        if text and len(text) <= _LONGEST_ANSWER:
            given[row_of[run], task][statistics.comparable(text)] += 1
    return {key: answers.most_common(1)[0][0] for key, answers in given.items()}


def _duplicates(version: DatasetVersion) -> dict[int, statistics.Duplicate]:
    """Of written tasks; the audit of a canvas set reports those of generated ones."""
    if version.dataset.kind != Dataset.Kind.YAML:
        return {}
    rows = version.tasks.order_by("position").values_list("input", "context", "choices")
    texts = ["\n".join((text, *map(str, context), *map(str, choices))) for text, context, choices in rows]
    return statistics.duplicates(texts)


def _separations(models: Sequence[Model], values: NDArray[np.float64], clusters: Sequence[str]) -> Iterator[Separation]:
    """The best two models, and with five models or more the two in the middle."""
    import numpy as np

    firsts = [0] if len(models) > 1 else []
    if len(models) >= statistics.FEWEST_MODELS:
        firsts.append(len(models) // 2)
    names = {place: cluster or place for place, cluster in enumerate(clusters)}
    for first in firsts:
        a, b = (
            {place: None if np.isnan(value) else float(value) for place, value in enumerate(row)}
            for row in values[first : first + 2]
        )
        yield Separation(models[first], models[first + 1], compare(a, b, names).detectable_difference)


def _matching(version: DatasetVersion, analysis: TaskAnalysis, filters: AnalysisFilters) -> list[int]:
    chosen = analysis.flags.get(filters.flag)
    if chosen is None:
        flagged = analysis.flagged
        is_flagged = set(flagged)
        chosen = [*flagged, *(place for place in range(len(analysis.tasks)) if place not in is_flagged)]
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
        .annotate(expected_preview=Left("expected_output", _PREVIEW))
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
    if kind == "suspect":
        found = analysis.suspects[place]
        return f"{n_of(found.agreeing, found.strong)} strong models answer {found.answer}"
    if kind == "duplicate":
        return "same text as" if analysis.duplicates[place].is_equal else "similar text to"
    return {
        "negative": "better models get it wrong more often",
        "never": "wrong in every run",
        "saturated": "correct for every strong model",
    }[kind]


def _are(n: int) -> str:
    return "is 1" if n == 1 else f"are {n}" if n else "are none"


def as_mapping(page: AnalysisPage, analysis: TaskAnalysis) -> dict[str, Any]:
    """The analysis with one page of its tasks, for other programs."""
    effective = analysis.effective
    return {
        "metric": analysis.metric,
        "runs": analysis.n_runs,
        "models": [{"model": model.name, "mean": model.mean, "strong": model.strong} for model in analysis.models],
        "effective_tasks": effective and {"tasks": effective.tasks, "low": effective.low, "high": effective.high},
        "detectable_differences": [
            {"better": each.better.name, "worse": each.worse.name, "difference": each.difference}
            for each in analysis.separations
        ],
        "flagged": {kind: len(places) for kind, places in analysis.flags.items()},
        "count": page.count,
        "page": page.number,
        "pages": page.pages,
        "tasks": [
            {
                "task": row.task.task_id,
                "name": row.task.name,
                "doubtful": row.task.is_doubtful,
                "right": dict(zip((model.name for model in analysis.models), row.shares, strict=True)),
                "discrimination": row.discrimination,
                "flags": [{"flag": kind, "detail": detail} for kind, detail in row.flags],
                "duplicate_of": row.duplicate_of and row.duplicate_of.task_id,
            }
            for row in page.rows
        ],
    }
