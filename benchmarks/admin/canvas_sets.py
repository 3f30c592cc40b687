"""Canvas sets: generated from a form by a job, drawn on, audited anew and deleted; their canvases are looked at."""

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

from benchmarks.admin.base import ModelAdmin, change_url, shown_json
from benchmarks.services.canvas_sets import control as services
from benchmarks.services.canvas_sets.request import MOST_CANVASES
from benchmarks.services.errors import InvalidRequest
from tasks_app.canvas.generator import MAX_SHAPES
from tasks_app.models import CanvasSet

ASKED = ("shapes", "count", "seed", "name", "tracking_steps")


class GenerateForm(forms.Form):
    """What to draw. The service checks it and words the errors."""

    shapes = forms.CharField(required=False, help_text=f"1 to {MAX_SHAPES}, or a range such as 3-12, in turns")
    count = forms.CharField(required=False, help_text=f"Canvases that the set is to have, up to {MOST_CANVASES:,}")
    seed = forms.CharField(required=False, initial="0", help_text="The same seed draws the same canvases everywhere")
    name = forms.CharField(required=False, help_text="By default its shapes and seed")
    tracking_steps = forms.CharField(
        required=False, initial="3", help_text="Changes and swaps that the tracking questions tell"
    )

    fieldsets = ((None, {"fields": ("shapes", "count", "seed")}), ("More", {"fields": ("name", "tracking_steps")}))

    def request_data(self) -> dict[str, str]:
        return {name: value for name, value in self.cleaned_data.items() if value}


@admin.register(CanvasSet)
class CanvasSetAdmin(ModelAdmin):
    list_display = ("name", "shapes", "progress", "audit_state", "seed", "origin", "created_at")
    list_filter = ("origin",)
    search_fields = ("slug", "name")
    ordering = ("-id",)
    actions = ("audit_sets", "continue_sets")
    shown = (
        *("name", "slug", "origin", "seed", "shapes_low", "shapes_high", "count", "wanted", "audited"),
        *("error_message", "created_at"),
    )
    fieldsets = (
        (None, {"fields": ("name", "slug", "origin", "progress", "more_link", "audit_state", "error_message")}),
        (
            "What its canvases depend on",
            {"fields": ("shapes", "seed", "tracking_steps", "classes", "generator_version")},
        ),
        ("What was found", {"fields": ("not_applicable_json", "audit_json"), "classes": ("collapse",)}),
    )

    @admin.display(description="shapes", ordering="shapes_low")
    def shapes(self, canvas_set: CanvasSet) -> str:
        return _shapes(canvas_set)

    @admin.display(description="canvases")
    def progress(self, canvas_set: CanvasSet) -> str:
        if canvas_set.count < canvas_set.wanted:
            state = "stopped by an error" if canvas_set.error_message else "being drawn"
            return f"{canvas_set.count:,} of {canvas_set.wanted:,}, {state}"
        return f"{canvas_set.count:,}"

    @admin.display(description="audited")
    def audit_state(self, canvas_set: CanvasSet) -> str:
        return "all" if canvas_set.audited >= canvas_set.count else f"{canvas_set.audited:,} of {canvas_set.count:,}"

    @admin.display(description="task classes")
    def classes(self, canvas_set: CanvasSet) -> str:
        return ", ".join(canvas_set.task_classes)

    @admin.display(description="not applicable")
    def not_applicable_json(self, canvas_set: CanvasSet) -> str:
        return shown_json(canvas_set.not_applicable)

    @admin.display(description="audit")
    def audit_json(self, canvas_set: CanvasSet) -> str:
        return shown_json(canvas_set.audit)

    @admin.display(description="draw more")
    def more_link(self, canvas_set: CanvasSet) -> str:
        """A link to the form, filled in so that only the count has to be raised."""
        if canvas_set.origin != CanvasSet.Origin.GENERATED:
            return "not possible: it was imported"
        asked: dict[str, str | int] = {
            "shapes": _shapes(canvas_set),
            "count": canvas_set.wanted,
            "seed": canvas_set.seed or 0,
            "name": canvas_set.name,
            "tracking_steps": canvas_set.tracking_steps,
        }
        return format_html(
            '<a href="{}?{}">Raise the count</a>', reverse("admin:tasks_app_canvasset_add"), urlencode(asked)
        )

    @admin.action(description="Audit again", permissions=["add"])
    def audit_sets(self, request: HttpRequest, chosen: QuerySet[CanvasSet]) -> None:
        for canvas_set in chosen:
            services.request_audit(canvas_set)
        messages.success(request, f"{chosen.count()} queued to be audited.")

    @admin.action(description="Go on drawing where an error stopped it", permissions=["add"])
    def continue_sets(self, request: HttpRequest, chosen: QuerySet[CanvasSet]) -> None:
        stopped = list(chosen.exclude(error_message=""))
        for canvas_set in stopped:
            services.continue_drawing(canvas_set)
        messages.success(request, f"{len(stopped)} queued to go on.")

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Any = None) -> HttpResponse:
        """The form; what it asks for is drawn by a job."""
        if not self.has_add_permission(request):
            raise PermissionDenied
        given = {name: request.GET[name] for name in ASKED if name in request.GET}
        form = GenerateForm(request.POST or None, initial=given)
        if form.is_valid():
            try:
                canvas_set = services.request_canvas_set(form.request_data(), request.user)
            except InvalidRequest as refusal:
                for name, texts in refusal.errors.items():
                    form.add_error(name if name in form.fields else None, texts)
            else:
                self.log_addition(request, canvas_set, f"{canvas_set.wanted:,} canvases are wanted.")
                messages.success(request, f"{canvas_set.name} is queued to have {canvas_set.wanted:,} canvases.")
                return HttpResponseRedirect(change_url(canvas_set))
        return self.form_page(request, form, title="Generate a canvas set")

    def get_view_on_site_url(self, obj: Any = None) -> str | None:
        return reverse("frontend:gallery", args=(obj.slug,)) if obj and obj.pk else None

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """A set depends on what it was drawn from, so nothing of it is edited."""
        return False

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """What a deletion takes along, counted instead of listed, and what keeps sets from being deleted."""
        sets = list(objs)
        reasons = [reason for canvas_set in sets if (reason := services.why_not_deletable(canvas_set))]
        counts = {"canvas sets": len(sets), "canvases": sum(canvas_set.count for canvas_set in sets)}
        lacking = set() if self.has_delete_permission(request) else {"canvas set"}
        return [str(canvas_set) for canvas_set in sets], counts, lacking, reasons

    def delete_model(self, request: HttpRequest, obj: CanvasSet) -> None:
        services.delete_canvas_set(obj, request.user)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[CanvasSet]) -> None:
        for canvas_set in queryset:
            services.delete_canvas_set(canvas_set, request.user)


def _shapes(canvas_set: CanvasSet) -> str:
    low, high = canvas_set.shapes_low, canvas_set.shapes_high
    return f"{low}-{high}" if high > low else str(low)
