"""The settings on who may do what: tokens, members and roles."""

from __future__ import annotations

import re
from datetime import timedelta
from html import unescape
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from benchmarks.models import (
    ApiToken,
    AuditEntry,
    Label,
    Run,
)
from benchmarks.services.access import create_token, may_edit, may_launch, token_of
from frontend.tests.accounts import member, page
from tests.support.page_factories import make_scored_run

pytestmark = pytest.mark.django_db


@pytest.fixture
def production(settings: Any) -> None:
    settings.DEV_MODE = settings.PUBLIC_READING = False


def test_a_token_is_shown_once_works_and_is_revoked(production: None) -> None:
    ada, client = member("admin", "ada")
    sent = {"account": ada.pk, "name": "Nightly job", "scopes": ["read", "launch"], "expires_at": "30"}
    html = page(client, "/settings/tokens/new/", sent)
    text = html.partition('class="mono" value="')[2].partition('"')[0]
    token = token_of(text)
    assert token is not None
    assert (token.account, token.scopes) == (ada, ["read", "launch"])
    assert token.expires_at is not None
    assert round((token.expires_at - timezone.now()) / timedelta(days=1)) == 30
    listed = page(client, "/settings/tokens/")
    assert "Nightly job" in listed
    assert text not in listed
    assert client.get("/settings/tokens/")["Cache-Control"].startswith("max-age=0")
    again = page(client, "/settings/tokens/new/", sent, status=400)
    assert "already has a token named" in again.partition('id="id_name_error"')[2][:120]
    assert "Revoke token Nightly job of ada?" in page(client, f"/settings/tokens/{token.pk}/revoke/", {})
    assert token_of(text) is not None
    assert "revoked" in page(client, f"/settings/tokens/{token.pk}/revoke/", {"confirmed": "yes"})
    assert token_of(text) is None
    assert f"/settings/tokens/{token.pk}/revoke/" not in page(client, "/settings/tokens/")
    assert [*AuditEntry.objects.filter(account=ada).order_by("pk").values_list("action", flat=True)] == [
        "token.create",
        "token.revoke",
    ]


def test_what_tokens_and_webhooks_are_for_fills_in_their_form(client: Client) -> None:
    cases = (
        ("/settings/tokens/", "CI job", 'value="CI job"', ["read", "launch"]),
        ("/settings/webhooks/", "Team chat", "", ["run.failed", "score.dropped"]),
    )
    for path, use, shown, ticked in cases:
        [url] = re.findall(rf'href="([^"]+)">{use}<', page(client, path))
        form = page(client, unescape(url))
        assert shown in form
        assert sorted(re.findall(r'value="([^"]+)"[^>]* checked', form)) == sorted(ticked)


def test_what_explains_a_list_is_folded_below_it(production: None) -> None:
    account, client = member("admin", "ada")
    html = page(client, "/settings/tokens/")
    assert "<details> <summary><h2>How to use a token" in html
    assert html.count(">New token</a>") == 1, "the next step of an empty list"
    assert '<a class="button primary" href="/settings/tokens/new/">New token</a>' in html
    create_token(account, "token", {"read"}, by=account)
    html = page(client, "/settings/tokens/")
    assert "<details> <summary><h2>How to use a token" in html
    assert '<div class="actions"><a class="button" href="/settings/tokens/new/">New token</a>' in html


def test_errors_of_a_token_stand_at_their_fields(production: None) -> None:
    ada, client = member("admin", "ada")
    html = page(client, "/settings/tokens/new/", {"account": ada.pk, "name": ""}, status=400)
    assert "Token not created." in html
    for error in ('id="id_name_error"', 'id="id_scopes_error"'):
        assert error in html
    sent = {"account": ada.pk, "name": "x", "scopes": ["read"], "expires_at": "yesterday"}
    html = page(client, "/settings/tokens/new/", sent, status=400)
    assert "not one of the available choices" in html.partition('id="id_expires_at_error"')[2][:120]


def test_an_account_sees_its_own_tokens_and_an_administrator_all(production: None) -> None:
    ada, admin = member("admin", "ada")
    vera, viewer = member("viewer", "vera")
    create_token(ada, "of ada", ["read"])
    token, _ = create_token(vera, "of vera", ["read"])
    assert "of ada" in page(admin, "/settings/tokens/")
    assert "of vera" in page(admin, "/settings/tokens/")
    html = page(viewer, "/settings/tokens/")
    assert "of vera" in html
    assert "of ada" not in html
    other = ApiToken.objects.get(name="of ada")
    assert viewer.post(f"/settings/tokens/{other.pk}/revoke/", {"confirmed": "yes"}).status_code == 403
    assert "Token of vera revoked." in page(viewer, f"/settings/tokens/{token.pk}/revoke/", {"confirmed": "yes"})
    assert 'name="account"' not in page(viewer, "/settings/tokens/new/")
    page(viewer, "/settings/tokens/new/", {"account": ada.pk, "name": "mine", "scopes": ["read", "launch"]})
    assert ApiToken.objects.get(name="mine").account == vera


def test_members_without_a_role_read_what_they_may_do(production: None) -> None:
    root = User.objects.create_superuser("root", password="x")
    User.objects.create_user("guest")
    client = Client()
    client.force_login(root)
    html = page(client, "/settings/members/")
    assert "Superuser</dt> <dd> May do everything" in html.replace("<b>", "").replace("</b>", "")
    assert "No role: may read only" in html


def test_roles_that_are_not_in_force_are_said_to_be_so(client: Client, settings: Any) -> None:
    vera, root = User.objects.create_user("vera"), Client()
    root.force_login(User.objects.create_superuser("root", password="x"))
    paths = "/settings/members/", "/settings/members/new/", f"/settings/members/{vera.pk}/"
    for in_development, visitor in ((True, client), (False, root)):
        settings.DEV_MODE = in_development
        said = ["In development mode, roles are not in force" in page(visitor, path) for path in paths]
        assert said == [in_development] * 3


def link_in(html: str) -> str:
    """The one link to set a password in a page."""
    [path] = set(re.findall(r"http://testserver(/password/[^\"]+)", html))
    return str(path)


def test_a_person_is_added_sets_a_password_once_by_a_link_and_logs_in(production: None) -> None:
    _, client = member("admin", "ada")
    alone = page(client, "/settings/members/")
    assert "give the person the link that appears" in alone
    assert alone.count(">New member<") == 1
    roles = re.compile(r"<details( open)?>\s*<summary><h2>What each role may do</h2>")
    assert [found[1] for found in roles.finditer(alone)] == [" open"], "there is room for it"
    assert ">You</span>" in alone, "the own account is marked"
    html = page(client, "/settings/members/new/", {"username": "vera", "role": "runner"})
    path = link_in(html)
    listed = page(client, "/settings/members/")
    assert path not in listed
    assert "No other members yet" not in listed
    assert [found[1] for found in roles.finditer(listed)] == [None]
    vera = User.objects.get(username="vera")
    assert not vera.has_usable_password()
    assert may_launch(vera)
    visitor = Client()
    form = visitor.get(path, follow=True).redirect_chain[-1][0]
    assert "too common" in page(visitor, form, {"new_password1": "password", "new_password2": "password"})
    html = page(visitor, form, {"new_password1": "a walk by the river", "new_password2": "a walk by the river"})
    assert "Password set. Log in with it." in html
    assert "Link not valid" in page(Client(), path)
    sent = {"username": "vera", "password": "a walk by the river"}
    assert visitor.post("/login/", sent).headers["Location"] == "/"
    actions = ["account.create", "account.group", "account.password_link"]
    assert [*AuditEntry.objects.order_by("pk").values_list("action", flat=True)][-3:] == actions


def test_a_password_link_works_once_for_its_account_and_until_it_expires(production: None, settings: Any) -> None:
    _, client = member("admin", "ada")
    vera, _ = member("viewer", "vera")
    ben, _ = member("viewer", "ben")
    path = link_in(page(client, f"/settings/members/{vera.pk}/do/password/", {}))
    key = path.split("/")[-2]
    other = link_in(page(client, f"/settings/members/{ben.pk}/do/password/", {})).replace(path.split("/")[-2], key)
    assert "Link not valid" in page(Client(), other.rsplit("/", 2)[0] + f"/{key}/")
    settings.PASSWORD_RESET_TIMEOUT = -1
    assert "Link not valid" in page(Client(), path)


def test_a_member_has_labeled_what_results_show_under_the_name_and_started_runs(production: None) -> None:
    _, client = member("admin", "ada")
    vera, _ = member("viewer", "vera")
    first, second, third = make_scored_run().results.order_by("position")[:3]
    said = {"metric": "exact_match", "value": 1.0}
    Label.objects.create(result=first, author=vera, author_name="vera", **said)
    Label.objects.create(result=first, author=vera, author_name="vera", **{**said, "metric": "contains"})
    Label.objects.create(result=second, author_name="vera", **said)
    Label.objects.create(result=third, author_name="vera", replaced_at=timezone.now(), **said)
    html = " ".join(page(client, f"/settings/members/{vera.pk}/").split())
    assert '<dt>Answers labeled</dt> <dd><a href="/reviews/">2</a>' in html
    assert "<dt>Runs started</dt><dd>0</dd>" in html
    assert "Valid share links" not in html, "those that nobody has are left out"
    Run.objects.update(created_by=vera)
    assert "<dt>Runs started</dt><dd>1</dd>" in page(client, f"/settings/members/{vera.pk}/")


def test_a_role_is_changed_and_an_account_deactivated(production: None) -> None:
    _, client = member("admin", "ada")
    vera, viewer = member("viewer", "vera")
    address = f"/settings/members/{vera.pk}/"
    assert "vera saved as editor." in page(client, address, {"role": "editor"})
    vera = User.objects.get(pk=vera.pk)
    assert (may_edit(vera), vera.is_staff) == (True, True)
    _, text = create_token(vera, "ci", ["read"])
    assert "Deactivate vera?" in page(client, f"{address}do/deactivate/", {})
    assert token_of(text) is not None
    assert "vera deactivated." in page(client, f"{address}do/deactivate/", {"confirmed": "yes"})
    assert token_of(text) is None
    assert viewer.get("/settings/").status_code == 302
    assert "Inactive" in page(client, "/settings/members/")
    assert "is inactive. Activate it first." in page(client, f"{address}do/password/", {})
    assert "vera activated." in page(client, f"{address}do/activate/", {})
    assert viewer.get("/settings/").status_code == 200


def test_errors_of_a_new_member_stand_at_their_fields(production: None) -> None:
    _, client = member("admin", "ada")
    for sent, field in (
        ({"username": "ada", "role": "viewer"}, "username"),
        ({"username": "a b<", "role": "viewer"}, "username"),
        ({"username": "", "role": "viewer"}, "username"),
    ):
        html = page(client, "/settings/members/new/", sent, status=400)
        assert f'id="id_{field}_error"' in html, sent
    page(client, "/settings/members/new/", {"username": "vera", "role": "king"}, status=400)
    assert User.objects.count() == 1


def test_nobody_changes_the_own_role_and_only_a_superuser_a_superuser(production: None) -> None:
    root = User.objects.create_superuser("root", password="x")
    ada, client = member("admin", "ada")
    own, above = f"/settings/members/{ada.pk}/", f"/settings/members/{root.pk}/"
    assert "You cannot change your own account." in page(client, own, {"role": "viewer"}, status=400)
    assert "You cannot change" in page(client, f"{own}do/deactivate/", {"confirmed": "yes"})
    assert "Only another superuser" in page(client, above, {"role": "viewer"}, status=400)
    for action in ("deactivate", "password"):
        assert "Only another superuser" in page(client, f"{above}do/{action}/", {"confirmed": "yes"}), action
    html = page(client, above)
    assert "Only another superuser can change this account." in html
    assert "Save role" not in html
    assert "/do/" not in html
    assert link_in(page(client, f"{own}do/password/", {}))
    client.force_login(User.objects.create_superuser("over", password="x"))
    html = " ".join(page(client, above).split())
    assert "Superuser, active </p>" in html
    assert f'<a href="/admin/auth/user/{root.pk}/change/">Change on the admin site' in html
    assert "What root may do" in html
    assert "Everything, on the pages and on the admin site" in html
    assert "What each role may do</summary>" in html, "folded"
    mine = page(client, f"/settings/members/{ada.pk}/")
    assert "Password link" in mine.partition("Latest actions</h2>")[2], "what the account did"
    assert "Save role" not in html
    root.refresh_from_db()
    assert root.is_active
    assert client.post(f"{own}do/paint/").status_code == 404
