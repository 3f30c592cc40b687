"""The first page: what runs, what ran last, who is best, what broke; or, with an empty database, what to do."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from benchmarks.queries import datasets as dataset_reads
from benchmarks.queries import runs as run_reads
from benchmarks.queries.schedules import LEVEL, MOST_SHOWN, open_notices
from benchmarks.services.access import may_launch
from benchmarks.statistics.sentences import percent
from frontend.view_models import run_rows, standings

LATEST, LIVE, TROUBLED, RANKED = 10, 6, 5, 200


@require_safe
def overview(request: HttpRequest) -> HttpResponse:
    """Whole page, or for htmx the part that moves."""
    live = run_rows(run_reads.live_runs(LIVE))
    if request.headers.get("HX-Request"):
        return render(request, "frontend/overview/live.html", {"live": live, "polled": True})
    latest = run_rows(run_reads.latest_runs(LATEST))
    context = {
        "live": live,
        "latest": latest,
        "standings": standings(run_reads.completed_runs(RANKED)),
        "ranked_over": RANKED,
        "troubled": run_rows(run_reads.troubled_runs(TROUBLED)),
        "notices": open_notices()[:MOST_SHOWN],
        "notice_level": percent(LEVEL),
        "files": dataset_reads.files_to_mend(),
        "may_launch": may_launch(request.user),
    }
    if not latest:
        context["first_dataset"] = next(iter(dataset_reads.runnable_datasets()), None)
    return render(request, "frontend/overview/overview.html", context)
