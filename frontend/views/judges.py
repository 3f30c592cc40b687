"""Judges and how far they can be trusted: their calibrations, one of them with its live progress, and a new one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from benchmarks.metrics.judge_calibration import WORDINGS
from benchmarks.models import JudgeCalibration
from benchmarks.queries import judges as reads
from benchmarks.services.access import LAUNCH_REFUSAL, Caller, may_launch
from benchmarks.services.errors import InvalidRequest, NotPossible
from benchmarks.services.judges import (
    CalibrationRequest,
    cancel_calibration,
    delete_calibration,
    resume_calibration,
    start_calibration,
)
from frontend import params
from frontend.calibration_charts import calibration_charts
from frontend.calibrations import CalibrationRow, calibration_row, calibration_rows, settings_of
from frontend.forms import CalibrationForm
from frontend.views.shared import chart_response, placed

PAGE_SIZE = 50
ACTIONS: dict[str, tuple[Callable[[JudgeCalibration, Caller], object], str]] = {
    "cancel": (cancel_calibration, "is cancelled; its verdicts are kept"),
    "resume": (resume_calibration, "goes on with the verdicts it has"),
    "delete": (delete_calibration, "is deleted"),
}
"""Name in the address → what is done, and what is then said of the calibration."""
ANSWERS_PER_QUESTION = 2 * len(WORDINGS)
"""At most: a right and a wrong one in each wording."""


@never_cache
@require_safe
def calibration_list(request: HttpRequest) -> HttpResponse:
    """All calibrations and the form for another one, which the address may fill: ``?judge_model=…&metric=…``."""
    names = map(str, CalibrationRequest().fields)
    filled = {name: value for name in names if (value := params.text(request.GET, name))}
    return _list(request, CalibrationForm(reads.canvas_sets_to_examine_on(), initial=filled))


@require_POST
def new_calibration(request: HttpRequest) -> HttpResponse:
    """Start one and go to its page."""
    if not may_launch(request.user):
        raise PermissionDenied(LAUNCH_REFUSAL)
    form = CalibrationForm(reads.canvas_sets_to_examine_on(), request.POST)
    try:
        made = start_calibration(form.request_data(), request.user)
    except InvalidRequest as error:
        form.reject(error)
        return _list(request, form, status=400)
    messages.success(request, f"Calibration {made.pk} is queued.")
    return HttpResponseRedirect(reverse("frontend:calibration", args=(made.pk,)))


@never_cache
@require_safe
def calibration(request: HttpRequest, pk: int) -> HttpResponse:
    row = _row(pk)
    context = {
        "row": row,
        "charts": placed(calibration_charts(row.findings), "calibration-chart", pk),
        "settings": settings_of(row.calibration),
        "may_launch": may_launch(request.user),
        "crumbs": [("Judges", reverse("frontend:judges")), (f"Calibration {pk}", None)],
    }
    return render(request, "frontend/judges/detail.html", context)


@require_POST
def act(request: HttpRequest, pk: int, action: str) -> HttpResponse:
    """Cancel, resume or delete a calibration, and go where its state is to be seen."""
    if not may_launch(request.user):
        raise PermissionDenied(LAUNCH_REFUSAL)
    if action not in ACTIONS:
        raise Http404(f"a calibration knows no action {action}")
    perform, done = ACTIONS[action]
    try:
        perform(_row(pk).calibration, request.user)
    except NotPossible as refusal:
        messages.error(request, refusal.message)
        return HttpResponseRedirect(reverse("frontend:calibration", args=(pk,)))
    messages.success(request, f"Calibration {pk} {done}.")
    gone = action == "delete"
    return HttpResponseRedirect(reverse("frontend:judges") if gone else reverse("frontend:calibration", args=(pk,)))


@never_cache
@require_safe
def progress(request: HttpRequest, pk: int) -> HttpResponse:
    """The part of a calibration's page that moves. The one that finds it ended tells the page to fetch its rest."""
    row = _row(pk)
    response = render(request, "frontend/judges/status.html", {"row": row})
    if not row.live:
        response["HX-Trigger"] = "calibration-ended"
    return response


@require_safe
def chart(request: HttpRequest, pk: int, name: str, form: str) -> HttpResponse:
    return chart_response(request, calibration_charts(_row(pk).findings), name, form)


def _list(request: HttpRequest, form: CalibrationForm, status: int = 200) -> HttpResponse:
    page = Paginator(reads.calibrations(), PAGE_SIZE).get_page(request.GET.get("page"))
    rows = calibration_rows(page.object_list)
    context: dict[str, Any] = {
        "page": page,
        "rows": rows,
        "live": any(row.live for row in rows),
        "form": form,
        "answers_per_question": ANSWERS_PER_QUESTION,
        "usual": _usual(),
        "phrasings": list(WORDINGS),
        "may_launch": may_launch(request.user),
    }
    return render(request, "frontend/judges/list.html", context, status=status)


def _usual() -> dict[str, int]:
    """What a request that changes no number takes."""
    fields: Any = CalibrationRequest().fields
    questions, repeats = fields["questions"].default, fields["repeats"].default
    return {"questions": questions, "repeats": repeats, "requests": questions * repeats * ANSWERS_PER_QUESTION}


def _row(pk: int) -> CalibrationRow:
    try:
        return calibration_row(reads.calibration_detail(pk))
    except JudgeCalibration.DoesNotExist:
        raise Http404(f"there is no calibration {pk}") from None
