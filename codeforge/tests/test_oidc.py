"""Login by an OpenID Connect provider, against a provider on loopback: accounts, roles, and what is refused."""

from __future__ import annotations

import time
from collections.abc import Iterator
from types import ModuleType, SimpleNamespace
from typing import Any
from urllib.parse import parse_qs, urlsplit

import jwt
import pytest
import requests
from cryptography.hazmat.primitives.asymmetric import rsa
from django.contrib.auth.models import User
from django.core.exceptions import ImproperlyConfigured, SuspiciousOperation
from django.test import Client
from jwt.algorithms import RSAAlgorithm

import codeforge.urls
from codeforge import oidc
from tests.support.oidc_provider import CLIENT, SECRET, OidcProvider, oidc_provider

pytestmark = pytest.mark.django_db
EMAIL = "ada@example.com"


def configure(settings: Any, issuer: str) -> None:
    """Production with this provider, and the addresses of its login."""
    settings.OIDC_ISSUER, settings.OIDC_NAME = issuer, "Example SSO"
    settings.OIDC_RP_CLIENT_ID, settings.OIDC_RP_CLIENT_SECRET = CLIENT, SECRET
    settings.OIDC_RP_SCOPES, settings.OIDC_RP_SIGN_ALGO = "openid email profile", "RS256"
    settings.OIDC_USE_PKCE, settings.OIDC_TIMEOUT = True, 5
    settings.OIDC_USERNAME_CLAIM, settings.OIDC_GROUPS_CLAIM = "email", "groups"
    settings.OIDC_ROLES, settings.OIDC_DEFAULT_ROLE = ["bench=runner", "bench-admins=admin"], ""
    settings.LOGIN_REDIRECT_URL_FAILURE = "login"
    settings.AUTHENTICATION_BACKENDS = [*settings.AUTHENTICATION_BACKENDS, "codeforge.oidc.Backend"]
    settings.DEV_MODE = False
    addresses = ModuleType("addresses")
    addresses.urlpatterns = [*codeforge.urls.urlpatterns, *oidc.urlpatterns]  # type: ignore[attr-defined]
    addresses.handler403 = codeforge.urls.handler403  # type: ignore[attr-defined]
    settings.ROOT_URLCONF = addresses


@pytest.fixture
def provider(settings: Any) -> Iterator[OidcProvider]:
    with oidc_provider() as provider:
        configure(settings, provider.issuer)
        provider.person = {"sub": "1", "email": EMAIL, "email_verified": True, "groups": ["bench", "others"]}
        yield provider


def log_in(client: Client, following: str = "/runs/") -> str:
    """Follow the login to the provider and back; return the address at which it ends."""
    to_provider = client.get(f"/login/oidc/?next={following}")
    back = requests.get(to_provider["Location"], allow_redirects=False, timeout=5).headers["Location"]
    return str(client.get(back)["Location"])


def message(client: Client) -> str:
    [said] = client.get("/login/").context["messages"]
    return str(said)


def test_a_first_login_makes_an_account_with_the_role_of_its_group(client: Client, provider: OidcProvider) -> None:
    assert "Log in with Example SSO" in client.get("/login/").content.decode()
    assert log_in(client) == "/runs/"
    account = User.objects.get(username=EMAIL)
    assert [group.name for group in account.groups.all()] == ["runner"]
    assert not account.has_usable_password()
    assert client.get("/runs/").status_code == 200


def test_every_login_sets_the_role_anew(client: Client, provider: OidcProvider) -> None:
    log_in(client)
    provider.person["groups"] = ["bench", "bench-admins"]
    log_in(client)
    account = User.objects.get(username=EMAIL)
    assert account.is_staff
    assert [group.name for group in account.groups.all()] == ["admin"]
    provider.person["groups"] = []
    assert log_in(Client()) == "/login/"


def test_people_without_a_group_get_the_default_role_or_no_access(
    client: Client, provider: OidcProvider, settings: Any
) -> None:
    del provider.person["groups"]
    assert log_in(client) == "/login/"
    assert message(client) == f"No group of {EMAIL} has access here. Ask an administrator."
    assert not User.objects.exists()
    settings.OIDC_DEFAULT_ROLE = "viewer"
    assert log_in(client) == "/runs/"


def test_an_account_with_a_password_is_not_taken_over(client: Client, provider: OidcProvider) -> None:
    User.objects.create_superuser(EMAIL, password="a long walk by the river")
    assert log_in(client) == "/login/"
    assert message(client) == f"The account {EMAIL} has a password. Log in with it."


def test_an_inactive_account_stays_outside(client: Client, provider: OidcProvider) -> None:
    log_in(Client())
    User.objects.update(is_active=False)
    assert log_in(client) == "/login/"
    assert "inactive" in message(client)


@pytest.mark.parametrize("verified", [False, "true", None])
def test_an_email_that_is_not_verified_names_nobody(client: Client, provider: OidcProvider, verified: Any) -> None:
    provider.person["email_verified"] = verified
    assert log_in(client) == "/login/"
    assert "verified email" in message(client)


FORGED = {
    "another issuer": {"iss": "https://elsewhere.example"},
    "another client": {"aud": "somebody-else"},
    "given to another of several clients": {"aud": [CLIENT, "other"], "azp": "other"},
    "expired": {"exp": int(time.time()) - 3600},
    "another login's nonce": {"nonce": "old"},
    "no audience": {"aud": None},
}


@pytest.mark.parametrize("claims", FORGED.values(), ids=FORGED)
def test_a_forged_token_lets_nobody_in(client: Client, provider: OidcProvider, claims: dict[str, Any]) -> None:
    provider.token = claims
    assert log_in(client) == "/login/"
    assert message(client) == oidc.UNCONFIRMED
    assert not User.objects.exists()


def test_a_token_signed_by_somebody_else_lets_nobody_in(client: Client, provider: OidcProvider) -> None:
    provider.signing_key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    assert log_in(client) == "/login/"
    assert not User.objects.exists()


@pytest.mark.parametrize(
    ("named", "n_keys", "found"), [("a", 2, True), ("c", 2, False), (None, 2, False), (None, 1, True)]
)
def test_the_key_is_the_one_that_the_token_names(
    provider: OidcProvider, monkeypatch: pytest.MonkeyPatch, named: str | None, n_keys: int, found: bool
) -> None:
    key = RSAAlgorithm.to_jwk(provider.key.public_key(), as_dict=True)
    keys = [{**key, "kid": name} for name in ("a", "b")[:n_keys]]
    backend = oidc.Backend()
    backend.OIDC_OP_JWKS_ENDPOINT = "keys"
    answer = SimpleNamespace(json=lambda: {"keys": keys}, raise_for_status=lambda: None)
    monkeypatch.setattr(oidc, "requests", SimpleNamespace(get=lambda *args, **options: answer))
    token = jwt.encode({}, provider.key, "RS256", headers={"kid": named} if named else {})
    if found:
        assert backend.retrieve_matching_jwk(token).key_id == "a"
    else:
        with pytest.raises(SuspiciousOperation):
            backend.retrieve_matching_jwk(token)


def test_information_about_another_person_lets_nobody_in(client: Client, provider: OidcProvider) -> None:
    provider.information = {"sub": "2"}
    assert log_in(client) == "/login/"
    assert not User.objects.exists()


def test_a_code_of_another_session_is_refused(client: Client, provider: OidcProvider) -> None:
    to_provider = client.get("/login/oidc/")
    back = requests.get(to_provider["Location"], allow_redirects=False, timeout=5).headers["Location"]
    assert Client().get(back)["Location"] == "/login/"
    client.get(back)
    assert client.get(back)["Location"] == "/login/"  # a code and its state are good for one login


def test_a_provider_that_is_away_is_said_on_the_login_page(client: Client, provider: OidcProvider) -> None:
    provider.away = True
    assert client.get("/login/oidc/")["Location"] == "/login/"
    assert message(client) == "The login provider cannot be used now. Try again later."


def test_only_addresses_of_this_site_follow_a_login(client: Client, provider: OidcProvider) -> None:
    assert log_in(client, "https://elsewhere.example/") == "/"
    asked = parse_qs(urlsplit(client.get("/login/oidc/")["Location"]).query)
    assert asked["code_challenge_method"] == ["S256"]


def test_logins_by_password_go_on(client: Client, provider: OidcProvider) -> None:
    User.objects.create_user("grace", password="a long walk by the river")
    form = {"username": "grace", "password": "a long walk by the river"}
    assert client.post("/login/?code=1&state=2", form).status_code == 302
    assert client.post("/login/", form | {"password": "wrong"}).status_code == 200


@pytest.mark.parametrize("pair", ["bench", "bench=owner"])
def test_a_role_that_does_not_exist_is_refused(settings: Any, pair: str) -> None:
    settings.OIDC_ROLES = [pair]
    with pytest.raises(ImproperlyConfigured, match="viewer, reviewer, runner, editor, admin"):
        oidc.roles()


def test_without_a_provider_there_is_no_such_address(client: Client) -> None:
    assert not [route for route in codeforge.urls.urlpatterns if "oidc" in str(route.pattern)]
    assert "Log in with" not in client.get("/login/").content.decode()
