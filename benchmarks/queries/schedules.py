"""Reads of schedules: which runs to compare with which earlier ones, and which scores have dropped."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import F, Max, OuterRef, QuerySet, Subquery
from django.db.models.fields.json import KeyTextTransform

from benchmarks.analysis.comparisons import Compared, compared_runs
from benchmarks.models import COMPLETED, Dataset, Run, Schedule, ScheduledRun, ScoreDrop
from benchmarks.queries.runs import HeadlineNumber
from benchmarks.run_parameters import Decides, deciding
from benchmarks.statistics import margins

LEVEL = 2 * margins.LEVEL / margins.NIGHTS
"""The probability of any significant difference in one night if nothing has changed, over all metrics and earlier runs
compared. Half of those are drops, so of 100 nights in a row without a change, at most 5% of series have a false one."""
MAX_EARLIER_RUNS = 366
"""How far back the comparison goes: a year of daily runs."""
MOST_SHOWN = 20
MOST_NIGHTS = 1_000
"""Scheduled runs among which those of a page of schedules are looked for."""
_RUN_SHOWN = (
    *("model", "dataset__slug", "dataset__name", "dataset_version__number", "added_canvases", "summary", "created_at"),
)
_DROP_SHOWN = (
    *("metric", "difference", "low", "high", "n_shared", "sentence", "created_at", "scheduled_run__schedule__name"),
    *(f"{run}__{name}" for run in ("scheduled_run__run", "compared_with") for name in _RUN_SHOWN),
)
_SAME = (
    *("dataset_id", "model", "question_key", "answer_key", "judge_settings", "rubrics"),
    *(row.field for row in deciding(Decides.SCORE)),
)
"""What two runs must have in common, so that a lower score says something about the model."""


def with_latest_run(schedules: QuerySet[Any]) -> QuerySet[Any]:
    """The schedules, each with ``latest_run_id``, the id of the last run it started, and the name of its dataset."""
    runs = ScheduledRun.objects.filter(schedule=OuterRef("pk")).order_by("-pk").values("run_id")
    named = Dataset.objects.filter(slug=OuterRef("dataset_slug")).values("name")
    annotated: QuerySet[Any] = schedules.annotate(
        latest_run_id=Subquery(runs[:1]), dataset_slug=KeyTextTransform("dataset", "request")
    ).annotate(dataset_name=Subquery(named[:1]))
    return annotated


@dataclass(frozen=True, slots=True)
class Nights:
    """The completed runs of a schedule: the ``means`` of their headlines, the latest last, and how much that dropped
    below an earlier one, if it did."""

    means: Sequence[float]
    drop: float | None


def nights(schedules: Iterable[int]) -> dict[int, Nights]:
    """By schedule. Three queries."""
    ended = ScheduledRun.objects.filter(schedule__in=list(schedules), run__status__in=COMPLETED).order_by("-pk")
    of_run = {run: schedule for schedule, run in ended.values_list("schedule_id", "run_id")[:MOST_NIGHTS]}
    scored = Run.objects.filter(pk__in=of_run).annotate(mean=HeadlineNumber()).order_by("pk")
    means: dict[int, list[tuple[int, float]]] = {}
    for pk, mean in scored.values_list("pk", "mean"):
        if mean is not None:
            means.setdefault(of_run[pk], []).append((pk, mean))
    latest = [of_schedule[-1][0] for of_schedule in means.values()]
    drops = ScoreDrop.objects.filter(scheduled_run__run__in=latest, metric=F("scheduled_run__run__headline"))
    lost = dict(drops.values_list("scheduled_run__run", "difference"))
    return {
        schedule: Nights([mean for _, mean in found[-MOST_SHOWN:]], lost.get(found[-1][0]))
        for schedule, found in means.items()
    }


def runs_to_compare() -> list[ScheduledRun]:
    """Scheduled runs that have completed and are not compared yet, oldest first."""
    waiting = ScheduledRun.objects.filter(compared_at=None, run__status__in=COMPLETED)
    return list(waiting.select_related("run__dataset", "run__dataset_version", "schedule").order_by("pk"))


def settings_of(run: Run) -> list[Any]:
    """What two runs of a schedule share if a gate holds one against the other; equal lists are the same settings."""
    return [run.version_label, run.dataset_version_id, *(getattr(run, name) for name in _SAME)]


def earlier_runs(scheduled: ScheduledRun) -> list[Run]:
    """The runs to compare with: the previous completed one, and the first one since the latest score drop.

    The second one reveals a score that falls too slowly for two consecutive runs to differ. Both are left out if the
    schedule's request changed in between, and the second one if it is the first.
    """
    before = ScheduledRun.objects.filter(schedule=scheduled.schedule_id, pk__lt=scheduled.pk)
    last_drop = before.filter(score_drops__isnull=False).aggregate(latest=Max("pk"))["latest"] or 0
    completed = before.filter(run__status__in=COMPLETED).order_by("-pk")
    previous, first = None, None
    for pk, *settings in completed.values_list("pk", *(f"run__{name}" for name in _SAME))[:MAX_EARLIER_RUNS]:
        if settings != [getattr(scheduled.run, name) for name in _SAME]:
            break
        previous = previous or pk
        if pk <= last_drop:
            break
        first = pk
    rows = ScheduledRun.objects.select_related("run").in_bulk({pk for pk in (previous, first) if pk})
    return [rows[pk].run for pk in sorted(rows, reverse=True)]


def score_drops(scheduled: ScheduledRun, earlier: Sequence[Run]) -> list[ScoreDrop]:
    """Score drops, not stored, for every metric that is worse than in one of the ``earlier`` runs by the paired test.

    Each earlier run gets its share of the level. A metric that is worse than in several is reported for the first.
    """
    drops: dict[str, ScoreDrop] = {}
    for run in earlier:
        names = {each.pk: f"run {each.pk}" for each in (run, scheduled.run)}
        for compared in compared_runs([run, scheduled.run], names):
            if drop := _drop(scheduled, run, compared, LEVEL / len(earlier)):
                drops.setdefault(drop.metric, drop)
    return list(drops.values())


def _drop(scheduled: ScheduledRun, earlier: Run, compared: Compared, level: float) -> ScoreDrop | None:
    numbers, p_adjusted = compared.comparison, compared.p_adjusted
    if not compared.is_drop or p_adjusted is None or p_adjusted > level:
        return None
    if numbers.difference is None or numbers.low is None or numbers.high is None:
        return None
    return ScoreDrop(
        scheduled_run=scheduled,
        compared_with=earlier,
        metric=compared.metric,
        difference=numbers.difference,
        low=numbers.low,
        high=numbers.high,
        p_adjusted=p_adjusted,
        n_shared=numbers.n_shared,
        sentence=f"{compared.change_sentence} Tasks with scores in both runs: {compared.shared_of_common}.",
    )


def open_score_drops() -> QuerySet[ScoreDrop]:
    """Score drops that nobody has dismissed, latest first, with what lists show of their runs."""
    drops = ScoreDrop.objects.filter(dismissed_at=None).order_by("-pk")
    runs = (
        f"{run}__{part}" for run in ("scheduled_run__run", "compared_with") for part in ("dataset", "dataset_version")
    )
    return drops.select_related("scheduled_run__schedule", *runs).only(*_DROP_SHOWN)


def next_due() -> Schedule | None:
    """The schedule that starts its run next; ``None`` if all are paused, or there are none."""
    return Schedule.objects.exclude(next_run_at=None).order_by("next_run_at").first()


def dropped_models() -> set[str]:
    """The models with a score drop that nobody has dismissed."""
    return set(ScoreDrop.objects.filter(dismissed_at=None).values_list("scheduled_run__run__model", flat=True))


def fallen_runs(runs: Collection[int], metric: str) -> set[int]:
    """Those of the runs with a drop of this score that nobody has dismissed."""
    drops = ScoreDrop.objects.filter(scheduled_run__run__in=runs, metric=metric, dismissed_at=None)
    return set(drops.values_list("scheduled_run__run", flat=True))


def scheduled_run_of(run: Run) -> ScheduledRun | None:
    """The link to the schedule that started the run; ``None`` if a person started it."""
    return ScheduledRun.objects.select_related("schedule").filter(run=run).first()
