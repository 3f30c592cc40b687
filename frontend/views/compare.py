"""Any runs compared: two in depth, more as a matrix, all of them task by task."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from benchmarks.analysis.comparisons import Compared, breakdown, common_metrics, compared_runs, labels, newer_sentence
from benchmarks.models import Run, ShareLink
from benchmarks.presentation.numbers import plural
from benchmarks.presentation.ranks import listed
from benchmarks.queries import compare as reads
from benchmarks.queries.judge_words import measured
from benchmarks.queries.runs import reference_first
from benchmarks.queries.tables.comparisons import differences_from, other_metrics
from benchmarks.queries.task_grid import MOST_RUNS, shared_tasks
from benchmarks.services.access import may_launch
from frontend import charts, params
from frontend.chart_parts import Chart
from frontend.matrix import comparison_choices, matrix_charts, matrix_context, versus
from frontend.navigation import trail
from frontend.ruler import ends
from frontend.run_choice import by_benchmark, likely, on_one_benchmark
from frontend.sharing import shared_or_shareable
from frontend.task_grid import grid_context
from frontend.view_models import metric_row
from frontend.views.shared import chart_response, placed

DIFFERING = 25
"""Tasks that are listed on a page; the others are on further pages."""


@require_safe
def compare(request: HttpRequest) -> HttpResponse:
    chosen = _chosen(request)
    return render(request, "frontend/compare/compare.html", _context(request, chosen))


@require_safe
def tasks(request: HttpRequest) -> HttpResponse:
    """The tasks of the chosen runs. Without any, the page that chooses them."""
    if "runs" not in request.GET:
        return HttpResponseRedirect(f"{reverse('frontend:compare')}?for=tasks")
    chosen = _chosen(request)
    metrics = common_metrics(chosen)
    metric = _metric(request, metrics)
    names = labels(chosen)
    context = grid_context(request, [(run, names[run.pk]) for run in chosen], metric, most=DIFFERING) | {
        "title": _title(chosen),
        "dataset": _title(chosen),
        "metric": metric,
        "metrics": [metric_row(name) for name in metrics],
        "crumbs": trail("runs", ("Compare", f"{reverse('frontend:compare')}?{_query(chosen)}"), ("Task by task", None)),
    }
    return render(request, "frontend/compare/tasks.html", context)


@require_safe
def chart(request: HttpRequest, name: str, form: str) -> HttpResponse:
    return chart_response(request, _charts(_context(request, _chosen(request))), name, form)


def _context(request: HttpRequest, chosen: Sequence[Run]) -> dict[str, Any]:
    metrics = common_metrics(chosen)
    metric = _metric(request, metrics)
    offered = reads.runs_to_offer(chosen, beside=len(chosen) > 1 and bool(metric))
    if len(chosen) == 2 and metric:
        chosen = _better_last(request, chosen[0], chosen[1], metric)
    asked = params.run_ids(request.GET)[:MOST_RUNS]
    to = reverse("frontend:compare") if chosen else None
    crumbs = [("Compare", to), *([(plural(len(chosen), "run"), None)] if chosen else [])]
    for_tasks = not asked and request.GET.get("for") == "tasks"
    context: dict[str, Any] = {
        "title": "Compare runs task by task" if for_tasks else _title(chosen),
        "crumbs": trail("runs", *crumbs),
        "chosen": chosen,
        "chosen_ids": [run.pk for run in chosen],
        "absent": _absent([pk for pk in asked if pk not in {run.pk for run in chosen}]),
        "offered": by_benchmark(offered, chosen),
        "n_left_out": reads.runs_left_out(offered),
        "metrics": [metric_row(name) for name in metrics],
        "metric": metric,
        "most": MOST_RUNS,
        "for_tasks": for_tasks,
        "may_launch": may_launch(request.user),
        "may_compare_answers": may_launch(request.user) and not any(run.representation for run in chosen),
    }
    if len(chosen) < 2 or not metric:
        page = "frontend:compare-tasks" if for_tasks else "frontend:compare"
        return context | {
            "likely": likely(offered, page) if len(chosen) < 2 else (),
            "on_one": sorted(on_one_benchmark(chosen, offered), key=lambda each: (-len(each.chosen), not each.url)),
        }
    margin = params.margin(request.GET)
    pairs = compared_runs(chosen, with_first=True, margin=margin)
    against = [pair for pair in pairs if pair.metric == metric]
    elsewhere = [pair for pair in pairs if pair.metric != metric]
    context |= {
        "first": chosen[0],
        "against": against,
        "margin": f"{100 * margin:g}",
        "differences": differences_from(chosen[0], against),
        "elsewhere": elsewhere and other_metrics(chosen[0], elsewhere, _place(request, chosen)),
        "tasks_url": reverse("frontend:compare-tasks"),
        "query": f"?{_query(chosen, metric=metric)}",
        "share": shared_or_shareable(request, ShareLink.Kind.COMPARISON, _shared(request, chosen, metric)),
    }
    if len(chosen) == 2:
        context |= _pair(request, chosen[0], chosen[1], metric)
    else:
        context |= matrix_context(request, chosen) | {"metric": metric}
    context["choices"] = comparison_choices(request.GET, context)
    return context | {"charts": placed(_charts(context), "compare-chart", query=_query(chosen, metric=metric))}


def _better_last(request: HttpRequest, a: Run, b: Run, metric: str) -> list[Run]:
    """Two runs with the better one second, so that their difference says by how much it is better; as they are if the
    first is a chosen or marked reference, or both are of one model, where the second is newer."""
    if params.whole_number(request.GET, "baseline") or a.baseline or newer_sentence(a, b):
        return [a, b]
    return sorted([a, b], key=lambda run: run.numbers_of(metric).mean or 0.0)


def _pair(request: HttpRequest, a: Run, b: Run, metric: str) -> dict[str, Any]:
    """What the page shows of two runs only."""
    names = labels([a, b])
    grid = grid_context(request, [(a, names[a.pk]), (b, names[b.pk])], metric, show="disagree", most=DIFFERING)
    parts = breakdown(a, b, metric)
    bounds = [
        abs(bound) for part in parts for bound in (part.comparison.low, part.comparison.high) if bound is not None
    ]
    return grid | {
        "pair": (names[a.pk], names[b.pk]),
        "second": b,
        "nothing_shared": not any(shared := shared_tasks(a, b, metric)),
        "newer": newer_sentence(a, b),
        "judged": measured([(a, metric), (b, metric)]),
        "versus": versus(a, b),
        "has_margin": True,
        "shared": shared,
        "split": shared._asdict(),
        "parts": parts,
        "is_part_clear": any(part.is_clear for part in parts),
        "effect_bound": ends(bounds),
    }


def _absent(missing: Sequence[int]) -> str:
    if not missing:
        return ""
    named = listed([str(pk) for pk in missing])
    return f"Run {named} does not exist." if len(missing) == 1 else f"Runs {named} do not exist."


def _charts(context: dict[str, Any]) -> list[Chart | None]:
    against = context.get("against", [])
    drawn = [_deltas(against, context["metric"])] if len(against) > 1 else []  # one stands in the table of both
    return [*drawn, *(matrix_charts(context) if "ranked" in context else [])]


def _title(chosen: Sequence[Run]) -> str:
    """``a and b on basic-coding``, or the number of runs where more are compared, with the dataset if it is common."""
    on = f" on {chosen[0].dataset.title}" if len({run.dataset_id for run in chosen}) == 1 else ""
    if on and len(chosen) == 2:
        return f"{chosen[0].model_label} and {chosen[1].model_label}{on}"
    return f"Compare {len(chosen)} runs{on}" if len(chosen) > 1 else "Compare runs"


def _chosen(request: HttpRequest) -> list[Run]:
    """The runs of ``?runs=``, the reference run first: that of ``?baseline=``, else the marked or the oldest one."""
    chosen = reference_first(reads.runs_to_compare(params.run_ids(request.GET)))
    baseline = params.whole_number(request.GET, "baseline")
    return sorted(chosen, key=lambda run: run.pk != baseline)


def _query(chosen: Sequence[Run], **more: str) -> str:
    return urlencode({"runs": ",".join(str(run.pk) for run in chosen), **more})


def _place(request: HttpRequest, chosen: Sequence[Run]) -> dict[str, str]:
    """What the address of the comparison says, without its metric."""
    kept = {name: request.GET[name] for name in ("baseline", "margin") if name in request.GET}
    return {"runs": ",".join(str(run.pk) for run in chosen), **kept}


def _shared(request: HttpRequest, chosen: Sequence[Run], metric: str) -> dict[str, str]:
    """What a link to the comparison says. More runs than are compared are all named, so that sharing refuses them."""
    asked = params.run_ids(request.GET)
    ids = asked if len(asked) > MOST_RUNS else [run.pk for run in chosen]
    shown = {name: params.text(request.GET, name) for name in ("dataset", "columns", "margin")}
    return {"runs": ",".join(map(str, ids)), "metric": metric, **shown}


def _metric(request: HttpRequest, metrics: Sequence[str]) -> str:
    chosen = params.text(request.GET, "metric")
    return chosen if chosen in metrics else next(iter(metrics), "")


def _deltas(against: Sequence[Compared], metric: str) -> Chart | None:
    rows = [
        (pair.name_b, c.difference, c.low, c.high, c.n_shared)
        for pair, c in ((pair, pair.comparison) for pair in against)
        if c.difference is not None and c.low is not None and c.high is not None
    ]
    return charts.deltas(rows, against[0].name_a, metric_row(metric)) if rows else None
