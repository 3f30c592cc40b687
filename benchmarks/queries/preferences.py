"""Reads of preference runs. A preference run is a run whose tasks carry two answers to one task."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TypedDict

from django.db.models import OuterRef, QuerySet, Subquery
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import MD5

from benchmarks.analysis.kept import kept_for
from benchmarks.analysis.preferences import (
    PeoplesChoices,
    choice_of,
    choices_of_people,
    numbers_of_runs,
    peoples_choices,
    places_of,
)
from benchmarks.analysis.score_table import read_scores
from benchmarks.metrics.preference import Preference
from benchmarks.models import COMPLETED, LOST, Dataset, Label, Outcome, Result, Run, RunKind
from benchmarks.presentation.labels import dataset_title
from benchmarks.providers.model_names import is_baseline
from benchmarks.queries.compare import alike, runs_to_offer
from benchmarks.queries.runs import turns
from benchmarks.summary import Preferences

MOST_PROPOSED = 6
_MOST_ALIKE = 6
"""Models among whose runs one looks for the pair whose answers differ most."""
_FORMAT = 2
"""Goes up when ``Preferences`` changes, so that no old one is read from the cache."""
DISAGREE, TIE, IDENTICAL = "disagree", "tie", "identical"
"""Verdicts by which pairs are filtered, beside the id of the run that wins."""


def preferences() -> QuerySet[Run]:
    """All preference runs, newest first, without what only the run's own page shows."""
    runs = Run.objects.filter(kind=RunKind.PREFERENCE).select_related("dataset", "dataset_version")
    compared = Dataset.objects.filter(slug=OuterRef("compared_slug")).values("name")[:1]
    runs = runs.annotate(compared_slug=KeyTextTransform("dataset", "preference")).annotate(compared=Subquery(compared))
    return runs.defer("breakdown", "environment", "dataset_version__facets").annotate(**turns())


def compared_dataset(run: Run) -> str:
    """The title of the dataset whose answers a run of ``preferences`` compares."""
    return dataset_title(getattr(run, "compared", None) or "", (run.preference or {})["dataset"])


def preference_detail(pk: int) -> Run:
    """Raises ``Run.DoesNotExist``."""
    return preferences().select_related("created_by").get(pk=pk)


def strengths_of_experiment(experiment_id: int, with_open: bool) -> list[tuple[Run, Preferences | PeoplesChoices]]:
    """The choices between answers of an experiment, for each dataset: those of each judge, and those of people.

    Each is pooled over the preference runs that join the one with most candidates, which is returned with the numbers;
    of several, the newest. ``with_open`` as in ``peoples_choices``.
    """
    runs = list(preferences().filter(preference__experiment=experiment_id))
    labeled = Label.objects.filter(metric=Preference.name, replaced_at=None, result__run__in=runs)
    with_labels = set(labeled.values_list("result__run", flat=True))
    chosen: dict[tuple[int, str], Run] = {}
    for run in sorted(runs, key=lambda run: (len((run.preference or {})["candidates"]), run.pk)):
        if run.judge_model and numbers_of(run):
            chosen[run.dataset_id, run.judge_model] = run
        if run.pk in with_labels:
            chosen[run.dataset_id, ""] = run
    strengths: list[tuple[Run, Preferences | PeoplesChoices]] = []
    for (dataset, judge), run in sorted(chosen.items()):
        if judge:
            if numbers := pooled_numbers(run) or numbers_of(run):
                strengths.append((run, numbers))
        elif choices := peoples_choices(run, with_open, [other for other in runs if other.dataset_id == dataset]):
            strengths.append((run, choices))
    return strengths


@dataclass(frozen=True, slots=True)
class Pair:
    """Two answers to one task. ``results`` are the ids of the results that show them, by the run whose answer is first:
    both orders, or one. ``chosen`` are the runs that the judge or people chose, with ``None`` for a tie. Of
    ``identical`` answers no judge is asked.
    """

    results: dict[int, int]
    chosen: set[int | None]
    identical: bool = False

    @property
    def verdict(self) -> str:
        """The id of a run that always wins, ``TIE``, ``DISAGREE`` or ``IDENTICAL``; empty without one."""
        if self.identical:
            return IDENTICAL
        if len(self.chosen) > 1:
            return DISAGREE
        return "".join(TIE if run is None else str(run) for run in self.chosen)


def pairs_of_answers(run: Run, compared: Sequence[int], with_open: bool) -> list[Pair]:
    """The pairs, each once, decided ones first and identical answers last; only those between two runs if named.

    Without a judge people decide; their choices in blind reviews that are open are left out unless ``with_open``.
    """
    people = {} if run.judge_model else choices_of_people(run.dataset_version.tasks.values("content_hash"), with_open)
    pairs: dict[tuple[str, frozenset[int]], Pair] = {}
    table = read_scores(run, Preference.name, "result", "cluster", "content", "first", "second", "judge_calls")
    for pk, cluster, shown, first, second, calls, value in table.rows():
        if not {first, second}.issuperset(compared):
            continue
        identical = calls is None and not math.isnan(value)
        pair = pairs.setdefault((cluster, frozenset((first, second))), Pair({}, set(), identical))
        pair.results[first] = pk
        choices = people.get(shown, ()) if math.isnan(value) else [choice_of(value)]
        pair.chosen.update({"first": first, "tie": None, "second": second}[choice] for choice in choices)
    last = (DISAGREE, TIE, IDENTICAL, "")
    return sorted(pairs.values(), key=lambda pair: last.index(pair.verdict) if pair.verdict in last else -1)


def proposed_pairs() -> list[tuple[Run, Run]]:
    """Two models' latest runs that ask the same tasks alike and were not compared side by side yet, one pair a group
    of such runs, the highest scores first."""
    chosen = Run.objects.filter(kind=RunKind.PREFERENCE).values_list("preference__candidates", flat=True)
    compared = {frozenset(each["run"] for each in candidates) for candidates in chosen}
    groups: dict[tuple[object, ...], dict[str, Run]] = defaultdict(dict)
    for run in runs_to_offer(()):
        if not is_baseline(run.model):
            groups[alike(run)].setdefault(run.model, run)
    proposed = []
    for models in groups.values():
        best = sorted(models.values(), key=lambda run: -(getattr(run, "score", None) or 0.0))
        new = (pair for pair in combinations(best, 2) if frozenset(run.pk for run in pair) not in compared)
        proposed += [pair for pair in (next(new, None),) if pair]
    return sorted(proposed, key=lambda pair: -min(getattr(run, "score", None) or 0.0 for run in pair))[:MOST_PROPOSED]


@dataclass(frozen=True, slots=True)
class DifferingPair:
    """Two models' runs, of whose ``n`` pairs of answers ``n_differ`` are different."""

    runs: tuple[Run, Run]
    n_differ: int
    n: int


def most_different_pair(chosen: Sequence[Run], fewest: int) -> DifferingPair | None:
    """Among the latest runs of models that ask the same as the first ``chosen`` one, the two whose answers differ
    most; ``None`` if fewer than ``fewest`` do."""
    models: dict[str, Run] = {}
    for run in runs_to_offer(chosen):
        if alike(run) == alike(chosen[0]) and not is_baseline(run.model):
            models.setdefault(run.model, run)
    runs = list(models.values())[:_MOST_ALIKE]
    rows = Result.objects.filter(run__in=runs, repeat=1, transcript__isnull=False)
    rows = rows.exclude(outcome__in=("", *LOST, Outcome.CANCELLED))
    answers: dict[int, dict[int, str]] = defaultdict(dict)
    for pk, task, answer in rows.values_list("run", "task", MD5("transcript__actual_output")):
        answers[pk][task] = answer
    found = []
    for pair in combinations(runs, 2):
        first, second = (answers[run.pk] for run in pair)
        shared = first.keys() & second.keys()
        found.append(DifferingPair(pair, sum(first[task] != second[task] for task in shared), len(shared)))
    ids = {run.pk for run in chosen}
    best = max(found, key=lambda pair: (pair.n_differ, sum(run.pk in ids for run in pair.runs)), default=None)
    return best if best and best.n_differ >= fewest else None


def results_of_pairs(run: Run, pairs: Iterable[Pair]) -> dict[int, Result]:
    """By id, with their tasks and scores."""
    ids = [pk for pair in pairs for pk in pair.results.values()]
    return run.results.select_related("task").prefetch_related("scores").in_bulk(ids)


def compared_results(shown: Iterable[Result]) -> dict[tuple[int, str], Result]:
    """The results whose answers were compared, by their run and the id of their task; only those that still exist."""
    known = [result.task.known_answer or {} for result in shown]
    runs = {each[place] for each in known for place in ("first", "second")}
    tasks = {each["task"] for each in known}
    results = Result.objects.filter(run__in=runs, task__task_id__in=tasks, repeat=1).select_related("task")
    found = results.only("run", "outcome", "task__task_id", "task__name")
    return {(result.run_id, result.task.task_id): result for result in found}


def numbers_of(run: Run) -> Preferences | None:
    """The numbers of a completed preference run; ``None`` for all others."""
    return run.numbers.preference if run.status in COMPLETED else None


def pooled_numbers(run: Run) -> Preferences | None:
    """The numbers over the verdicts of ``run`` and of all others that join it, with ``runs``, their ids.

    Those join it that have the same dataset, judge, settings of the judge and criteria, and no candidate that ``run``
    has not. Two answers in one order count once, with the verdict of ``run`` if it has one, otherwise of the newest.
    ``None`` if no run joins it, or ``run`` has no numbers yet.
    """
    if not run.judge_model or not numbers_of(run):
        return None
    request = run.preference or {}
    places = places_of(run)
    same = preferences().filter(
        dataset=run.dataset_id, judge_model=run.judge_model, preference__criteria=request["criteria"]
    )
    joined = [
        other
        for other in same.exclude(pk=run.pk).order_by("-pk")
        if other.judge_settings == run.judge_settings and numbers_of(other) and places_of(other).keys() <= places.keys()
    ]
    if not joined:
        return None

    numbers = kept_for(f"preference:{_FORMAT}", [run, *joined], lambda: numbers_of_runs([run, *joined], places))
    return replace(numbers, runs=sorted(each.pk for each in (run, *joined)))


def count_choices(run: Run) -> int:
    """The choices of people that are stored with the pairs of this run, and are deleted with it."""
    return Label.objects.filter(result__run=run, replaced_at=None, value__isnull=False).count()


class Candidate(TypedDict):
    """A compared run."""

    run: int
    model: str
    variant: str
    name: str
    """Model and variant, distinct among the candidates"""


def candidates_of(run: Run) -> list[Candidate]:
    candidates: list[Candidate] = (run.preference or {})["candidates"]  # stored without their names
    names = [" · ".join(filter(None, (each["model"], each["variant"]))) for each in candidates]
    return [
        {**each, "name": name if names.count(name) == 1 else f"{name} (run {each['run']})"}
        for each, name in zip(candidates, names, strict=True)
    ]


def judgements_to_make(run: Run) -> int:
    """The number of judgements, also before the run is prepared."""
    return run.total or run.dataset_version.task_count
