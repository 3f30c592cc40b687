"""Who judged a score and whether that judge is calibrated, in words that stand beside the score everywhere."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping

from django.core.cache import cache as shared_cache
from django.db.models import Max

from benchmarks.analysis.kept import CACHE_SECONDS
from benchmarks.metrics.registered_metrics import metric_named, parts_of
from benchmarks.models import Label, Run
from benchmarks.presentation.judges import judged_by
from benchmarks.presentation.labels import metric_title
from benchmarks.queries.judge_agreement import agreement_with_people
from benchmarks.queries.judges import agreement_of, latest_calibrations_of
from benchmarks.statistics.intervals import Interval

Judged = tuple[str, str]
"""A judge, as a run names it, and a metric."""


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
    labels = Label.objects.filter(metric__in={metric for _, metric in judged}).order_by()
    latest = dict(labels.values_list("metric").annotate(Max("pk")))
    return {
        (judge, metric): f"{metric_title(metric)}, "
        + judged_by(
            judge,
            _kept_agreement(judge, metric, latest[metric]) if metric in latest else None,
            _accuracy(calibrations.get((judge, metric))),
        )
        for judge, metric in judged
    }


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


def _kept_agreement(judge: str, metric: str, latest_label: int) -> Interval | None:
    # Hashed, because names of judges hold what keys may not.
    key = "agreement:" + hashlib.sha256(f"{judge}\0{metric}\0{latest_label}".encode()).hexdigest()
    kept: tuple[Interval | None] | None = shared_cache.get(key)
    if kept is None:
        kept = (agreement_with_people(judge, metric),)
        shared_cache.set(key, kept, CACHE_SECONDS)
    return kept[0]
