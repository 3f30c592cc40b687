"""Reads of schedules: which runs are to be held against the ones before, and what is worth a notice."""

from __future__ import annotations

from django.db.models import QuerySet

from benchmarks.models import Run, RunStatus, ScheduledRun, ScoreNotice
from benchmarks.queries.statistics import Compared, compared_runs

COMPLETED = (RunStatus.COMPLETED, RunStatus.COMPLETED_WITH_ERRORS)
LEVEL = 0.01
"""The chance, over all metrics of a run together, of any difference where there is none. Half of those are drops: with
a run every night, a model that stays the same gives a notice in at most one of 200 nights."""
MOST_SHOWN = 20
_SAME = ("dataset_id", "model", "metrics", "judge_model", "parameters", "task_classes", "representation", "few_shot")
"""What two runs have to have in common, so that a lower score says something about the model."""


def turns_to_compare() -> list[ScheduledRun]:
    """Turns whose run has completed and was not yet held against the one before, the oldest first."""
    turns = ScheduledRun.objects.filter(compared_at=None, run__status__in=COMPLETED)
    return list(turns.select_related("run").order_by("pk"))


def run_before(turn: ScheduledRun) -> Run | None:
    """The run of the schedule's latest turn before that completed; ``None`` where that asked for something else."""
    earlier = ScheduledRun.objects.filter(schedule=turn.schedule_id, pk__lt=turn.pk, run__status__in=COMPLETED)
    found = earlier.select_related("run").order_by("-pk").first()
    if found is None or any(getattr(found.run, name) != getattr(turn.run, name) for name in _SAME):
        return None
    return found.run


def drops(turn: ScheduledRun, earlier: Run) -> list[ScoreNotice]:
    """A notice, not stored, for every metric that is worse than in the ``earlier`` run by the paired test."""
    names = {run.pk: f"run {run.pk}" for run in (earlier, turn.run)}
    found = (_notice(turn, compared) for compared in compared_runs([earlier, turn.run], names))
    return [notice for notice in found if notice]


def _notice(turn: ScheduledRun, compared: Compared) -> ScoreNotice | None:
    numbers, p_adjusted = compared.comparison, compared.p_adjusted
    if not compared.is_drop or p_adjusted is None or p_adjusted > LEVEL:
        return None
    if numbers.difference is None or numbers.low is None or numbers.high is None:
        return None
    return ScoreNotice(
        turn=turn,
        metric=compared.metric,
        difference=numbers.difference,
        low=numbers.low,
        high=numbers.high,
        p_adjusted=p_adjusted,
        n_shared=numbers.n_shared,
        sentence=compared.sentence,
    )


def open_notices() -> QuerySet[ScoreNotice]:
    """Notices that nobody has dismissed, the latest first."""
    notices = ScoreNotice.objects.filter(dismissed_at=None).order_by("-pk")
    return notices.select_related("turn__schedule", "turn__run__dataset")


def turn_of(run: Run) -> ScheduledRun | None:
    """The turn that started the run; ``None`` where somebody started it."""
    return ScheduledRun.objects.select_related("schedule").filter(run=run).first()
