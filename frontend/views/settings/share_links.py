"""All share links, to copy and to revoke."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from benchmarks.queries.access import shared_by, shared_runs
from benchmarks.queries.tables.access import SHARE_LINKS, SharedRow
from benchmarks.services.runs.exports import SHARED_FOR
from frontend.views.exports import shared_address
from frontend.views.lists import Button, listed, page_of
from frontend.views.settings.hub import crumbs
from frontend.views.shared import require_launch

PAGE_SIZE = 50


@never_cache
@require_safe
def share_links(request: HttpRequest) -> HttpResponse:
    require_launch(request)
    page = page_of(request, shared_runs())
    authors = shared_by(page)
    rows = [SharedRow(run, authors.get(run.pk, ""), shared_address(request, run)) for run in page]
    return listed(
        request,
        "Share links",
        SHARE_LINKS.of(rows),
        lead=f"Anyone with a link can read the report of its run for {SHARED_FOR.days} days, without an account. "
        "Create a link on the page of a run.",
        empty="No report is shared.",
        page=page,
        crumbs=crumbs(("Share links", None)),
        otherwise=Button("Choose a run", "runs"),
    )
