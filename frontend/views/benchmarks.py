"""The benchmarks: datasets and canvas sets in one list, with what models score on them."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from benchmarks.queries.benchmarks import benchmarks_of
from benchmarks.queries.datasets import recently_run_datasets
from benchmarks.queries.live import live_state
from benchmarks.queries.tables.benchmarks import BENCHMARKS
from benchmarks.services.access import may_edit, may_launch
from frontend import params
from frontend.views.lists import page_of


@require_safe
def benchmarks(request: HttpRequest) -> HttpResponse:
    text = params.text(request.GET, "text")
    page = page_of(request, recently_run_datasets(text))
    launches = may_launch(request.user)
    table = BENCHMARKS.where(may_launch=launches)
    rows = benchmarks_of(list(page))
    context = {
        "live_state": live_state(),
        "page": page,
        "shown": table.of(rows, sortable=page.paginator.num_pages == 1),
        "has_marks": any(row.has_marks for row in rows),
        "has_few": any(row.few_tasks for row in rows),
        "text": text,
        "may_edit": may_edit(request.user),
        "may_launch": launches,
    }
    return render(request, "frontend/datasets/benchmarks.html", context)
