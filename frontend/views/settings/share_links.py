"""All share links, to copy and to revoke."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from benchmarks.queries.access import share_links as valid_links
from benchmarks.queries.tables.access import SHARE_LINKS, SharedRow
from benchmarks.services.share_links import SHARED_FOR
from frontend.sharing import address_of
from frontend.views.lists import Button, listed, page_of
from frontend.views.settings.hub import crumbs
from frontend.views.shared import require_launch

PAGE_SIZE = 50


@never_cache
@require_safe
def share_links(request: HttpRequest) -> HttpResponse:
    require_launch(request)
    page = page_of(request, valid_links())
    rows = [SharedRow(link, address_of(request, link)) for link in page]
    return listed(
        request,
        "Share links",
        SHARE_LINKS.of(rows),
        lead=f"Anyone with a link can read its page for {SHARED_FOR.days} days, without an account.",
        empty="No page is shared. Select Share on a run, experiment, comparison or leaderboard, for example to show a "
        "customer which model leads.",
        page=page,
        crumbs=crumbs(("Share links", None)),
        otherwise=Button("Choose a run", "runs"),
        beside="frontend/settings/share_example.html",
        days=SHARED_FOR.days,
    )
