"""All share links, to copy and to revoke."""

from __future__ import annotations

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from benchmarks.queries.access import shared_by, shared_runs
from benchmarks.queries.tables.access import SHARE_LINKS, SharedRow
from benchmarks.services.runs.exports import SHARED_FOR
from frontend.views.exports import shared_address
from frontend.views.settings.hub import crumbs
from frontend.views.shared import require_launch

PAGE_SIZE = 50


@never_cache
@require_safe
def share_links(request: HttpRequest) -> HttpResponse:
    require_launch(request)
    page = Paginator(shared_runs(), PAGE_SIZE).get_page(request.GET.get("page"))
    authors = shared_by(page)
    rows = [SharedRow(run, authors.get(run.pk, ""), shared_address(request, run)) for run in page]
    context = {
        "page": page,
        "links": SHARE_LINKS.of(rows),
        "days": SHARED_FOR.days,
        "crumbs": crumbs(("Share links", None)),
    }
    return render(request, "frontend/settings/share_links.html", context)
