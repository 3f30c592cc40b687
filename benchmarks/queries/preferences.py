"""Reads of preference runs. A preference run is a run whose tasks carry two answers to one task."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from django.db.models import QuerySet

from benchmarks.analysis.kept import kept_for
from benchmarks.analysis.score_table import read_scores
from benchmarks.codec import stored
from benchmarks.engine.summary.preference import choice_of, numbers_of_judgements, verdicts_of
from benchmarks.metrics.preference import Preference
from benchmarks.models import COMPLETED, Label, Result, Run, RunKind, Task
from benchmarks.statistics.agreement import Kappa, cohen_kappa
from benchmarks.statistics.alpha import Alpha, alpha_of
from benchmarks.statistics.intervals import Interval, mean_interval
from benchmarks.statistics.preference import Choice, Judgement, PositionBias
from benchmarks.summary import Position, Preferences

_FORMAT = 2
"""Goes up when ``Preferences`` changes, so that no old one is read from the cache."""
DISAGREE, TIE = "disagree", "tie"
"""Verdicts by which pairs are filtered, beside the id of the run that wins."""


def preferences() -> QuerySet[Run]:
    """All preference runs, newest first, without what only the run's own page shows."""
    runs = Run.objects.filter(kind=RunKind.PREFERENCE).select_related("dataset", "dataset_version")
    return runs.defer("breakdown", "environment", "dataset_version__facets")


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
    both orders, or one. ``chosen`` are the runs that the judge or people chose, with ``None`` for a tie.
    """

    results: dict[int, int]
    chosen: set[int | None]

    def has(self, verdict: str) -> bool:
        """Whether the verdict is this one: the id of a run that always wins, ``TIE`` or ``DISAGREE``."""
        if verdict == DISAGREE:
            return len(self.chosen) > 1
        return {"" if run is None else str(run) for run in self.chosen} == {"" if verdict == TIE else verdict}


def pairs_of_answers(run: Run, compared: Sequence[int], verdict: str, with_open: bool) -> list[Pair]:
    """The pairs in order, each once; only those between two runs if they are named, and with this verdict if it is.

    Without a judge people decide; their choices in blind reviews that are open are left out unless ``with_open``.
    """
    people = {} if run.judge_model else choices_of_people(run.dataset_version.tasks.values("content_hash"), with_open)
    pairs: dict[tuple[str, frozenset[int]], Pair] = {}
    table = read_scores(run, Preference.name, "result", "cluster", "content", "first", "second")
    for pk, cluster, shown, first, second, value in table.rows():
        if not {first, second}.issuperset(compared):
            continue
        pair = pairs.setdefault((cluster, frozenset((first, second))), Pair({}, set()))
        pair.results[first] = pk
        choices = people.get(shown, ()) if math.isnan(value) else [choice_of(value)]
        pair.chosen.update({"first": first, "tie": None, "second": second}[choice] for choice in choices)
    return [pair for pair in pairs.values() if not verdict or pair.has(verdict)]


def results_of_pairs(run: Run, pairs: Iterable[Pair]) -> dict[int, Result]:
    """By id, with their tasks and scores."""
    ids = [pk for pair in pairs for pk in pair.results.values()]
    return run.results.select_related("task").prefetch_related("scores").in_bulk(ids)


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
    places = {each["run"]: place for place, each in enumerate(request["candidates"])}
    same = preferences().filter(
        dataset=run.dataset_id, judge_model=run.judge_model, preference__criteria=request["criteria"]
    )
    joined = [
        other
        for other in same.exclude(pk=run.pk).order_by("-pk")
        if other.judge_settings == run.judge_settings
        and numbers_of(other)
        and {each["run"] for each in (other.preference or {})["candidates"]} <= places.keys()
    ]
    if not joined:
        return None

    def compute() -> Preferences:
        verdicts: dict[str, Judgement] = {}
        for each in (run, *joined):
            for pair, judgement in verdicts_of(each, places):
                verdicts.setdefault(pair, judgement)
        return numbers_of_judgements(len(places), list(verdicts.values()))

    numbers = kept_for(f"preference:{_FORMAT}", [run, *joined], compute)
    return replace(numbers, runs=sorted(each.pk for each in (run, *joined)))


@dataclass(frozen=True, slots=True)
class PeoplesChoices:
    """What people chose between the pairs of a preference run, and how far its judge agrees with them.

    ``same`` is the share of choices that the judge makes too, shown
    the answers in the same order; ``kappa`` is that beyond chance, ``alpha`` people's agreement with each other.
    """

    numbers: Preferences
    n_people: int
    n_reviews: int
    same: Interval
    kappa: Kappa
    alpha: Alpha

    def as_json(self) -> dict[str, Any]:
        return {**stored(self.numbers), "n_people": self.n_people, "n_reviews": self.n_reviews} | {
            "agreement": {name: getattr(self.same, name) for name in ("mean", "low", "high", "n")},
            "kappa": asdict(self.kappa),
            "alpha": asdict(self.alpha),
        }


def peoples_choices(run: Run, with_open: bool, others: Sequence[Run] = ()) -> PeoplesChoices | None:
    """What people chose, in whichever preference run they were shown the same two answers; ``None`` if nothing.

    Pairs of those ``others`` count too that have no candidate that ``run`` has not. Choices of blind reviews that are
    open are left out unless ``with_open``.
    """
    places = {each["run"]: place for place, each in enumerate((run.preference or {})["candidates"])}
    joined = [
        each
        for each in others
        if {candidate["run"] for candidate in (each.preference or {})["candidates"]} <= places.keys()
    ]
    pairs = Task.objects.filter(version__in={each.dataset_version_id for each in (run, *joined)})
    labels = _labels(pairs.values("content_hash"), with_open)
    columns = ("result__task__content_hash", "result__cluster", "result__task__known_answer", "value")
    rows = list(labels.order_by("pk").values_list(*columns, "author_name", "queue"))
    if not rows:
        return None
    scores = read_scores(run, Preference.name, "content").scored
    judge = {pair: choice_of(value) for pair, value in scores.rows()}
    judgements, both, ratings = [], [], defaultdict(list)
    for pair, task, known, value, _, _ in rows:
        choice = choice_of(value or 0.0)
        judgements.append(Judgement(task, places[known["first"]], places[known["second"]], choice))
        ratings[pair, task].append(value)
        if pair in judge:
            both.append((choice, judge[pair], task))
    clusters = [task for _, _, task in both]
    # People see a pair in one order, drawn at random, so what they choose more often than half of the time is a bias.
    first = mean_interval([each.points_of(each.first) for each in judgements], [each.task for each in judgements])
    position = Position.of(first, is_clear=PositionBias(first, None).is_clear)
    return PeoplesChoices(
        replace(numbers_of_judgements(len(places), judgements), position=position),
        n_people=len({author for *_, author, _ in rows}),
        n_reviews=len({queue for *_, queue in rows if queue}),
        same=mean_interval([float(own == judged) for own, judged, _ in both], clusters),
        kappa=cohen_kappa([own for own, _, _ in both], [judged for _, judged, _ in both], clusters=clusters),
        alpha=alpha_of(list(ratings.values()), clusters=[task for _, task in ratings]),
    )


def count_choices(run: Run) -> int:
    """The choices of people that are stored with the pairs of this run, and are deleted with it."""
    return Label.objects.filter(result__run=run, replaced_at=None, value__isnull=False).count()


def choices_of_people(pairs: Iterable[str] | QuerySet[Task, Any], with_open: bool) -> dict[str, Counter[Choice]]:
    """How often people chose what, by the content hash of the pair; ``with_open`` as in ``peoples_choices``."""
    choices: dict[str, Counter[Choice]] = defaultdict(Counter)
    for pair, value in _labels(pairs, with_open).values_list("result__task__content_hash", "value"):
        choices[pair][choice_of(value or 0.0)] += 1
    return choices


def _labels(pairs: Iterable[str] | QuerySet[Task, Any], with_open: bool) -> QuerySet[Label]:
    labels = Label.objects.filter(metric=Preference.name, replaced_at=None, value__isnull=False)
    labels = labels.filter(result__task__content_hash__in=pairs, result__run__kind=RunKind.PREFERENCE)
    return labels if with_open else labels.exclude(queue__blind=True, queue__closed_at=None, queue__isnull=False)


def candidates_of(run: Run) -> list[dict[str, Any]]:
    """The compared runs as {run, model, variant, name}; ``name`` is short and distinct."""
    candidates: list[dict[str, Any]] = (run.preference or {})["candidates"]
    names = [" · ".join(filter(None, (each["model"], each["variant"]))) for each in candidates]
    return [
        each | {"name": name if names.count(name) == 1 else f"{name} (run {each['run']})"}
        for each, name in zip(candidates, names, strict=True)
    ]


def judgements_to_make(run: Run) -> int:
    """The number of judgements, also before the run is prepared."""
    return run.total or run.dataset_version.task_count
