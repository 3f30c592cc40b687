"""Canvas sets: audit, resume and delete them. They are generated, extended and shown on the dashboard."""

from __future__ import annotations

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse

from benchmarks.admin.base import ServiceDeletion
from benchmarks.services.canvas_sets import control
from tasks_app.models import CanvasSet


@admin.register(CanvasSet)
class CanvasSetAdmin(ServiceDeletion):
    list_display = (
        *("name", "shapes_low", "shapes_high", "count", "wanted", "audited", "seed", "origin", "error_message"),
        "created_at",
    )
    list_filter = ("origin",)
    search_fields = ("slug", "name")
    ordering = ("-id",)
    permitted = ("delete",)  # nothing of a set can be edited, because its canvases depend on its settings
    actions = ("audit_sets", "continue_sets", "delete_selected")
    fields = (*list_display, "slug", "tracking_steps", "generator_version")
    change_list_template = "admin/benchmarks/canvasset/list.html"
    deletion_service = staticmethod(control.delete_canvas_set)

    def view_on_site(self, obj: CanvasSet) -> str:
        return reverse("frontend:gallery", args=(obj.slug,))

    def has_audit_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("tasks_app.add_canvasset")

    @admin.action(description="Audit selected sets again", permissions=["audit"])
    def audit_sets(self, request: HttpRequest, queryset: QuerySet[CanvasSet]) -> None:
        for canvas_set in queryset:
            control.request_audit(canvas_set)
        messages.success(request, f"Audits queued: {queryset.count()}.")

    @admin.action(description="Resume generation after an error", permissions=["audit"])
    def continue_sets(self, request: HttpRequest, queryset: QuerySet[CanvasSet]) -> None:
        stopped = list(queryset.exclude(error_message=""))
        for canvas_set in stopped:
            control.resume_generation(canvas_set)
        messages.success(request, f"Sets resumed: {len(stopped)}.")

    def deletion_notes(self, obj: CanvasSet) -> tuple[str, str]:
        return f"{obj.count:,} canvases", control.why_not_deletable(obj)
