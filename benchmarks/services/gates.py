"""Gates: hold a run against an earlier one by a margin, and count the checks of a series.

A series spends its 5% of false alarms in equal shares on ``NIGHTS`` checks. It begins anew with a new version of the
dataset, whose tasks are other ones, and when somebody resets it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from django.db import transaction
from django.utils import timezone
from rest_framework import serializers

from benchmarks.analysis.gates import Gated, MarginCheck, check_margin
from benchmarks.analysis.self_checks import check_of_run
from benchmarks.metrics.registered_metrics import is_score
from benchmarks.models import TERMINAL, GateCheck, GateSeries, Run, Schedule, ScheduledRun, ScoreDrop, Task
from benchmarks.presentation.labels import run_status
from benchmarks.services.access import Caller, record
from benchmarks.services.comparisons import read_margin
from benchmarks.services.errors import InvalidRequest, NotPossible
from benchmarks.services.requests import StrictBoolean, StrictNumber, StrictRequest, StrictText, validated_by
from benchmarks.services.schedules import store_score_drops
from benchmarks.statistics.margins import MARGIN, Verdict
from benchmarks.statistics.self_check import SelfCheck

OF_SCHEDULES = "schedule-"
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,99}", re.IGNORECASE | re.ASCII)


class GateRequest(StrictRequest):
    """What a run is held against."""

    against = serializers.IntegerField(min_value=1, max_value=2**63 - 1, help_text="Id of the earlier run")
    margin = StrictNumber(required=False, help_text="Points that the run may lose; by default 2")
    series = StrictText(required=False, allow_blank=True, max_length=100, help_text="Count the check in this series")
    nightly = StrictBoolean(default=False, help_text="One of up to 100 checks that share 5% of false alarms, uncounted")


def gate(run: Run, data: Any, user: Caller = None) -> Gated:
    """Hold the run against an earlier one, as a ``GateRequest`` says. Raises ``InvalidRequest`` and ``NotPossible``."""
    request = validated_by(GateRequest(data=data))
    margin, series = read_margin(request.get("margin")), request.get("series", "")
    check_series_name(series)
    check_shares_tasks(run, earlier_run(request["against"], run.all_metrics, field="against"))
    return gated(run, request["against"], margin, series=series, in_series=request["nightly"], user=user)


def gated(
    run: Run, against: int, margin: float = MARGIN, *, series: str = "", in_series: bool = False, user: Caller = None
) -> Gated:
    """The same for values that were checked. A run that has not ended is not counted."""
    if against == run.pk:
        raise InvalidRequest({"against": ["A run cannot be compared with itself."]})
    if series and run.status not in TERMINAL:
        raise NotPossible(f"Run {run.pk} is {run_status(run.status).lower()}. A series counts runs that have ended.")
    earlier = Run.objects.select_related("dataset", "dataset_version").get(pk=against)
    check = check_margin(run, earlier, margin, in_series=in_series or bool(series))
    return Gated(check, count(check, _series_named(series), user) if series else None)


def self_check(run: Run, margin: float = MARGIN, *, nightly: bool = False) -> SelfCheck:
    """Hold the repeats of a run against each other. Raises ``NotPossible`` without repeats."""
    try:
        return check_of_run(run, margin, nightly=nightly)
    except ValueError:
        raise NotPossible(f"Run {run.pk} has no tasks with several scores. Start it with 5 repeats.") from None


def earlier_run(run_id: int, metrics: Sequence[str], *, field: str = "compare_to") -> Run:
    """The run to compare with. Raises ``InvalidRequest`` if a run with these metrics cannot be compared with it."""
    earlier = Run.objects.filter(pk=run_id).first()
    if earlier is None:
        problem = f"Run {run_id} does not exist."
    elif earlier.status not in TERMINAL:
        problem = f"Run {run_id} is {run_status(earlier.status).lower()}. Compare with a run that has ended."
    elif not any(name in metrics and is_score(name) for name in earlier.metrics):
        problem = f"Run {run_id} has none of these metrics. It has: {', '.join(earlier.metrics)}."
    else:
        return earlier
    raise InvalidRequest({field: [problem]})


def check_shares_tasks(run: Run, earlier: Run) -> None:
    """Raise ``InvalidRequest`` for runs on versions that have no task in common, which no gate can ever decide."""
    of_earlier = Task.objects.filter(version=earlier.dataset_version_id).values("content_hash")
    if not Task.objects.filter(version=run.dataset_version_id, content_hash__in=of_earlier).exists():
        problem = f"Run {run.pk} shares no task with run {earlier.pk}. Choose a run that asked the same tasks."
        raise InvalidRequest({"against": [problem]})


def check_series_name(name: str) -> None:
    """Raise ``InvalidRequest`` for a name that a series of a pipeline cannot have."""
    if name and not _NAME.fullmatch(name):
        raise InvalidRequest({"series": ["Use up to 100 letters, digits, - and _, for example, release-gate."]})
    if name.startswith(OF_SCHEDULES):
        raise InvalidRequest({"series": [f"Names that begin with {OF_SCHEDULES} belong to schedules. Use another."]})


def count(check: MarginCheck, series: GateSeries, user: Caller = None) -> GateCheck:
    """Store a check as the next one of its series. A pair of runs that was checked before keeps its place."""
    edges = check.edges
    pair: dict[str, Any] = {"run": check.run, "against": check.against}
    values = {
        **{"metric": check.metric, "margin": check.margin, "verdict": check.verdict.value, "sentence": check.sentence},
        **{"difference": edges.difference, "low": edges.low_missing, "high": edges.high_missing},
        **{"n": edges.n, "n_missing": edges.n_missing},
    }
    with transaction.atomic():
        locked = GateSeries.objects.select_for_update().get(pk=series.pk)
        _begin_if_changed(locked, check.run, user)
        known = locked.checks.filter(period=locked.period, **pair).first()
        if known is None:
            locked.counted += 1
        locked.save()
        number = known.number if known else locked.counted
        stored, _ = locked.checks.update_or_create(period=locked.period, **pair, defaults=values | {"number": number})
    return stored


def reset_series(series: GateSeries, user: Caller = None) -> None:
    """Count from 1 again: what comes next is a series of its own."""
    with transaction.atomic():
        locked = GateSeries.objects.select_for_update().get(pk=series.pk)
        _begin(locked)
        locked.save()
        record(user, "gate_series.reset", f"gate series {series.name}")


def check_scheduled(scheduled: ScheduledRun, series: GateSeries, reference: Run | None) -> bool:
    """Hold a run of a schedule with a margin against the reference of its series, and store it; false if that is done.

    Without a reference, the run is that of later ones. A loss is a score drop once: the nights after it are checks of
    the series only, until one passes or the series begins anew.
    """
    margin = scheduled.schedule.margin
    assert margin is not None, "the caller selects schedules with a margin"
    drops = []
    if reference is not None:
        check = check_margin(scheduled.run, reference, margin, in_series=True)
        counted = count(check, series)
        drops = [_drop(scheduled, counted)] if check.verdict is Verdict.WORSE and _is_news(counted) else []
    return store_score_drops(scheduled, reference, drops)


def _is_news(check: GateCheck) -> bool:
    """Whether the latest earlier check of the period that decided anything was not worse, too."""
    decided = check.series.checks.filter(
        period=check.period, pk__lt=check.pk, verdict__in=(Verdict.PASS, Verdict.WORSE)
    )
    latest = decided.order_by("-pk").first()
    return latest is None or latest.verdict != Verdict.WORSE


def series_of(schedule: Schedule) -> GateSeries:
    """The series of a schedule, which begins with its first run."""
    own = {"name": f"{OF_SCHEDULES}{schedule.pk}", "begun_at": schedule.created_at}
    return GateSeries.objects.get_or_create(schedule=schedule, defaults=own)[0]


def _drop(scheduled: ScheduledRun, check: GateCheck) -> ScoreDrop:
    if check.difference is None or check.low is None or check.high is None:
        raise ValueError("a run is worse only by scores")
    return ScoreDrop(
        scheduled_run=scheduled,
        compared_with=check.against,
        metric=check.metric,
        difference=check.difference,
        low=check.low,
        high=check.high,
        n_shared=check.n,
        sentence=check.sentence,
    )


def _series_named(name: str) -> GateSeries:
    return GateSeries.objects.get_or_create(name=name, defaults={"begun_at": timezone.now()})[0]


def _begin_if_changed(series: GateSeries, run: Run, user: Caller) -> None:
    dataset, version = run.dataset.slug, run.version_label
    if series.dataset and series.dataset != dataset and series.schedule_id is None:
        raise InvalidRequest(
            {"series": [f"{series.name} is a series on {series.dataset}, and run {run.pk} is on {dataset}."]}
        )
    if series.counted and (series.dataset, series.version) != (dataset, version):
        _begin(series)
        record(user, "gate_series.begin", f"gate series {series.name}", dataset=dataset, version=version)
    series.dataset, series.version = dataset, version


def _begin(series: GateSeries) -> None:
    series.period, series.counted, series.begun_at = series.period + 1, 0, timezone.now()
