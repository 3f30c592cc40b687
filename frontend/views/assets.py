"""What pages are made with: the drawing script, drawn charts, the chosen colours."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_GET, require_POST

from frontend import drawing
from frontend.chart_parts import Chart
from frontend.context_processors import THEME_COOKIE, THEMES

_YEAR = 365 * 24 * 3600


@require_GET
def charts_script(request: HttpRequest, version: str) -> HttpResponse:
    """Vega-Embed and all it needs. The address names the version, so that browsers may keep it for good."""
    if version != drawing.BUNDLE_VERSION:
        raise Http404("this version of the drawing script is not here")
    content = drawing.bundle(Path(settings.STATE_DIR) / "assets")
    headers = {"Cache-Control": f"public, max-age={_YEAR}, immutable", "Content-Encoding": "gzip"}
    return HttpResponse(content, content_type="text/javascript; charset=utf-8", headers=headers)


@require_POST
def theme(request: HttpRequest) -> HttpResponse:
    """Remember the chosen colours in a cookie and go back."""
    back = request.POST.get("next", "/")
    if not url_has_allowed_host_and_scheme(back, allowed_hosts=None):
        back = "/"
    response = HttpResponseRedirect(back)
    chosen = request.POST.get("theme", "")
    if chosen in THEMES:
        response.set_cookie(THEME_COOKIE, chosen, max_age=_YEAR, samesite="Lax", secure=request.is_secure())
    else:
        response.delete_cookie(THEME_COOKIE)
    return response


def drawn(request: HttpRequest, charts: Iterable[Chart | None], name: str, form: str) -> HttpResponse:
    """The chart of that name as SVG or PNG, in the colours asked for by ``?theme=``."""
    chart = next((chart for chart in charts if chart is not None and chart.name == name), None)
    if chart is None or form not in ("svg", "png"):
        raise Http404("there is no such chart")
    colours: drawing.Theme = "dark" if request.GET.get("theme") == "dark" else "light"
    if form == "png":
        return HttpResponse(drawing.png(chart, colours), content_type="image/png")
    # A picture opened by itself is a document: it may style itself and do nothing else.
    policy = {"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'"}
    return HttpResponse(drawing.svg(chart, colours), content_type="image/svg+xml", headers=policy)
