"""A run's results as a file, and the matrix of several runs."""

from __future__ import annotations

from django.core.exceptions import ObjectDoesNotExist
from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.views.decorators.http import require_safe

from benchmarks.models import Run
from benchmarks.queries.judge_words import measured_metrics
from benchmarks.queries.matrix import UnknownChoice
from benchmarks.queries.matrix_export import MATRIX_TYPES, matrix_file
from benchmarks.queries.runs import runs_named
from benchmarks.services.errors import NotPossible
from benchmarks.services.runs.exports import CONTENT_TYPES, RESULTS, export_name, export_pieces, export_results
from frontend import drawing, params
from frontend.run_charts import run_charts
from frontend.views.shared import run_or_404

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "private, no-store",
    "X-Robots-Tag": "noindex",
}
"""A report styles itself and does nothing else; no other page learns its address, which may be a key."""


@require_safe
def export(request: HttpRequest, pk: int, form: str) -> StreamingHttpResponse:
    if form not in CONTENT_TYPES:
        raise Http404(f"The export format {form} is not available. Choose one of: {', '.join(CONTENT_TYPES)}.")
    run = run_or_404(pk)
    headers = {**HEADERS, "Content-Disposition": f'attachment; filename="{export_name([run], form)}"'}
    return streamed(run, form, headers)


@require_safe
def results(request: HttpRequest, form: str) -> StreamingHttpResponse:
    """The results of the runs ``?runs=1,2`` in one file."""
    if form not in RESULTS:
        raise Http404(f"The export format {form} is not available. Choose one of: {', '.join(RESULTS)}.")
    try:
        runs = runs_named(params.whole_numbers(request.GET, "runs"))
        pieces = export_results(runs, form)
    except Run.DoesNotExist as missing:
        raise Http404(str(missing)) from None
    except NotPossible as refusal:
        raise Http404(refusal.message) from None
    headers = {**HEADERS, "Content-Disposition": f'attachment; filename="{export_name(runs, form)}"'}
    return StreamingHttpResponse(pieces, content_type=CONTENT_TYPES[form], headers=headers)


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
            margin=params.margin(request.GET),
        )
    except ObjectDoesNotExist:
        raise Http404("There are no runs to export.") from None
    except UnknownChoice as unknown:
        raise Http404(str(unknown)) from None
    headers = {**HEADERS, "Content-Disposition": f'attachment; filename="{name}"'}
    return HttpResponse(content, content_type=MATRIX_TYPES[form], headers=headers)


def streamed(run: Run, form: str, headers: dict[str, str]) -> StreamingHttpResponse:
    """A file of a run. Raises ``Http404`` for a form that is not available here."""
    judged = measured_metrics(run) if form == "html" else None
    pictures = [(chart.title, drawing.svg(chart, "light")) for chart in run_charts(run)] if form == "html" else []
    try:
        pieces = export_pieces(run, form, pictures, judged)
    except NotPossible as refusal:
        raise Http404(refusal.message) from None
    return StreamingHttpResponse(pieces, content_type=CONTENT_TYPES[form], headers=headers)
