"""Canvas sets: generate, extend, audit and delete them. Their canvases and audits are on the dashboard."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.html import format_html
from django.utils.http import urlencode

from benchmarks.admin.base import ServiceDeletion, change_url, column, form_data
from benchmarks.admin.forms import ProblemForm
from benchmarks.services.canvas_sets import control
from benchmarks.services.canvas_sets.control import MOST_CANVASES
from tasks_app.canvas.generator import MAX_SHAPES
from tasks_app.models import CanvasSet


class GenerateForm(ProblemForm):
    """The settings of a set. The service validates them."""

    shapes = forms.CharField(
        required=False, help_text=f"A number from 1 to {MAX_SHAPES} such as 7, or a range such as 3-12"
    )
    count = forms.CharField(required=False, label="Canvases", help_text=f"Total number, up to {MOST_CANVASES:,}")
    seed = forms.CharField(required=False, initial="0", help_text="The same seed generates the same set")
    name = forms.CharField(required=False, help_text="Empty: a name is generated")
    tracking_steps = forms.CharField(
        required=False, initial="3", help_text="Number of changes and swaps in a tracking question"
    )

    fieldsets = (
        (None, {"fields": ("shapes", "count", "seed")}),
        ("More options", {"fields": ("name", "tracking_steps")}),
    )


def _shapes(canvas_set: CanvasSet) -> str:
    low, high = canvas_set.shapes_low, canvas_set.shapes_high
    return f"{low}-{high}" if high > low else str(low)


def _progress(canvas_set: CanvasSet) -> str:
    if canvas_set.count >= canvas_set.wanted:
        return f"{canvas_set.count:,}"
    state = "stopped by an error" if canvas_set.error_message else "being generated"
    return f"{canvas_set.count:,} of {canvas_set.wanted:,}, {state}"


def _link_to_more(canvas_set: CanvasSet) -> str:
    """A link to the form with the settings of the set, in which only the number of canvases has to be raised."""
    if canvas_set.origin != CanvasSet.Origin.GENERATED:
        return "not available for imported sets"
    settings: dict[str, str | int] = {
        "shapes": _shapes(canvas_set),
        "count": canvas_set.wanted,
        "seed": canvas_set.seed or 0,
        "name": canvas_set.name,
        "tracking_steps": canvas_set.tracking_steps,
    }
    return format_html(
        '<a href="{}?{}">Raise the number of canvases</a>',
        reverse("admin:tasks_app_canvasset_add"),
        urlencode(settings),
    )


@admin.register(CanvasSet)
class CanvasSetAdmin(ServiceDeletion):
    list_display = ("name", "shapes", "progress", "audited_canvases", "seed", "origin", "created_at")
    list_filter = ("origin",)
    search_fields = ("slug", "name")
    ordering = ("-id",)
    actions = ("audit_sets", "continue_sets", "delete_selected")
    list_fields = (
        *("name", "slug", "origin", "seed", "shapes_low", "shapes_high", "count", "wanted", "audited"),
        *("error_message", "created_at"),
    )
    fields = (
        *("name", "slug", "origin", "progress", "more_link", "audited_canvases", "error_message"),
        *("shapes", "seed", "tracking_steps", "generator_version", "created_at"),
    )

    shapes = column("shapes", _shapes)
    progress = column("canvases", _progress)
    audited_canvases = column("audited", lambda canvas_set: f"{canvas_set.audited:,} of {canvas_set.count:,}")
    more_link = column("add canvases", _link_to_more)

    def view_on_site(self, obj: CanvasSet) -> str:
        return reverse("frontend:gallery", args=(obj.slug,))

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Nothing of a set can be edited, because its canvases depend on its settings."""
        return False

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Any = None) -> HttpResponse:
        """The form. A job generates the canvases."""
        if not self.has_add_permission(request):
            raise PermissionDenied
        initial = {name: request.GET[name] for name in GenerateForm.base_fields if name in request.GET}
        form = GenerateForm(*form_data(request), initial=initial)
        if form.is_valid():
            values = {name: value for name, value in form.cleaned_data.items() if value}
            if canvas_set := form.save(lambda: control.request_canvas_set(values, request.user)):
                self.log_addition(request, canvas_set, f"{canvas_set.wanted:,} canvases requested.")
                messages.success(request, f"Generating {canvas_set.name} with {canvas_set.wanted:,} canvases.")
                return HttpResponseRedirect(change_url(canvas_set))
        return self.form_page(request, form, title="Generate canvas set")

    @admin.action(description="Audit selected sets again", permissions=["add"])
    def audit_sets(self, request: HttpRequest, queryset: QuerySet[CanvasSet]) -> None:
        for canvas_set in queryset:
            control.request_audit(canvas_set)
        messages.success(request, f"Audits queued: {queryset.count()}.")

    @admin.action(description="Resume generation after an error", permissions=["add"])
    def continue_sets(self, request: HttpRequest, queryset: QuerySet[CanvasSet]) -> None:
        stopped = list(queryset.exclude(error_message=""))
        for canvas_set in stopped:
            control.resume_generation(canvas_set)
        messages.success(request, f"Sets resumed: {len(stopped)}.")

    def deletion_notes(self, obj: CanvasSet) -> tuple[str, str]:
        return f"{obj.count:,} canvases", control.why_not_deletable(obj)

    def delete_by_service(self, request: HttpRequest, obj: CanvasSet) -> None:
        control.delete_canvas_set(obj, request.user)
