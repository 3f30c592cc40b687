"""Reads of labels and review queues. A label of an answer counts for every scoring of it, in whichever run that is."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import fmean, median
from typing import NamedTuple

from django.db.models import F, QuerySet
from django.db.models.functions import Left

from benchmarks.metrics.base import VERDICTS, Level, Metric
from benchmarks.metrics.preference import Preference
from benchmarks.metrics.registered_metrics import metric_named
from benchmarks.metrics.rubrics import LEVELS, PREFIX, TaskRubric
from benchmarks.models import Label, Result, ReviewItem, ReviewQueue, Run, Score, Task
from benchmarks.models.reviews import CLAIMED, LABELED, SKIPPED, results_of_answer, rubric_of_label, scorings_of
from benchmarks.statistics.intervals import Interval, mean_interval

DEFAULT_METRIC = "correctness"
WHICH = ("flagged", "disagreeing", "wrong")
"""What can be chosen of a queue's answers: flagged, labeled differently by two people, with the lowest value."""
PACE_OVER = 20
"""How many of a person's last labels their pace is taken from…"""
LONGEST_LOOK = 600.0
"""…where a longer time between two, in seconds, is a break."""
LAST_SHOWN = 3


@dataclass(frozen=True, slots=True)
class ShownLabel:
    """A current label as one reader sees it, with what the same person said before, newest first."""

    label: Label
    author: str
    """The name, or a number if the reader may not see names."""
    mine: bool
    earlier: list[Label] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class AnswerLabels:
    """The labels of an answer; ``n_hidden`` are those of an open blind queue that the reader has not finished."""

    shown: list[ShownLabel]
    n_hidden: int = 0

    def mine(self, metric: str) -> Label | None:
        return next((each.label for each in self.shown if each.mine and each.label.metric == metric), None)


def count_labeled(run: Run) -> int:
    """How many answers of the run have a current label."""
    labeled = Label.objects.filter(scorings_of(run, "result__"), replaced_at=None).order_by()
    return labeled.values("result__task__task_id", "result__repeat").distinct().count()


def labels_of_answer(result: Result, reader: str, with_names: bool) -> AnswerLabels:
    """What people say of the answer, as the person ``reader`` may see it: own labels first, then the oldest."""
    stored = Label.objects.filter(result__in=results_of_answer(result)).select_related("queue").order_by("pk")
    current = [label for label in stored if label.replaced_at is None]
    visible = _visible(current, reader)
    names = _names(visible, reader, with_names)
    shown = [
        ShownLabel(
            label,
            names[label.author_name],
            label.author_name == reader,
            [
                each
                for each in reversed(stored)
                if each.replaced_at and (each.author_name, each.metric) == (label.author_name, label.metric)
            ],
        )
        for label in visible
    ]
    return AnswerLabels(sorted(shown, key=lambda each: not each.mine), len(current) - len(visible))


def verdicts_on(run: Run, reader: str) -> dict[tuple[str, int], list[float]]:
    """Id of a task and repeat → what people say of this answer of the run by the metric that decides its outcome, as
    the person ``reader`` may see it, in one query. Empty where a rubric gives the scale."""
    metric = labelable_metrics(run)[0]
    if not is_labeled_by_verdicts(metric):
        return {}
    current = Label.objects.filter(scorings_of(run, "result__"), metric=metric, replaced_at=None)
    by_answer: dict[tuple[str, int], list[Label]] = defaultdict(list)
    named = current.annotate(task=F("result__task__task_id"), repeat=F("result__repeat")).select_related("queue")
    for label in named.order_by("pk"):
        by_answer[label.task, label.repeat].append(label)
    visible = {answer: _visible(labels, reader) for answer, labels in by_answer.items()}
    return {answer: [each.value for each in labels if each.value is not None] for answer, labels in visible.items()}


def labeled_outcomes(run: Run, said: Mapping[tuple[str, int], list[float]]) -> list[tuple[str, list[float]]]:
    """The outcome of each result of the run whose answer ``verdicts_on`` has, and what people say of it."""
    if not said:
        return []
    labeled = run.results.filter(task__task_id__in={task for task, _ in said})
    found = labeled.values_list("outcome", "task__task_id", "repeat")
    return [(outcome, said.get((task, repeat), [])) for outcome, task, repeat in found]


def labelable_metrics(run: Run) -> list[str]:
    """The metrics by which a page offers to label results of the run; the API takes any that decides an outcome."""
    if run.is_preference:
        return [Preference.name]
    return deciding_metrics(run) or [DEFAULT_METRIC]


def deciding_metrics(run: Run) -> list[str]:
    """The metrics of the run that decide an outcome, the one of its headline first."""
    return [name for name in run.metrics if (metric := metric_named(name)) and metric.decides_outcome]


def is_labeled_by_verdicts(name: str) -> bool:
    """Whether people say right or wrong by this metric, rather than a rubric's scale or which answer is better."""
    return name not in (Preference.name, TaskRubric.name) and not name.startswith(PREFIX)


def levels_of(name: str, result: Result) -> tuple[Level, ...]:
    """What a person chooses from when labeling the result by this metric, lowest first."""
    if name == Preference.name:
        return Preference.levels
    rubric = rubric_of_label(name, result)
    return LEVELS[rubric.scale] if rubric else VERDICTS


def _visible(labels: Sequence[Label], reader: str) -> list[Label]:
    """Of the current labels of one answer, those that the reader may see."""
    done = {label.metric for label in labels if label.author_name == reader}
    return [label for label in labels if not _hidden(label, reader, done)]


def _hidden(label: Label, reader: str, done: set[str]) -> bool:
    """Whether the label would influence a reader who has not labeled the answer in the same blind queue."""
    queue = label.queue
    open_and_blind = queue is not None and queue.blind and queue.closed_at is None
    return open_and_blind and label.author_name != reader and label.metric not in done


def _names(labels: Iterable[Label], reader: str, with_names: bool) -> dict[str, str]:
    """Stored name → what the reader sees: the name itself, or a number in the order of the labels."""
    names: dict[str, str] = {}
    for label in labels:
        author = label.author_name
        if author not in names:
            others = sum(name != reader for name in names)
            names[author] = author if with_names or author == reader else f"Reviewer {others + 1}"
    return names


@dataclass(frozen=True, slots=True)
class Progress:
    """How far one person is with a queue; ``seconds_left`` is ``None`` until their pace is known."""

    labeled: int
    skipped: int
    left: int
    seconds_left: float | None

    @property
    def total(self) -> int:
        return self.labeled + self.left

    @property
    def number(self) -> int:
        """The number of the answer that is shown."""
        return self.labeled + 1


@dataclass(frozen=True, slots=True)
class Unlabeled:
    """How many answers lack labels although none is left for one person: who ``labeled`` them, or ``skipped`` them, or
    has no place because others ``claimed`` them."""

    labeled: int
    skipped: int
    claimed: int


@dataclass(frozen=True, slots=True)
class ReviewerCount:
    name: str
    labeled: int
    skipped: int


@dataclass(frozen=True, slots=True)
class Disagreement:
    """An answer that people pass and the metric does not, or the other way round. ``label`` is the labels' mean."""

    result: int
    run: int
    model: str
    task: str
    score: float
    label: float


@dataclass(frozen=True, slots=True)
class Conclusion:
    """How the labels of a closed review agree with the scores of its answers. Tasks of one cluster are one sample.

    Scores that another judge gave in the place of the run's judge are left out.
    """

    n: int
    agreement: Interval
    judges: Sequence[str]
    disagreements: Sequence[Disagreement]


@dataclass(frozen=True, slots=True)
class ReviewCounts:
    """How far a queue is: ``labels`` of ``wanted`` are given, and ``twice`` of ``overlap`` answers have two."""

    answers: int
    labels: int
    wanted: int
    twice: int
    flagged: int
    disagreeing: int
    wrong: int
    reviewers: list[ReviewerCount]


def reviews() -> QuerySet[ReviewQueue]:
    """All queues, open ones first, newest first."""
    return ReviewQueue.objects.select_related("created_by").order_by(F("closed_at").desc(nulls_first=True), "-pk")


def answers_to_label() -> int:
    """How many answers of the open reviews nobody has opened yet."""
    return ReviewItem.objects.filter(queue__closed_at=None, reviewers={}).count()


def reviews_of_pairs(preference: int) -> QuerySet[ReviewQueue]:
    """The reviews in which people choose between the pairs of this preference run."""
    return reviews().filter(source__preference=preference)


def open_blind_reviews(preference: int) -> QuerySet[ReviewQueue]:
    """Those of them in which people may still choose without knowing the models."""
    return reviews_of_pairs(preference).filter(blind=True, closed_at=None)


def review_detail(pk: int) -> ReviewQueue:
    """Raises ``ReviewQueue.DoesNotExist``."""
    return ReviewQueue.objects.select_related("created_by").get(pk=pk)


def items_of(queues: Iterable[ReviewQueue]) -> dict[int, list[ReviewItem]]:
    """Id of a queue → its items in order, in one query."""
    by_queue: dict[int, list[ReviewItem]] = defaultdict(list)
    for item in ReviewItem.objects.filter(queue__in=list(queues)):
        by_queue[item.queue_id].append(item)
    return by_queue


def progress_of(items: Sequence[ReviewItem], reviewer: str, now: float) -> Progress:
    """``now`` is in seconds since 1970."""
    states = [item.state_for(reviewer) for item in items]
    moments = sorted(
        item.reviewers[reviewer][1] for item, state in zip(items, states, strict=True) if state == LABELED
    )[-PACE_OVER:]
    gaps = [later - earlier for earlier, later in pairwise(moments) if later - earlier < LONGEST_LOOK]
    left = sum(
        state == CLAIMED or (not state and item.has_place(now)) for item, state in zip(items, states, strict=True)
    )
    return Progress(states.count(LABELED), states.count(SKIPPED), left, median(gaps) * left if gaps else None)


def unlabeled_by_others(items: Iterable[ReviewItem], reviewer: str, now: float) -> Unlabeled:
    """``now`` is in seconds since 1970."""
    lacking = [item for item in items if item.n_labels() < item.wanted]
    open_to_others = [item.state_for(reviewer) for item in lacking if item.has_place(now)]
    claimed = len(lacking) - len(open_to_others)
    return Unlabeled(open_to_others.count(LABELED), open_to_others.count(SKIPPED), claimed)


def claimed_item(queue: ReviewQueue, reviewer: str) -> ReviewItem | None:
    """The answer that the person is to label now, with everything that a page shows of it."""
    items = queue.items.filter(reviewers__has_key=reviewer)
    claimed = next((item for item in items if item.state_for(reviewer) == CLAIMED), None)
    if claimed is None:
        return None
    related = ("result__run__dataset", "result__task__version", "result__transcript")
    return ReviewItem.objects.select_related(*related).get(pk=claimed.pk)


def answers_of_pair(task: Task) -> list[Result | None]:
    """The results whose answers a pair shows, the left one first; ``None`` for one that was deleted."""
    known = task.known_answer or {}
    runs = [known["first"], known["second"]]
    related = Result.objects.select_related("run", "transcript")
    shown = {each.run_id: each for each in related.filter(run__in=runs, task__task_id=known.get("task"), repeat=1)}
    return [shown.get(run) for run in runs]


def own_label(result: Result, metric: str, reviewer: str) -> Label | None:
    """What the person said last of the answer, also if they have withdrawn it to say something else."""
    own = Label.objects.filter(result__in=results_of_answer(result), metric=metric, author_name=reviewer)
    return own.order_by("-pk").first()


def last_labels(queue: ReviewQueue, reviewer: str) -> list[tuple[int, str, Label]]:
    """The person's latest labels in the queue: number, beginning of the answer, label."""
    own = queue.labels.filter(author_name=reviewer, replaced_at=None)
    rows = (
        own.select_related("result__run", "result__task__version")
        .annotate(answer=Left("result__transcript__actual_output", 120))
        .order_by("-pk")[:LAST_SHOWN]
    )
    count = own.count()
    return [(count - place, row.answer or "", row) for place, row in enumerate(rows)]


def review_counts(queue: ReviewQueue) -> ReviewCounts:
    """How far the queue is, and how many of its answers are flagged, labeled differently or labeled wrong."""
    items = list(queue.items.all())
    states = [(name, state) for item in items for name, (state, _) in item.reviewers.items()]
    names = dict.fromkeys(name for name, state in states if state != CLAIMED)
    return ReviewCounts(
        answers=len(items),
        labels=sum(item.n_labels() for item in items),
        wanted=sum(item.wanted for item in items),
        twice=sum(item.n_labels() > 1 for item in items),
        **{which: len(answers_where(queue, which)) for which in WHICH},
        reviewers=[ReviewerCount(name, states.count((name, LABELED)), states.count((name, SKIPPED))) for name in names],
    )


def labels_in(queue: ReviewQueue) -> dict[int, list[Label]]:
    """Id of a result → the current labels that people gave its answer in this queue."""
    by_result: dict[int, list[Label]] = defaultdict(list)
    for label in queue.labels.filter(replaced_at=None, metric=queue.metric).order_by("pk"):
        by_result[label.result_id].append(label)
    return by_result


def conclusion_of(queue: ReviewQueue) -> Conclusion | None:
    """``None`` for an open review, one of pairs, and where no answer has both a label and a score."""
    return conclusions_of([queue]).get(queue.pk)


def is_unscored(queue: ReviewQueue) -> bool:
    """Whether no run of the review was scored by its metric, so that labels can agree with nothing. One query."""
    runs = Run.objects.filter(pk__in=queue.source["runs"]).values_list("metrics", flat=True)
    return not queue.is_of_pairs and not any(queue.metric in metrics for metrics in runs)


def conclusions_of(queues: Iterable[ReviewQueue]) -> dict[int, Conclusion]:
    """Id of a queue → its conclusion, for those that have one. Two queries, none without a closed review of answers."""
    known = {
        queue: metric
        for queue in queues
        if queue.closed_at and not queue.is_of_pairs and (metric := metric_named(queue.metric))
    }
    if not known:
        return {}
    given: dict[int, dict[int, list[float]]] = {queue.pk: defaultdict(list) for queue in known}
    labels = Label.objects.filter(queue__in=known, metric=F("queue__metric"), replaced_at=None)
    for pk, result, value in labels.values_list("queue", "result", "value"):
        if value is not None:
            given[pk][result].append(value)
    scores: dict[str, list[_Scored]] = defaultdict(list)
    labeled = {result for values in given.values() for result in values}
    stored = Score.objects.filter(result__in=labeled, metric__in={queue.metric for queue in known})
    for metric, *row in stored.exclude(value=None).order_by("result").values_list("metric", *_Scored._fields):
        scores[metric].append(_Scored(*row))
    found = {
        queue.pk: _conclusion(metric, {result: fmean(values) for result, values in given[queue.pk].items()}, scores)
        for queue, metric in known.items()
    }
    return {pk: conclusion for pk, conclusion in found.items() if conclusion}


class _Scored(NamedTuple):
    """What a conclusion reads of a score, by the names of its fields."""

    result: int
    run: int
    run__model: str
    run__judge_model: str
    value: float
    run__dataset: int
    result__task__task_id: str
    result__task__cluster: str
    detail__instead_of: str | None


def _conclusion(
    metric: Metric, people: Mapping[int, float], scores: Mapping[str, Sequence[_Scored]]
) -> Conclusion | None:
    """``people`` are the means of the labels by the id of their result."""
    agreed, clusters, judges, disagreements = [], [], set(), []
    for row in scores.get(metric.name, ()):
        if row.result not in people or row.detail__instead_of is not None:
            continue
        label = people[row.result]
        agreed.append(float((row.value >= metric.passes_at) == (label >= metric.passes_at)))
        clusters.append((row.run__dataset, row.result__task__cluster or row.result__task__task_id))
        judges.add(row.run__judge_model)
        if not agreed[-1]:
            where = (row.result, row.run, row.run__model, row.result__task__task_id)
            disagreements.append(Disagreement(*where, row.value, label))
    if not agreed:
        return None
    named = sorted(filter(None, judges)) if metric.judged else []
    return Conclusion(len(agreed), mean_interval(agreed, clusters), named, disagreements)


def answers_where(queue: ReviewQueue, which: str) -> list[int]:
    """Ids of the queue's results that are of this kind, in the order of their labels. Raises ``KeyError``."""
    metric = metric_named(queue.metric)
    lowest = metric.range[0] if metric else 0.0
    tests: dict[str, Callable[[list[Label]], bool]] = {
        "flagged": lambda labels: any(label.flags for label in labels),
        "disagreeing": lambda labels: len({label.value for label in labels if label.value is not None}) > 1,
        "wrong": lambda labels: any(label.value == lowest for label in labels),
    }
    return [pk for pk, labels in labels_in(queue).items() if tests[which](labels)]
