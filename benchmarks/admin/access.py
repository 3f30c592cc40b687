"""API tokens, which the settings of the dashboard create and revoke, and the audit log, which nobody edits."""

from __future__ import annotations

import json

from axes.admin import AccessAttemptAdmin, AccessFailureLogAdmin, AccessLogAdmin
from django.contrib import admin
from django.urls import reverse

from benchmarks.admin.base import CheckedChangeList, ModelAdmin, OnDashboard, column
from benchmarks.models import ApiToken, AuditEntry
from benchmarks.presentation.texts import visible

for _logins in (AccessAttemptAdmin, AccessFailureLogAdmin, AccessLogAdmin):
    _logins.get_changelist = lambda self, request, **options: CheckedChangeList


@admin.register(ApiToken)
class ApiTokenAdmin(OnDashboard):
    list_display = ("name", "account", "scopes", "beginning", "created_at", "expires_at", "last_used_at", "revoked_at")
    list_select_related = ("account",)

    def view_on_site(self, obj: ApiToken) -> str:
        return reverse("frontend:tokens")


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
