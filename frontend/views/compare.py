"""Two to six runs compared on the tasks they share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from benchmarks.models import COMPLETED, Run
from benchmarks.queries import compare as reads
from benchmarks.queries.runs import latest_runs
from benchmarks.queries.statistics import Compared, common_metrics, compared_runs, labels
from frontend import charts, params
from frontend.chart_parts import Chart
from frontend.view_models import MetricRow, metric_row
from frontend.views.shared import chart_response, paged, placed

OFFERED = 60


@require_safe
def compare(request: HttpRequest) -> HttpResponse:
    chosen = _chosen(request)
    metrics = common_metrics(chosen)
    metric = _metric(request, metrics)
    ids = [run.pk for run in chosen]
    context: dict[str, object] = {
        "title": _title(chosen),
        "chosen": chosen,
        "chosen_ids": ids,
        "offered": latest_runs(OFFERED, COMPLETED),
        "metrics": [metric_row(name) for name in metrics],
        "metric": metric,
        "most": reads.MOST_RUNS,
    }
    if len(chosen) > 1 and metric:
        first, other = chosen[0], _other(request, chosen)
        pairs = compared_runs(chosen)
        against = _against_first(pairs, metric)
        show = request.GET.get("show", "differ")
        query = urlencode({"runs": ",".join(map(str, ids)), "metric": metric})
        context |= {
            "first": first,
            "sentences": [pair for pair in pairs if pair.metric == metric],
            "elsewhere": _by_metric(pair for pair in pairs if pair.metric != metric),
            "family_size": pairs[0].family_size,
            "against": against,
            "other": other,
            "others": [(run.pk, f"Run {run.pk}: {run.model_label}") for run in chosen[1:]],
            "compare_with": f"Compare run {first.pk} with",
            "show": show,
            "choices": _choices(labels(chosen), first, other),
            "page": paged(
                request,
                lambda after, before: reads.shared_results(first, other, metric, show, after=after, before=before),
            ),
            "charts": placed([_deltas(against, metric)], "compare-chart", query=query),
        }
    return render(request, "frontend/compare/compare.html", context)


@require_safe
def chart(request: HttpRequest, name: str, form: str) -> HttpResponse:
    chosen = _chosen(request)
    metric = _metric(request, common_metrics(chosen))
    possible = len(chosen) > 1 and metric
    against = _against_first(compared_runs(chosen), metric) if possible else []
    return chart_response(request, [_deltas(against, metric)], name, form)


def _title(chosen: Sequence[Run]) -> str:
    """``a and b on basic-coding``, or the number of runs where more are compared or no dataset is common."""
    if len({run.dataset_id for run in chosen}) == 1 and len(chosen) == 2:
        return f"{chosen[0].model_label} and {chosen[1].model_label} on {chosen[0].dataset.slug}"
    return f"Compare {len(chosen)} runs" if len(chosen) > 1 else "Compare runs"


def _chosen(request: HttpRequest) -> list[Run]:
    """The runs of ``?runs=1,2`` or of ``?run=1&run=2``, which is what the form sends."""
    # Fewer than ten digits: larger numbers are no ids, and some databases reject them with an error.
    values = [*request.GET.get("runs", "").split(","), *request.GET.getlist("run")]
    return reads.runs_to_compare([int(pk) for pk in values if pk.isascii() and pk.isdigit() and len(pk) < 10])


def _against_first(pairs: Iterable[Compared], metric: str) -> list[Compared]:
    """The comparisons with the first run, which the table shows."""
    rows = [pair for pair in pairs if pair.metric == metric]
    return [pair for pair in rows if pair.a == rows[0].a]


def _by_metric(pairs: Iterable[Compared]) -> list[tuple[MetricRow, list[Compared]]]:
    by_metric: dict[str, list[Compared]] = {}
    for pair in pairs:
        by_metric.setdefault(pair.metric, []).append(pair)
    return [(metric_row(name), rows) for name, rows in by_metric.items()]


def _metric(request: HttpRequest, metrics: Sequence[str]) -> str:
    chosen = params.text(request.GET, "metric")
    return chosen if chosen in metrics else next(iter(metrics), "")


def _other(request: HttpRequest, chosen: Sequence[Run]) -> Run:
    """The run whose answers are shown beside the first one's: ``?with=``, else the second."""
    pk = params.whole_number(request.GET, "with")
    return next((run for run in chosen[1:] if run.pk == pk), chosen[1])


def _choices(labels: dict[int, str], first: Run, other: Run) -> list[tuple[str, str]]:
    return [
        ("differ", "Scores differ"),
        ("a_better", f"{labels[first.pk]} scores higher"),
        ("b_better", f"{labels[other.pk]} scores higher"),
        ("same", "Scores are equal"),
    ]


def _deltas(against: Sequence[Compared], metric: str) -> Chart | None:
    rows = [
        (pair.name_b, c.difference, c.low, c.high, c.n_shared)
        for pair, c in ((pair, pair.comparison) for pair in against)
        if c.difference is not None and c.low is not None and c.high is not None
    ]
    return charts.deltas(rows, against[0].name_a, metric_row(metric)) if rows else None
