"""What the runs on a dataset version say of its tasks, computed from the stored scores and answers."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.db.models import F, Q
from django.db.models.functions import Left

from benchmarks.analysis.score_table import read_scores, score_vector
from benchmarks.metrics.deciding import is_deciding
from benchmarks.metrics.extraction import extract_text
from benchmarks.metrics.registered_metrics import parts_of
from benchmarks.models import Dataset, DatasetVersion, Run, Score, Task
from benchmarks.presentation.numbers import number, plural, score, whole_points
from benchmarks.presentation.ranks import listed
from benchmarks.statistics import task_analysis as statistics
from benchmarks.statistics.paired import compare
from tasks_app.models import Question

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FLAGS = {
    "suspect": "Suspect expected answer",
    "missed": "Missed by the best models",
    "negative": "Negative discrimination",
    "never": "Never solved",
    "saturated": "Too easy",
    "duplicate": "Duplicate",
}
"""What can be wrong with a task, the most serious first. ``missed`` are those that would be suspect if the audit of
their canvas set did not confirm the expected answer."""
_TO_DO = {
    "suspect": "Check the expected answer: most of {best} give the same other one.",
    "missed": "Read them to learn where models fail: the audit confirms the expected answer.",
    "negative": "Read the task: better models get it wrong more often.",
    "never": "Read the task: no run has it right, so it is very hard, unclear or wrong.",
    "saturated": "Replace with harder ones: {best} solve them.",
    "duplicate": "Keep one: the text repeats or resembles that of an earlier task.",
}
"""Flag → what to do with the tasks that have it, and why."""
_MOST_NAMED = 6
_LONGEST_ANSWER = 200
"""Longer answers are texts, which are never the same."""
_CHUNK = 500


@dataclass(frozen=True, slots=True)
class Model:
    """A model with the mean of its run; ``strong`` ones are the best: the better half by mean, at least three."""

    name: str
    run: int
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

    ``models`` come best first, and are the rows of ``values``. ``setting`` says how their runs ask, where others do so
    in another way. ``flags`` maps kinds to places of tasks, ``details`` the
    place of a task to what its flag rests on.
    """

    metric: str
    metrics: Sequence[str]
    setting: str
    models: Sequence[Model]
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
        saturated = len(self.flags["saturated"])
        if not saturated:
            return f"None of {tasks} is too easy for the best models."
        are, them = ("is", "it") if saturated == 1 else ("are", "them")
        return f"{number(saturated)} of {tasks} {are} too easy: {self.best} solve {them}."

    @property
    def best(self) -> str:
        """The models whose answers decide most flags, by their number."""
        n = sum(model.strong for model in self.models)
        return f"all {n} models" if n == len(self.models) else f"the best {n} of {len(self.models)} models"

    @property
    def best_sentence(self) -> str:
        """Which models these are; empty with too few models."""
        named = [f"{model.name} ({score(model.mean)})" for model in self.models if model.strong]
        more = [f"{len(named) - _MOST_NAMED} more"] if len(named) > _MOST_NAMED else []
        return f"{self.best[0].upper()}{self.best[1:]}: {listed([*named[:_MOST_NAMED], *more])}." if named else ""

    @property
    def headline(self) -> str:
        """How many tasks somebody should read, and how many are too easy."""
        if self.effective is None:
            return self.verdict
        count = len({place for kind in FLAGS if kind != "saturated" for place in self.flags[kind]})
        easy = len(self.flags["saturated"])
        tasks, need = plural(len(self.tasks), "task"), "need" if count > 1 else "needs"
        said = f"{number(count) if count else 'None'} of {tasks} {need} a look"
        return f"{said}; {number(easy)} {'is' if easy == 1 else 'are'} too easy." if easy else f"{said}."

    @property
    def to_do(self) -> list[tuple[str, str, int, str]]:
        """Of each flag that tasks have, the most serious first: its kind, label and number, and what to do."""
        return [
            (kind, label, len(self.flags[kind]), _TO_DO[kind].format(best=self.best))
            for kind, label in FLAGS.items()
            if self.flags[kind]
        ]

    @property
    def flagged_sentence(self) -> str:
        """How many tasks have each flag that the verdict does not name; empty if none has."""
        words = {
            "suspect": "a suspect expected answer",
            "negative": "negative discrimination",
            "never": "no correct answer yet",
            "duplicate": "a duplicate before them",
        }
        counts = [(len(self.flags[kind]), text) for kind, text in words.items() if self.flags[kind]]
        listed = ", ".join(f"{number(count)} with {text}" for count, text in counts)
        sentences = [f"Flagged: {listed}."] if counts else []
        if missed := len(self.flags["missed"]):
            ones = "one" if missed == 1 else "ones"
            sentences.append(
                f"On {plural(missed, 'task')}, most of the best models give the same wrong answer; the audit confirms "
                f"the expected {ones}."
            )
        return " ".join(sentences)

    @property
    def effective_sentence(self) -> str:
        if self.effective is None:
            return ""
        interval = ""
        if self.effective.low is not None and self.effective.high is not None:
            interval = f" ({number(self.effective.low)} to {number(self.effective.high)})"
            if self.effective.low <= 0 and self.effective.high >= len(self.tasks):
                interval = f", roughly estimated from {plural(len(self.models), 'model')}"
        return f"Effective tasks: about {number(self.effective.tasks)}{interval}."

    @property
    def separation_sentences(self) -> list[str]:
        sentences = []
        for each in self.separations:
            better, worse = each.better, each.worse
            pair = f"{better.name} ({score(better.mean)}) and {worse.name} ({score(worse.mean)})"
            if each.difference is None:
                sentences.append(f"These tasks cannot tell {pair} apart.")
            else:
                detected = f"{whole_points(each.difference)} points or more"
                sentences.append(f"Between {pair}, these tasks can show differences of {detected}.")
        return sentences

    @property
    def limits(self) -> str:
        """What needs more models; empty if nothing does."""
        n = len(self.models)
        if n < statistics.FEWEST_STRONG:
            return f"Flags from answers require {statistics.FEWEST_STRONG} models; there {_are(n)}."
        if n < statistics.FEWEST_MODELS:
            return f"Discrimination requires {statistics.FEWEST_MODELS} models; there {_are(n)}."
        if n <= FEW_MODELS and not self.flags["missed"]:
            return (
                f"With up to {FEW_MODELS} models, about half of the wrong expected answers are found, and up to half "
                "of the suspect ones are right."
            )
        return ""


FEW_MODELS = 8
"""Up to this many, the simulated flags of suspect references miss half of the wrong ones."""


def _are(n: int) -> str:
    return "is 1" if n == 1 else f"are {n}" if n else "are none"


def analyzed(
    version: DatasetVersion, runs: Sequence[Run], metric: str, metrics: Sequence[str], setting: str
) -> TaskAnalysis:
    """The analysis by ``metric``, one of ``metrics``, from runs of different models that have scores for most tasks."""
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
            suspect = statistics.suspect_reference(values[:, place], rest[:, place], strong, given)
            if suspect is not None:
                suspects[place] = suspect
    confirmed = _confirmed(tasks[list(suspects)].tolist())
    flags = {
        "suspect": [place for place in suspects if tasks[place] not in confirmed],
        "missed": [place for place in suspects if tasks[place] in confirmed],
        "negative": [place for place in np.flatnonzero(negative).tolist() if place not in suspects],
        "never": [place for place in _never_solved(runs, metric, tasks, values) if place not in suspects],
        "saturated": np.flatnonzero(statistics.saturated(values, strong)).tolist(),
        "duplicate": list(duplicates),
    }
    return TaskAnalysis(
        metric=metric,
        metrics=metrics,
        setting=setting,
        models=models,
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
    """The scores of each model, averaged over repeats, and the models, both best first."""
    import numpy as np

    if not runs:
        return np.zeros((0, len(tasks))), []
    order = np.argsort(tasks)
    values = np.full((len(runs), len(tasks)), np.nan)
    for row, run in zip(values, runs, strict=True):
        scored, scores = score_vector(run, metric)
        row[order[np.searchsorted(tasks, scored, sorter=order)]] = scores
    means, strong = np.nanmean(values, axis=1), statistics.strong_models(values)
    best_first = np.argsort(-means, kind="stable").tolist()
    models = [Model(runs[row].model_label, runs[row].pk, float(means[row]), bool(strong[row])) for row in best_first]
    return values[best_first], models


def _never_solved(runs: Sequence[Run], metric: str, tasks: NDArray[np.int64], values: NDArray[np.float64]) -> list[int]:
    """Places of the tasks that no run has right, not even in one of its repeats."""
    import numpy as np

    never = statistics.never_solved(values)
    # An average between 0 and 1 can hide a right answer.
    mixed = tasks[never & (np.nan_to_num(values) > 0).any(axis=0)].tolist()
    ids = [run.pk for run in runs]
    for chunk in (mixed[start : start + _CHUNK] for start in range(0, len(mixed), _CHUNK)):
        table = read_scores(ids, metric, "task", "status", where=Q(task__in=chunk))
        right = (table["status"] == Score.Status.SCORED) & (table.value >= statistics.RIGHT)
        never &= ~np.isin(tasks, table["task"][right])
    return np.flatnonzero(never).tolist()


def _wrong_answers(models: Sequence[Model], metric: str, tasks: Sequence[int]) -> dict[tuple[int, int], str]:
    """(Row of a model, task) → the wrong answer that most of its repeats give, as a comparable text."""
    row_of = {model.run: row for row, model in enumerate(models)}
    scored = Score.objects.filter(run__in=row_of, metric__in=parts_of(metric), result__task__in=tasks)
    # What another metric than the deciding one read from an answer is not what it was scored by.
    scored = scored.filter(value=F("result__value")) if is_deciding(metric) else scored
    scored = scored.filter(status=Score.Status.SCORED).annotate(
        answer=Left("result__transcript__actual_output", 4 * _LONGEST_ANSWER)
    )
    given: dict[tuple[int, int], Counter[str]] = defaultdict(Counter)
    rows = scored.values_list("run_id", "result__task_id", "value", "extracted", "answer")
    for run, task, value, extracted, answer in rows:
        text = "" if (value or 0.0) >= statistics.RIGHT else extracted or (extract_text(answer).text if answer else "")
        given[row_of[run], task][statistics.comparable(text) if len(text) <= _LONGEST_ANSWER else ""] += 1
    leading = {key: answers.most_common(1)[0] for key, answers in given.items()}
    return {key: text for key, (text, count) in leading.items() if text and 2 * count > given[key].total()}


def _confirmed(tasks: Sequence[int]) -> set[int]:
    """Those of the tasks whose expected answer the audit of their canvas set confirms."""
    return set(Task.objects.filter(pk__in=tasks, question__audit=Question.Audit.AGREES).values_list("pk", flat=True))


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
