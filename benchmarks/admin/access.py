"""API tokens, whose text is shown once when they are created, and the audit log. Neither can be edited."""

from __future__ import annotations

import json
from functools import partialmethod
from typing import Any

from axes.admin import AccessAttemptAdmin, AccessFailureLogAdmin, AccessLogAdmin
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest

from benchmarks.admin.base import CheckedChangeList, ModelAdmin, column
from benchmarks.forms.access import TokenForm
from benchmarks.models import ApiToken, AuditEntry
from benchmarks.presentation.texts import visible
from benchmarks.services.access import create_token, revoke_token

for _logins in (AccessAttemptAdmin, AccessFailureLogAdmin, AccessLogAdmin):
    _logins.get_changelist = lambda self, request, **options: CheckedChangeList


@admin.register(ApiToken)
class ApiTokenAdmin(ModelAdmin):
    form = TokenForm
    list_display = ("name", "account", "scopes", "beginning", "created_at", "expires_at", "last_used_at", "revoked_at")
    list_select_related = ("account",)
    permitted = ("add",)  # tokens are revoked, not deleted, so that the audit log keeps their names
    actions = ("revoke",)

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **options: Any) -> Any:
        """The form with the accounts for which this user may create tokens."""
        form: Any = super().get_form(request, obj, change, **options)
        return type(form.__name__, (form,), {"__init__": partialmethod(form.__init__, by=request.user)})

    def has_revoke_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("benchmarks.change_apitoken")

    def save_model(self, request: HttpRequest, obj: ApiToken, form: Any, change: bool) -> None:
        """Create the token by its service, and show its text in the one message that follows."""
        data = form.cleaned_data
        token, text = create_token(data["account"], data["name"], data["scopes"], data["expires_at"], request.user)
        obj.pk = token.pk
        messages.warning(request, f"Copy the token now. It is not shown again: {text}")

    @admin.action(description="Revoke selected tokens", permissions=["revoke"])
    def revoke(self, request: HttpRequest, queryset: QuerySet[ApiToken]) -> None:
        for token in queryset.select_related("account"):
            revoke_token(token, by=request.user)


@admin.register(AuditEntry)
class AuditEntryAdmin(ModelAdmin):
    permitted = ()
    subject_text = column("subject", lambda entry: visible(entry.subject))
    detail_text = column("detail", lambda entry: visible(json.dumps(entry.detail, ensure_ascii=False)))
    fields = list_display = ("at", "account_name", "token_name", "action", "subject_text", "detail_text", "request_id")
    readonly_fields = ("subject_text", "detail_text")
    list_texts = ("subject", "detail")
    list_filter = ("action",)
    search_fields = ("subject", "account_name")
