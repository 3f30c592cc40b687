"""The forms of accounts."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib.auth.models import User

from benchmarks.forms.datasets import ProblemForm
from benchmarks.presentation.labels import ROLE
from benchmarks.queries.members import role_of
from benchmarks.services.members import add_member, change_role


class MemberForm(ProblemForm):
    """A new account, or the role of ``account``."""

    username = forms.CharField(max_length=150, widget=forms.TextInput({"autocomplete": "off", "spellcheck": "false"}))
    role = forms.ChoiceField(
        choices=[(name, f"{name.capitalize()}: {may}") for name, may in ROLE.items()], widget=forms.RadioSelect
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
