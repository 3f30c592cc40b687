"""Experiments: their list, their runs, and the state of the runs together."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from django.db.models import Prefetch, QuerySet

from benchmarks.models import LIVE, TERMINAL, Experiment, Run, RunStatus
from benchmarks.queries.runs import runs


@dataclass(frozen=True, slots=True)
class Progress:
    """The sums of an experiment's runs. Costs include judges; ``None`` if a part of them is unknown."""

    status: str
    runs: int
    ended: int
    total: int
    done: int
    errors: int
    cost_usd: float | None
    runs_by_status: Mapping[str, int] = field(default_factory=dict)


def experiments() -> QuerySet[Experiment]:
    """All experiments with their runs, newest first; the summaries of the runs are deferred."""
    members = Prefetch("runs", runs().defer("summary").order_by("pk"))
    return Experiment.objects.select_related("created_by").prefetch_related(members).order_by("-id")


def experiment_detail(pk: int) -> Experiment:
    """Raises ``Experiment.DoesNotExist``."""
    return Experiment.objects.select_related("created_by").get(pk=pk)


def experiment_runs(experiment: Experiment) -> list[Run]:
    """The runs as lists show them, in the order in which they were launched."""
    return list(runs().filter(experiment=experiment).order_by("pk"))


def progress(members: Sequence[Run]) -> Progress:
    statuses = [run.status for run in members]
    # What is not prepared yet has no cost, which is not the same as an unknown one.
    costs = [amount for run in members if run.total for amount in (run.cost_usd, run.judge_cost_usd)]
    return Progress(
        status=status_of(statuses),
        runs=len(members),
        ended=sum(status in TERMINAL for status in statuses),
        total=sum(run.total for run in members),
        done=sum(run.done for run in members),
        errors=sum(run.errors for run in members),
        cost_usd=None if None in costs else sum(filter(None, costs)),
        runs_by_status={status: statuses.count(status) for status in RunStatus.values if status in statuses},
    )


def status_of(statuses: Collection[str]) -> str:
    """The status of an experiment whose runs have these: the one that most needs to be known."""
    if LIVE & set(statuses):
        return RunStatus.QUEUED if set(statuses) == {RunStatus.QUEUED} else RunStatus.RUNNING
    order = (RunStatus.PAUSED, RunStatus.FAILED, RunStatus.CANCELLED, RunStatus.COMPLETED_WITH_ERRORS)
    return next((status for status in order if status in statuses), RunStatus.COMPLETED)
