"""What the scores of a run mean, how large a run has to be, and charts of thresholds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from benchmarks.models import Run
from benchmarks.queries.datasets import runnable_datasets
from benchmarks.queries.runs import run_detail
from benchmarks.queries.statistics import contamination_check
from benchmarks.services.access import LAUNCH_REFUSAL, may_launch
from benchmarks.services.errors import InvalidRequest
from benchmarks.services.runs.sizing import SizeQuestion, size_as_asked
from benchmarks.statistics.sentences import threshold_sentence
from frontend.forms import LaunchForm
from frontend.placed import placed
from frontend.statistics_charts import threshold_charts
from frontend.view_models import MetricRow, metric_row
from frontend.views.assets import drawn

UNITS = {"n_shapes": "shapes", "tracking_steps": "changes to track", "inference_steps": "steps to infer"}


@dataclass(frozen=True, slots=True)
class ThresholdRow:
    """The threshold of one series, in words."""

    group: str
    unit: str
    guess: float
    words: str
    n: int


@dataclass(frozen=True, slots=True)
class Reliable:
    """One metric's reliability. ``rows`` are (what it says, interval)."""

    metric: MetricRow
    rows: tuple[tuple[str, Mapping[str, Any]], ...]
    alpha: float | None
    judge: Mapping[str, Any] | None


def report_of(run: Run) -> dict[str, Any]:
    """What the page of a run tells beyond its means; every part is empty where the run has none of it."""
    thresholds = run.summary.get("thresholds", [])
    return {
        "chance": [(metric_row(name), found) for name, found in run.summary.get("chance", {}).items()],
        "thresholds": [_threshold_row(one) for one in thresholds],
        "threshold_charts": placed(
            threshold_charts(thresholds), lambda *name: reverse("frontend:threshold-chart", args=(run.pk, *name))
        ),
        "reliability": [_reliable(name, found) for name, found in run.summary.get("reliability", {}).items()],
        "adaptive": run.summary.get("adaptive"),
        "contamination": contamination_check(run) if run.representation else None,
    }


@require_safe
def threshold_chart(request: HttpRequest, pk: int, name: str, form: str) -> HttpResponse:
    try:
        run = run_detail(pk)
    except Run.DoesNotExist:
        raise Http404(f"there is no run {pk}") from None
    return drawn(request, threshold_charts(run.summary.get("thresholds", [])), name, form)


@require_POST
def size(request: HttpRequest) -> HttpResponse:
    """How large the run asked for in the launch form has to be to show a difference."""
    if not may_launch(request.user):
        raise PermissionDenied(LAUNCH_REFUSAL)
    form = LaunchForm(runnable_datasets(), request.POST)
    return render(request, "frontend/statistics/size.html", sized(form, request.POST))


def sized(form: LaunchForm, sent: QueryDict) -> dict[str, Any]:
    """The size, or what is wrong with the question, with the values that were sent."""
    given = {name: value for name in map(str, SizeQuestion().fields) if (value := sent.get(name, "").strip())}
    context: dict[str, Any] = {"size_given": given}
    try:
        context["size"] = size_as_asked({**form.request_data(), **given})
    except InvalidRequest as error:
        context["size_errors"] = [(name, text) for name, texts in error.errors.items() for text in texts]
    return context


def _threshold_row(found: Mapping[str, Any]) -> ThresholdRow:
    words = threshold_sentence(found["threshold"], found["low"], found["high"], found["note"])
    return ThresholdRow(found["group"], UNITS[found["measure"]], found["guess"], words, found["n"])


def _reliable(name: str, found: Mapping[str, Any]) -> Reliable:
    return Reliable(
        metric_row(name),
        (
            *_passing("At least one of {} tries right (pass@{})", found["pass_at"]),
            *_passing("All of {} tries right (pass^{})", found["pass_hat"]),
            ("Tasks whose tries are not all alike", found["flipped"]),
            ("Two tries of a task agree", found["agreement"]),
        ),
        found["alpha"],
        found.get("judge"),
    )


def _passing(words: str, by_k: Mapping[str, Mapping[str, Any]]) -> Iterable[tuple[str, Mapping[str, Any]]]:
    ordered = sorted(by_k, key=int)
    return [(words.format(k, k), by_k[k]) for k in ordered if k != "1"]
