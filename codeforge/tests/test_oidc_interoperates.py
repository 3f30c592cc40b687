"""Login by a provider that is not ours: oidc-provider-mock, which is made of Authlib, with its form of login."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import oidc_provider_mock
import pytest
import requests
from django.contrib.auth.models import User
from django.test import Client

from codeforge.tests.test_oidc import EMAIL, configure, message

pytestmark = pytest.mark.django_db


@pytest.fixture
def issuer(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("AUTHLIB_INSECURE_TRANSPORT", "1")  # loopback has no HTTPS
    claims = {"email": EMAIL, "email_verified": True, "groups": ["bench"]}
    person = oidc_provider_mock.User
    people = [person(sub="ada", claims=claims), person(sub="bob", claims={"email": "bob@example.com"})]
    with oidc_provider_mock.run_server_in_thread(user_claims=people, require_nonce=True) as server:
        issuer = f"http://localhost:{server.server_port}"
        configure(settings, issuer)
        yield issuer


def log_in(client: Client, person: str, **form: str) -> str:
    """Log in at the provider's form and come back; returns the address at which it ends."""
    to_provider = client.get("/login/oidc/?next=/runs/")["Location"]
    assert requests.get(to_provider, timeout=5).status_code == 200
    back = requests.post(to_provider, data={"sub": person, **form}, allow_redirects=False, timeout=5)
    return str(client.get(back.headers["Location"])["Location"])


@pytest.mark.usefixtures("issuer")
def test_a_person_of_another_provider_logs_in_with_the_role_of_the_group(client: Client) -> None:
    assert log_in(client, "ada") == "/runs/"
    account = User.objects.get(username=EMAIL)
    assert [group.name for group in account.groups.all()] == ["runner"]
    assert client.get("/runs/").status_code == 200


@pytest.mark.usefixtures("issuer")
def test_an_email_that_it_does_not_call_verified_names_nobody(client: Client) -> None:
    assert log_in(client, "bob") == "/login/"
    assert "verified email" in message(client)
    assert not User.objects.exists()


@pytest.mark.usefixtures("issuer")
def test_a_login_that_is_denied_there_lets_nobody_in(client: Client) -> None:
    assert log_in(client, "ada", action="deny") == "/login/"
    assert not User.objects.exists()


def test_groups_that_change_there_change_the_role_at_the_next_login(client: Client, issuer: str) -> None:
    log_in(client, "ada")
    changed = {"email": EMAIL, "email_verified": True, "groups": ["bench-admins"]}
    requests.put(f"{issuer}/users/ada", json=changed, timeout=5).raise_for_status()
    assert log_in(Client(), "ada") == "/runs/"
    assert [group.name for group in User.objects.get().groups.all()] == ["admin"]
