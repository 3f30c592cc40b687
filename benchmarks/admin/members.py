"""Accounts and groups. Nobody gives what they do not have, nor changes an account that may do more than they.

Django's own forms would let whoever may change accounts make any of them a superuser. What is refused here is what
``benchmarks.services.members`` refuses; superusers may do everything.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import admin, messages
from django.contrib.admin.utils import unquote
from django.contrib.auth import admin as django_admin
from django.contrib.auth.models import Group, User
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse

from benchmarks.admin.base import ModelAdmin
from benchmarks.services.access import grantable_groups, grantable_permissions, record
from benchmarks.services.members import why_not_changeable

if TYPE_CHECKING:
    PlainUserAdmin = django_admin.UserAdmin[User]
else:
    PlainUserAdmin = django_admin.UserAdmin

admin.site.unregister([User, Group])


class Guarded(ModelAdmin):
    """Objects that may do something, which only those change and delete who may do as much."""

    def refusal(self, request: HttpRequest, obj: Any) -> str:
        """Why the user may not change the object; empty if they may."""
        raise NotImplementedError

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return super().has_change_permission(request, obj) and not (obj and self.refusal(request, obj))

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return super().has_delete_permission(request, obj) and not (obj and self.refusal(request, obj))

    def formfield_for_manytomany(self, db_field: Any, request: Any = None, **options: Any) -> Any:
        """Offers and accepts what the user may give."""
        given: QuerySet[Any] = grantable_permissions(request.user).select_related("content_type")
        if db_field.related_model is Group:
            given = grantable_groups(request.user)
        return super().formfield_for_manytomany(db_field, request, queryset=given, **options)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        obj = self.get_object(request, unquote(object_id))
        if obj and request.method == "GET" and (reason := self.refusal(request, obj)):
            messages.info(request, reason)
        response: HttpResponse = super().change_view(request, object_id, form_url, extra_context)
        return response

    def log_addition(self, request: HttpRequest, obj: Model, message: Any) -> Any:
        self._record(request, "create", obj)
        return super().log_addition(request, obj, message)

    def log_change(self, request: HttpRequest, obj: Model, message: Any) -> Any:
        self._record(request, "change", obj)
        return super().log_change(request, obj, message)

    def log_deletions(self, request: HttpRequest, queryset: Any) -> Any:
        for obj in queryset:
            self._record(request, "delete", obj)
        return super().log_deletions(request, queryset)

    def _record(self, request: HttpRequest, action: str, obj: Model) -> None:
        kind = "group" if isinstance(obj, Group) else "account"
        record(request.user, f"{kind}.{action}", f"{kind} {obj}")


@admin.register(User)
class UserAdmin(Guarded, PlainUserAdmin):
    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        return () if request.user.is_superuser else ("is_superuser",)

    def refusal(self, request: HttpRequest, obj: User) -> str:
        return why_not_changeable(obj, request.user)


@admin.register(Group)
class GroupAdmin(Guarded, django_admin.GroupAdmin):
    def refusal(self, request: HttpRequest, obj: Group) -> str:
        if grantable_groups(request.user).filter(pk=obj.pk).exists():
            return ""
        return f"Group {obj} has permissions that you do not have. Ask an administrator who has them."
