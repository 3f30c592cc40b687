"""Who judged a score and whether that judge is calibrated, in words that stand beside the score everywhere."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from django.core.cache import cache as shared_cache
from django.db.models import Max

from benchmarks.analysis.kept import CACHE_SECONDS
from benchmarks.metrics.registered_metrics import metric_named, parts_of
from benchmarks.models import Label, Run
from benchmarks.presentation.judges import JudgeVerdict, judged_by
from benchmarks.presentation.labels import metric_title
from benchmarks.queries.judge_agreement import agreement_with_people, judge_agreement, judges_with_labels
from benchmarks.queries.judges import agreement_of, latest_calibrations_of
from benchmarks.statistics.intervals import Interval

T = TypeVar("T")
Judged = tuple[str, str]
"""A judge, as a run names it, and a metric."""


@dataclass(frozen=True, slots=True)
class LabeledJudge:
    """A judge whose answers people have labeled in random reviews: ``n_labels`` labels on ``agreement.n`` answers."""

    judge: str
    metric: str
    n_labels: int
    agreement: Interval
    verdict: JudgeVerdict


def judged_scores(scored: Iterable[tuple[Run, str]]) -> tuple[Judged, ...]:
    """The judges and metrics among these runs, each with the metric that is shown of it."""
    found = {(run.judge_model, part): None for run, name in scored for part in parts_of(name) if _is_judged(part)}
    return tuple(found)


def judge_words(judged: Collection[Judged]) -> dict[Judged, str]:
    """``Correctness, judged by openai/judge, not calibrated`` for each; two queries, none without any.

    What people said is kept until one of them says more.
    """
    if not judged:
        return {}
    calibrations = latest_calibrations_of({judge for judge, _ in judged})
    latest = _latest_labels({metric for _, metric in judged})
    return {
        (judge, metric): f"{metric_title(metric)}, "
        + judged_by(
            judge,
            _kept("agreement", judge, metric, latest[metric], agreement_with_people) if metric in latest else None,
            _accuracy(calibrations.get((judge, metric))),
        )
        for judge, metric in judged
    }


def labeled_judges() -> list[LabeledJudge]:
    """What people's labels say of each judge and metric. It is kept until one of them says more."""
    found = judges_with_labels()
    latest = _latest_labels({metric for _, metric, _ in found})
    rows = []
    for judge, metric, n_labels in found:
        if verdict := _kept("verdict", judge, metric, latest[metric], _verdict):
            rows.append(LabeledJudge(judge, metric, n_labels, *verdict))
    return rows


def measured(scored: Iterable[tuple[Run, str]]) -> str:
    """The ``judge_words`` of these runs, each with the metric that is shown of it; empty if no judge scored them."""
    judged = judged_scores(scored)
    return joined(judged, judge_words(judged))


def measured_metrics(run: Run) -> dict[str, str]:
    """Metric of the run, and its headline → the ``judge_words``; without those that no judge scored."""
    judged = {name: judged_scores([(run, name)]) for name in run.all_metrics}
    known = judge_words({each for pairs in judged.values() for each in pairs})
    return {name: joined(pairs, known) for name, pairs in judged.items() if pairs}


def joined(judged: Iterable[Judged], known: Mapping[Judged, str]) -> str:
    """The ``judge_words`` of some, one after the other."""
    return "; ".join(known[each] for each in judged)


def in_parentheses(judged: Collection[Judged], known: Mapping[Judged, str]) -> str:
    """What stands behind a score that judges gave, with the space before it; empty for any other."""
    return f" ({joined(judged, known)})" if judged else ""


def _is_judged(metric: str) -> bool:
    known = metric_named(metric)
    return known is not None and known.judged


def _accuracy(calibration: Run | None) -> float | None:
    numbers = agreement_of(calibration) if calibration else None
    return numbers.accuracy.mean if numbers else None


def _verdict(judge: str, metric: str) -> tuple[Interval, JudgeVerdict] | None:
    found = judge_agreement(judge, metric)
    return (found.agreement, found.verdict) if found else None


def _latest_labels(metrics: Collection[str]) -> dict[str, int]:
    """Metric → the id of its latest label."""
    labels = Label.objects.filter(metric__in=metrics).order_by()
    return dict(labels.values_list("metric").annotate(Max("pk")))


def _kept(kind: str, judge: str, metric: str, latest_label: int, read: Callable[[str, str], T]) -> T:
    """What ``read`` says of the judge and the metric, kept until there is a later label."""
    # Hashed, because names of judges hold what keys may not.
    key = f"{kind}:" + hashlib.sha256(f"{judge}\0{metric}\0{latest_label}".encode()).hexdigest()
    kept: tuple[T] | None = shared_cache.get(key)
    if kept is None:
        kept = (read(judge, metric),)
        shared_cache.set(key, kept, CACHE_SECONDS)
    return kept[0]
