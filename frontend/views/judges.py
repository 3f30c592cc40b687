"""Judges and their reliability: all calibrations, one of them with live progress, and the form for a new one."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl, urlencode

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from benchmarks.metrics.judge_calibration import PHRASINGS
from benchmarks.models import RunKind
from benchmarks.presentation.judges import ENOUGH
from benchmarks.queries import judges as reads
from benchmarks.queries.judge_agreement import judge_agreement
from benchmarks.queries.judge_words import judge_rows, rows_of
from benchmarks.queries.live import stamp_of_judging, stamp_of_run
from benchmarks.queries.tables.judges import (
    BY_ANSWER,
    CALIBRATIONS,
    CORRECTED_RUNS,
    JUDGES_IN_USE,
    SEPARATIONS,
    part_table,
)
from benchmarks.services.access import may_launch
from benchmarks.services.errors import InvalidRequest
from benchmarks.services.judges import CalibrationRequest, start_calibration
from frontend import params
from frontend.forms import CalibrationForm
from frontend.judge_agreement import SHOWN, AgreementPage, labels_chart
from frontend.judges import CalibrationRow, calibration_row
from frontend.navigation import trail
from frontend.views.live import live_read
from frontend.views.shared import act_on_judging, chart_response, or_404, placed, require_launch

PAGE_SIZE = 50
ANSWERS_PER_QUESTION = 2 * len(PHRASINGS)
"""At most: a correct and a wrong one in each phrasing."""


@live_read(lambda: stamp_of_judging(RunKind.CALIBRATION), within_page=True)
def calibration_list(request: HttpRequest) -> HttpResponse:
    """All calibrations and the form for a new one, which the URL may fill: ``?judge_model=…&metric=…``."""
    names = map(str, CalibrationRequest().fields)
    filled = {name: value for name in names if (value := params.text(request.GET, name))}
    return _list(request, CalibrationForm(reads.usable_canvas_sets(), initial=filled))


@require_http_methods(["GET", "HEAD", "POST"])
def new_calibration(request: HttpRequest) -> HttpResponse:
    """Leads to the form, which the list has; a POST starts a calibration and leads to its page."""
    require_launch(request)
    if request.method != "POST":
        return HttpResponseRedirect(f"{reverse('frontend:judges')}#new-title")
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
        **_status(row),
        "again": f"{reverse('frontend:judges')}?{urlencode(row.request)}",
        "may_launch": may_launch(request.user),
        "crumbs": trail("judges", (f"Calibration {pk}", None)),
    }
    return render(request, "frontend/judges/detail.html", context)


@never_cache
@require_safe
def agreement(request: HttpRequest) -> HttpResponse:
    """A judge's agreement with people: ``?judge=…&metric=…``, on one ``run``, on an ``experiment``, or on all runs.

    ``first`` and ``second`` are two runs to tell apart.
    """
    page, query = _agreement(request)
    context = {
        "hidden": parse_qsl(query),
        "may_launch": may_launch(request.user),
        "page": page,
        "disagreements": page.disagreements,
        "shown": SHOWN,
        "runs": CORRECTED_RUNS.of(page.agreement.runs),
        "separations": SEPARATIONS.of(page.separations),
        "by_model": part_table("Model").of(page.agreement.by_model),
        "by_class": part_table("Class").of(page.agreement.by_class),
        "known": BY_ANSWER.of(page.calibration.shares[1:] if page.calibration and page.calibration.numbers else ()),
        "charts": placed([labels_chart(page.agreement.corrected)], "judge-agreement-chart", query=query),
        "crumbs": trail("judges", (page.title, None)),
    }
    return render(request, "frontend/judges/people.html", context)


@require_safe
def agreement_chart(request: HttpRequest, name: str, form: str) -> HttpResponse:
    page, _ = _agreement(request)
    return chart_response(request, [labels_chart(page.agreement.corrected)], name, form)


@require_POST
def act(request: HttpRequest, pk: int, action: str) -> HttpResponse:
    """Cancel, resume or delete a calibration."""
    require_launch(request)
    return act_on_judging(request, _row(pk), action)


@live_read(stamp_of_run)
def progress(request: HttpRequest, pk: int) -> HttpResponse:
    """The live part of a calibration's page. Once the calibration has ended, the page fetches its other parts."""
    row = _row(pk)
    response = render(request, "frontend/judges/status.html", _status(row))
    if not row.run.is_live:
        response["HX-Trigger"] = "calibration-ended"
    return response


def _status(row: CalibrationRow) -> dict[str, object]:
    """The calibration, and once it has ended, what is known of its judge beside it."""
    judge = rows_of([(row.run.judge_model, row.run.metrics[0])])[0] if row.numbers else None
    return {"row": row, "judge": judge}


def _agreement(request: HttpRequest) -> tuple[AgreementPage, str]:
    """The page and its query."""
    judge, metric = params.text(request.GET, "judge"), params.text(request.GET, "metric")
    scope = {name: params.whole_number(request.GET, name) for name in ("run", "experiment")}
    compared = judge_agreement(judge, metric, **scope)
    if compared is None:
        raise Http404("No random review was drawn from answers that this judge has scored.")
    chosen = {"judge": judge, "metric": metric} | {name: value for name, value in scope.items() if value is not None}
    pair = tuple(pk for name in ("first", "second") if (pk := params.whole_number(request.GET, name)))
    return AgreementPage(compared, pair), urlencode(chosen)


def _list(request: HttpRequest, form: CalibrationForm, status: int = 200) -> HttpResponse:
    page = Paginator(reads.calibrations(), PAGE_SIZE).get_page(request.GET.get("page"))
    fields: Any = CalibrationRequest().fields
    questions, repeats, launches = fields["questions"].default, fields["repeats"].default, may_launch(request.user)
    judges = judge_rows()
    context: dict[str, Any] = {
        "page": page,
        "calibrations": CALIBRATIONS.of(page.object_list),
        "live": any(run.is_live for run in page.object_list),
        "form": form,
        "answers_per_question": ANSWERS_PER_QUESTION,
        "enough": ENOUGH,
        "usual": {"questions": questions, "repeats": repeats, "requests": questions * repeats * ANSWERS_PER_QUESTION},
        "phrasings": list(PHRASINGS),
        "judges": JUDGES_IN_USE.where(may_launch=launches).of(judges),
        "next_step": any(row.comes_next and row.run for row in judges),
        "may_launch": launches,
    }
    return render(request, "frontend/judges/list.html", context, status=status)


def _row(pk: int) -> CalibrationRow:
    return calibration_row(or_404(lambda: reads.calibration_detail(pk), f"Calibration {pk} does not exist."))
