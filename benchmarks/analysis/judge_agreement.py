"""How well a judge agrees with people, and the means of its runs corrected by their labels.

Only labels of closed random reviews count. Those that people chose to give, or that a rule selected, say nothing of the
mean, and those of open reviews would tell reviewers how others and the judge decide.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property

from django.db.models import Q

from benchmarks.analysis.judge_comparisons import (
    CorrectedRun,
    Favor,
    LabeledAnswer,
    Separation,
    StepAgreement,
    favor_of,
    separations,
    step_agreement,
)
from benchmarks.analysis.score_table import Column, read_scores
from benchmarks.dataset_format.spec import resolved_rubric
from benchmarks.metrics.base import Metric
from benchmarks.metrics.judge_calibration import Share
from benchmarks.metrics.rubrics import Rubric, TaskRubric
from benchmarks.models import Label, Result, ReviewQueue, Run
from benchmarks.models.reviews import scorings_of
from benchmarks.presentation.judges import JudgeVerdict, judge_verdict
from benchmarks.statistics.agreement import Kappa, cohen_kappa
from benchmarks.statistics.alpha import Alpha, Level, alpha_of
from benchmarks.statistics.intervals import Interval, mean_interval
from benchmarks.statistics.paired import Comparison, compare
from benchmarks.statistics.prediction_powered import CorrectedMean, corrected_mean


@dataclass(frozen=True, slots=True)
class Part:
    """Agreement on the answers of one model or class."""

    name: str
    agreement: Interval
    n_lenient: int
    n_strict: int
    leaning: str


@dataclass(frozen=True)
class JudgeAgreement:
    """A judge and a metric, on the labeled answers of the ``runs``."""

    judge_model: str
    metric: str
    runs: Sequence[CorrectedRun]
    answers: Sequence[LabeledAnswer]
    n_reviewers: int
    n_other_labels: int
    """Labels of the same answers outside random reviews."""
    n_open_reviews: int
    """Random reviews that are open, so their labels do not count yet."""
    agreement: Interval
    kappa: Kappa
    alpha: Alpha
    leniency: Comparison
    """The share that the judge passes minus the share that people pass."""
    corrected: CorrectedMean | None
    """Of all runs together, if the same reviews were drawn from all of them."""
    by_model: Sequence[Part]
    by_class: Sequence[Part]
    calibration: Run | None
    """The latest one of the judge for this metric."""
    known_answers: Share | None
    """Accuracy in it."""
    steps: StepAgreement | None
    """On the first wrong step of agents; ``None`` without an answer for which judge and people say it."""

    @property
    def leaning(self) -> str:
        return _leaning(self.leniency)

    def count(self, people_pass: bool, judge_passes: bool) -> int:
        pair = (people_pass, judge_passes)
        return sum((answer.people_pass, answer.judge_passes) == pair for answer in self.answers)

    @property
    def disagreements(self) -> list[LabeledAnswer]:
        return [answer for answer in self.answers if answer.error]

    @cached_property
    def verdict(self) -> JudgeVerdict:
        unlabeled = sum(each.n_judged - each.n_labels for each in self.runs)
        return judge_verdict(
            _counts(self.answers),
            self.leaning,
            self.kappa,
            self.agreement,
            corrected=self.corrected,
            unlabeled=unlabeled,
        )

    @cached_property
    def separations(self) -> list[Separation]:
        """Whether runs differ after correction: neighbors by corrected mean."""
        return separations(self.runs)

    @cached_property
    def favor(self) -> Favor | None:
        return favor_of(self.judge_model, self.answers)


def agreement_on(
    read: Sequence[AnswersOf],
    judge_model: str,
    metric: str,
    *,
    is_one_sample: bool,
    n_open_reviews: int,
    calibration: Run | None,
    known_answers: Share | None,
) -> JudgeAgreement:
    """The agreement on these answers. ``is_one_sample``: the same reviews were drawn from all of the runs.

    Answers that another judge scored in the place of this one say nothing of it. Corrected means contain them.
    """
    answers = own_answers(read)
    return JudgeAgreement(
        judge_model=judge_model,
        metric=metric,
        runs=[
            CorrectedRun(each.run, len(each.judged), len(each.labeled), corrected_by_labels([each])) for each in read
        ],
        answers=answers,
        n_reviewers=len(set().union(*(each.reviewers for each in read))),
        n_other_labels=sum(each.n_other_labels for each in read),
        n_open_reviews=n_open_reviews,
        agreement=_agreement(answers),
        kappa=_kappa(answers),
        alpha=_people_with_each_other(answers),
        leniency=_leniency(answers),
        corrected=corrected_by_labels(read) if is_one_sample else None,
        by_model=_parts(answers, "model"),
        by_class=_parts([answer for answer in answers if answer.group], "group"),
        calibration=calibration,
        known_answers=known_answers,
        steps=step_agreement(answers),
    )


def own_answers(read: Sequence[AnswersOf]) -> list[LabeledAnswer]:
    """Without those that another judge scored in the place of the run's judge."""
    return [answer for each in read for answer in each.labeled if not answer.by_another]


def verdict_on(answers: Sequence[LabeledAnswer]) -> tuple[Interval, JudgeVerdict]:
    """How often judge and people agree on these answers, and the verdict of ``JudgeAgreement`` without its advice."""
    agreement = _agreement(answers)
    leaning = _leaning(_leniency(answers))
    return agreement, judge_verdict(_counts(answers), leaning, _kappa(answers), agreement)


def _counts(answers: Sequence[LabeledAnswer]) -> tuple[int, int, int, int]:
    """How many answers people and judge pass, only people, only the judge, and neither."""
    found = Counter((answer.people_pass, answer.judge_passes) for answer in answers)
    return found[True, True], found[True, False], found[False, True], found[False, False]


def _agreement(answers: Sequence[LabeledAnswer]) -> Interval:
    return mean_interval([float(not answer.error) for answer in answers], [answer.cluster for answer in answers])


def _kappa(answers: Sequence[LabeledAnswer]) -> Kappa:
    people, judge = [answer.people_pass for answer in answers], [answer.judge_passes for answer in answers]
    return cohen_kappa(people, judge, clusters=[answer.cluster for answer in answers])


class AnswersOf:
    """The judged answers of a run, or none but the labeled ones, and those that people labeled in random reviews."""

    def __init__(self, run: Run, metric: Metric, *, labeled_only: bool = False) -> None:
        self.run = run
        self.judged: dict[int, float] = {}
        self.clusters: dict[int, Hashable] = {}
        self.labeled: list[LabeledAnswer] = []
        self.reviewers: set[str] = set()
        self.n_other_labels = 0
        low, high = metric.range
        people = self._people(metric.name)
        of_run, of_tasks = run.metric_named(metric.name) or metric, _task_thresholds(run, metric)
        labeled = Q(pk__in=[*people]) if labeled_only else Q()
        columns: tuple[Column, ...] = (
            *("result", "group", "cluster", "task"),
            *("passes_at", "instead_of", "first_wrong_step"),
        )
        table = read_scores(run, metric.name, *columns, where=labeled).scored
        for result, group, cluster, task, own_threshold, instead_of, step, value in table.rows():
            passes_at = of_tasks.get(task, of_run.passes_at)
            self.judged[result] = _scaled(value, low, high)
            self.clusters[result] = (run.dataset_id, cluster)
            if result in people:
                labels = [value for value, _ in people[result]]
                self.labeled.append(
                    LabeledAnswer(
                        *(result, run.pk, run.model, group, self.clusters[result], self.judged[result]),
                        labels=tuple(_scaled(label, low, high) for label in labels),
                        judge_passes=value >= (passes_at if math.isnan(own_threshold) else own_threshold),
                        people_pass=sum(labels) / len(labels) >= passes_at,
                        by_another=instead_of is not None,
                        judge_step=None if math.isnan(step) else int(step),
                        people_steps=tuple(named for _, named in people[result] if named is not None),
                    )
                )

    def _people(self, metric: str) -> dict[int, list[tuple[float, int | None]]]:
        """Result → value and first wrong step of each label."""
        values: dict[int, list[tuple[float, int | None]]] = defaultdict(list)
        reviews = {queue.pk for queue in random_reviews(metric)}
        for result, labels in labels_of_run(self.run, metric).items():
            for label in labels:
                if label.value is None:
                    continue
                if label.queue_id in reviews:
                    values[result].append((label.value, label.first_wrong_step))
                    self.reviewers.add(label.author_name)
                elif label.queue is None or label.queue.closed_at:
                    self.n_other_labels += 1
        return dict(values)


def labels_of_run(run: Run, metric: str) -> dict[int, list[Label]]:
    """Id of a result of the run → the current labels of its answer by the metric, oldest first.

    Labels that only flag or explain have the value ``None``. Results without labels are left out.
    """
    current = Label.objects.filter(scorings_of(run, "result__"), metric=metric, replaced_at=None)
    by_answer: dict[tuple[str, int], list[Label]] = defaultdict(list)
    for label in current.select_related("result__task", "queue").order_by("pk"):
        by_answer[label.result.task.task_id, label.result.repeat].append(label)
    if not by_answer:
        return {}
    results = Result.objects.filter(run=run, task__task_id__in={task for task, _ in by_answer}).order_by("position")
    keys = results.values_list("pk", "task__task_id", "repeat")
    return {pk: by_answer[task, repeat] for pk, task, repeat in keys if (task, repeat) in by_answer}


def random_reviews(metric: str, *, with_open: bool = False) -> list[ReviewQueue]:
    """Closed reviews that are a random sample of their runs; also the open ones, whose labels do not count yet."""
    queues = ReviewQueue.objects.filter(metric=metric) if metric else ReviewQueue.objects.all()
    return [queue for queue in queues if queue.is_random_sample and (with_open or queue.closed_at)]


def _task_thresholds(run: Run, metric: Metric) -> dict[int, float]:
    """Task → the score that passes, of the metric that scores each task by a rubric of its own."""
    if metric.name != TaskRubric.name:
        return {}
    version = run.dataset_version
    rubrics = version.tasks.filter(rubric__isnull=False).values_list("pk", "rubric")
    resolved = ((pk, resolved_rubric(rubric, version.rubrics)) for pk, rubric in rubrics)
    return {pk: Rubric.of(values).passes_at for pk, values in resolved if values}


def _scaled(value: float, low: float, high: float | None) -> float:
    """From 0 to 1 on the metric's scale."""
    return min(1.0, max(0.0, (value - low) / ((high or 1.0) - low)))


def corrected_by_labels(read: Sequence[AnswersOf]) -> CorrectedMean | None:
    judged = [value for each in read for value in each.judged.values()]
    clusters = [cluster for each in read for cluster in each.clusters.values()]
    places = {result: place for place, result in enumerate(result for each in read for result in each.judged)}
    labels = {places[answer.result]: answer.label for each in read for answer in each.labeled}
    return corrected_mean(judged, labels, clusters)


def _people_with_each_other(answers: Sequence[LabeledAnswer]) -> Alpha:
    ratings = [answer.labels for answer in answers]
    return alpha_of(ratings, level_of(ratings), [answer.cluster for answer in answers])


def level_of(ratings: Sequence[Sequence[float]]) -> Level:
    """Two verdicts have no distances; with more values, partly right is nearer to right than wrong is."""
    return Level.NOMINAL if len({value for values in ratings for value in values}) <= 2 else Level.INTERVAL


def _leniency(answers: Sequence[LabeledAnswer]) -> Comparison:
    return compare(
        {answer.result: float(answer.people_pass) for answer in answers},
        {answer.result: float(answer.judge_passes) for answer in answers},
        {answer.result: answer.cluster for answer in answers},
    )


def _leaning(leniency: Comparison) -> str:
    if not leniency.is_clear or leniency.difference is None:
        return ""
    return "lenient" if leniency.difference > 0 else "strict"


def _parts(answers: Sequence[LabeledAnswer], field: str) -> list[Part]:
    """One part for each value of a field, the one with the lowest agreement first."""
    parts: dict[str, list[LabeledAnswer]] = defaultdict(list)
    for answer in answers:
        parts[getattr(answer, field)].append(answer)
    rows = [
        Part(
            name,
            _agreement(part),
            sum(answer.error == "lenient" for answer in part),
            sum(answer.error == "strict" for answer in part),
            _leaning(_leniency(part)),
        )
        for name, part in parts.items()
    ]
    return sorted(rows, key=lambda row: (row.agreement.mean or 0.0, row.name))
