"""Launch, estimate and extend experiments: all runs in one transaction, or none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction

from benchmarks.analysis.gaps import gap_shown, tasks_per_cluster
from benchmarks.engine.execution.subsets import Outlook, outlooks
from benchmarks.metrics.panel import judges_named
from benchmarks.models import Experiment, Run
from benchmarks.services.access import Caller, account_of, record
from benchmarks.services.errors import InvalidRequest
from benchmarks.services.experiments.requests import MOST_RUNS, PlannedRun, planned_runs, validated_experiment
from benchmarks.services.operations.code_version import code_version
from benchmarks.services.providers import missing_keys
from benchmarks.services.runs.estimate import RunPlan, plan_of, tasks_of
from benchmarks.services.runs.start import queue_run, run_of


@dataclass(frozen=True, slots=True)
class ExperimentPlan:
    """Totals of all runs with their judges. Costs are in US dollars, ``None`` if a price is unknown; the known costs
    leave out the models in ``unpriced``, and ``by_model`` has the low and the high one of each model's runs. The low
    duration assumes that all runs go on at once, the high one that they follow each other.

    ``detectable`` is the difference in mean score that each dataset can show between any two of the ``candidates``
    (models × variants) with 80% power; ``None`` if it can show none. Runs from a subset ask different tasks, so for
    them there is ``subsets`` instead: what a run on each dataset can show.
    """

    runs: int
    requests: int
    judge_requests: int
    cost_low: float | None
    cost_high: float | None
    seconds_low: float
    seconds_high: float
    candidates: int
    detectable: dict[str, float | None]
    subsets: dict[str, Outlook]
    warnings: list[str]
    known_low: float
    known_high: float
    unpriced: list[str]
    by_model: dict[str, tuple[float, float]]


def plan_experiment(data: Any) -> ExperimentPlan:
    """Estimate the experiment that ``start_experiment`` would start. Raises ``InvalidRequest`` as that does."""
    return plan_of_runs(validated_experiment(data)[1])


def plan_of_runs(planned: Sequence[PlannedRun]) -> ExperimentPlan:
    plans = [plan_of(run.request) for run in planned]
    lows, highs = ([getattr(plan, name) for plan in plans] for name in ("cost_low", "cost_high"))
    by_dataset = {run.request["dataset"].slug: run.request for run in planned}
    candidates = len({(run.request["model"], run.variant) for run in planned})
    pairs = max(1, candidates * (candidates - 1) // 2)
    return ExperimentPlan(
        runs=len(plans),
        requests=sum(plan.requests for plan in plans),
        judge_requests=sum(plan.judge_requests for plan in plans),
        cost_low=None if None in lows else sum(lows),
        cost_high=None if None in highs else sum(highs),
        seconds_low=max(plan.seconds_low for plan in plans),
        seconds_high=sum(plan.seconds_high for plan in plans),
        candidates=candidates,
        detectable={
            slug: gap_shown(tasks_of(request).count(), tasks_per_cluster(request["dataset"]), pairs)
            for slug, request in by_dataset.items()
            if not request["subset"]
        },
        subsets={
            slug: outlooks(run_of(request), [request["subset"]])[0]
            for slug, request in by_dataset.items()
            if request["subset"]
        },
        warnings=list(dict.fromkeys(warning for plan in plans for warning in plan.warnings)),
        known_low=sum(plan.known_low for plan in plans),
        known_high=sum(plan.known_high for plan in plans),
        unpriced=list(dict.fromkeys(name for plan in plans for name in plan.unpriced)),
        by_model=_by_model(planned, plans),
    )


def _by_model(planned: Sequence[PlannedRun], plans: Sequence[RunPlan]) -> dict[str, tuple[float, float]]:
    costs: dict[str, tuple[float, float]] = {}
    for run, plan in zip(planned, plans, strict=True):
        low, high = costs.get(run.request["model"], (0.0, 0.0))
        costs[run.request["model"]] = low + plan.known_low, high + plan.known_high
    return costs


def start_experiment(data: Any, user: Caller = None) -> Experiment:
    """Store an experiment and queue all its runs. Raises ``InvalidRequest`` naming every invalid field."""
    values, planned = validated_experiment(data)
    asked: dict[str, list[str]] = {"models": values["models"], "user_model": [], "judge_model": []}
    for each in planned:
        asked["user_model"] += [each.request["user_model"]] if each.request["user_model"] else []
        asked["judge_model"] += judges_named(each.request["judge_model"])
    if problems := missing_keys(asked):
        raise InvalidRequest(problems)
    version = code_version()
    with transaction.atomic():
        experiment = Experiment.objects.create(
            name=values["name"],
            description=values.get("description", ""),
            tags=values.get("tags", []),
            request=values,
            budget_usd=values.get("budget_usd"),
            created_by=account_of(user),
        )
        record(user, "experiment.start", f"experiment {experiment.pk}", name=experiment.name, runs=len(planned))
        for run in planned:
            _queue(experiment, run, version, user)
    return experiment


def add_model(experiment: Experiment, model: str, user: Caller = None) -> list[Run]:
    """Queue the runs of one more model, on the dataset versions of the other runs. Raises ``InvalidRequest``."""
    version = code_version()
    with transaction.atomic():
        locked = Experiment.objects.select_for_update().get(pk=experiment.pk)
        request = locked.request
        if model in request["models"]:
            raise InvalidRequest({"model": [f"{model} is part of the experiment already. Enter another model."]})
        request["models"] = [*request["models"], model]
        planned, faults = planned_runs(request, [model])
        if faults:
            raise InvalidRequest({"model": [fault.message for fault in faults]})
        if locked.runs.count() + len(planned) > MOST_RUNS:
            raise InvalidRequest({"model": [f"An experiment has at most {MOST_RUNS} runs. Start another experiment."]})
        locked.save(update_fields=["request"])
        record(user, "experiment.add_model", f"experiment {locked.pk}", model=model, runs=len(planned))
        return [_queue(locked, run, version, user) for run in planned]


def _queue(experiment: Experiment, planned: PlannedRun, version: str, user: Caller) -> Run:
    run = run_of(planned.request)
    run.experiment, run.variant, run.code_version = experiment, planned.variant, version
    run.budget_usd = None  # the experiment's budget holds for all runs together
    earlier = experiment.runs.filter(dataset=run.dataset).order_by("pk").first()
    if earlier is not None:  # the dataset may have changed since, and only the same tasks can be compared
        run.dataset_version = earlier.dataset_version
    queue_run(run, user)
    return run
