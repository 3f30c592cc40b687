"""The list of runs and experiments, its filters as chips, and its columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_safe

from benchmarks.imports.registered_importers import IMPORTERS
from benchmarks.models import RunStatus
from benchmarks.presentation.numbers import ahead
from benchmarks.providers.model_names import is_baseline
from benchmarks.queries.datasets import runnable_datasets
from benchmarks.queries.live import live_state
from benchmarks.queries.run_list import TABS, counts, listed, rows_of
from benchmarks.queries.runs import RunFilters, models_used, receiving, tags_used
from benchmarks.queries.schedules import next_due
from benchmarks.queries.tables.run_list import LISTED, listed_table
from benchmarks.queries.tables.runs import RECEIVING
from benchmarks.services.access import may, may_launch
from benchmarks.services.saved_views import LONGEST_NAME, list_query, may_save_views, saved_views
from frontend import params
from frontend.chips import COLUMNS, Chip, Choice, chips, choice, chosen_columns, columns_offered, without
from frontend.navigation import tabs
from frontend.views.saved_views import address_of

PAGE_SIZE = 25
MOST_INSTEAD = 8
"""Models, or benchmarks, that are offered in place of one without runs."""
PERIODS = ((1, "Last day"), (7, "Last 7 days"), (30, "Last 30 days"), (365, "Last year"))
EMPTY = {
    "runs": ("No runs yet", ""),
    "experiments": ("No experiments yet", "An experiment runs several models and prompts on the same benchmarks."),
    "single-runs": ("No runs yet", ""),
    "imported-runs": ("No imported runs yet", "Results of other tools can be compared with runs made here."),
    "scheduled-runs": ("No scheduled runs yet", "A schedule starts a run repeatedly and reports score drops."),
}
"""Tab → what a list without rows says, and what it is for."""
_CHIPS = {
    "text": "Contains",
    "name": "Name contains",
    "dataset": "Benchmark",
    "model": "Model",
    "status": "Status",
    "tag": "Tag",
    "days": "",
    "pinned": "",
}
"""Filter → what its chip says before the value."""


_ORDERS = {
    "run": ("Oldest first", "Newest first"),
    "name": ("Name, A to Z", "Name, Z to A"),
    "model": ("Model, A to Z", "Model, Z to A"),
    "dataset": ("Benchmark, A to Z", "Benchmark, Z to A"),
    "status": ("Status, A to Z", "Status, Z to A"),
    "score": ("Score, lowest first", "Score, highest first"),
    "cost": ("Cost, lowest first", "Cost, highest first"),
}
"""What the list is sorted by → what the chip of that order says, ascending and descending."""


@require_safe
def run_list(request: HttpRequest, tab: str) -> HttpResponse:
    """One list of the tab. Both kinds of rows together have one order only, so an address that sorts leads to runs."""
    filters = params.run_filters(request.GET)
    if tab not in TABS and filters.sort != "-run":
        return HttpResponseRedirect(f"{reverse('frontend:single-runs')}?{request.GET.urlencode()}")
    page = Paginator(rows_of(tab, filters), PAGE_SIZE).get_page(request.GET.get("page"))
    datasets, columns = runnable_datasets(), chosen_columns(request.GET, LISTED)
    rows, said = listed(tab, page), [name for name in ("model", "dataset") if getattr(filters, name)]
    by_score = tab in TABS and "score" in filters.sort and not filters.dataset
    titles = {
        "dataset": {dataset.slug: dataset.title for dataset in datasets},
        "status": dict(RunStatus.choices),
        "days": {str(days): title for days, title in PERIODS},
        "pinned": {"1": "Pinned"},
    }
    used = models_used()
    baselines = [name for name in used if is_baseline(name)]
    shown_chips = chips(request.GET, _CHIPS, titles)
    due = next_due() if tab == "scheduled-runs" else None
    may_import = may(request.user, "benchmarks.launch_run", "benchmarks.add_dataset")
    context = {
        "live_state": live_state(),
        "tab": tab,
        "tabs": tabs(request, counts()),
        "empty": EMPTY[tab],
        "importable": IMPORTERS.values() if tab == "imported-runs" and not rows and not shown_chips else (),
        "page": page,
        "due": due,
        "due_in": ahead(due.next_run_at, timezone.now()) if due and due.next_run_at else "",
        "listed": listed_table(rows, said, grouped=by_score).where(**columns).of(rows),
        "by_score": by_score,
        "filters": filters,
        "chips": shown_chips,
        "order_chip": _order_chip(request.GET, filters.sort),
        "widened": _widened(tab, shown_chips) if not rows else (),
        "instead": _instead(tab, request.GET) if not rows else (),
        "columns": columns_offered(LISTED, columns),
        "n_hidden": sum(not shown for shown in columns.values()),
        "all_columns": without(request.GET, COLUMNS),
        "columns_kept": request.GET.getlist(COLUMNS),
        "filters_kept": [(name, value) for name in (*_CHIPS, "sort") if (value := params.text(request.GET, name))],
        "tags": tags_used(),
        "datasets": [(dataset.slug, dataset.title) for dataset in datasets],
        "models": [name for name in used if name not in baselines],
        "baselines": [("Baselines (not language models)", baselines)] if baselines else [],
        "statuses": RunStatus.choices,
        "periods": PERIODS,
        **_views(request, tab),
        "may_launch": may_launch(request.user),
        "may_import": may_import,
        "receiving": RECEIVING.where(may_import=may_import).of(receiving() if tab == "runs" else ()),
    }
    # Where rows of both kinds are mixed, heads do not sort.
    return render(request, "frontend/runs/list.html", context | ({"sort": filters.sort} if tab in TABS else {}))


def _order_chip(query: QueryDict, sort: str) -> Chip | None:
    """The order of the list, if it is not the usual one."""
    if sort == RunFilters().sort:
        return None
    ascending, descending = _ORDERS[sort.removeprefix("-")]
    return Chip(descending if sort.startswith("-") else ascending, without(query, "sort"))


def _widened(tab: str, shown: Sequence[Chip]) -> list[tuple[Chip, int]]:
    """Of filters that together select nothing, those without which some rows are left, and how many."""
    queries = ((chip, QueryDict(chip.url.removeprefix("?"))) for chip in shown)
    counted = [(chip, rows_of(tab, params.run_filters(query)).count()) for chip, query in queries]
    return [(chip, n) for chip, n in counted if n]


def _instead(tab: str, query: QueryDict) -> list[Choice]:
    """Of filters that select nothing: the models or the benchmarks with which some rows are left."""
    known: dict[str, tuple[str, Sequence[Any]]] = {
        "model": ("Models with runs", models_used()),
        "dataset": ("Benchmarks with runs", [(each.slug, each.title) for each in runnable_datasets()]),
    }
    offered = [choice(query, name, label, values, "") for name, (label, values) in known.items() if name in query]
    left = [
        replace(each, options=[option for option in each.options[:MOST_INSTEAD] if _has_rows(tab, option.url)])
        for each in offered
    ]
    return [each for each in left if each.options]


def _has_rows(tab: str, url: str) -> bool:
    return rows_of(tab, params.run_filters(QueryDict(url.removeprefix("?")))).exists()


def _views(request: HttpRequest, tab: str) -> dict[str, object]:
    """The saved views of the user, which of them is shown, and what the form sends that saves another one."""
    shown = list_query(request.GET.urlencode())
    views = [(view, address_of(view), (view.tab, view.query) == (tab, shown)) for view in saved_views(request.user)]
    return {
        "views": views,
        "view": next((view for view, _, is_shown in views if is_shown), None),
        "query_to_save": shown if may_save_views(request.user) else "",
        "longest_name": LONGEST_NAME,
    }
