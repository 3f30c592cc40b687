"""Reads of schedules: which runs are to be held against which earlier ones, and what is worth a notice."""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import Max, QuerySet

from benchmarks.models import COMPLETED, Run, ScheduledRun, ScoreDrop
from benchmarks.queries.statistics import Compared, compared_runs

LEVEL = 0.01
"""The chance, over all metrics of a run and all earlier runs it is held against, of any difference where there is none.
Half of those are drops: with a run every night, a model that stays the same gives a notice in at most one of 200."""
MOST_TURNS = 366
"""How far back a beginning is looked for: a year of nights."""
MOST_SHOWN = 20
_SAME = ("dataset_id", "model", "metrics", "judge_model", "parameters", "task_classes", "representation", "few_shot")
"""What two runs have to have in common, so that a lower score says something about the model."""


def turns_to_compare() -> list[ScheduledRun]:
    """Turns whose run has completed and was not yet held against the one before, the oldest first."""
    turns = ScheduledRun.objects.filter(compared_at=None, run__status__in=COMPLETED)
    return list(turns.select_related("run").order_by("pk"))


def earlier_runs(turn: ScheduledRun) -> list[Run]:
    """What a turn's run is held against: the completed run before it, and the first one since the latest notice.

    The latter sees a score that sinks too slowly for any two nights to differ. It is left out where both are the same,
    and both are where the schedule asked for something else meanwhile.
    """
    ours = ScheduledRun.objects.filter(schedule=turn.schedule_id, pk__lt=turn.pk)
    noticed = ours.filter(notices__isnull=False).aggregate(latest=Max("pk"))["latest"] or 0
    completed = ours.filter(run__status__in=COMPLETED).order_by("-pk")
    before, beginning = None, None
    for pk, *asked in completed.values_list("pk", *(f"run__{name}" for name in _SAME))[:MOST_TURNS]:
        if asked != [getattr(turn.run, name) for name in _SAME]:
            break
        before = before or pk
        if pk <= noticed:
            break
        beginning = pk
    found = ScheduledRun.objects.select_related("run").in_bulk({pk for pk in (before, beginning) if pk})
    return [found[pk].run for pk in sorted(found, reverse=True)]


def drops(turn: ScheduledRun, earlier: Sequence[Run]) -> list[ScoreDrop]:
    """A notice, not stored, for every metric that is worse than in one of the ``earlier`` runs by the paired test.

    Each of those runs gets its share of the level. A metric that is worse than in several is told of the first.
    """
    notices: dict[str, ScoreDrop] = {}
    for run in earlier:
        names = {each.pk: f"run {each.pk}" for each in (run, turn.run)}
        for compared in compared_runs([run, turn.run], names):
            if notice := _notice(turn, run, compared, LEVEL / len(earlier)):
                notices.setdefault(notice.metric, notice)
    return list(notices.values())


def _notice(turn: ScheduledRun, earlier: Run, compared: Compared, level: float) -> ScoreDrop | None:
    numbers, p_adjusted = compared.comparison, compared.p_adjusted
    if not compared.is_drop or p_adjusted is None or p_adjusted > level:
        return None
    if numbers.difference is None or numbers.low is None or numbers.high is None:
        return None
    return ScoreDrop(
        turn=turn,
        compared_with=earlier,
        metric=compared.metric,
        difference=numbers.difference,
        low=numbers.low,
        high=numbers.high,
        p_adjusted=p_adjusted,
        n_shared=numbers.n_shared,
        sentence=compared.change_sentence,
    )


def open_notices() -> QuerySet[ScoreDrop]:
    """Notices that nobody has dismissed, the latest first."""
    notices = ScoreDrop.objects.filter(dismissed_at=None).order_by("-pk")
    return notices.select_related("turn__schedule", "turn__run__dataset")


def turn_of(run: Run) -> ScheduledRun | None:
    """The turn that started the run; ``None`` where somebody started it."""
    return ScheduledRun.objects.select_related("schedule").filter(run=run).first()
