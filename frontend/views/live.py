"""Lists that refresh themselves: an element asks every few seconds whether anything has changed."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from benchmarks.queries.live import live_state
from frontend import params


@never_cache
@require_safe
def live(request: HttpRequest) -> HttpResponse:
    """The element with a new state and the event on which parts of the page fetch themselves; 204 without a change."""
    state = live_state()
    if state.stamp == params.text(request.GET, "seen"):
        return HttpResponse(status=204)
    response = render(request, "frontend/components/live.html", {"live_state": state})
    response["HX-Trigger"] = "live-changed"
    return response
