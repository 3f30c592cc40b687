"""Import runs of other tools from a file, after a preview of what it gives."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from benchmarks.forms.imports import RunImportForm
from benchmarks.models import Run
from benchmarks.presentation.numbers import n_of, plural
from frontend.view_models import metric_rows
from frontend.views.settings.hub import crumbs
from frontend.views.shared import require


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def import_runs(request: HttpRequest) -> HttpResponse:
    """The form; a POST imports the file, or with ``do=preview`` only shows what would be imported."""
    require(request, "benchmarks.launch_run", "benchmarks.add_dataset")
    preview = request.POST.get("do") == "preview"
    data = (request.POST, request.FILES) if request.method == "POST" else (None, None)
    form = RunImportForm(*data, preview=preview)
    runs = form.save(request.user) or ()
    context: dict[str, Any] = {
        "form": form,
        "preview": preview,
        "rows": [(each, metric_rows(each.run), list(_unused(each.run))) for each in runs],
        "crumbs": crumbs(("Import runs", None)),
    }
    template = "imported" if runs and not preview else "import_runs"
    # htmx shows a preview with errors only if its status is 200.
    status = 400 if form.errors and not preview else 200
    return render(request, f"frontend/settings/{template}.html", context, status=status)


def _unused(run: Run) -> Iterator[str]:
    """What of the file has no effect on a score."""
    if run.error_message:
        yield run.error_message
    if run.errors:
        yield f"{n_of(run.errors, run.total)} results have no answer and no score."
    without = [row.title for row in metric_rows(run) if row.mean is None]
    if without:
        yield f"{plural(len(without), 'metric')} without a score: {', '.join(without)}."
