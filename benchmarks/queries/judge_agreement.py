"""The runs on whose labeled answers a judge is compared with people."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import OuterRef, Q, Subquery
from django.db.models.functions import Left

from benchmarks.analysis.judge_agreement import (
    AnswersOf,
    JudgeAgreement,
    agreement_on,
    corrected_by_labels,
    level_of,
    own_answers,
    random_reviews,
    verdict_on,
)
from benchmarks.analysis.judge_comparisons import LabeledAnswer
from benchmarks.metrics.registered_metrics import metric_named
from benchmarks.models import COMPLETED, OF_MODELS, Label, Result, ReviewQueue, Run, Score
from benchmarks.presentation.judges import JudgeVerdict
from benchmarks.queries.judges import agreement_of, latest_calibrations
from benchmarks.statistics.alpha import Alpha, alpha_of
from benchmarks.statistics.intervals import Interval
from benchmarks.statistics.prediction_powered import CorrectedMean

MOST_RUNS = 50
"""The latest labeled runs of a judge; older ones are left out."""
_SHOWN = 400
"""Characters of a disputed answer, and of the judge's reason; the rest is on its page."""


@dataclass(frozen=True, slots=True)
class PeoplesVerdict:
    """What the labels of closed random reviews say of a judge; ``verdict`` is without advice. ``open_reviews`` are the
    ids of those that are drawn from its answers and do not count yet."""

    agreement: Interval
    verdict: JudgeVerdict
    open_reviews: list[int]


@dataclass(frozen=True, slots=True)
class DisputedAnswer:
    """A labeled answer on which judge and people disagree, with the title of its task, its ``text``, and the
    ``reason`` of the judge."""

    answer: LabeledAnswer
    task: str
    text: str
    reason: str


def disputed_answers(answers: Sequence[LabeledAnswer], metric: str) -> list[DisputedAnswer]:
    """These answers with their tasks and the judge's reasons, in one query."""
    reason = Score.objects.filter(result=OuterRef("pk"), metric=metric).values("reason")[:1]
    results = Result.objects.filter(pk__in=[answer.result for answer in answers]).annotate(
        text=Left("transcript__actual_output", _SHOWN), reason=Left(Subquery(reason), _SHOWN)
    )
    found = {pk: shown for pk, *shown in results.values_list("pk", "task__name", "task__task_id", "text", "reason")}
    return [
        DisputedAnswer(answer, name or task, text or "", reason or "")
        for answer in answers
        for name, task, text, reason in (found[answer.result],)
    ]


def judge_agreement(
    judge_model: str, metric: str, *, run: int | None = None, experiment: int | None = None
) -> JudgeAgreement | None:
    """The agreement on one run, on the runs of an experiment, or on all; ``None`` if no review was drawn from them."""
    known = metric_named(metric)
    if known is None or known.range[1] is None:
        return None
    reviews = _reviews_of_runs(metric)
    drawn = [queue.pk for queue in random_reviews(metric)]
    scope = {name: value for name, value in (("pk", run), ("experiment", experiment)) if value is not None}
    chosen = _runs_judged_by(judge_model, metric, reviews, **scope)
    if not chosen:
        return None
    read = [AnswersOf(each, known) for each in reversed(chosen)]
    of_runs = [reviews[each.run.pk] | reviews[each.run.rescored_from or 0] for each in read]
    calibration = latest_calibrations(judge_model).get(metric)
    numbers = agreement_of(calibration) if calibration else None
    return agreement_on(
        read,
        judge_model,
        metric,
        is_one_sample=len({frozenset(queues.intersection(drawn)) for queues in of_runs}) == 1,
        n_open_reviews=len(set().union(*of_runs).difference(drawn)),
        calibration=calibration,
        known_answers=numbers.accuracy if numbers else None,
    )


def peoples_verdict(judge_model: str, metric: str) -> PeoplesVerdict | None:
    """The verdict of ``judge_agreement`` on all runs, from labeled answers only; ``None`` if no review was drawn."""
    known = metric_named(metric)
    if known is None or known.range[1] is None:
        return None
    reviews = _reviews_of_runs(metric)
    chosen = _runs_judged_by(judge_model, metric, reviews)
    if not chosen:
        return None
    closed = {queue.pk for queue in random_reviews(metric)}
    drawn = set().union(*(reviews[run.pk] | reviews[run.rescored_from or 0] for run in chosen))
    read = [AnswersOf(each, known, labeled_only=True) for each in reversed(chosen)]
    return PeoplesVerdict(*verdict_on(own_answers(read)), sorted(drawn - closed))


def _reviews_of_runs(metric: str) -> dict[int, set[int]]:
    """Run → the random reviews of a metric that were drawn from it, also open ones."""
    reviews: dict[int, set[int]] = defaultdict(set)
    for queue in random_reviews(metric, with_open=True):
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
