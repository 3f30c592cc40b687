"""The numbers of preference runs, from stored verdicts and labels: strengths, win rates, cycles and position bias."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from typing import Any

from django.db.models import QuerySet

from benchmarks.analysis.score_table import Column, read_scores
from benchmarks.codec import stored
from benchmarks.metrics.preference import Preference as PreferenceMetric
from benchmarks.models import Label, Run, RunKind, Task
from benchmarks.statistics.agreement import Kappa, cohen_kappa
from benchmarks.statistics.alpha import Alpha, alpha_of
from benchmarks.statistics.cycles import cycles
from benchmarks.statistics.intervals import Interval, mean_interval
from benchmarks.statistics.preference import Choice, Judgement, PositionBias, Preference, position_bias
from benchmarks.summary import PairOfCandidates, Position, Preferences, Strength, Wins


def preference_numbers(run: Run) -> Preferences:
    """Candidates are in the order of ``run.preference["candidates"]``."""
    places = places_of(run)
    judgements = [judgement for _, judgement in verdicts_of(run, places)]
    return replace(numbers_of_judgements(len(places), judgements), missing=run.results.count() - len(judgements))


def numbers_of_judgements(candidates: int, judgements: list[Judgement]) -> Preferences:
    """Of judgements about candidates numbered from 0."""
    fit = Preference(candidates, judgements)
    bias = position_bias(judgements)
    return Preferences(
        strengths=[
            Strength(of.value, of.low, of.high, of.rank_low, of.rank_high, Wins.of(of.wins), of.judgements)
            for of in fit.results()
        ],
        order=fit.order,
        pairs=[
            PairOfCandidates.of(
                fit.wins_of(a, b), a=a, b=b, **_counts(judgements, a, b), p_adjusted=fit.p_adjusted(a, b)
            )
            for a, b in combinations(range(candidates), 2)
        ],
        position=Position.of(bias.first, consistent=bias.consistent, is_clear=bias.is_clear),
        cycles=cycles(fit),
        next=fit.next_pairs(),
        connected=fit.is_connected,
        n_tasks=fit.n_tasks,
        n=len(judgements),
    )


def numbers_of_runs(runs: Sequence[Run], places: Mapping[int, int]) -> Preferences:
    """Of the verdicts of several runs: the same two answers in one order count once, as the first of the runs has them.

    ``places`` are the numbers of the candidates, by run.
    """
    verdicts: dict[str, Judgement] = {}
    for run in runs:
        for pair, judgement in verdicts_of(run, places):
            verdicts.setdefault(pair, judgement)
    return numbers_of_judgements(len(places), list(verdicts.values()))


def places_of(run: Run) -> dict[int, int]:
    """The numbers of the candidates of a preference run, by the run that answered."""
    return {each["run"]: place for place, each in enumerate((run.preference or {})["candidates"])}


def verdicts_of(run: Run, places: Mapping[int, int], *, by_its_judge: bool = False) -> Iterator[tuple[str, Judgement]]:
    """The verdicts of a preference run, each with the content hash of its pair; what has no verdict is left out.

    ``by_its_judge`` leaves out those of another judge whose replies could be read.
    """
    columns: tuple[Column, ...] = ("content", "cluster", "first", "second", "judge_calls", "instead_of")
    for pair, cluster, first, second, calls, instead_of, value in read_scores(
        run, PreferenceMetric.name, *columns
    ).scored.rows():
        if by_its_judge and instead_of is not None:
            continue
        yield pair, Judgement(cluster, places[first], places[second], choice_of(value), identical=calls is None)


def choice_of(value: float) -> Choice:
    """A score or label of the answer that was shown first."""
    return "first" if value > 0.5 else "second" if value < 0.5 else "tie"


def _counts(judgements: list[Judgement], a: int, b: int) -> dict[str, int]:
    points = [each.points_of(a) for each in judgements if {each.first, each.second} == {a, b}]
    return {"wins": points.count(1.0), "ties": points.count(0.5), "losses": points.count(0.0)}


@dataclass(frozen=True, slots=True)
class PeoplesChoices:
    """What people chose between the pairs of a preference run, and how far its judge agrees with them.

    ``same`` is the share of choices that the judge makes too, shown the answers in the same order; ``kappa`` is that
    beyond chance, ``alpha`` people's agreement with each other.
    """

    numbers: Preferences
    n_people: int
    n_reviews: int
    same: Interval
    kappa: Kappa
    alpha: Alpha

    def as_json(self) -> dict[str, object]:
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
    places = places_of(run)
    joined = [each for each in others if places_of(each).keys() <= places.keys()]
    pairs = Task.objects.filter(version__in={each.dataset_version_id for each in (run, *joined)})
    labels = _labels(pairs.values("content_hash"), with_open)
    columns = ("result__task__content_hash", "result__cluster", "result__task__known_answer", "value")
    rows = list(labels.order_by("pk").values_list(*columns, "author_name", "queue"))
    if not rows:
        return None
    verdicts = dict(verdicts_of(run, places, by_its_judge=True))
    judgements, both, ratings = [], [], defaultdict(list)
    for pair, task, known, value, _, _ in rows:
        choice = choice_of(value or 0.0)
        identical = pair in verdicts and verdicts[pair].identical
        judgements.append(Judgement(task, places[known["first"]], places[known["second"]], choice, identical))
        ratings[pair, task].append(value)
        if pair in verdicts:
            both.append((choice, verdicts[pair].choice, task))
    clusters = [task for _, _, task in both]
    # People see a pair in one order, drawn at random, so what they choose more often than half of the time is a bias.
    ordered = [each for each in judgements if not each.identical]
    first = mean_interval([each.points_of(each.first) for each in ordered], [each.task for each in ordered])
    position = Position.of(first, is_clear=PositionBias(first, None).is_clear)
    return PeoplesChoices(
        replace(numbers_of_judgements(len(places), judgements), position=position),
        n_people=len({author for *_, author, _ in rows}),
        n_reviews=len({queue for *_, queue in rows if queue}),
        same=mean_interval([float(own == judged) for own, judged, _ in both], clusters),
        kappa=cohen_kappa([own for own, _, _ in both], [judged for _, judged, _ in both], clusters=clusters),
        alpha=alpha_of(list(ratings.values()), clusters=[task for _, task in ratings]),
    )


def choices_of_people(pairs: Iterable[str] | QuerySet[Task, Any], with_open: bool) -> dict[str, Counter[Choice]]:
    """How often people chose what, by the content hash of the pair; ``with_open`` as in ``peoples_choices``."""
    choices: dict[str, Counter[Choice]] = defaultdict(Counter)
    for pair, value in _labels(pairs, with_open).values_list("result__task__content_hash", "value"):
        choices[pair][choice_of(value or 0.0)] += 1
    return choices


def _labels(pairs: Iterable[str] | QuerySet[Task, Any], with_open: bool) -> QuerySet[Label]:
    labels = Label.objects.filter(metric=PreferenceMetric.name, replaced_at=None, value__isnull=False)
    labels = labels.filter(result__task__content_hash__in=pairs, result__run__kind=RunKind.PREFERENCE)
    return labels if with_open else labels.exclude(queue__blind=True, queue__closed_at=None, queue__isnull=False)
