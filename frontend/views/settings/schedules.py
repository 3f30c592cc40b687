"""Schedules: the list, the page of one with its runs, and what is done with it. The launch page saves them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from benchmarks.models import Schedule
from benchmarks.presentation.comparisons import series_sentence
from benchmarks.presentation.labels import metric_title
from benchmarks.presentation.numbers import ahead, percent, points
from benchmarks.presentation.timetables import in_words
from benchmarks.queries.gates import series_of_schedule
from benchmarks.queries.history import histories, latest_runs
from benchmarks.queries.runs import runs
from benchmarks.queries.schedules import LEVEL, MOST_SHOWN, nights, open_score_drops, with_latest_run
from benchmarks.queries.tables.gates import CHECKS
from benchmarks.queries.tables.run_list import runs_table
from benchmarks.queries.tables.schedules import SCHEDULES, ScheduleRow
from benchmarks.run_parameters import RUN_PARAMETERS
from benchmarks.services import schedules as services
from benchmarks.services.access import may, may_launch
from benchmarks.services.errors import InvalidRequest, NotPossible
from benchmarks.services.gates import reset_series, series_of
from frontend import params
from frontend.chart_parts import Chart
from frontend.history import history_charts
from frontend.inbox import drop_notices
from frontend.views.lists import FEW_ROWS, Button, Example, listed, page_of
from frontend.views.settings.hub import NIGHTLY, crumbs
from frontend.views.shared import require, run_or_404, unconfirmed

VIEW = ("benchmarks.view_schedule",)
ADD = ("benchmarks.add_schedule", "benchmarks.launch_run")
CHANGE = ("benchmarks.change_schedule", "benchmarks.launch_run")
DELETE = ("benchmarks.delete_schedule",)

EARLIER = 5
"""Runs before the latest of each schedule that a list of few schedules shows."""
_USES = (
    ("Every night", "Shows when a model or its endpoint changes", NIGHTLY),
    ("With a tolerated loss", "Fails as a gate when the loss is larger", f"{NIGHTLY}&margin=5"),
    ("Each Monday", "Keeps a leaderboard current", "when=0+3+*+*+1"),
)
"""What schedules are for, with what the launch page is filled in with for each."""


@never_cache
@require_safe
def schedule_list(request: HttpRequest) -> HttpResponse:
    require(request, *VIEW)
    page = page_of(request, with_latest_run(Schedule.objects.order_by("name")))
    latest = runs().in_bulk([schedule.latest_run_id for schedule in page if schedule.latest_run_id])
    may_add, known = may(request.user, *ADD), nights(schedule.pk for schedule in page)
    drops = list(open_score_drops()[:MOST_SHOWN])
    told = {(drop.scheduled_run.run_id, drop.metric) for drop in drops}
    rows = [
        ScheduleRow(each, run, known.get(each.pk), run is not None and (run.pk, run.headline) in told)
        for each in page
        for run in [latest.get(each.latest_run_id)]
    ]
    below = runs().filter(scheduled__schedule__in=[each.pk for each in page]).exclude(pk__in=latest)
    earlier = runs_table(below.order_by("-pk")[:EARLIER], "Earlier runs", told=drops) if len(rows) < FEW_ROWS else None
    return listed(
        request,
        "Schedules",
        SCHEDULES.where(change=not all(row.is_told for row in rows)).of(rows),
        lead=f"A schedule starts the same run repeatedly and reports scores that fall. {_state(rows, len(drops))}",
        empty="No schedules yet",
        examples=[
            Example(name, text, Button("", "launch", query).url if may_add else "") for name, text, query in _USES
        ],
        page=page,
        crumbs=crumbs(("Schedules", None)),
        add=Button("New schedule", "launch", NIGHTLY) if may_add else None,
        problems=drop_notices(drops),
        after="frontend/settings/earlier_runs.html",
        earlier=earlier,
        may_launch=may_launch(request.user),
    )


def _state(rows: Sequence[ScheduleRow], n_drops: int) -> str:
    """What is due next and whether nothing fell, as sentences; empty without schedules."""
    due = min((row.schedule.next_run_at for row in rows if row.schedule.next_run_at), default=None)
    fell = "" if n_drops else "No score fell. "
    upcoming = f"The next run starts {ahead(due, timezone.now())}." if due else "All schedules are paused."
    return f"{fell}{upcoming}" if rows else ""


@never_cache
@require_safe
def schedule(request: HttpRequest, pk: int) -> HttpResponse:
    require(request, *VIEW)
    stored = get_object_or_404(Schedule.objects.select_related("account"), pk=pk)
    latest = stored.scheduled_runs.values_list("run_id", flat=True)[:MOST_SHOWN]
    drops = list(open_score_drops().filter(scheduled_run__schedule=stored)[:MOST_SHOWN])
    context = {
        "schedule": stored,
        "when": in_words(stored.when),
        "due": ahead(stored.next_run_at, timezone.now()) if stored.next_run_at else "",
        "time_zone": timezone.get_default_timezone_name(),
        "request_shown": [
            (RUN_PARAMETERS[name].label, _shown(name, value), _page(name, value) if latest else "")
            for name, value in stored.request.items()
        ],
        "runs": runs_table(
            runs().filter(pk__in=list(latest)).order_by("-pk"),
            "Latest runs of the schedule",
            ["model", "dataset", "schedule"],
            told=drops,
        ),
        "problems": drop_notices(drops),
        "rule": f"A score drop is a significant loss; by chance alone, at most {percent(LEVEL)} of runs have one.",
        "chart": next(iter(_charts(stored)), None),
        "gate": _gate(stored),
        "may_change": may(request.user, *CHANGE),
        "may_delete": may(request.user, *DELETE),
        "may_launch": may_launch(request.user),
        "crumbs": crumbs(("Schedules", reverse("frontend:schedules")), (stored.name, None)),
    }
    return render(request, "frontend/settings/schedule.html", context)


def _charts(schedule: Schedule) -> list[Chart]:
    """Of its runs that can be compared, those with the latest first."""
    return history_charts(histories(latest_runs(scheduled__schedule=schedule)), by_dataset=True, least_days=1)


def _page(name: str, value: Any) -> str:
    """The page of a dataset or of a model that has run; empty for other parameters."""
    routes = {"dataset": "frontend:dataset", "model": "frontend:model"}
    return reverse(routes[name], args=(value,)) if value and name in routes else ""


def _shown(name: str, value: Any) -> Any:
    if name == "metrics":
        return ", ".join(map(metric_title, value))
    return ", ".join(value) if isinstance(value, list) else value


def _gate(schedule: Schedule) -> dict[str, object] | None:
    """The series of a schedule with a margin: the loss in points, how much is used up, and the checks."""
    if schedule.margin is None:
        return None
    series = series_of_schedule(schedule.pk)
    checks = series.latest_checks[:MOST_SHOWN] if series else []
    sentence = series_sentence(series.name, series.counted) if series else ""
    return {"margin": points(schedule.margin), "sentence": sentence, "checks": CHECKS.of(checks)}


@require_safe
def new_schedule(request: HttpRequest) -> HttpResponse:
    """Where schedules were made before; ``?run=12`` fills in the launch page from run 12."""
    require(request, *ADD)
    parent = params.whole_number(request.GET, "run")
    like = "" if parent is None else f"like={run_or_404(parent).pk}&"
    return HttpResponseRedirect(f"{reverse('frontend:launch')}?{like}{NIGHTLY}")


@require_safe
def edit_schedule(request: HttpRequest, pk: int) -> HttpResponse:
    """Where schedules were changed before."""
    require(request, *CHANGE)
    return HttpResponseRedirect(f"{reverse('frontend:launch')}?schedule={pk}")


@require_POST
def act(request: HttpRequest, pk: int, action: str) -> HttpResponse:
    """Pause, resume, delete or run a schedule, or reset its series, and report the outcome."""
    require(request, *(DELETE if action == "delete" else CHANGE))
    stored = get_object_or_404(Schedule, pk=pk)
    page = reverse("frontend:schedule", args=(pk,))
    match action:
        case "pause":
            services.set_enabled(stored, False, request.user)
            messages.success(request, f"{stored.name} paused. It starts no runs.")
        case "resume":
            services.set_enabled(stored, True, request.user)
            messages.success(request, f"{stored.name} resumed.")
        case "reset":
            reset_series(series_of(stored), request.user)
            messages.success(request, "The series begins anew. The next run is what later ones are compared with.")
        case "run":
            try:
                run = services.run_now(stored, request.user)
            except (InvalidRequest, NotPossible) as refusal:
                messages.error(request, f"No run started. {refusal}")
            else:
                messages.success(request, f"Run {run.pk} queued.", extra_tags="passing")
        case "delete":
            note = "Its score drops are deleted as well. Its runs are kept."
            if confirmation := unconfirmed(request, f"Delete schedule {stored.name}?", "Delete schedule", page, note):
                return confirmation
            services.delete_schedule(stored, request.user)
            messages.success(request, f"{stored.name} deleted. Its runs are kept.")
            return HttpResponseRedirect(reverse("frontend:schedules"))
        case _:
            raise Http404(f"{action} is not an action for schedules.")
    return HttpResponseRedirect(page)
