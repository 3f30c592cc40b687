"""A run's results as a file to keep, and a run shown to somebody without an account, for a while."""

from __future__ import annotations

from datetime import timedelta

from django.contrib import messages
from django.core import signing
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, StreamingHttpResponse
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from benchmarks.models import Run
from benchmarks.queries.runs import run_detail
from benchmarks.services.access import LAUNCH_REFUSAL, may_launch, record
from benchmarks.services.errors import NotPossible
from benchmarks.services.runs.exports import CONTENT_TYPES, export_name, export_pieces
from frontend import drawing
from frontend.run_charts import run_charts

SHARED_FOR = timedelta(days=7)
_SALT = "shared run"
# The report styles itself and does nothing else; no other page learns its address, which is a key.
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "private, no-store",
    "X-Robots-Tag": "noindex",
}


@require_safe
def export(request: HttpRequest, pk: int, form: str) -> StreamingHttpResponse:
    if form not in CONTENT_TYPES:
        raise Http404(f"there is no export {form}; choose one of {', '.join(CONTENT_TYPES)}")
    found = _run(pk)
    headers = {**_HEADERS, "Content-Disposition": f'attachment; filename="{export_name(found, form)}"'}
    return _streamed(found, form, headers)


@require_POST
def share(request: HttpRequest, pk: int) -> HttpResponse:
    """Make a link to the run's report that needs no account and ends by itself."""
    if not may_launch(request.user):
        raise PermissionDenied(LAUNCH_REFUSAL)
    found = _run(pk)
    key = signing.dumps({"run": found.pk}, salt=_SALT)
    record(request.user, "run.share", f"run {found.pk}", days=SHARED_FOR.days)
    address = request.build_absolute_uri(reverse("frontend:shared-run", args=(key,)))
    messages.success(request, f"Whoever has this link can read the run's report for {SHARED_FOR.days} days: {address}")
    return HttpResponseRedirect(reverse("frontend:run", args=(pk,)))


@require_safe
def shared_run(request: HttpRequest, key: str) -> StreamingHttpResponse:
    """The report behind a shared link. A forged and an expired link are told alike."""
    try:
        named = signing.loads(key, salt=_SALT, max_age=SHARED_FOR)
    except signing.BadSignature:
        raise Http404("this link has expired or was never made") from None
    return _streamed(_run(named["run"]), "html", _HEADERS)


def _streamed(run: Run, form: str, headers: dict[str, str]) -> StreamingHttpResponse:
    pictures = [drawing.svg(chart, "light") for chart in run_charts(run)] if form == "html" else []
    try:
        pieces = export_pieces(run, form, pictures)
    except NotPossible as refusal:
        raise Http404(refusal.message) from None
    return StreamingHttpResponse(pieces, content_type=CONTENT_TYPES[form], headers=headers)


def _run(pk: int) -> Run:
    try:
        return run_detail(pk)
    except Run.DoesNotExist:
        raise Http404(f"there is no run {pk}") from None
