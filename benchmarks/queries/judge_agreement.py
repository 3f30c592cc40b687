"""The runs on whose labeled answers a judge is compared with people."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any

from django.db.models import Count, Q

from benchmarks.analysis.judge_agreement import (
    AnswersOf,
    JudgeAgreement,
    agreement_on,
    corrected_by_labels,
    level_of,
    random_reviews,
)
from benchmarks.metrics.registered_metrics import metric_named
from benchmarks.models import COMPLETED, OF_MODELS, Label, ReviewQueue, Run
from benchmarks.queries.judges import agreement_of, latest_calibrations
from benchmarks.statistics.alpha import Alpha, alpha_of
from benchmarks.statistics.intervals import Interval, mean_interval
from benchmarks.statistics.prediction_powered import CorrectedMean

MOST_RUNS = 50
"""The latest labeled runs of a judge; older ones are left out."""


def judges_with_labels() -> list[tuple[str, str, int]]:
    """Judge, metric and number of labels of random reviews, by judge and metric."""
    queues = [queue for queue in random_reviews("") if (metric := metric_named(queue.metric)) and metric.judged]
    if not queues:
        return []
    labels = Label.objects.filter(queue__in=queues, replaced_at=None, value__isnull=False).order_by()
    n_labels = dict(labels.values_list("queue").annotate(Count("pk")))
    judges: dict[int, set[str]] = defaultdict(set)
    sources = {pk for queue in queues for pk in queue.source.get("runs", [])}
    for pk, source, judge in _judged_runs(sources).values_list("pk", "rescored_from", "judge_model"):
        judges[pk].add(judge)
        judges[source or pk].add(judge)
    totals: Counter[tuple[str, str]] = Counter()
    for queue in queues:
        names = set().union(*(judges[pk] for pk in queue.source.get("runs", [])))
        totals.update({(name, queue.metric): n_labels[queue.pk] for name in names if queue.pk in n_labels})
    return sorted((judge, metric, total) for (judge, metric), total in totals.items())


def judge_agreement(
    judge_model: str, metric: str, *, run: int | None = None, experiment: int | None = None
) -> JudgeAgreement | None:
    """The agreement on one run, on the runs of an experiment, or on all; ``None`` if no review was drawn from them."""
    known = metric_named(metric)
    if known is None or known.range[1] is None:
        return None
    reviews = _reviews_of_runs(metric)
    scope = {name: value for name, value in (("pk", run), ("experiment", experiment)) if value is not None}
    chosen = _runs_judged_by(judge_model, metric, reviews, **scope)
    if not chosen:
        return None
    read = [AnswersOf(each, known) for each in reversed(chosen)]
    sources = {frozenset(reviews[each.run.pk] | reviews[each.run.rescored_from or 0]) for each in read}
    calibration = latest_calibrations(judge_model).get(metric)
    numbers = agreement_of(calibration) if calibration else None
    return agreement_on(
        read,
        judge_model,
        metric,
        is_one_sample=len(sources) == 1,
        calibration=calibration,
        known_answers=numbers.accuracy if numbers else None,
    )


def agreement_with_people(judge_model: str, metric: str) -> Interval | None:
    """The agreement on all runs as ``judge_agreement`` has it, from labeled answers only; ``None`` without any."""
    known = metric_named(metric)
    if known is None or known.range[1] is None:
        return None
    chosen = _runs_judged_by(judge_model, metric, _reviews_of_runs(metric))
    read = [AnswersOf(each, known, labeled_only=True) for each in reversed(chosen)]
    answers = [answer for each in read for answer in each.labeled]
    clusters = [answer.cluster for answer in answers]
    return mean_interval([float(not answer.error) for answer in answers], clusters) if answers else None


def _reviews_of_runs(metric: str) -> dict[int, set[int]]:
    """Run → the random reviews of a metric that were drawn from it."""
    reviews: dict[int, set[int]] = defaultdict(set)
    for queue in random_reviews(metric):
        for pk in queue.source.get("runs", []):
            reviews[pk].add(queue.pk)
    return reviews


def _runs_judged_by(judge_model: str, metric: str, sources: Iterable[int], **scope: int) -> list[Run]:
    runs = _judged_runs(sources).filter(judge_model=judge_model, **scope)
    return [each for each in runs.order_by("-pk")[:MOST_RUNS] if metric in each.metrics]


def corrected_run(run: Run) -> dict[str, CorrectedMean]:
    """Metric → the means of a run for which there is a corrected one."""
    if not run.judge_model or run.status not in COMPLETED or run.is_calibration:
        return {}
    judged = {name: metric for name in run.metrics if (metric := metric_named(name)) and metric.judged}
    sources = {run.pk, run.rescored_from}
    drawn = {queue.metric for queue in random_reviews("") if sources & {*queue.source.get("runs", [])}}
    corrected = {
        name: corrected_by_labels([AnswersOf(run, metric)]) for name, metric in judged.items() if name in drawn
    }
    return {name: means for name, means in corrected.items() if means}


def _judged_runs(sources: Iterable[int]) -> Any:
    """The completed runs, and scorings of their answers, that a judge has scored."""
    runs = Run.objects.filter(OF_MODELS, status__in=COMPLETED).exclude(judge_model="")
    return runs.filter(Q(pk__in=list(sources)) | Q(rescored_from__in=list(sources)))


def review_alpha(queue: ReviewQueue) -> Alpha:
    """The agreement of people with each other in a review, so far."""
    ratings: dict[int, list[float]] = defaultdict(list)
    labels = Label.objects.filter(queue=queue, metric=queue.metric, replaced_at=None)
    for result, value in labels.values_list("result", "value"):
        if value is not None:
            ratings[result].append(value)
    return alpha_of(list(ratings.values()), level_of(list(ratings.values())))
