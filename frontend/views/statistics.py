"""Statistics of a run beyond its means, the size a run needs, and charts of thresholds."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.views.decorators.http import require_POST, require_safe

from benchmarks.models import Run
from benchmarks.queries.contamination import contamination_check
from benchmarks.queries.datasets import runnable_datasets
from benchmarks.queries.tables.statistics import (
    ABOVE_BEST_GUESS,
    ADAPTIVE,
    CONSISTENCY,
    FAULT_RATES,
    THRESHOLDS,
    adaptive_rows,
    best_guess_note,
    fault_rows,
    guessed_rows,
    repeated_rows,
    repeats_note,
)
from benchmarks.services.errors import InvalidRequest
from benchmarks.services.runs.sizing import SizeQuestion, size_run
from frontend.difficulty_charts import threshold_charts
from frontend.launch_form import LaunchForm
from frontend.view_models import metric_row
from frontend.views.shared import chart_response, placed, require_launch, run_or_404


def report_of(run: Run) -> dict[str, Any]:
    """What the page of a run shows beyond its means; each part is empty if the run has none of it."""
    numbers, thresholds = run.numbers, run.numbers.thresholds or ()
    return {
        "chance": [
            (metric_row(name), ABOVE_BEST_GUESS.of(guessed_rows(run, name, chance), title=best_guess_note(chance)))
            for name, chance in (numbers.chance or {}).items()
        ],
        "fault_rates": FAULT_RATES.of(fault_rows(run)),
        "thresholds": THRESHOLDS.of(thresholds),
        "threshold_charts": placed(threshold_charts(thresholds), "threshold-chart", run.pk),
        "reliability": [
            (metric_row(name), CONSISTENCY.of(repeated_rows(name, repeats), title=repeats_note(repeats)))
            for name, repeats in (numbers.reliability or {}).items()
        ],
        "adaptive": numbers.adaptive and (numbers.adaptive, ADAPTIVE.of(adaptive_rows(run, numbers.adaptive))),
        "contamination": contamination_check(run) if run.has_seed else None,
    }


@require_safe
def threshold_chart(request: HttpRequest, pk: int, name: str, form: str) -> HttpResponse:
    return chart_response(request, threshold_charts(run_or_404(pk).numbers.thresholds or ()), name, form)


@require_POST
def size(request: HttpRequest) -> HttpResponse:
    """How many tasks the run in the launch form needs to detect a difference."""
    require_launch(request)
    form = LaunchForm(runnable_datasets(), request.POST)
    return render(request, "frontend/statistics/size.html", sized(form, request.POST))


def sized(form: LaunchForm, sent: QueryDict) -> dict[str, Any]:
    """The size, or what is wrong with the question, together with the values that were sent."""
    given = {name: value for name in map(str, SizeQuestion().fields) if (value := sent.get(name, "").strip())}
    try:
        return {"size_given": given, "size": size_run({**form.first_run(), **given})}
    except InvalidRequest as error:
        return {"size_given": given, "size_errors": form.problems(error)}
