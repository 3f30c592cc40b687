"""Experiments: the page that reads its runs as one, and what is done with it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe
from django.views.generic import RedirectView

from benchmarks.analysis.comparisons import common_metrics
from benchmarks.dataset_format.dumping import dump_values
from benchmarks.models import COMPLETED, LIVE, Experiment, Run, ShareLink
from benchmarks.presentation.numbers import plural
from benchmarks.queries import experiments as reads
from benchmarks.queries import matrix as matrices
from benchmarks.queries.live import stamp_of_experiment
from benchmarks.queries.newer_references import newer_references
from benchmarks.queries.tables.experiments import BENCHMARKS_OF, COSTS, benchmarks_of, unknown_costs
from benchmarks.queries.tables.run_list import shape
from benchmarks.queries.task_grid import MOST_RUNS as MOST_COLUMNS
from benchmarks.services.access import may_launch, may_see_reviewers
from benchmarks.services.errors import InvalidRequest, NotPossible
from benchmarks.services.experiments import control
from benchmarks.services.experiments.file_schema import EDITOR_LINE
from benchmarks.services.experiments.start import add_model
from benchmarks.services.preferences import MOST_RUNS
from frontend import params
from frontend.chips import choice
from frontend.experiments import EDITED, cost_said, offered, present_request, ways_of_asking
from frontend.launch_copies import copies
from frontend.launch_options import KnownModels
from frontend.matrix import averages_context, comparison_choices, corrected_context, matrix_charts, matrix_context
from frontend.navigation import experiment_tabs, trail
from frontend.parting import failures, failures_said
from frontend.preferences import columns_of_experiment
from frontend.sharing import shared_or_shareable
from frontend.task_grid import grid_context
from frontend.view_models import metric_row
from frontend.views.live import live_read
from frontend.views.shared import chart_response, or_404, placed, require_launch, unconfirmed

_SELECTED = ("metric", "dataset", "columns", "variants", "margin", "judge")
"""What an address says of the matrix."""


@never_cache
@require_safe
def experiment(request: HttpRequest, pk: int) -> HttpResponse:
    """The tab of results."""
    stored, runs = _read(pk)
    context = _board(request, stored, runs)
    if context["may_launch"]:
        asked = {run.model for run in runs}
        context["known_models"] = [option.name for option in KnownModels.read().options(()) if option.name not in asked]
    return render(request, "frontend/experiments/results.html", context)


@live_read(stamp_of_experiment)
def status(request: HttpRequest, pk: int) -> HttpResponse:
    """The parts of an experiment's page that change while it is live, read at once so that they show one moment."""
    context = _board(request, *_read(pk))
    response = render(request, "frontend/experiments/status.html", context)
    if not context["is_live"]:
        response["HX-Refresh"] = "true"  # its buttons change as well
    return response


@require_safe
def chart(request: HttpRequest, pk: int, name: str, form: str) -> HttpResponse:
    _, runs = _read(pk)
    return chart_response(request, matrix_charts(matrix_context(request, runs)), name, form)


@never_cache
@require_safe
def answers(request: HttpRequest, pk: int) -> HttpResponse:
    """The tasks of one dataset of the experiment against its runs."""
    stored, runs = _read(pk)
    datasets, metric = _datasets(runs), params.text(request.GET, "metric")
    chosen = params.text(request.GET, "dataset")
    dataset = chosen if chosen in datasets else next(iter(datasets), "")
    benchmark = choice(request.GET, "dataset", "Benchmark", datasets.items(), dataset)
    grid = matrices.matrix(runs, metric, dataset)
    columns = _columns(grid)
    context = _page(request, stored, runs, "experiment-answers")
    context |= grid_context(request, columns, metric, dataset=datasets.get(dataset, "")) | {
        "dataset": dataset,
        "choices": [benchmark] if len(datasets) > 1 else [],
        "metric": metric,
        "metrics": [metric_row(name) for name in matrices.metrics_of([run for run, _ in columns])],
    }
    is_whole = context["tasks"].count == context["tasks"].total
    context["said"] = [*filter(None, [grid.none_right]), *context["said"]] if is_whole else []
    return render(request, "frontend/experiments/answers.html", context)


@never_cache
@require_safe
def failed(request: HttpRequest, pk: int) -> HttpResponse:
    """What failed, by kind and run, of each dataset."""
    stored, runs = _read(pk)
    tables = [
        failures(slug, title, _columns(matrices.matrix(runs, dataset=slug))[:MOST_COLUMNS])
        for slug, title in _datasets(runs).items()
    ]
    said = [*filter(None, [matrices.matrix(runs).none_right]), *failures_said(tables)]
    context = _page(request, stored, runs, "experiment-failures") | {"tables": tables, "said": said}
    return render(request, "frontend/experiments/failures.html", context)


@never_cache
@require_safe
def cost(request: HttpRequest, pk: int) -> HttpResponse:
    """What each run cost and took, and what is not known of it."""
    stored = _experiment(pk)
    runs = reads.spending_runs(stored)
    matrix = matrix_context(request, runs)
    context = _page(request, stored, runs, "experiment-cost")
    charts = placed(matrix_charts(matrix), "experiment-chart", pk, query=context["query"].removeprefix("?"))
    context |= {
        "charts": charts,
        "said": cost_said(matrix["matrix"].rows),
        "costs": COSTS.where(has_variants=matrix["has_variants"], has_judge=any(run.judge_model for run in runs)).of(
            cell.run for row in matrix["matrix"].rows for cell in row.cells if cell
        ),
        "unknown": unknown_costs(runs),
    }
    return render(request, "frontend/experiments/cost.html", context)


@never_cache
@require_safe
def setup(request: HttpRequest, pk: int) -> HttpResponse:
    """What the experiment was asked for, and how to ask for it again."""
    stored, runs = _read(pk)
    asked_for = {name: value for name, value in present_request(stored).items() if value or name not in EDITED}
    site = request.build_absolute_uri("/").rstrip("/")
    context = _page(request, stored, runs, "experiment-setup") | {
        "asked": ways_of_asking(stored.request),
        "benchmarks": BENCHMARKS_OF.of(benchmarks_of(runs)),
        "models": stored.request.get("models", ()),
        "yaml": EDITOR_LINE + dump_values(asked_for),
        "copies": copies(asked_for, site, is_run=False) if stored.request.get("datasets") else [],
    }
    return render(request, "frontend/experiments/setup.html", context)


moved_to_answers = require_safe(RedirectView.as_view(pattern_name="frontend:experiment-answers", query_string=True))


@require_POST
def act(request: HttpRequest, pk: int, action: str) -> HttpResponse:
    """Do one of ``_ACTIONS`` with an experiment and report the outcome."""
    require_launch(request)
    if action not in _ACTIONS:
        raise Http404(f"{action} is not an action for experiments.")
    stored, page = _experiment(pk), reverse("frontend:experiment", args=(pk,))
    question = f"Delete experiment {stored.name}?"
    if action == "delete" and (
        confirmation := unconfirmed(request, question, "Delete experiment", page, "Its runs are kept.")
    ):
        return confirmation
    try:
        done = _ACTIONS[action](stored, request)
    except NotPossible as error:
        messages.error(request, error.message)
    except InvalidRequest as error:
        messages.error(request, " ".join(text for texts in error.errors.values() for text in texts))
    else:
        messages.success(request, done, extra_tags="passing")
        if action == "delete":
            return HttpResponseRedirect(reverse("frontend:experiments"))
    return HttpResponseRedirect(page)


def _experiment(pk: int) -> Experiment:
    return or_404(lambda: reads.experiment_detail(pk), f"Experiment {pk} does not exist.")


def _read(pk: int) -> tuple[Experiment, list[Run]]:
    stored = _experiment(pk)
    return stored, reads.experiment_runs(stored)


def _datasets(runs: Sequence[Run]) -> dict[str, str]:
    """The title of each dataset by its slug."""
    return {run.dataset.slug: run.dataset.title for run in runs}


def _columns(grid: matrices.Matrix) -> list[tuple[Run, str]]:
    """The runs of a matrix of one dataset with their names, by rank."""
    return [(run, row.name) for row in grid.rows for run in row.runs]


def _page(request: HttpRequest, stored: Experiment, runs: Sequence[Run], tab: str) -> dict[str, Any]:
    """What stands on every tab of an experiment: its head, what can be done with it, the tabs."""
    progress = reads.progress(runs)
    selected = {name: params.text(request.GET, name) for name in _SELECTED}
    query = params.kept(request.GET, tuple(selected))
    return {
        "experiment": stored,
        "progress": progress,
        "subjects": shape(runs),
        "finished_at": max((run.completed_at for run in runs if run.completed_at), default=None),
        "is_live": bool(LIVE & set(progress.runs_by_status)),
        "percent": 100 * progress.done // progress.total if progress.total else 0,
        "actions": offered(runs, progress, stored.budget_usd is not None) if may_launch(request.user) else {},
        "may_launch": may_launch(request.user),
        "query": query,
        "share": shared_or_shareable(request, ShareLink.Kind.EXPERIMENT, {"experiment": stored.pk, **selected}),
        "review_metric": params.text(request.GET, "metric") or next(iter(matrices.metrics_of(runs)), ""),
        "tabs": experiment_tabs(stored, tab, query),
        "newer_references": newer_references(runs),
        "comparison": _comparison(runs),
        "again": f"{reverse('frontend:launch')}?experiment={stored.pk}" if may_launch(request.user) else "",
        "crumbs": trail("experiments", (stored.name, None)),
    }


def _comparison(runs: Sequence[Run]) -> str:
    """The address that compares the first completed runs of one dataset that share a metric, as many as it takes; empty
    without two."""
    for slug in _datasets(runs):
        first = [run for run in runs if run.dataset.slug == slug and run.status in COMPLETED][:MOST_COLUMNS]
        if len(first) > 1 and common_metrics(first):
            return f"{reverse('frontend:compare')}?runs={','.join(str(run.pk) for run in first)}"
    return ""


def _board(request: HttpRequest, stored: Experiment, runs: Sequence[Run]) -> dict[str, Any]:
    """What the tab of results shows."""
    context = _page(request, stored, runs, "experiment") | matrix_context(request, runs)
    context |= averages_context(request, stored, context["of_datasets"])
    context |= corrected_context(request, context["of_datasets"])
    context["choices"] = comparison_choices(request.GET, context)
    return _with_preferences(stored, context, may_see_reviewers(request.user))


def _with_preferences(stored: Experiment, context: dict[str, Any], with_open: bool) -> dict[str, Any]:
    """The matrix with a column of strengths for each judge and for people, and the runs to compare."""
    shown = {cell.run.pk for row in context["matrix"].rows for cell in row.cells if cell}
    columns = columns_of_experiment(stored.pk, with_open)
    columns = [column for column in columns if shown & {each["run"] for each in column.candidates}]
    places = [{place.run: place for place in map(column.place_of, column.found.order)} for column in columns]
    for kind in ("ranked", "unranked"):
        context[kind] = [
            replace(each, preferences=[next((own[r.pk] for r in each.row.runs if r.pk in own), None) for own in places])
            for each in context[kind]
        ]
    answered: dict[tuple[str, str], list[str]] = {}
    for cell in {cell.run.pk: cell for row in context["matrix"].rows for cell in row.cells if cell}.values():
        if cell.run.status in COMPLETED and not cell.run.representation:
            answered.setdefault((cell.run.dataset.title, cell.run.dataset.slug), []).append(str(cell.run.pk))
    comparable = [(title, ",".join(ids[:MOST_RUNS])) for (title, _), ids in answered.items() if len(ids) > 1]
    return context | {"preferences": columns, "comparable": comparable}


def _raise_budget(stored: Experiment, request: HttpRequest) -> str:
    usd = params.real_number(request.POST, "budget_usd")
    if usd is None:
        raise NotPossible("Enter the new budget in US dollars, for example 5.")
    control.raise_budget(stored, usd, request.user)
    return f"Budget of experiment {stored.pk} raised."


def _add_model(stored: Experiment, request: HttpRequest) -> str:
    runs = add_model(stored, params.text(request.POST, "model"), request.user)
    return f"Model added: {plural(len(runs), 'run')} queued."


def _edit(stored: Experiment, request: HttpRequest) -> str:
    given: dict[str, Any] = {name: params.text(request.POST, name) for name in ("name", "description")}
    tags = (tag.strip() for tag in params.text(request.POST, "tags").split(","))
    control.edit_experiment(stored, {**given, "tags": [tag for tag in tags if tag]}, request.user)
    return "Name, description and tags saved."


def _delete(stored: Experiment, request: HttpRequest) -> str:
    pk = stored.pk
    control.delete_experiment(stored, request.user)
    return f"Experiment {pk} deleted. Its runs are kept."


def _of_runs(act: Callable[..., int], words: str) -> Callable[[Experiment, HttpRequest], str]:
    return lambda stored, request: f"{plural(act(stored, request.user), 'run')} {words}."


_ACTIONS: dict[str, Callable[[Experiment, HttpRequest], str]] = {
    "pause": _of_runs(control.pause_experiment, "paused"),
    "resume": _of_runs(control.resume_experiment, "resumed"),
    "cancel": _of_runs(control.cancel_experiment, "canceled"),
    "retry": _of_runs(control.retry_experiment, "with errors to retry"),
    "budget": _raise_budget,
    "model": _add_model,
    "edit": _edit,
    "delete": _delete,
}
