"""Start a run from a form, and estimate it before it starts."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from benchmarks.models import Run
from benchmarks.queries.datasets import runnable_datasets
from benchmarks.queries.providers import warnings_before_run
from benchmarks.queries.runs import run_detail
from benchmarks.services.access import LAUNCH_REFUSAL, may_launch
from benchmarks.services.errors import InvalidRequest, NotPossible
from benchmarks.services.providers import check_if_stale
from benchmarks.services.runs.estimate import plan_run
from benchmarks.services.runs.start import request_of, start_run
from frontend import params
from frontend.forms import LaunchForm
from frontend.views.statistics import sized


@require_http_methods(["GET", "HEAD", "POST"])
def launch(request: HttpRequest) -> HttpResponse:
    """The form (``?like=12`` fills it in from run 12); a POST starts the run and redirects to its page."""
    _require_permission(request)
    parent = _parent(request)
    if request.method != "POST":
        initial = request_of(parent) if parent else {"dataset": params.text(request.GET, "dataset")}
        return _page(request, LaunchForm(runnable_datasets(), initial=initial), parent)
    form = LaunchForm(runnable_datasets(), request.POST)
    if request.POST.get("do") == "plan":
        return _page(request, form, parent, **_estimate(form))
    if request.POST.get("do") == "size":
        return _page(request, form, parent, **sized(form, request.POST))
    try:
        run = start_run(form.request_data(), request.user, parent=parent)
    except InvalidRequest as error:
        form.reject(error)
        return _page(request, form, parent, status=400)
    except NotPossible as error:
        form.add_error(None, error.message)
        return _page(request, form, parent, status=409)
    messages.success(request, f"Run {run.pk} queued.", extra_tags="passing")
    return HttpResponseRedirect(reverse("frontend:run", args=(run.pk,)))


@require_POST
def plan(request: HttpRequest) -> HttpResponse:
    """The estimate of the run in the form, and the metrics anew if another dataset was selected."""
    _require_permission(request)
    form = LaunchForm(runnable_datasets(), request.POST)
    refitted = form.refitted()
    context = _estimate(refitted or form)
    if refitted:
        context |= {"form": refitted, "metrics": refitted.metric_choice(), "is_refitted": True}
    return render(request, "frontend/runs/planned.html", context)


def _require_permission(request: HttpRequest) -> None:
    if not may_launch(request.user):
        raise PermissionDenied(LAUNCH_REFUSAL)


def _estimate(form: LaunchForm) -> dict[str, Any]:
    """The plan of the run and what is known against its models, or why there is no plan."""
    request = form.request_data()
    models = [str(request.get("model", ""))]
    found: dict[str, Any] = {}
    try:
        found["plan"] = plan_run(request)
    except InvalidRequest as error:
        found["plan_errors"] = form.problems(error)
    else:
        judge = request.get("judge_model") or settings.CODEFORGE.judge.model
        if found["plan"].judge_requests and judge:
            models.append(judge)
            found |= {"judge": judge, "default_judge": settings.CODEFORGE.judge.model}
    check_if_stale(models)
    return found | {"warnings": warnings_before_run(models)}


def _parent(request: HttpRequest) -> Run | None:
    pk = params.whole_number(request.POST if request.method == "POST" else request.GET, "like")
    if pk is None:
        return None
    try:
        return run_detail(pk)
    except Run.DoesNotExist:
        raise Http404(f"Run {pk} does not exist.") from None


def _page(
    request: HttpRequest, form: LaunchForm, parent: Run | None, status: int = 200, **context: object
) -> HttpResponse:
    crumbs = [("Runs", reverse("frontend:runs")), ("New run", None)]
    context |= {"form": form, "metrics": form.metric_choice(), "parent": parent, "crumbs": crumbs}
    return render(request, "frontend/runs/launch.html", context, status=status)
