"""The chart script, and the theme that a reader chose."""

from __future__ import annotations

from pathlib import Path

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_GET, require_POST

from frontend import drawing
from frontend.context_processors import THEME_COOKIE, THEMES

_YEAR = 365 * 24 * 3600


@require_GET
def charts_script(request: HttpRequest, version: str) -> HttpResponse:
    """Vega-Embed with its dependencies. The address names the version, so browsers may cache it forever."""
    if version != drawing.BUNDLE_VERSION:
        raise Http404("This version of the chart script is not available. Reload the page.")
    content = drawing.bundle(Path(settings.STATE_DIR) / "assets")
    headers = {"Cache-Control": f"public, max-age={_YEAR}, immutable", "Content-Encoding": "gzip"}
    return HttpResponse(content, content_type="text/javascript; charset=utf-8", headers=headers)


@require_POST
def theme(request: HttpRequest) -> HttpResponse:
    """Store the theme in a cookie and go back."""
    back = request.POST.get("next", "/")
    # Only paths of this site: an address of another host would make this an open redirect.
    if not url_has_allowed_host_and_scheme(back, allowed_hosts=None):
        back = "/"
    response = HttpResponseRedirect(back)
    chosen = request.POST.get("theme", "")
    if chosen in THEMES:
        response.set_cookie(THEME_COOKIE, chosen, max_age=_YEAR, samesite="Lax", secure=request.is_secure())
    else:
        response.delete_cookie(THEME_COOKIE)
    return response
