"""Accounts and groups in the admin: nobody gives, by any form, what they do not have, or touches who may do more."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any, NamedTuple

import pytest
from django.contrib import admin
from django.contrib.auth.models import Group, Permission, User
from django.db import models, transaction
from django.db.models import Q
from django.forms import MultiWidget
from django.test import Client
from django.urls import reverse

from benchmarks.admin.tests.support import CONFIRMED, errors_of, one_of_each, text_of
from benchmarks.models import ApiToken, AuditEntry
from benchmarks.services.access import GROUPS, create_token

pytestmark = pytest.mark.django_db
PASSWORD = "a-long-walk-1"
BACKEND = "django.contrib.auth.backends.ModelBackend"
PASSWORDS = {"password1": PASSWORD, "password2": PASSWORD, "usable_password": "true", "set-password": "1"}
SURE = {"post": "yes", **CONFIRMED}
SIMPLE = {
    "is_superuser": ["on"],
    "is_staff": ["on"],
    "is_active": ["on"],
    "password": [PASSWORD],
    "scopes": ["edit"],
}
"""Fields that grant something themselves, with what a request sends."""


@pytest.fixture
def accounts(clients: dict[str, Client]) -> dict[str, User]:
    """One account per role, a superuser, one with a permission that no role has, and one without any."""
    root = User.objects.create_superuser("root", password=PASSWORD)
    User.objects.create_user("keeper", password=PASSWORD).user_permissions.add(beyond(Permission))
    Group.objects.create(name="keepers").permissions.add(beyond(Permission))
    create_token(root, "root's", ["read"])
    User.objects.create_user("ada", password=PASSWORD)
    return {account.username: account for account in User.objects.all()}


def beyond(model: Any) -> Any:
    """The permission that no role has, or the group that has it."""
    return model.objects.get(**{"codename": "delete_session"} if model is Permission else {"name": "keepers"})


def held(account: User) -> frozenset[str]:
    """Everything that an account may do, also an inactive one."""
    codes = Permission.objects.filter(Q(user=account) | Q(group__user=account))
    return frozenset(codes.values_list("codename", flat=True))


class State(NamedTuple):
    is_superuser: bool
    password: str
    is_active: bool
    may: frozenset[str]


def authority() -> dict[str, State]:
    """Account → what it may do, and what lets somebody use it."""
    return {
        account.username: State(account.is_superuser, account.password, account.is_active, held(account))
        for account in User.objects.all()
    }


def escalations(role: str, before: dict[str, State], after: dict[str, State]) -> list[str]:
    """What a member of this role must not have been able to do."""
    own, nobody = before[role], State(False, "", True, frozenset())
    found = [f"{name} becomes a superuser" for name, now in after.items() if now[0] > before.get(name, nobody)[0]]
    found += [
        f"{name} gains {gained}"
        for name, now in after.items()
        if (gained := now.may - before.get(name, nobody).may - own.may)
    ]
    stronger = [name for name, was in before.items() if was.is_superuser or was.may - own.may]
    found += [f"{name} is changed" for name in stronger if after.get(name) != before[name]]
    if role not in after or after[role][:3] != own[:3]:
        found.append("the own account is changed")
    tokens = set(ApiToken.objects.exclude(name="root's").values_list("account__username", flat=True))
    return [*found, *(f"a token of {name}" for name in tokens & {*stronger})]


def grants(model: type[models.Model]) -> list[dict[str, list[str]]]:
    """Data of requests, each with one field that grants something: all of it, and only what no role has."""
    fields = {field.name: field for field in (*model._meta.concrete_fields, *model._meta.many_to_many)}
    sent = [{name: value} for name, value in SIMPLE.items() if name in fields]
    for name, field in fields.items():
        if field.related_model is User:
            sent.append({name: [str(User.objects.get(username="root").pk)]})
        elif field.related_model in (Group, Permission):
            keys = field.related_model._default_manager.order_by("pk").values_list("pk", flat=True)
            sent += [{name: [str(beyond(field.related_model).pk)]}, {name: [str(key) for key in keys]}]
    return sent


def filled(response: Any) -> dict[str, Any]:
    """What a browser would send back from the form on a page of the admin, unchanged."""
    sent: dict[str, Any] = {}
    for bound in response.context["adminform"].form if response.status_code == 200 else ():
        value, widget = bound.value(), bound.field.widget
        if isinstance(widget, MultiWidget):
            sent |= {f"{bound.html_name}_{i}": each or "" for i, each in enumerate(widget.decompress(value))}
        elif isinstance(value, bool):
            sent |= {bound.html_name: "on"} if value else {}
        elif value is not None:
            sent[bound.html_name] = [getattr(each, "pk", each) for each in value] if isinstance(value, list) else value
    return sent


def posts(name: str, model: type[models.Model], root: Client) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every POST that the admin takes for a model: its forms with each field that grants, and its actions."""
    label, granting = f"admin:{model._meta.app_label}_{name}", grants(model)
    everything = {field: value for each in granting for field, value in each.items()}
    keys = [str(pk) for pk in model._default_manager.values_list("pk", flat=True)]
    forms = [(reverse(f"{label}_add"), {"username": "eve", "name": "eve", "scopes": ["read"], **PASSWORDS})]
    for pk in keys:
        address = reverse(f"{label}_change", args=[pk])
        forms.append((address, filled(root.get(address))))
        yield reverse(f"{label}_delete", args=[pk]), SURE
        if model is User:
            yield reverse("admin:auth_user_password_change", args=[pk]), PASSWORDS
    for address, valid in forms:
        yield from ((address, {**valid, **each}) for each in ({}, *granting, everything))
    for action in ("delete_selected", "revoke"):
        yield reverse(f"{label}_changelist"), {"action": action, "_selected_action": keys, **SURE}


@pytest.mark.slow
def test_no_post_of_the_admin_gives_more_than_the_role_has_or_touches_an_account_that_has_more(
    clients: dict[str, Client], accounts: dict[str, User]
) -> None:
    root = Client()
    root.force_login(accounts["root"], backend=BACKEND)
    objects = one_of_each(accounts["ada"])
    assert {str(model._meta.model_name) for model in admin.site._registry} == set(objects)
    sent = [post for name, each in objects.items() for post in posts(name, type(each), root)]
    before, found, acted = authority(), [], set()
    for role in GROUPS:
        for address, data in sent:
            savepoint, visitor = transaction.savepoint(), deepcopy(clients[role])  # a new password is a new session
            visitor.post(address, data)
            after = authority()
            found += [f"{role}, {address}, {data}: {what}" for what in escalations(role, before, after)]
            acted |= {role} if after != before else set()
            transaction.savepoint_rollback(savepoint)
    assert found == []
    assert acted == {"admin"}  # the walk also reaches what administrators may do


def test_an_administrator_edits_an_ordinary_account_and_the_audit_log_says_so(
    clients: dict[str, Client], accounts: dict[str, User]
) -> None:
    address = reverse("admin:auth_user_change", args=[accounts["ada"].pk])
    form = clients["admin"].get(address)
    viewer = Group.objects.get(name="viewer")
    sent = {**filled(form), "email": "ada@example.com", "groups": [viewer.pk]}
    assert clients["admin"].post(address, sent).status_code == 302
    ada = User.objects.get(username="ada")
    assert (ada.email, list(ada.groups.all())) == ("ada@example.com", [viewer])
    entry = AuditEntry.objects.latest("pk")
    assert (entry.account_name, entry.action, entry.subject) == ("admin", "account.change", "account ada")


def test_a_permission_that_the_administrator_lacks_is_neither_offered_nor_taken(
    clients: dict[str, Client], accounts: dict[str, User]
) -> None:
    address = reverse("admin:auth_user_change", args=[accounts["ada"].pk])
    form = clients["admin"].get(address)
    assert "delete_session" not in text_of(form)
    assert "keepers" not in text_of(form)
    response = clients["admin"].post(address, {**filled(form), "user_permissions": [beyond(Permission).pk]})
    assert list(errors_of(response)) == ["user_permissions"]


def test_the_page_of_a_superuser_says_who_may_change_it_and_shows_no_hash(
    clients: dict[str, Client], accounts: dict[str, User]
) -> None:
    page = text_of(clients["admin"].get(reverse("admin:auth_user_change", args=[accounts["root"].pk])))
    assert "Account root is a superuser. Only another superuser can change this account." in page
    assert accounts["root"].password not in page
    assert 'name="_save"' not in page


def test_a_superuser_may_make_another_superuser(accounts: dict[str, User]) -> None:
    root = Client()
    root.force_login(accounts["root"], backend=BACKEND)
    address = reverse("admin:auth_user_change", args=[accounts["ada"].pk])
    assert root.post(address, {**filled(root.get(address)), "is_superuser": "on"}).status_code == 302
    assert User.objects.get(username="ada").is_superuser
    password = reverse("admin:auth_user_password_change", args=[accounts["admin"].pk])
    assert root.post(password, PASSWORDS).status_code == 302
    assert User.objects.get(username="admin").check_password(PASSWORD)
