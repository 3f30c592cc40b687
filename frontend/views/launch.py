"""Starting a run from a form, and what it would take before one does."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from benchmarks.metrics.registered_metrics import REGISTERED_METRICS
from benchmarks.models import Run
from benchmarks.queries.datasets import runnable_datasets
from benchmarks.queries.runs import run_detail
from benchmarks.services.access import LAUNCH_REFUSAL, may_launch
from benchmarks.services.errors import InvalidRequest
from benchmarks.services.runs.estimate import plan_run
from benchmarks.services.runs.start import request_of, start_run
from frontend import params
from frontend.forms import LISTS, LaunchForm
from frontend.views.statistics import sized

SAMPLING = ("temperature", "top_p", "max_tokens", "seed", "max_tool_steps")
LIMITS = ("repeats", "concurrency", "limit", "budget_usd")


@require_http_methods(["GET", "HEAD", "POST"])
def launch(request: HttpRequest) -> HttpResponse:
    """The form (``?like=12`` fills it as run 12 was asked for); a POST starts the run and goes to its page."""
    _refuse_strangers(request)
    parent = _parent(request)
    if request.method != "POST":
        initial = request_of(parent) if parent else {"dataset": params.text(request.GET, "dataset")}
        return _page(request, LaunchForm(runnable_datasets(), initial=initial), parent)
    form = LaunchForm(runnable_datasets(), request.POST)
    if request.POST.get("do") == "plan":
        return _page(request, form, parent, **_planned(form))
    if request.POST.get("do") == "size":
        return _page(request, form, parent, **sized(form, request.POST))
    try:
        run = start_run(form.request_data(), request.user, parent=parent)
    except InvalidRequest as error:
        form.reject(error.errors)
        return _page(request, form, parent, status=400)
    messages.success(request, f"Run {run.pk} is queued.")
    return HttpResponseRedirect(reverse("frontend:run", args=(run.pk,)))


@require_POST
def plan(request: HttpRequest) -> HttpResponse:
    """What the run asked for in the form would take: requests, tokens, cost."""
    _refuse_strangers(request)
    form = LaunchForm(runnable_datasets(), request.POST)
    return render(request, "frontend/runs/planned.html", _planned(form) | _choices(form))


def _refuse_strangers(request: HttpRequest) -> None:
    if not may_launch(request.user):
        raise PermissionDenied(LAUNCH_REFUSAL)


def _planned(form: LaunchForm) -> dict[str, Any]:
    try:
        return {"plan": plan_run(form.request_data())}
    except InvalidRequest as error:
        return {"plan_errors": [(name, text) for name, texts in error.errors.items() for text in texts]}


def _choices(form: LaunchForm) -> dict[str, Any]:
    """The boxes to tick, and which metrics apply to no task of the chosen dataset."""
    return {
        "form": form,
        "metrics": [(metric, form.missing_for(metric)) for metric in REGISTERED_METRICS.values()],
        "ticked": {name: set(form[name].value() or ()) for name in LISTS},
    }


def _parent(request: HttpRequest) -> Run | None:
    pk = params.whole_number(request.POST if request.method == "POST" else request.GET, "like")
    if pk is None:
        return None
    try:
        return run_detail(pk)
    except Run.DoesNotExist:
        raise Http404(f"there is no run {pk}") from None


def _page(
    request: HttpRequest, form: LaunchForm, parent: Run | None, status: int = 200, **context: object
) -> HttpResponse:
    context |= _choices(form) | {
        "parent": parent,
        "limits": [form[name] for name in LIMITS],
        "sampling": [form[name] for name in SAMPLING],
        "crumbs": [("Runs", reverse("frontend:runs")), ("New run", None)],
    }
    return render(request, "frontend/runs/launch.html", context, status=status)
