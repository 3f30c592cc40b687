"""Who judged a score and whether to rely on that judge, in words that stand beside the score everywhere."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

from django.core.cache import cache as shared_cache
from django.db.models import Count, Max, Sum

from benchmarks.analysis.kept import CACHE_SECONDS
from benchmarks.metrics.registered_metrics import metric_named, parts_of
from benchmarks.models import COMPLETED, OF_MODELS, Label, ReviewQueue, Run, RunKind
from benchmarks.presentation.judges import JudgeStanding, judge_standing, judged_by
from benchmarks.presentation.labels import metric_title
from benchmarks.queries.judge_agreement import PeoplesVerdict, peoples_verdict
from benchmarks.queries.judges import agreement_of, latest_calibrations_of

Judged = tuple[str, str]
"""A judge, as a run names it, and a metric."""


@dataclass(frozen=True, slots=True)
class JudgeRow:
    """A judge that scored runs by a metric, or was calibrated for it: ``n_runs`` with ``n_answers``, ``run`` being
    the latest. ``comes_next`` is the first of those that may not be relied on yet."""

    judge: str
    metric: str
    standing: JudgeStanding
    people: PeoplesVerdict | None
    calibration: Run | None
    n_runs: int = 0
    n_answers: int = 0
    run: int | None = None
    comes_next: bool = field(default=False, kw_only=True)

    @property
    def words(self) -> str:
        """``Correctness, judged by openai/judge, not checked by people``."""
        return f"{metric_title(self.metric)}, {judged_by(self.judge, self.standing)}"

    @property
    def all_labeled(self) -> bool:
        return self.people is not None and self.people.agreement.n >= self.n_answers


def judged_scores(scored: Iterable[tuple[Run, str]]) -> tuple[Judged, ...]:
    """The judges and metrics among these runs, each with the metric that is shown of it."""
    found = {(run.judge_model, part): None for run, name in scored for part in parts_of(name) if _is_judged(part)}
    return tuple(found)


def judge_words(judged: Collection[Judged]) -> dict[Judged, str]:
    """The words of each; three queries, none without any."""
    return {(row.judge, row.metric): row.words for row in rows_of(judged)}


def rows_of(judged: Iterable[Judged]) -> list[JudgeRow]:
    """What is known of these, in their order, without their runs."""
    used: dict[Judged, tuple[int, ...]] = dict.fromkeys(judged, ())
    return _rows(used) if used else []


def judges_of_headline(run: Run) -> list[JudgeRow]:
    """What is known of the judges that gave a run its headline; empty if none did."""
    return rows_of(judged_scores([(run, run.headline)]))


def judge_rows() -> list[JudgeRow]:
    """Every judge and metric of completed runs and calibrations, those that may be relied on last."""
    used: dict[Judged, tuple[int, ...]] = {}
    completed = Run.objects.filter(OF_MODELS, status__in=COMPLETED).exclude(judge_model="").order_by()
    counted = completed.values_list("judge_model", "metrics").annotate(Count("pk"), Sum("done"), Max("pk"))
    for judge, metrics, *counts in counted:
        for metric in filter(_is_judged, metrics):
            n_runs, n_answers, latest = used.get((judge, metric), (0, 0, 0))
            used[judge, metric] = (n_runs + counts[0], n_answers + counts[1], max(latest, counts[2]))
    calibrated = Run.objects.filter(kind=RunKind.CALIBRATION, status__in=COMPLETED).order_by()
    for judge, metrics in calibrated.values_list("judge_model", "metrics").distinct():
        used.setdefault((judge, metrics[0]), ())
    rows = sorted(_rows(used), key=lambda row: (not row.standing.caution, -row.n_runs, row.judge, row.metric))
    return [replace(row, comes_next=not place and row.standing.caution) for place, row in enumerate(rows)]


def _rows(used: Mapping[Judged, tuple[int, ...]]) -> list[JudgeRow]:
    """For each judge and metric, with what is counted of its runs. What people said is kept until it changes."""
    calibrations = latest_calibrations_of({judge for judge, _ in used})
    stamps = _stamps({metric for _, metric in used})
    rows = []
    for (judge, metric), counted in used.items():
        people = _peoples_verdict(judge, metric, stamps[metric]) if metric in stamps else None
        calibration = calibrations.get((judge, metric))
        known = agreement_of(calibration) if calibration else None
        standing = (
            judge_standing(people.verdict, people.agreement, known, len(people.open_reviews))
            if people
            else judge_standing(None, None, known)
        )
        rows.append(JudgeRow(judge, metric, standing, people, calibration, *counted))
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


def _stamps(metrics: Collection[str]) -> dict[str, str]:
    """Metric → what changes with each label and each review of it; metrics without reviews are left out."""
    labels = dict(Label.objects.filter(metric__in=metrics).order_by().values_list("metric").annotate(Max("pk")))
    reviews = ReviewQueue.objects.filter(metric__in=metrics).order_by().values_list("metric")
    counted = reviews.annotate(Max("pk"), Count("pk"), Count("closed_at"), Max("closed_at"))
    return {metric: f"{labels.get(metric)} {found}" for metric, *found in counted}


def _peoples_verdict(judge: str, metric: str, stamp: str) -> PeoplesVerdict | None:
    """From the cache until there is a later label, or a review is drawn, closed or opened."""
    # Hashed, because names of judges hold what keys may not.
    key = "people:" + hashlib.sha256(f"{judge}\0{metric}\0{stamp}".encode()).hexdigest()
    kept: tuple[PeoplesVerdict | None] | None = shared_cache.get(key)
    if kept is None:
        kept = (peoples_verdict(judge, metric),)
        shared_cache.set(key, kept, CACHE_SECONDS)
    return kept[0]
