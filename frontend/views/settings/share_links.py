"""All share links, to copy and to revoke."""

from __future__ import annotations

from datetime import datetime

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from benchmarks.models import COMPLETED
from benchmarks.queries.access import share_links as valid_links
from benchmarks.queries.experiments import experiments
from benchmarks.queries.runs import runs
from benchmarks.queries.tables.access import SHARE_LINKS, SharedRow
from frontend.sharing import address_of
from frontend.views.lists import Button, Example, listed, page_of
from frontend.views.settings.hub import crumbs
from frontend.views.shared import require_launch

LATEST = 3
"""Experiments, and runs if there are fewer, that can be shared at once."""

_SHARED = (
    ("Run", "Its scores, failures and answers, as they are now", "single-runs"),
    ("Experiment", "Which model or prompt leads, with later runs too", "experiments"),
    ("Comparison", "How runs differ, as they are now", "compare"),
    ("Leaderboard", "All models on a benchmark, with later runs too", "leaderboard"),
)
"""What can be shared, and the route of the page where one finds it."""


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
        lead="Anyone with a link can read its page, and no other, without an account. Links end on their day, "
        "or when you revoke them.",
        empty="No page is shared",
        examples=[Example(name, text, reverse(f"frontend:{route}")) for name, text, route in _SHARED],
        page=page,
        crumbs=crumbs(("Share links", None)),
        add=Button("Choose a run", "runs"),
        instead="frontend/settings/share_latest.html",
        latest=_latest(),
    )


def _latest() -> list[tuple[str, int, str, datetime, str]]:
    """Kind, key, name, start and address of the latest experiments and completed runs."""
    latest = [("experiment", each.pk, each.name, each.created_at) for each in experiments()[:LATEST]]
    single = runs().filter(experiment=None, status__in=COMPLETED).order_by("-pk")[: LATEST - len(latest)]
    latest += [("run", run.pk, f"{run.model} on {run.dataset.title}", run.created_at) for run in single]
    return [(kind, pk, name, at, reverse(f"frontend:{kind}", args=(pk,))) for kind, pk, name, at in latest]
