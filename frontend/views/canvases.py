"""Canvas sets, their pictures, one canvas with every answer to it, and the audit of a set."""

from __future__ import annotations

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.safestring import mark_safe
from django.views.decorators.http import require_POST, require_safe

from benchmarks.models import Outcome
from benchmarks.queries import canvas_sets as reads
from benchmarks.queries.keyset import BadCursor
from benchmarks.services.access import EDIT_REFUSAL, may_edit, may_launch
from benchmarks.services.canvas_sets.control import request_canvas_set
from benchmarks.services.errors import InvalidRequest
from frontend import params
from frontend.forms import CanvasSetForm
from tasks_app.canvas import picture as drawing
from tasks_app.canvas.shapes import Shape, distinct_names
from tasks_app.models import Canvas, CanvasSet

_DAY = 24 * 3600


@require_safe
def set_list(request: HttpRequest) -> HttpResponse:
    return _list(request, CanvasSetForm())


@require_POST
def new_set(request: HttpRequest) -> HttpResponse:
    """Ask for a set; a job draws it."""
    if not may_edit(request.user):
        raise PermissionDenied(EDIT_REFUSAL)
    form = CanvasSetForm(request.POST)
    try:
        made = request_canvas_set(form.request_data(), request.user)
    except InvalidRequest as error:
        form.reject(error.errors)
        return _list(request, form, status=400)
    messages.success(request, f"{made.name} is being drawn.")
    return HttpResponseRedirect(reverse("frontend:gallery", args=(made.slug,)))


@require_safe
def gallery(request: HttpRequest, slug: str) -> HttpResponse:
    found = _set(slug)
    filters = reads.GalleryFilters(
        n_shapes=params.whole_number(request.GET, "n_shapes"),
        task=params.text(request.GET, "task"),
        answer=params.text(request.GET, "answer"),
        run=params.whole_number(request.GET, "run"),
        outcome=params.text(request.GET, "outcome"),
    )
    try:
        page = reads.gallery_page(found, filters, request.GET.get("after"), request.GET.get("before"))
    except BadCursor:
        page = reads.gallery_page(found, filters, None, None)
    context = {
        "set": found,
        "filters": filters,
        "page": page,
        "shape_counts": range(found.shapes_low, found.shapes_high + 1),
        "tasks": found.task_classes,
        "answers": reads.answers_of(found, filters.task) if filters.task else [],
        "runs": [(pk, f"Run {pk}: {model}") for pk, model in reads.runs_on(found)],
        "outcomes": Outcome.choices,
        "may_launch": may_launch(request.user),
        "crumbs": [("Canvas sets", reverse("frontend:canvases")), (found.name, None)],
    }
    return render(request, "frontend/canvases/gallery.html", context)


@require_safe
def canvas(request: HttpRequest, slug: str, index: int) -> HttpResponse:
    found = _canvas(slug, index)
    questions = reads.questions_of(found)
    answers = reads.answers_to(questions)
    before, after = reads.canvas_neighbours(found)
    shapes = _shapes(found)
    context = {
        "canvas": found,
        "set": found.canvas_set,
        # Drawn by our own code from the shapes' numbers and known words; it escapes whatever else it is given.
        "picture": mark_safe(drawing.svg(shapes, str(found))),
        "shapes": list(zip(distinct_names(shapes), shapes, strict=True)),
        "descriptions": sorted(found.descriptions.items()),
        "questions": [(question, answers.get(question.pk, [])) for question in questions],
        "previous": None if before is None else reverse("frontend:canvas", args=(slug, before)),
        "following": None if after is None else reverse("frontend:canvas", args=(slug, after)),
        "crumbs": [
            ("Canvas sets", reverse("frontend:canvases")),
            (found.canvas_set.name, reverse("frontend:gallery", args=(slug,))),
            (f"Canvas {index}", None),
        ],
    }
    return render(request, "frontend/canvases/canvas.html", context)


@require_safe
def picture(request: HttpRequest, slug: str, index: int) -> HttpResponse:
    found = _canvas(slug, index)
    headers = {"Cache-Control": f"private, max-age={_DAY}"}
    return HttpResponse(drawing.svg(_shapes(found), str(found)), content_type="image/svg+xml", headers=headers)


@require_safe
def audit(request: HttpRequest, slug: str) -> HttpResponse:
    found = _set(slug)
    context = {
        "set": found,
        "audit": found.audit,
        "crumbs": [
            ("Canvas sets", reverse("frontend:canvases")),
            (found.name, reverse("frontend:gallery", args=(slug,))),
            ("Audit", None),
        ],
    }
    return render(request, "frontend/canvases/audit.html", context)


def _list(request: HttpRequest, form: CanvasSetForm, status: int = 200) -> HttpResponse:
    context = {"sets": reads.set_list(), "form": form, "may_edit": may_edit(request.user)}
    return render(request, "frontend/canvases/list.html", context, status=status)


def _shapes(canvas: Canvas) -> list[Shape]:
    return [Shape(row["shape"], row["color"], row["size"], tuple(row["center"])) for row in canvas.shapes]


def _set(slug: str) -> CanvasSet:
    try:
        return reads.set_detail(slug)
    except CanvasSet.DoesNotExist:
        raise Http404(f"there is no canvas set {slug}") from None


def _canvas(slug: str, index: int) -> Canvas:
    try:
        return reads.canvas_detail(slug, index)
    except Canvas.DoesNotExist:
        raise Http404(f"the set {slug} has no canvas {index}") from None
