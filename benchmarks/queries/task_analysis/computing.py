"""The analysis of the tasks of a version, computed from the stored scores and answers."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from django.db.models import F, QuerySet
from django.db.models.functions import Left

from benchmarks.analysis.score_table import score_vector
from benchmarks.metrics.deciding import is_deciding
from benchmarks.metrics.extraction import extract_text
from benchmarks.metrics.registered_metrics import parts_of
from benchmarks.models import Dataset, DatasetVersion, Run, Score
from benchmarks.presentation.labels import prompt_variant
from benchmarks.queries.leaderboard import completed_runs, unranked_reason
from benchmarks.queries.task_analysis.findings import Model, Separation, TaskAnalysis
from benchmarks.statistics import task_analysis as statistics
from benchmarks.statistics.paired import compare

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_LONGEST_ANSWER = 200
"""Longer answers are texts, which are never the same."""
_CHUNK = 500


def analyzed(version: DatasetVersion, ids: Sequence[int], metric: str, metrics: Sequence[str]) -> TaskAnalysis:
    """The analysis by ``metric`` of those of the runs with these ids that have scores for most tasks."""
    import numpy as np

    runs = [run for run in completed_runs().filter(pk__in=ids) if not unranked_reason(run, metric)]
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
            suspect = statistics.suspect_reference(values[:, place], rest[:, place], strong, given)
            if suspect is not None:
                suspects[place] = suspect
    flags = {
        "suspect": list(suspects),
        "negative": [place for place in np.flatnonzero(negative).tolist() if place not in suspects],
        "never": [place for place in _never_solved(runs, metric, tasks, values) if place not in suspects],
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
    scores = np.array(rows)
    means, strong = np.nanmean(scores, axis=1), statistics.strong_models(scores)
    best_first = np.argsort(-means, kind="stable").tolist()
    named = list(by_model.items())
    models = [
        Model(named[row][0], [run.pk for run in named[row][1]], float(means[row]), bool(strong[row]))
        for row in best_first
    ]
    return scores[best_first], models


def _never_solved(runs: Sequence[Run], metric: str, tasks: NDArray[np.int64], values: NDArray[np.float64]) -> list[int]:
    """Places of the tasks that no run has right, not even in one of its repeats."""
    import numpy as np

    never = statistics.never_solved(values)
    # An average between 0 and 1 can hide a right answer.
    mixed = tasks[never & (np.nan_to_num(values) > 0).any(axis=0)].tolist()
    right = _scored([run.pk for run in runs], metric).filter(value__gte=statistics.RIGHT)
    for chunk in (mixed[start : start + _CHUNK] for start in range(0, len(mixed), _CHUNK)):
        solved = right.filter(result__task__in=chunk).order_by().values_list("result__task", flat=True).distinct()
        never &= ~np.isin(tasks, list(solved))
    return np.flatnonzero(never).tolist()


def _scored(runs: Sequence[int], metric: str) -> QuerySet[Score]:
    """The scores of answers that could be read; by several metrics together, those that their results have."""
    scored = Score.objects.filter(status=Score.Status.SCORED, run__in=runs, metric__in=parts_of(metric))
    return scored.filter(value=F("result__value")) if is_deciding(metric) else scored


def _wrong_answers(models: Sequence[Model], metric: str, tasks: Sequence[int]) -> dict[tuple[int, int], str]:
    """(Row of a model, task) → the wrong answer that most of its answers are, in all its runs and repeats, as a
    comparable text."""
    row_of = {run: row for row, model in enumerate(models) for run in model.runs}
    scored = _scored(list(row_of), metric).filter(result__task__in=tasks)
    scored = scored.annotate(answer=Left("result__transcript__actual_output", 4 * _LONGEST_ANSWER))
    given: dict[tuple[int, int], Counter[str]] = defaultdict(Counter)
    rows = scored.values_list("run_id", "result__task_id", "value", "extracted", "answer")
    for run, task, value, extracted, answer in rows:
        text = "" if (value or 0.0) >= statistics.RIGHT else extracted or (extract_text(answer).text if answer else "")
        given[row_of[run], task][statistics.comparable(text) if len(text) <= _LONGEST_ANSWER else ""] += 1
    leading = {key: answers.most_common(1)[0] for key, answers in given.items()}
    return {key: text for key, (text, count) in leading.items() if text and 2 * count > given[key].total()}


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
