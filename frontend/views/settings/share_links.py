"""All share links, to copy and to revoke."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from benchmarks.queries.access import share_links as valid_links
from benchmarks.queries.experiments import experiments
from benchmarks.queries.tables.access import SHARE_LINKS, SharedRow
from benchmarks.services.share_links import SHARED_FOR
from frontend.sharing import address_of
from frontend.views.lists import Button, listed, page_of
from frontend.views.settings.hub import crumbs
from frontend.views.shared import require_launch

LATEST = 3
"""Experiments that can be shared at once."""

_SHARED = (
    ("Run", "Its scores, failures and answers, as they are now"),
    ("Experiment", "Which model or prompt leads, with later runs too"),
    ("Comparison", "How runs differ, as they are now"),
    ("Leaderboard", "All models on a benchmark, with later runs too"),
)


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
        empty="No page is shared",
        examples=_SHARED,
        page=page,
        crumbs=crumbs(("Share links", None)),
        otherwise=Button("Choose a run", "runs"),
        instead="frontend/settings/share_latest.html",
        latest=experiments()[:LATEST],
        reference=("Who can read a shared page", "frontend/settings/share_example.html"),
        days=SHARED_FOR.days,
    )
