"""Score stored answers again: those of a run, or of all runs on a version."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from benchmarks.engine.execution.presets import preset_metrics
from benchmarks.metrics.rubrics import PREFIX
from benchmarks.models import Run
from benchmarks.presentation.labels import metric_title
from benchmarks.presentation.numbers import money_range, plural
from benchmarks.queries.runs import runs_to_rescore
from benchmarks.queries.tables.run_list import runs_table
from benchmarks.services.errors import InvalidRequest, NotPossible
from benchmarks.services.runs.rescoring import plan_rescoring, plan_rescorings, start_rescoring, start_rescorings
from frontend import params
from frontend.forms import RescoringForm
from frontend.metric_choice import MetricChoice, metric_choice
from frontend.views.datasets import dataset_or_404, version_or_404
from frontend.views.shared import require_launch, run_or_404, unconfirmed

MOST_RESCORED = 100
"""Runs that one click rescores; the button stays for the others."""


@require_http_methods(["GET", "HEAD", "POST"])
def rescore(request: HttpRequest, pk: int) -> HttpResponse:
    """The form to score stored answers again; ``?version=3`` chooses the references, ``?metric=`` a metric.

    A posted ``rubric`` with ``do=show`` fills in the form.
    """
    require_launch(request)
    run = run_or_404(pk)
    estimate: dict[str, Any] = {}
    if request.method != "POST":
        given = {name: params.text(request.GET, name) for name in ("version", "metric")}
        metrics = [given["metric"]] if given["metric"] else run.metrics
        form = RescoringForm(run, initial={"version": given["version"] or None, "metrics": metrics})
        return _rescore_page(request, run, form)
    do = request.POST.get("do", "start")
    if do == "show":
        shown = {name: request.POST.get(name, "") for name in ("rubric", "judge_model")}
        return _rescore_page(request, run, RescoringForm(run, initial=shown))
    form = RescoringForm(run, request.POST)
    try:
        if do == "start":
            again = start_rescoring(run, form.request_data(), request.user)
            messages.success(
                request, f"Run {again.pk} queued. It scores the answers of run {pk}.", extra_tags="passing"
            )
            return HttpResponseRedirect(reverse("frontend:run", args=(again.pk,)))
        estimate["plan"] = plan_rescoring(run, form.request_data())
    except InvalidRequest as error:
        if do != "start":
            estimate["plan_errors"] = form.problems(error)
        else:
            form.reject(error)
            return _rescore_page(request, run, form, status=400)
    except NotPossible as error:
        form.add_error(None, error.message)
        return _rescore_page(request, run, form, status=409)
    return _rescore_page(request, run, form, is_open=do == "metrics", **estimate)


@require_POST
def rescore_all(request: HttpRequest, slug: str, old: int, new: int) -> HttpResponse:
    """Score the answers of all runs on version ``old`` by what ``new`` expects, after an estimate."""
    require_launch(request)
    dataset = dataset_or_404(slug)
    versions = version_or_404(dataset, old), version_or_404(dataset, new)
    plan = plan_rescorings(runs_to_rescore(*versions, MOST_RESCORED), new)
    page = reverse("frontend:changes", args=(dataset.slug, old, new))
    if not plan.runs:
        messages.error(request, " ".join(["No run was rescored.", *plan.refused]))
        return HttpResponseRedirect(page)
    question = f"Rescore {plural(len(plan.runs), 'run')} by the expected answers of version {new}?"
    judge = "No judge is asked."
    if plan.judge_requests:
        judge = f"{plural(plan.judge_requests, 'judge request')}: {money_range(plan.cost_low, plan.cost_high)}."
    stored = f"{plural(plan.n_answers, 'stored answer')}. {judge}"
    note = " ".join([stored, "Each run keeps its scores.", *plan.refused])
    button = f"Rescore {plural(len(plan.runs), 'run')}"
    if confirmation := unconfirmed(request, question, button, page, note, loses=False):
        return confirmation
    started = start_rescorings(plan.runs, new, request.user)
    queued = plural(len(started), "run")
    messages.success(request, f"{queued} queued. Each run that was rescored leads to its new scores.")
    return HttpResponseRedirect(page)


def _rescore_page(
    request: HttpRequest, run: Run, form: RescoringForm, status: int = 200, *, is_open: bool = False, **context: object
) -> HttpResponse:
    crumbs = [
        ("Runs", reverse("frontend:runs")),
        (f"Run {run.pk}", reverse("frontend:run", args=(run.pk,))),
        ("Rescore", None),
    ]
    is_same = form.metrics == run.metrics and not form["rubric"].value()
    version = run.dataset_version.number
    changes_nothing = is_same and str(form["version"].value() or version) == str(version)
    is_open |= not form.metrics and not form["rubric"].value()
    choice = MetricChoice(form.metrics, ())
    if is_open:
        choice = metric_choice(run.dataset_version, preset_metrics(run.dataset), form.metrics, form.judge)
    titles = [metric_title(name).removeprefix(PREFIX) for name in form.metrics]
    context |= {"form": form, "run": run, "metrics": choice, "scored_by": titles, "crumbs": crumbs}
    context["is_same"] = is_same
    context["changes_nothing"] = changes_nothing
    context["present"] = runs_table([run], f"Scores of run {run.pk}", ["model", "answers", "cost", "when"])
    return render(request, "frontend/runs/rescore.html", context, status=status)
