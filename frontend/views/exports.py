"""A run's results as a file, and its report behind a link that needs no account and expires."""

from __future__ import annotations

from django.contrib import messages
from django.core.exceptions import ObjectDoesNotExist
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, StreamingHttpResponse
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from benchmarks.models import Run
from benchmarks.queries.judge_words import measured_metrics
from benchmarks.queries.matrix import UnknownChoice
from benchmarks.queries.matrix_export import MATRIX_TYPES, matrix_file
from benchmarks.services.errors import NotPossible
from benchmarks.services.runs import exports as services
from benchmarks.services.runs.exports import CONTENT_TYPES, export_name, export_pieces
from frontend import drawing, params
from frontend.run_charts import run_charts
from frontend.views.shared import require_launch, run_or_404, unconfirmed

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
        raise Http404(f"The export format {form} is not available. Choose one of: {', '.join(CONTENT_TYPES)}.")
    run = run_or_404(pk)
    headers = {**_HEADERS, "Content-Disposition": f'attachment; filename="{export_name(run, form)}"'}
    return _streamed(run, form, headers)


@require_safe
def matrix(request: HttpRequest, form: str) -> HttpResponse:
    """The matrix of ``?experiment=3`` or of ``?runs=1,2`` with the selection of its page."""
    if form not in MATRIX_TYPES:
        raise Http404(f"The export format {form} is not available. Choose one of: {', '.join(MATRIX_TYPES)}.")
    metric, dataset, facet = (params.text(request.GET, name) for name in ("metric", "dataset", "columns"))
    try:
        content, name = matrix_file(
            form,
            experiment=params.whole_number(request.GET, "experiment"),
            runs=params.whole_numbers(request.GET, "runs"),
            metric=metric,
            dataset=dataset,
            facet=facet,
        )
    except ObjectDoesNotExist:
        raise Http404("There are no runs to export.") from None
    except UnknownChoice as unknown:
        raise Http404(str(unknown)) from None
    headers = {**_HEADERS, "Content-Disposition": f'attachment; filename="{name}"'}
    return HttpResponse(content, content_type=MATRIX_TYPES[form], headers=headers)


@require_POST
def share(request: HttpRequest, pk: int) -> HttpResponse:
    """Create a link to the run's report."""
    require_launch(request)
    run = run_or_404(pk)
    services.share_run(run, request.user)
    messages.success(request, "Share link created.", extra_tags="passing")
    return HttpResponseRedirect(reverse("frontend:run", args=(pk,)))


def shared_address(request: HttpRequest, run: Run) -> str:
    """The address of the latest share link of a run."""
    return request.build_absolute_uri(reverse("frontend:shared-run", args=(services.shared_key(run),)))


@require_POST
def revoke_links(request: HttpRequest, pk: int) -> HttpResponse:
    """Make all links to the run's report invalid."""
    require_launch(request)
    run, page = run_or_404(pk), reverse("frontend:run", args=(pk,))
    if request.POST.get("back") == "links":
        page = reverse("frontend:share-links")
    question, note = f"Revoke all share links of run {pk}?", "They no longer open the report."
    if confirmation := unconfirmed(request, question, "Revoke share links", page, note):
        return confirmation
    services.revoke_links(run, request.user)
    messages.success(request, "Share links revoked. They no longer open the report.")
    return HttpResponseRedirect(page)


@require_safe
def shared_run(request: HttpRequest, key: str) -> StreamingHttpResponse:
    """The report behind a share link. A forged link, an expired and a revoked one get the same answer."""
    run = services.shared_run(key)
    if run is None:
        raise Http404("This link has expired or is not valid. Ask for a new one.")
    return _streamed(run_or_404(run.pk), "html", _HEADERS)


def _streamed(run: Run, form: str, headers: dict[str, str]) -> StreamingHttpResponse:
    judged = measured_metrics(run) if form == "html" else None
    pictures = [(chart.title, drawing.svg(chart, "light")) for chart in run_charts(run)] if form == "html" else []
    try:
        pieces = export_pieces(run, form, pictures, judged)
    except NotPossible as refusal:
        raise Http404(refusal.message) from None
    return StreamingHttpResponse(pieces, content_type=CONTENT_TYPES[form], headers=headers)
