"""Tokens, groups, the login, and the audit log."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from axes.models import AccessAttempt
from django.contrib.auth.models import Permission, User
from django.core.management import CommandError, call_command
from django.test import Client, RequestFactory
from django.utils import timezone

from benchmarks.models import ApiToken, AuditEntry
from benchmarks.services.access import assign_group, create_token, make_groups, revoke_token, token_of
from benchmarks.services.errors import InvalidRequest, NotPossible
from benchmarks.services.members import add_member, change_role, password_key, set_active
from benchmarks.services.runs import control
from benchmarks.services.runs.start import start_run
from codeforge.access import client_address
from tests.support.factories import make_dataset

RUNS = "/api/v1/benchmarks/runs"
REQUEST = {"dataset": "sums", "model": "baseline/reference", "metrics": ["exact_match"]}
pytestmark = pytest.mark.django_db


@pytest.fixture
def ada() -> User:
    return User.objects.create_user("ada", password="right password")


@pytest.fixture(autouse=True)
def production(settings: Any) -> None:
    settings.DEV_MODE = settings.PUBLIC_READING = False


def bearer(text: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {text}"}


def test_a_token_is_stored_as_its_digest_only(ada: User) -> None:
    token, text = create_token(ada, "ci", ["read"])
    stored = str(ApiToken.objects.filter(pk=token.pk).values().get())
    assert text not in stored
    assert text[10:] not in stored
    assert token_of(text) == token


def test_a_token_reads_with_the_permissions_of_its_account(client: Client, ada: User) -> None:
    _, text = create_token(ada, "ci", ["read"])
    assert client.get(RUNS).status_code == 403
    assert client.get(RUNS, headers=bearer(text)).status_code == 200
    assert ApiToken.objects.get().last_used_at is not None


def test_a_token_has_no_more_permissions_than_its_account(client: Client, ada: User) -> None:
    make_dataset()
    _, text = create_token(ada, "ci", ["read", "launch"])
    ask = {"path": RUNS, "data": REQUEST, "content_type": "application/json", "headers": bearer(text)}
    assert client.post(**ask).status_code == 403
    assign_group(ada, "runner")
    assert client.post(**ask).status_code == 201


@pytest.mark.parametrize("spoil", ["revoked", "expired", "inactive account", "changed text", "empty"])
def test_a_token_that_may_not_be_used_is_refused(client: Client, ada: User, spoil: str) -> None:
    token, text = create_token(ada, "ci", ["read"])
    if spoil == "revoked":
        revoke_token(token)
    elif spoil == "expired":
        ApiToken.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    elif spoil == "inactive account":
        User.objects.update(is_active=False)
    else:
        text = "" if spoil == "empty" else text[:-1] + ("A" if text[-1] != "A" else "B")
    refused = client.get(RUNS, headers=bearer(text))
    assert refused.status_code == 401
    assert refused["WWW-Authenticate"] == "Bearer"


def test_a_token_with_invalid_values_is_refused_at_its_field(ada: User) -> None:
    create_token(ada, "taken", ["read"])
    for name, scopes, days, field in (
        ("", ["read"], None, "name"),
        ("taken", ["read"], None, "name"),
        ("x" * 101, ["read"], None, "name"),
        ("new", [], None, "scopes"),
        ("new", ["read", "everything"], None, "scopes"),
        ("new", ["read"], -1, "expires_at"),
    ):
        expires_at = None if days is None else timezone.now() + timedelta(days=days)
        with pytest.raises(InvalidRequest) as refused:
            create_token(ada, name, scopes, expires_at)
        assert list(refused.value.errors) == [field], (name, scopes)


def test_the_command_creates_lists_and_revokes_tokens(ada: User) -> None:
    out = StringIO()
    call_command("tokens", "create", "ada", "ci", "--scope", "read", "--days", "3", stdout=out, stderr=StringIO())
    text = out.getvalue().strip()
    assert token_of(text) is not None
    listed = StringIO()
    call_command("tokens", "list", stdout=listed)
    assert "ci     ada      cfb_" in listed.getvalue()
    assert text not in listed.getvalue()
    call_command("tokens", "revoke", "ada", "ci", stdout=StringIO())
    assert token_of(text) is None


def test_the_command_reports_wrong_arguments(ada: User) -> None:
    for arguments in (["create", "nobody", "ci"], ["revoke", "ada", "none"], ["create", "ada", "ci", "--days", "0"]):
        with pytest.raises(CommandError) as refused:
            call_command("tokens", *arguments)
        assert refused.value.returncode == 2, arguments


def test_groups_are_created_and_reset_and_each_includes_the_previous_one() -> None:
    made = make_groups()
    assert list(made) == ["viewer", "reviewer", "runner", "editor", "admin"]
    assert sorted(made.values()) == list(made.values())
    assert make_groups() == made


def test_an_account_is_a_member_of_one_group(ada: User) -> None:
    assign_group(ada, "admin")
    assign_group(ada, "viewer")
    assert list(ada.groups.values_list("name", flat=True)) == ["viewer"]
    assert not User.objects.get(pk=ada.pk).is_staff
    with pytest.raises(NotPossible, match="Choose one of: viewer, reviewer, runner, editor, admin"):
        assign_group(ada, "king")


def test_nobody_gives_a_role_or_a_token_beyond_their_own_permissions(ada: User) -> None:
    clerk, boss, root = (User.objects.create_user(name) for name in ("clerk", "boss", "root"))
    clerk.user_permissions.set(Permission.objects.filter(codename__in=("change_user", "add_user", "add_apitoken")))
    assign_group(boss, "admin")
    User.objects.filter(pk=root.pk).update(is_superuser=True, is_active=False)
    refused: list[Callable[[], object]] = [
        lambda: assign_group(ada, "admin", by=clerk),
        lambda: add_member("new", "editor", clerk),
        lambda: change_role(boss, "viewer", clerk),
        lambda: password_key(boss, clerk),
        lambda: set_active(User.objects.get(username="root"), True, boss),
    ]
    for act in refused:
        with pytest.raises(NotPossible, match=r"permissions that you do not have|is a superuser"):
            act()
    for account, by in ((boss, clerk), (User.objects.get(username="root"), boss)):
        with pytest.raises(InvalidRequest) as error:
            create_token(account, "ci", ["edit"], by=by)
        assert list(error.value.errors) == ["account"]
    assert not User.objects.filter(username="new").exists()
    change_role(ada, "admin", boss)
    create_token(ada, "ci", ["edit"], by=boss)


def test_ten_wrong_passwords_lock_the_login_for_the_address(client: Client, ada: User, settings: Any) -> None:
    wrong = [client.post("/login/", {"username": f"account {n}", "password": "guess"}) for n in range(10)]
    assert {response.status_code for response in wrong[:9]} == {200}
    right = {"username": "ada", "password": "right password"}
    assert client.post("/login/", right).status_code == 429
    assert client.post("/admin/login/", right).status_code == 403, "the admin has no log-in page of its own"
    elsewhere = Client(REMOTE_ADDR="203.0.113.9")
    assert elsewhere.post("/login/", right).status_code == 302


def guess_from(*addresses: str) -> list[int]:
    guess = {"username": "ada", "password": "wrong"}
    return [Client(REMOTE_ADDR=address).post("/login/", guess).status_code for address in addresses]


def test_wrong_passwords_from_many_addresses_lock_the_account_for_strangers_only(ada: User) -> None:
    right = {"username": "ada", "password": "right password"}
    home, stranger = Client(REMOTE_ADDR="203.0.113.9"), Client(REMOTE_ADDR="198.51.100.1")
    assert home.post("/login/", right).status_code == 302
    assert guess_from(*(f"192.0.2.{n}" for n in range(10)))[:9] == [200] * 9
    assert stranger.post("/login/", right).status_code == 429
    assert home.post("/login/", right).status_code == 302, "from an address where its owner has logged in before"
    User.objects.create_user("bob", password="right password")
    assert stranger.post("/login/", {**right, "username": "bob"}).status_code == 302, "other accounts are not blocked"


def test_guessing_on_does_not_extend_the_lock_of_an_account(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    guess_from(*(f"192.0.2.{n}" for n in range(10)))
    locked_at = AccessAttempt.objects.latest("attempt_time").attempt_time
    assert guess_from("192.0.2.77", "192.0.2.3") == [429, 429]
    assert AccessAttempt.objects.latest("attempt_time").attempt_time == locked_at
    AccessAttempt.objects.update(attempt_time=timezone.now() - timedelta(minutes=16))
    right = {"username": "ada", "password": "right password"}
    assert Client(REMOTE_ADDR="198.51.100.1").post("/login/", right).status_code == 302


def test_the_client_address_is_the_one_that_our_own_proxy_saw(settings: Any) -> None:
    for behind_proxy, forwarded, address in (
        (False, "198.51.100.7", "127.0.0.1"),
        (True, "198.51.100.7", "198.51.100.7"),
        (True, "6.6.6.6, 198.51.100.7", "198.51.100.7"),
        (True, "", "127.0.0.1"),
    ):
        settings.BEHIND_PROXY = behind_proxy
        request = RequestFactory().get("/", headers={"X-Forwarded-For": forwarded})
        assert client_address(request) == address, (behind_proxy, forwarded)


def test_the_login_returns_to_the_page_and_to_no_other_site(client: Client, ada: User) -> None:
    right = {"username": "ada", "password": "right password"}
    assert client.get("/runs/")["Location"] == "/login/?next=/runs/"
    assert client.post("/login/", {**right, "next": "/runs/"})["Location"] == "/runs/"
    assert client.post("/login/", {**right, "next": "https://evil.example"})["Location"] == "/"


def test_actions_on_a_run_are_in_the_audit_log_with_account_token_and_request(client: Client, ada: User) -> None:
    make_dataset()
    assign_group(ada, "runner")
    _, text = create_token(ada, "nightly", ["launch"])
    headers = {**bearer(text), "X-Request-ID": "r-7"}
    run_id = client.post(RUNS, REQUEST, "application/json", headers=headers).json()["id"]
    client.post(f"{RUNS}/{run_id}/cancel", headers=headers)
    client.delete(f"{RUNS}/{run_id}", headers=headers)
    entries = AuditEntry.objects.filter(subject=f"run {run_id}").order_by("pk")
    assert [entry.action for entry in entries] == ["run.start", "run.cancel", "run.delete"]
    assert {(entry.account_name, entry.token_name, entry.request_id) for entry in entries} == {
        ("ada", "nightly", "r-7")
    }


def test_refused_actions_are_not_in_the_audit_log(ada: User) -> None:
    make_dataset()
    run = start_run(REQUEST, ada)
    with pytest.raises(NotPossible):
        control.delete_run(run, ada)
    with pytest.raises(NotPossible):
        control.retry_failed(run, ada)
    assert [entry.action for entry in AuditEntry.objects.filter(subject=f"run {run.pk}")] == ["run.start"]


def test_an_audit_entry_outlives_its_account(ada: User) -> None:
    make_dataset()
    run = start_run(REQUEST, ada)
    ada.delete()
    entry = AuditEntry.objects.get(subject=f"run {run.pk}")
    assert (entry.account, entry.account_name) == (None, "ada")


def test_edits_of_datasets_are_in_the_audit_log() -> None:
    make_dataset(slug="sums")
    assert AuditEntry.objects.get(subject="dataset sums").action == "dataset.edit"
