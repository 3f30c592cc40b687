"""The list of runs as pages show it: experiments, each with its runs folded into it, and single runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.db.models import BooleanField, Count, Exists, F, OuterRef, Q, QuerySet, Value

from benchmarks.models import OF_MODELS, Experiment, Run, RunKind, ScheduledRun, ScoreDrop
from benchmarks.queries.experiments import Progress, experiments, findings, progress
from benchmarks.queries.runs import HasTag, RunFilters, every_word, listed_kinds, matching, run_list, runs

IMPORTED = (RunKind.IMPORTED, RunKind.PUSHED)
TABS: Mapping[str, dict[str, Any]] = {
    "single-runs": {},
    "imported-runs": {"kinds": IMPORTED},
    "scheduled-runs": {"scheduled": True},
}
"""Lists of runs only → what they filter by."""


@dataclass(frozen=True, slots=True)
class ListedRun:
    """A run with the name of the schedule that started it, and the drop of its score if that found one."""

    run: Run
    schedule: str
    drop: ScoreDrop | None


@dataclass(frozen=True, slots=True)
class ListedExperiment:
    """An experiment with its runs, their state together, and who leads."""

    experiment: Experiment
    runs: Sequence[Run]
    progress: Progress
    findings: Sequence[str]


Listed = ListedRun | ListedExperiment


def rows_of(tab: str, filters: RunFilters) -> QuerySet[Any]:
    """What ``listed`` takes a page of, for a list of ``TABS``, of experiments, or of both; pinned runs come first."""
    if tab in TABS:
        return run_list(replace(filters, **TABS[tab]))
    if tab == "experiments":
        return _experiments(filters).order_by("-id")
    one, other = _of_both(filters)
    return one.order_by().union(other.order_by(), all=True).order_by("-first", "-created_at", "-pk")


def newest(most: int) -> list[Listed]:
    """The newest experiments and single runs, without reading the older ones."""
    latest = [row for rows in _of_both(RunFilters()) for row in rows.order_by("-pk")[:most]]
    return listed("runs", sorted(latest, key=lambda row: (row[1], row[2]), reverse=True)[:most])


def _of_both(filters: RunFilters) -> list[QuerySet[Any, Any]]:
    """Single runs, and experiments: each whether it is pinned, its time, its id and whether it is a run."""
    single = matching(Run.objects.filter(listed_kinds(filters.tag), experiment=None), filters)
    both = (
        single.annotate(first=F("pinned"), is_run=Value(True, BooleanField())),
        _experiments(filters).annotate(first=_no(), is_run=_no()),
    )
    return [rows.values_list("first", "created_at", "pk", "is_run") for rows in both]


def _no() -> Value:
    return Value(False, BooleanField())


def _experiments(filters: RunFilters) -> QuerySet[Experiment]:
    """Those with a run that the filters select, or that have the tag or the text themselves."""
    if filters == RunFilters():
        return Experiment.objects.all()
    members = matching(Run.objects.filter(experiment=OuterRef("pk")), filters)
    others = matching(Run.objects.filter(experiment=OuterRef("pk")), replace(filters, tag="", text=""))
    own = Q(HasTag("tags", Value(filters.tag))) if filters.tag else Q()
    if filters.text:
        own &= every_word(filters.text, ("name",), tags=True)
    wanted = Q(Exists(members))
    return Experiment.objects.filter(wanted | own & Q(Exists(others)) if own else wanted)


def listed(tab: str, page: Iterable[Any]) -> list[Listed]:
    """A page of ``rows_of``, in the same number of queries however long it is."""
    if tab in TABS:
        found = {row.run.pk: row for row in listed_runs(page)}
        chosen = [(pk, True) for pk in found]
    elif tab == "experiments":
        chosen = [(row.pk, False) for row in page]
        found = {}
    else:
        chosen = [(pk, is_run) for _, _, pk, is_run in page]
        single = runs(Q()).filter(pk__in=[pk for pk, is_run in chosen if is_run])
        found = {row.run.pk: row for row in listed_runs(single)}
    folded = _folded([pk for pk, is_run in chosen if not is_run])
    return [found[pk] if is_run else folded[pk] for pk, is_run in chosen]


def listed_runs(rows: Iterable[Run]) -> list[ListedRun]:
    """The runs in their order."""
    by_pk = {run.pk: run for run in rows}
    drops = ScoreDrop.objects.filter(scheduled_run__run__in=by_pk, metric=F("scheduled_run__run__headline"))
    of_run = {drop.scheduled_run.run_id: drop for drop in drops.select_related("scheduled_run").order_by("pk")}
    schedules = dict(ScheduledRun.objects.filter(run__in=by_pk).values_list("run_id", "schedule__name"))
    return [ListedRun(run, schedules.get(pk, ""), of_run.get(pk)) for pk, run in by_pk.items()]


def _folded(ids: Sequence[int]) -> dict[int, ListedExperiment]:
    rows = list(experiments().filter(pk__in=ids)) if ids else []
    found = findings(rows)
    return {
        each.pk: ListedExperiment(each, members, progress(members), found[each.pk])
        for each in rows
        for members in [list(each.runs.all())]
    }


def counts() -> dict[str, int]:
    """How many rows each list has without filters: the name of its address → number."""
    of_runs = Run.objects.filter(OF_MODELS).aggregate(
        **{
            "single-runs": Count("pk"),
            "imported-runs": Count("pk", filter=Q(kind__in=IMPORTED)),
            "scheduled-runs": Count("scheduled"),
        }
    )
    return {"experiments": Experiment.objects.count(), **of_runs}
