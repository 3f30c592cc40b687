"""API tokens, shown once when they are made, and the audit log. Neither is ever edited."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.http import HttpRequest

from benchmarks.admin.base import PlainModelAdmin, ReadOnlyAdmin
from benchmarks.models import ApiToken, AuditEntry
from benchmarks.services.access import create_token, revoke_token, token_errors


class TokenForm(forms.ModelForm):  # type: ignore[type-arg]  # generic in its stubs only
    scopes = forms.MultipleChoiceField(
        choices=ApiToken.Scope.choices, initial=["read"], widget=forms.CheckboxSelectMultiple
    )

    class Meta:
        model = ApiToken
        fields = ("account", "name", "scopes", "expires_at")

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        date_and_time = getattr(self.fields["expires_at"].widget, "widgets", ())
        for widget, part in zip(date_and_time, ("date", "time"), strict=False):  # which the admin draws without labels
            widget.attrs["aria-label"] = f"Expires at, {part}"

    def clean(self) -> dict[str, Any]:
        given: dict[str, Any] = super().clean() or self.cleaned_data
        if {"account", "name", "scopes"} <= given.keys():
            wrong = token_errors(given["account"], given["name"].strip(), {*given["scopes"]}, given.get("expires_at"))
            if wrong:
                raise ValidationError(wrong)
        return given


@admin.register(ApiToken)
class ApiTokenAdmin(PlainModelAdmin):
    form = TokenForm
    list_display = ("name", "account", "scopes", "beginning", "created_at", "expires_at", "last_used_at", "revoked_at")
    list_select_related = ("account",)
    actions = ("revoke",)

    def has_change_permission(self, request: HttpRequest, obj: ApiToken | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: ApiToken | None = None) -> bool:
        """A token is revoked, not deleted, so that what was done with it keeps its name."""
        return False

    def has_revoke_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("benchmarks.change_apitoken")

    def save_model(self, request: HttpRequest, obj: ApiToken, form: Any, change: bool) -> None:
        """Make the token as everywhere else, and show its text in the one message that follows."""
        given = form.cleaned_data
        made, text = create_token(given["account"], given["name"], given["scopes"], given["expires_at"], request.user)
        obj.pk = made.pk
        messages.warning(request, f"The token, which is not shown again: {text}")

    @admin.action(description="Revoke selected tokens", permissions=["revoke"])
    def revoke(self, request: HttpRequest, queryset: QuerySet[ApiToken]) -> None:
        for token in queryset.select_related("account"):
            revoke_token(token, by=request.user)


@admin.register(AuditEntry)
class AuditEntryAdmin(ReadOnlyAdmin):
    shown = ("at", "account_name", "token_name", "action", "subject", "detail", "request_id")
    list_display = ("at", "account_name", "token_name", "action", "subject", "detail", "request_id")
    list_filter = ("action",)
    search_fields = ("subject", "account_name")
