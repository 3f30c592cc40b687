"""Runs: the list, one run with its live status, its charts, and what may be done with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from benchmarks.models import COMPLETED, Outcome, Result, Run, RunStatus, Score, Task
from benchmarks.presentation.actions import allowed_actions
from benchmarks.presentation.labels import RESULT_STATE
from benchmarks.queries import runs as reads
from benchmarks.queries.datasets import runnable_datasets
from benchmarks.queries.judges import latest_by_metric
from benchmarks.queries.keyset import BadCursor
from benchmarks.queries.results import SEARCH_WINDOW, ResultPage, result_page
from benchmarks.queries.schedules import turn_of
from benchmarks.queries.webhooks import deliveries_of
from benchmarks.services.access import LAUNCH_REFUSAL, may_launch
from benchmarks.services.errors import InvalidRequest, NotPossible
from benchmarks.services.judges import examinable_metrics
from benchmarks.services.runs import control as services
from benchmarks.services.runs.contamination import check_contamination
from benchmarks.services.runs.exports import forms_here
from frontend import params
from frontend.calibrations import judge_trust
from frontend.placed import placed
from frontend.run_charts import run_charts, surface_charts, way_of
from frontend.view_models import error_counts, metric_rows, outcome_counts, run_row, run_rows, settings_of
from frontend.views.assets import drawn
from frontend.views.statistics import report_of

PAGE_SIZE = 50
SORTS = (
    ("position", "as asked"),
    ("-position", "last asked first"),
    ("value", "worst score first"),
    ("-value", "best score first"),
    ("-duration", "slowest first"),
    ("duration", "fastest first"),
)


@require_safe
def run_list(request: HttpRequest) -> HttpResponse:
    filters = params.run_filters(request.GET)
    page = Paginator(reads.run_list(filters), PAGE_SIZE).get_page(request.GET.get("page"))
    context = {
        "page": page,
        "rows": run_rows(page.object_list),
        "filters": filters,
        "datasets": runnable_datasets(),
        "models": reads.models_used(),
        "statuses": RunStatus.choices,
        "sorts": list(reads.SORTS),
        "may_launch": may_launch(request.user),
    }
    return render(request, "frontend/runs/list.html", context)


@never_cache
@require_safe
def run(request: HttpRequest, pk: int) -> HttpResponse:
    found = _run(reads.run_detail, pk)
    filters = params.result_filters(request.GET)
    results = _results(request, found)
    drawn_metrics = [row for row in metric_rows(found) if row.mean is not None]
    asked = params.text(request.GET, "charts")
    of_metric = next((row.name for row in drawn_metrics if row.name == asked), found.metrics[0])
    context = _status(found) | {
        **report_of(found),
        "drawn_metrics": drawn_metrics,
        "drawn_metric": of_metric,
        "charts": placed(run_charts(found, of_metric), lambda *name: reverse("frontend:run-chart", args=(pk, *name))),
        "has_surface": bool(found.breakdown.get("surface")),
        "settings": settings_of(found),
        "system_prompt": found.parameters.get("system_prompt", ""),
        "filters": filters,
        "kept": params.kept(request.GET),
        "results": results,
        "rows": [(result, _scores_of(results, result, found.metrics)) for result in results.rows],
        "turn": turn_of(found),
        "deliveries": deliveries_of(found),
        "export_forms": forms_here(),
        "sorts": SORTS,
        "search_window": SEARCH_WINDOW,
        "outcomes_known": [*Outcome.choices, ("pending", RESULT_STATE["pending"])],
        "difficulties": Task.Difficulty.choices,
        "held_against": reads.runs_to_hold_against(found) if found.status in COMPLETED else [],
        "actions": allowed_actions(found) if may_launch(request.user) else {},
        "judge_trust": judge_trust(found, latest_by_metric(found.judge_model), examinable_metrics()),
        "may_launch": may_launch(request.user),
        "crumbs": [("Runs", reverse("frontend:runs")), (f"Run {pk}", None)],
    }
    return render(request, "frontend/runs/detail.html", context)


@never_cache
@require_safe
def status(request: HttpRequest, pk: int) -> HttpResponse:
    """The part of a run's page that moves. The one that finds the run ended tells the page to fetch its rest."""
    found = _run(reads.run_status, pk)
    response = render(request, "frontend/runs/status.html", _status(found))
    if not found.is_live:
        response["HX-Trigger"] = "run-ended"
    return response


@require_POST
def act(request: HttpRequest, pk: int, action: str) -> HttpResponse:
    """Do one of ``actions`` with a run, and say how it went."""
    if not may_launch(request.user):
        raise PermissionDenied(LAUNCH_REFUSAL)
    if action not in _ACTIONS:
        raise Http404("there is no such action")
    found = _run(reads.run_detail, pk)
    do, done = _ACTIONS[action]
    try:
        do(found, request)
    except NotPossible as error:
        messages.error(request, error.message)
    except InvalidRequest as error:
        messages.error(request, " ".join(text for texts in error.errors.values() for text in texts))
    else:
        messages.success(request, done.format(pk))
        if action == "delete":
            return HttpResponseRedirect(reverse("frontend:runs"))
    return HttpResponseRedirect(reverse("frontend:run", args=(pk,)))


@require_safe
def chart(request: HttpRequest, pk: int, name: str, form: str) -> HttpResponse:
    return drawn(request, run_charts(_run(reads.run_detail, pk)), name, form)


@require_safe
def surface(request: HttpRequest, pk: int) -> HttpResponse:
    """The difficulty surface of a run on a canvas set."""
    found = _run(reads.run_detail, pk)
    metric = params.text(request.GET, "metric") or found.metrics[0]
    others = reads.other_ways(found)
    context = {
        "run": found,
        "way": way_of(found),
        "metrics": metric_rows(found),
        "metric": metric,
        "others": [(other, way_of(other)) for other in others],
        "charts": placed(
            surface_charts(found, metric, others),
            lambda *name: reverse("frontend:surface-chart", args=(pk, metric, *name)),
        ),
        "crumbs": [
            ("Runs", reverse("frontend:runs")),
            (f"Run {pk}", reverse("frontend:run", args=(pk,))),
            ("Difficulty surface", None),
        ],
    }
    return render(request, "frontend/runs/surface.html", context)


@require_safe
def surface_chart(request: HttpRequest, pk: int, metric: str, name: str, form: str) -> HttpResponse:
    found = _run(reads.run_detail, pk)
    return drawn(request, surface_charts(found, metric, reads.other_ways(found)), name, form)


def _raise_budget(run: Run, request: HttpRequest) -> None:
    usd = params.real_number(request.POST, "budget_usd")
    if usd is None:
        raise NotPossible("Give the new budget in US dollars, for example 5.")
    services.raise_budget(run, usd, request.user)


_ACTIONS: dict[str, tuple[Callable[[Run, HttpRequest], Any], str]] = {
    "cancel": (lambda run, request: services.cancel_run(run, request.user), "Run {} is cancelled."),
    "resume": (lambda run, request: services.resume_run(run, request.user), "Run {} goes on where it stopped."),
    "retry": (lambda run, request: services.retry_failed(run, request.user), "Run {} asks its failed tasks again."),
    "delete": (lambda run, request: services.delete_run(run, request.user), "Run {} is deleted."),
    "check": (
        lambda run, request: check_contamination(run, request.user),
        "Run {}'s questions are asked about fresh canvases.",
    ),
    "budget": (_raise_budget, "Run {} has a new budget."),
}


def _run(read: Callable[[int], Run], pk: int) -> Run:
    try:
        return read(pk)
    except Run.DoesNotExist:
        raise Http404(f"there is no run {pk}") from None


def _status(run: Run) -> dict[str, Any]:
    return {
        "run": run,
        "row": run_row(run),
        "metrics": metric_rows(run),
        "outcomes": outcome_counts(run),
        "error_kinds": error_counts(run),
        "announced_percent": 10 * (100 * run.done // run.total // 10) if run.total else 0,
        "latency": run.summary.get("latency_ms") or {},
    }


def _results(request: HttpRequest, run: Run) -> ResultPage:
    """The page of results asked for; the first one where the address holds a made-up place."""
    filters = params.result_filters(request.GET)
    try:
        return result_page(run, filters, request.GET.get("after"), request.GET.get("before"))
    except BadCursor:
        return result_page(run, filters)


def _scores_of(page: ResultPage, result: Result, metrics: list[str]) -> list[Score | None]:
    """A result's scores in the order of the run's metrics; ``None`` where there is none yet."""
    found = page.scores.get(result.pk, {})
    return [found.get(name) for name in metrics]
