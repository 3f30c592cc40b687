"""The forms of API tokens and members."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, ClassVar

from django import forms
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.utils import timezone

from benchmarks.forms.datasets import ProblemForm
from benchmarks.forms.fields import described
from benchmarks.models import ApiToken
from benchmarks.presentation.labels import ROLE
from benchmarks.queries.access import role_of
from benchmarks.services.access import Caller, manageable_accounts, token_errors
from benchmarks.services.members import add_member, change_role

SCOPES = (
    ("read", "Read datasets, runs and results, and change nothing"),
    ("label", "Label answers"),
    ("launch", "Start, pause and cancel runs, which may cost money"),
    ("edit", "Add and change datasets, tasks and versions"),
)
VALID_DAYS, USUAL_DAYS = (30, 90, 365), 90
"""For how long a token may be valid, and for how long if nobody chooses."""


class TokenForm(forms.ModelForm):  # type: ignore[type-arg]  # generic in its stubs only
    """A new token of an account. A service creates it, because its text is not stored."""

    account = forms.ModelChoiceField(
        User.objects.none(),
        empty_label="Choose an account",
        help_text="The token has no more permissions than this account",
    )
    scopes = forms.MultipleChoiceField(
        choices=[described(*each) for each in SCOPES], initial=["read"], widget=forms.CheckboxSelectMultiple
    )
    expires_at = forms.ChoiceField(label="Expires", required=False, initial=USUAL_DAYS)

    class Meta:
        model = ApiToken
        fields = ("account", "name", "scopes", "expires_at")
        help_texts: ClassVar[dict[str, str]] = {"name": "What the token is for"}
        widgets: ClassVar[dict[str, forms.Widget]] = {"name": forms.TextInput({"placeholder": "nightly CI job"})}

    def __init__(self, *args: Any, by: Caller = None, owner: User | None = None, **options: Any) -> None:
        """``owner`` is the account of the token; without one, a field asks for an account that ``by`` may use."""
        super().__init__(*args, **options)
        expires: Any = self.fields["expires_at"]
        expires.choices = [*((days, _expires(days)) for days in VALID_DAYS), ("", "Never")]
        self.by, self.owner = by, owner
        if owner:
            del self.fields["account"]
        else:
            field: Any = self.fields["account"]
            field.queryset = manageable_accounts(by).filter(is_active=True).order_by("username")
            if len(only := field.queryset[:2]) == 1:
                self.initial["account"] = only[0]

    def clean_expires_at(self) -> datetime | None:
        days = self.cleaned_data["expires_at"]
        return timezone.now() + timedelta(days=int(days)) if days else None

    def clean(self) -> dict[str, Any]:
        data: dict[str, Any] = super().clean() or self.cleaned_data
        if self.owner:
            data["account"] = self.owner
        if {"account", "name", "scopes"} <= data.keys():
            values = data["account"], data["name"].strip(), {*data["scopes"]}, data.get("expires_at")
            if errors := token_errors(*values, self.by):
                raise ValidationError(errors)
        return data


def _expires(days: int) -> str:
    return f"In {days} days, on {timezone.localtime() + timedelta(days=days):%b %-d, %Y}"


class MemberForm(ProblemForm):
    """A new account, or the role of ``account``."""

    username = forms.CharField(max_length=150, widget=forms.TextInput({"autocomplete": "off", "spellcheck": "false"}))
    role = forms.ChoiceField(
        choices=[described(name, may, name.capitalize()) for name, may in ROLE.items()],
        widget=forms.RadioSelect,
        help_text="Each has the permissions of those above it",
    )

    def __init__(self, data: Any = None, *, account: User | None = None) -> None:
        super().__init__(data, initial={"role": role_of(account) if account else "viewer"})
        self.account = account
        if account:
            del self.fields["username"]

    def store(self, user: Any) -> User:
        role = self.cleaned_data["role"]
        if self.account is None:
            return add_member(self.cleaned_data["username"], role, user)
        change_role(self.account, role, user)
        return self.account
