"""Judges and their reliability: all calibrations, one of them with live progress, and the form for a new one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from benchmarks.metrics.judge_calibration import PHRASINGS
from benchmarks.models import Run
from benchmarks.presentation.numbers import plural
from benchmarks.queries import judges as reads
from benchmarks.services.access import Caller, may_launch
from benchmarks.services.errors import InvalidRequest, NotPossible
from benchmarks.services.judges import CalibrationRequest, resume_calibration, start_calibration
from benchmarks.services.runs.control import cancel_run, delete_run
from frontend import params
from frontend.forms import CalibrationForm
from frontend.judges import CalibrationRow, calibration_charts, calibration_row, calibration_rows
from frontend.views.shared import chart_response, or_404, placed, require_launch, unconfirmed

PAGE_SIZE = 50
ACTIONS: dict[str, tuple[Callable[[Run, Caller], object], str]] = {
    "cancel": (cancel_run, "Calibration {} canceled. Its verdicts are kept."),
    "resume": (resume_calibration, "Calibration {} resumed with its existing verdicts."),
    "delete": (delete_run, "Calibration {} deleted."),
}
"""Name in the URL → what it does, and the message that confirms it."""
ANSWERS_PER_QUESTION = 2 * len(PHRASINGS)
"""At most: a correct and a wrong one in each phrasing."""


@never_cache
@require_safe
def calibration_list(request: HttpRequest) -> HttpResponse:
    """All calibrations and the form for a new one, which the URL may fill: ``?judge_model=…&metric=…``."""
    names = map(str, CalibrationRequest().fields)
    filled = {name: value for name in names if (value := params.text(request.GET, name))}
    return _list(request, CalibrationForm(reads.usable_canvas_sets(), initial=filled))


@require_POST
def new_calibration(request: HttpRequest) -> HttpResponse:
    """Start a calibration and redirect to its page."""
    require_launch(request)
    form = CalibrationForm(reads.usable_canvas_sets(), request.POST)
    try:
        run = start_calibration(form.request_data(), request.user)
    except InvalidRequest as error:
        form.reject(error)
        return _list(request, form, status=400)
    messages.success(request, f"Calibration {run.pk} queued.", extra_tags="passing")
    return HttpResponseRedirect(reverse("frontend:calibration", args=(run.pk,)))


@never_cache
@require_safe
def calibration(request: HttpRequest, pk: int) -> HttpResponse:
    row = _row(pk)
    context = {
        "row": row,
        "charts": placed(calibration_charts(row), "calibration-chart", pk),
        "again": f"{reverse('frontend:judges')}?{urlencode(row.request)}",
        "may_launch": may_launch(request.user),
        "crumbs": [("Judges", reverse("frontend:judges")), (f"Calibration {pk}", None)],
    }
    return render(request, "frontend/judges/detail.html", context)


@require_POST
def act(request: HttpRequest, pk: int, action: str) -> HttpResponse:
    """Cancel, resume or delete a calibration, and redirect to where its status is shown."""
    require_launch(request)
    if action not in ACTIONS:
        raise Http404(f"{action} is not an action for calibrations.")
    perform, done = ACTIONS[action]
    page, run = reverse("frontend:calibration", args=(pk,)), _row(pk).run
    question = f"Delete calibration {pk} and its {plural(run.done, 'verdict')}?"
    if action == "delete" and (asked := unconfirmed(request, question, "Delete calibration", page)):
        return asked
    try:
        perform(run, request.user)
    except NotPossible as refusal:
        messages.error(request, refusal.message)
        return HttpResponseRedirect(page)
    messages.success(request, done.format(pk))
    return HttpResponseRedirect(reverse("frontend:judges") if action == "delete" else page)


@never_cache
@require_safe
def progress(request: HttpRequest, pk: int) -> HttpResponse:
    """The live part of a calibration's page. Once the calibration has ended, the page fetches its other parts."""
    row = _row(pk)
    response = render(request, "frontend/judges/status.html", {"row": row})
    if not row.run.is_live:
        response["HX-Trigger"] = "calibration-ended"
    return response


@require_safe
def chart(request: HttpRequest, pk: int, name: str, form: str) -> HttpResponse:
    return chart_response(request, calibration_charts(_row(pk)), name, form)


def _list(request: HttpRequest, form: CalibrationForm, status: int = 200) -> HttpResponse:
    page = Paginator(reads.calibrations(), PAGE_SIZE).get_page(request.GET.get("page"))
    fields: Any = CalibrationRequest().fields
    questions, repeats = fields["questions"].default, fields["repeats"].default
    context: dict[str, Any] = {
        "page": page,
        "rows": calibration_rows(page.object_list),
        "live": any(run.is_live for run in page.object_list),
        "form": form,
        "answers_per_question": ANSWERS_PER_QUESTION,
        "usual": {"questions": questions, "repeats": repeats, "requests": questions * repeats * ANSWERS_PER_QUESTION},
        "phrasings": list(PHRASINGS),
        "may_launch": may_launch(request.user),
    }
    return render(request, "frontend/judges/list.html", context, status=status)


def _row(pk: int) -> CalibrationRow:
    return calibration_row(or_404(lambda: reads.calibration_detail(pk), f"Calibration {pk} does not exist."))
