"""Statistics of a run beyond its means, the size a run needs, and charts of thresholds."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.views.decorators.http import require_POST, require_safe

from benchmarks.models import Run
from benchmarks.presentation.comparisons import threshold_sentence
from benchmarks.presentation.sentences import n_of_expected
from benchmarks.queries.contamination import contamination_check
from benchmarks.queries.datasets import runnable_datasets
from benchmarks.services.errors import InvalidRequest
from benchmarks.services.runs.sizing import SizeQuestion, size_run
from benchmarks.summary import Chance, Reliability, Threshold
from frontend.difficulty_charts import DIFFICULTY, threshold_charts
from frontend.forms import LaunchForm
from frontend.view_models import MetricRow, metric_row
from frontend.views.shared import chart_response, placed, require_launch, run_or_404


def report_of(run: Run) -> dict[str, Any]:
    """What the page of a run shows beyond its means; each part is empty if the run has none of it."""
    numbers, thresholds = run.numbers, run.numbers.thresholds or ()
    return {
        "chance": [_above_guessing(run, name, chance) for name, chance in (numbers.chance or {}).items()],
        "thresholds": [
            {
                "group": row.group,
                "measure": DIFFICULTY[row.measure][1],
                "words": threshold_words(row),
                "n_of": n_of_expected(row.n, row.n_expected),
            }
            for row in thresholds
        ],
        "threshold_charts": placed(threshold_charts(thresholds), "threshold-chart", run.pk),
        "reliability": [_reliability(name, repeats) for name, repeats in (numbers.reliability or {}).items()],
        "adaptive": _adaptive(run),
        "contamination": contamination_check(run) if run.has_seed else None,
    }


def threshold_words(row: Threshold) -> str:
    return threshold_sentence(row.threshold, row.low, row.high, row.note)


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
        return {"size_given": given, "size": size_run({**form.request_data(), **given})}
    except InvalidRequest as error:
        return {"size_given": given, "size_errors": form.problems(error)}


def _above_guessing(run: Run, name: str, chance: Chance) -> tuple[MetricRow, dict[str, Any]]:
    groups = [(group, n_of_expected(group.raw.n, group.raw.n_expected)) for group in chance.groups]
    return metric_row(name, run.numbers_of(name)), {"chance": chance, "groups": groups}


def _adaptive(run: Run) -> dict[str, Any] | None:
    """How an adaptive run stopped. Beside each mean is the n of N results behind it, because its own n counts
    canvases."""
    numbers, first = run.numbers.adaptive, run.metrics[0]
    if numbers is None:
        return None
    levels = [run.parts.at("n_shapes", str(row.n_shapes), first) for row in numbers.strata]
    n_of = [n_of_expected(level.n, level.n_expected) for level in (*levels, run.numbers_of(first))]
    return {"numbers": numbers, "strata": list(zip(numbers.strata, n_of, strict=False)), "n_of": n_of[-1]}


def _reliability(name: str, numbers: Reliability) -> dict[str, Any]:
    """The consistency of one metric across repeats; ``rows`` are (label, share with its interval, n of N tasks)."""
    passing = (
        ("At least 1 of {0} repeats correct (pass@{0})", numbers.pass_at),
        ("All {0} repeats correct (pass^{0})", numbers.pass_hat),
    )
    rows = [(words.format(k), by_k[k]) for words, by_k in passing for k in sorted(by_k, key=int) if k != "1"]
    rows += [("Tasks with differing repeats", numbers.flipped), ("Agreement between two repeats", numbers.agreement)]
    counted = [(label, share, n_of_expected(share.n, share.n_expected)) for label, share in rows]
    return {"metric": metric_row(name), "rows": counted, "alpha": numbers.alpha, "judge": numbers.judge}
