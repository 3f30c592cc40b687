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
from benchmarks.presentation.numbers import money_range, plural
from benchmarks.queries.datasets import runnable_datasets
from benchmarks.queries.providers import warnings_before_run
from benchmarks.queries.runs import run_detail, runs_to_rescore
from benchmarks.run_parameters import ADAPTIVE
from benchmarks.services.access import LAUNCH_REFUSAL, may_launch
from benchmarks.services.errors import InvalidRequest, NotPossible
from benchmarks.services.experiments.start import plan_experiment, start_experiment
from benchmarks.services.providers import check_if_stale
from benchmarks.services.runs.estimate import plan_run
from benchmarks.services.runs.rescoring import plan_rescoring, plan_rescorings, start_rescoring, start_rescorings
from benchmarks.services.runs.start import request_of, start_run
from frontend import params
from frontend.forms import LaunchForm, RescoringForm
from frontend.views.datasets import dataset_or_404, version_or_404
from frontend.views.shared import run_or_404, unconfirmed
from frontend.views.statistics import sized

MOST_RESCORED = 100
"""Runs that one click rescores; the button stays for the others."""


@require_http_methods(["GET", "HEAD", "POST"])
def launch(request: HttpRequest) -> HttpResponse:
    """The form; a POST starts the run, or the experiment of several models, and redirects to its page.

    ``?like=12`` fills the form in from run 12, ``?only_task=id`` for one task, ``?dataset=`` and ``?model=`` one field.
    """
    _require_permission(request)
    parent = _parent(request)
    if request.method != "POST":
        initial = (
            request_of(parent) if parent else {name: params.text(request.GET, name) for name in ("dataset", "model")}
        )
        if only_task := params.text(request.GET, "only_task"):
            initial |= {**dict.fromkeys((*ADAPTIVE, "limit", "subset")), "only_task": only_task}
        return _page(request, LaunchForm(runnable_datasets(), initial=initial), parent)
    form = LaunchForm(runnable_datasets(), request.POST)
    # Whoever starts within the moment in which the metrics follow the dataset gets those of the dataset as well.
    form = form.refitted() or form
    if request.POST.get("do") == "plan":
        return _page(request, form, parent, **_estimate(form))
    if request.POST.get("do") == "size":
        return _page(request, form, parent, **sized(form, request.POST))
    try:
        address, text = _start(request, form, parent)
    except InvalidRequest as error:
        form.reject(error)
        return _page(request, form, parent, status=400)
    except NotPossible as error:
        form.add_error(None, error.message)
        return _page(request, form, parent, status=409)
    messages.success(request, text, extra_tags="passing")
    return HttpResponseRedirect(address)


def _start(request: HttpRequest, form: LaunchForm, parent: Run | None) -> tuple[str, str]:
    """Start the run or the experiment; return the address of its page and what to say there."""
    if len(form.models) > 1:
        experiment = start_experiment(form.experiment_data(), request.user)
        text = f"Experiment {experiment.pk} started: {len(form.models)} runs queued."
        return reverse("frontend:experiment", args=(experiment.pk,)), text
    run = start_run(form.request_data(), request.user, parent=parent)
    return reverse("frontend:run", args=(run.pk,)), f"Run {run.pk} queued."


@require_POST
def plan(request: HttpRequest) -> HttpResponse:
    """The estimate of the run in the form, and the metrics anew if another dataset was selected."""
    _require_permission(request)
    form = LaunchForm(runnable_datasets(), request.POST)
    refitted = form.refitted()
    context = _estimate(refitted or form) | {"form": refitted or form}
    if refitted:
        context |= {"metrics": refitted.metric_choice(), "is_refitted": True}
    return render(request, "frontend/runs/planned.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
def rescore(request: HttpRequest, pk: int) -> HttpResponse:
    """The form to score stored answers again; ``?version=3`` chooses the references, ``?metric=`` a metric.

    A posted ``rubric`` with ``do=show`` fills in the form.
    """
    _require_permission(request)
    run = run_or_404(pk)
    estimate: dict[str, Any] = {}
    if request.method != "POST":
        given = {name: params.text(request.GET, name) for name in ("version", "metric")}
        # Newer references are asked for with the metrics that the run already has.
        metrics = [given["metric"]] if given["metric"] else run.metrics if given["version"] else []
        form = RescoringForm(run, initial={"version": given["version"] or None, "metrics": metrics})
        return _rescore_page(request, run, form)
    if request.POST.get("do") == "show":
        shown = {name: request.POST.get(name, "") for name in ("rubric", "judge_model")}
        return _rescore_page(request, run, RescoringForm(run, initial=shown))
    form = RescoringForm(run, request.POST)
    try:
        if request.POST.get("do") != "plan":
            again = start_rescoring(run, form.request_data(), request.user)
            messages.success(
                request, f"Run {again.pk} queued. It scores the answers of run {pk}.", extra_tags="passing"
            )
            return HttpResponseRedirect(reverse("frontend:run", args=(again.pk,)))
        estimate["plan"] = plan_rescoring(run, form.request_data())
    except InvalidRequest as error:
        if request.POST.get("do") == "plan":
            estimate["plan_errors"] = form.problems(error)
        else:
            form.reject(error)
            return _rescore_page(request, run, form, status=400)
    except NotPossible as error:
        form.add_error(None, error.message)
        return _rescore_page(request, run, form, status=409)
    return _rescore_page(request, run, form, **estimate)


@require_POST
def rescore_all(request: HttpRequest, slug: str, old: int, new: int) -> HttpResponse:
    """Score the answers of all runs on version ``old`` by the references of version ``new``, after an estimate."""
    _require_permission(request)
    dataset = dataset_or_404(slug)
    versions = version_or_404(dataset, old), version_or_404(dataset, new)
    plan = plan_rescorings(runs_to_rescore(*versions, MOST_RESCORED), new)
    page = reverse("frontend:changes", args=(dataset.slug, old, new))
    if not plan.runs:
        messages.error(request, " ".join(["No run was rescored.", *plan.refused]))
        return HttpResponseRedirect(page)
    question = f"Rescore {plural(len(plan.runs), 'run')} by the references of version {new}?"
    judge = "No judge is asked."
    if plan.judge_requests:
        judge = f"{plural(plan.judge_requests, 'judge request')}: {money_range(plan.cost_low, plan.cost_high)}."
    stored = f"{plural(plan.n_answers, 'stored answer')}. {judge}"
    note = " ".join([stored, "Each run keeps its scores.", *plan.refused])
    if confirmation := unconfirmed(request, question, f"Rescore {plural(len(plan.runs), 'run')}", page, note):
        return confirmation
    started = start_rescorings(plan.runs, new, request.user)
    messages.success(request, f"{plural(len(started), 'run')} queued.", extra_tags="passing")
    return HttpResponseRedirect(page)


def _rescore_page(
    request: HttpRequest, run: Run, form: RescoringForm, status: int = 200, **context: object
) -> HttpResponse:
    crumbs = [
        ("Runs", reverse("frontend:runs")),
        (f"Run {run.pk}", reverse("frontend:run", args=(run.pk,))),
        ("Rescore", None),
    ]
    context |= {"form": form, "run": run, "metrics": form.metric_choice, "crumbs": crumbs}
    return render(request, "frontend/runs/rescore.html", context, status=status)


def _require_permission(request: HttpRequest) -> None:
    if not may_launch(request.user):
        raise PermissionDenied(LAUNCH_REFUSAL)


def _estimate(form: LaunchForm) -> dict[str, Any]:
    """The plan of the run and what is known against its models, or why there is no plan."""
    request, models = form.request_data(), form.models
    estimate: dict[str, Any] = {}
    try:
        estimate["plan"] = plan_experiment(form.experiment_data()) if len(models) > 1 else plan_run(request)
    except InvalidRequest as error:
        estimate["plan_errors"] = form.problems(error)
    else:
        judge = request.get("judge_model") or settings.CODEFORGE.judge.model
        if estimate["plan"].judge_requests and judge:
            models.append(judge)
            estimate |= {"judge": judge, "default_judge": settings.CODEFORGE.judge.model}
    check_if_stale(models)
    return estimate | {"warnings": warnings_before_run(models)}


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
