"""Two to six runs side by side on the tasks they share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from benchmarks.models import Result, Run
from benchmarks.queries import compare as reads
from benchmarks.queries.keyset import BadCursor, KeysetPage
from benchmarks.queries.runs import completed_runs
from benchmarks.queries.statistics import Compared, common_metrics, compared_runs, labels
from frontend import charts, params
from frontend.chart_parts import Chart
from frontend.placed import placed
from frontend.view_models import MetricRow, metric_row
from frontend.views.assets import drawn

OFFERED = 60


@require_safe
def compare(request: HttpRequest) -> HttpResponse:
    chosen = _chosen(request)
    metrics = common_metrics(chosen)
    metric = _metric(request, metrics)
    context: dict[str, object] = {
        "title": _title(chosen),
        "chosen": chosen,
        "chosen_ids": [run.pk for run in chosen],
        "offered": completed_runs(OFFERED),
        "metrics": [metric_row(name) for name in metrics],
        "metric": metric,
        "most": reads.MOST_RUNS,
    }
    if len(chosen) > 1 and metric:
        found = compared_runs(chosen)
        against = _against_first(found, metric)
        other = _other(request, chosen)
        show = request.GET.get("show", "differ")
        context |= {
            "first": chosen[0],
            "sentences": [one for one in found if one.metric == metric],
            "elsewhere": _by_metric(one for one in found if one.metric != metric),
            "family_size": found[0].family_size,
            "against": against,
            "other": other,
            "others": [(run.pk, f"Run {run.pk}: {run.model_label}") for run in chosen[1:]],
            "compare_with": f"Compare run {chosen[0].pk} with",
            "show": show,
            "choices": _choices(labels(chosen), chosen[0], other),
            "page": _page(request, chosen[0], other, metric, show),
            "charts": placed([_deltas(chosen, against, metric)], _address_of(chosen, metric)),
        }
    return render(request, "frontend/compare/compare.html", context)


@require_safe
def chart(request: HttpRequest, name: str, form: str) -> HttpResponse:
    chosen = _chosen(request)
    metric = _metric(request, common_metrics(chosen))
    found: list[Chart | None] = []
    if len(chosen) > 1 and metric:
        found = [_deltas(chosen, _against_first(compared_runs(chosen), metric), metric)]
    return drawn(request, found, name, form)


def _title(chosen: Sequence[Run]) -> str:
    """``a and b on basic-coding``, or the number of runs where more are compared or no dataset is common."""
    if len({run.dataset_id for run in chosen}) == 1 and len(chosen) == 2:
        return f"{chosen[0].model_label} and {chosen[1].model_label} on {chosen[0].dataset.slug}"
    return f"Compare {len(chosen)} runs" if len(chosen) > 1 else "Compare runs"


def _chosen(request: HttpRequest) -> list[Run]:
    """Runs named as ``?runs=1,2`` or as ``?run=1&run=2``, which is what the form sends."""
    named = [*request.GET.get("runs", "").split(","), *request.GET.getlist("run")]
    return reads.runs_to_compare([int(pk) for pk in named if pk.isascii() and pk.isdigit() and len(pk) < 10])


def _against_first(found: Iterable[Compared], metric: str) -> list[Compared]:
    """The comparisons with the first run, which stand in the table."""
    rows = [one for one in found if one.metric == metric]
    return [one for one in rows if one.a == rows[0].a]


def _by_metric(found: Iterable[Compared]) -> list[tuple[MetricRow, list[Compared]]]:
    by_metric: dict[str, list[Compared]] = {}
    for one in found:
        by_metric.setdefault(one.metric, []).append(one)
    return [(metric_row(name), rows) for name, rows in by_metric.items()]


def _metric(request: HttpRequest, metrics: Sequence[str]) -> str:
    asked = params.text(request.GET, "metric")
    return asked if asked in metrics else next(iter(metrics), "")


def _other(request: HttpRequest, chosen: Sequence[Run]) -> Run:
    """The run whose answers stand beside the first one's: ``?with=``, else the second."""
    asked = params.whole_number(request.GET, "with")
    return next((run for run in chosen[1:] if run.pk == asked), chosen[1])


def _choices(labels: dict[int, str], first: Run, other: Run) -> list[tuple[str, str]]:
    a, b = labels[first.pk], labels[other.pk]
    return [
        ("differ", "Scores differ"),
        ("a_better", f"{a} scores higher"),
        ("b_better", f"{b} scores higher"),
        ("same", "Scores are equal"),
    ]


def _page(request: HttpRequest, first: Run, other: Run, metric: str, show: str) -> KeysetPage[Result]:
    try:
        return reads.shared_results(
            first, other, metric, show, after=request.GET.get("after"), before=request.GET.get("before")
        )
    except BadCursor:
        return reads.shared_results(first, other, metric, show)


def _deltas(chosen: Sequence[Run], against: Sequence[Compared], metric: str) -> Chart | None:
    names = labels(chosen)
    rows = [
        (row.name_b, c.difference, c.low, c.high, c.n_shared)
        for row, c in ((row, row.comparison) for row in against)
        if c.difference is not None and c.low is not None and c.high is not None
    ]
    return charts.deltas(rows, names[chosen[0].pk], metric_row(metric).measure)


def _address_of(chosen: Sequence[Run], metric: str) -> Callable[[str, str], str]:
    query = urlencode({"runs": ",".join(str(run.pk) for run in chosen), "metric": metric})
    return lambda *name: f"{reverse('frontend:compare-chart', args=name)}?{query}"
