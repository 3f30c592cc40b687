"""Lists that refresh themselves: an element asks every few seconds whether anything has changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import cache_control, never_cache
from django.views.decorators.http import etag, require_safe

from benchmarks.queries.live import live_state
from frontend import params

View = TypeVar("View", bound=Callable[..., HttpResponse])


@never_cache
@require_safe
def live(request: HttpRequest) -> HttpResponse:
    """The element with a new state and the event on which parts of the page fetch themselves; 204 without a change.

    What was seen is in the address, so it needs no ETag.
    """
    state = live_state()
    if state.stamp == params.text(request.GET, "seen"):
        return HttpResponse(status=204)
    response = render(request, "frontend/components/live.html", {"live_state": state})
    response["HX-Trigger"] = "live-changed"
    return response


def live_read(stamp: Callable[..., str | None], *, within_page: bool = False) -> Callable[[View], View]:
    """A view of a part that a page reads again and again: with an ETag, and 304 while the ``stamp`` of what its address
    names stays the same.

    What it shows may differ between users, so their keys are in the tag. A part without a stamp has no tag. A part
    ``within_page`` has the address of its page, which has no tag itself, because it also shows messages.
    """

    def tag(request: HttpRequest, **named: int) -> str | None:
        if within_page and "HX-Request" not in request.headers:
            return None
        found = stamp(**named)
        return f'"{found}-{request.user.pk or 0}"' if found else None

    def decorate(view: View) -> View:
        # Not ``never_cache``, which forbids the browser to keep what a 304 refers to.
        return cache_control(private=True, no_cache=True)(require_safe(etag(tag)(view)))

    return decorate
