"""Import runs of other tools from files, after a preview of what they give."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from benchmarks.dataset_format.problems import printable
from benchmarks.forms.imports import RunImportForm
from benchmarks.imports.registered_importers import IMPORTERS
from benchmarks.models import PushedRun, Run
from benchmarks.presentation.numbers import n_of, plural
from benchmarks.queries.runs import receiving
from benchmarks.queries.tables.runs import IMPORTED_RUNS, RECEIVING, ImportedRow
from benchmarks.services.errors import NotPossible
from benchmarks.services.imports import Imported, ImportPreview
from benchmarks.services.pushes.receiving import delete_push
from frontend.view_models import metric_rows
from frontend.views.settings.hub import crumbs
from frontend.views.shared import require, unconfirmed

NEEDED = ("benchmarks.launch_run", "benchmarks.add_dataset")


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def import_runs(request: HttpRequest) -> HttpResponse:
    """The form; a POST imports the files, or with ``do=preview`` only shows what would be imported."""
    require(request, *NEEDED)
    preview = request.POST.get("do") == "preview"
    data = (request.POST, request.FILES) if request.method == "POST" else (None, None)
    form = RunImportForm(*data, preview=preview)
    runs = form.save(request.user) or ()
    context: dict[str, Any] = {
        "form": form,
        "importers": IMPORTERS.values(),
        "receiving": RECEIVING.of(receiving()),
        "preview": preview,
        "runs": IMPORTED_RUNS.of(_row(each, preview) for each in runs),
        "experiment": runs[0].run.experiment_id if runs else None,
        "crumbs": crumbs(("Import runs", None)),
    }
    template = "imported" if runs and not preview else "import_runs"
    # htmx shows a preview with errors only if its status is 200.
    status = 400 if form.errors and not preview else 200
    return render(request, f"frontend/settings/{template}.html", context, status=status)


@require_POST
def delete_pushed(request: HttpRequest, pk: int) -> HttpResponse:
    """Delete a run that receives results, with them."""
    require(request, *NEEDED)
    pushed = get_object_or_404(PushedRun, pk=pk)
    question = f"Delete the open run of {printable(pushed.model)} and its {plural(pushed.received, 'result')}?"
    if confirmation := unconfirmed(request, question, "Delete run", reverse("frontend:import-runs")):
        return confirmation
    try:
        delete_push(pushed, request.user)
        messages.success(request, f"Deleted the open run of {printable(pushed.model)} with what it had received.")
    except NotPossible as refusal:
        messages.error(request, refusal.message)
    return redirect("frontend:import-runs")


def _row(each: Imported | ImportPreview, is_preview: bool) -> ImportedRow:
    created = (each.creates_dataset, each.creates_version) if isinstance(each, ImportPreview) else ()
    return ImportedRow(each.run, each.is_new, is_preview, [*each.unused, *_without_effect(each.run)], *created)


def _without_effect(run: Run) -> Iterator[str]:
    """What of the run has no effect on a score."""
    if run.error_message:
        yield run.error_message
    if run.errors:
        yield f"{n_of(run.errors, run.total)} results have no answer and no score."
    without = [row.title for row in metric_rows(run) if row.mean is None]
    if without:
        yield f"{plural(len(without), 'metric')} without a score: {', '.join(without)}."
