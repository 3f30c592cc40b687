"""Log in with an OpenID Connect provider, if ``OIDC_ISSUER`` is set. mozilla-django-oidc does the code flow with state,
nonce and PKCE; here are the endpoints, which come from the provider's own document, and the account and its role.
"""

from __future__ import annotations

import logging
from typing import Any

import jwt
import requests
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import User
from django.core.exceptions import ImproperlyConfigured, SuspiciousOperation
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import path
from mozilla_django_oidc.auth import OIDCAuthenticationBackend
from mozilla_django_oidc.views import OIDCAuthenticationCallbackView, OIDCAuthenticationRequestView

from benchmarks.services.access import GROUPS, assign_group
from benchmarks.services.errors import InvalidRequest
from benchmarks.services.members import add_member

logger = logging.getLogger(__name__)

ENDPOINTS = {
    "OIDC_OP_AUTHORIZATION_ENDPOINT": "authorization_endpoint",
    "OIDC_OP_TOKEN_ENDPOINT": "token_endpoint",
    "OIDC_OP_USER_ENDPOINT": "userinfo_endpoint",
    "OIDC_OP_JWKS_ENDPOINT": "jwks_uri",
}
FAILURES = (requests.RequestException, SuspiciousOperation, jwt.PyJWTError, LookupError, ValueError, TypeError)
"""What an unavailable, misconfigured or forged provider leads to."""

UNCONFIRMED = "The login provider did not confirm the login. Try again."

_documents: dict[str, dict[str, Any]] = {}


class Refused(Exception):
    """The provider knows this person, but they get no access here; the message is for them."""


def roles() -> dict[str, str]:
    """The provider's group → ours, of ``OIDC_ROLES``, such as ``bench-admins=admin, everybody=viewer``."""
    pairs = [part.split("=", 1) for part in settings.OIDC_ROLES]
    if wrong := [pair for pair in pairs if len(pair) != 2 or pair[1].strip() not in GROUPS]:
        raise ImproperlyConfigured(
            f"OIDC_ROLES: {'='.join(wrong[0])!r} is not GROUP=ROLE, with a role of: {', '.join(GROUPS)}."
        )
    return {group.strip(): role.strip() for group, role in pairs}


def _setting(name: str, *default: Any) -> Any:
    """In place of the library's reader of settings: endpoints come from the provider's discovery document."""
    if name not in ENDPOINTS:
        return OIDCAuthenticationBackend.get_settings(name, *default)
    issuer = settings.OIDC_ISSUER
    if issuer not in _documents:
        answer = requests.get(f"{issuer}/.well-known/openid-configuration", timeout=settings.OIDC_TIMEOUT)
        answer.raise_for_status()
        document = answer.json()
        if document["issuer"].rstrip("/") != issuer:
            raise SuspiciousOperation(f"{issuer} says that it is {document['issuer']!r}")
        _documents[issuer] = document
    return _documents[issuer][ENDPOINTS[name]]


class Backend(OIDCAuthenticationBackend):  # type: ignore[misc]  # the library has no types
    """An account is found by its name: the claim ``OIDC_USERNAME_CLAIM``. Every login sets its role anew."""

    get_settings = staticmethod(_setting)

    def __init__(self) -> None:
        # Not the library's: it reads the endpoints, and Django makes a backend for every check of a permission.
        self.UserModel = User

    def authenticate(self, request: HttpRequest | None, **kwargs: Any) -> User | None:
        if "nonce" not in kwargs:  # a login by password
            return None
        super().__init__()
        account: User | None = super().authenticate(request, **kwargs)
        return account

    def retrieve_matching_jwk(self, token: str) -> jwt.PyJWK:
        """The provider's key that the token names. With one key, it need not name it (OpenID Connect Core, 10.1), which
        the library takes for an error."""
        answer = requests.get(self.OIDC_OP_JWKS_ENDPOINT, timeout=settings.OIDC_TIMEOUT)
        answer.raise_for_status()
        header = jwt.get_unverified_header(token)
        keys = [key for key in answer.json()["keys"] if key.get("alg", header["alg"]) == header["alg"]]
        if "kid" in header:
            keys = [key for key in keys if key.get("kid") == header["kid"]]
        if len(keys) != 1:
            raise SuspiciousOperation(f"{len(keys)} keys of the provider are those that the token names.")
        return jwt.PyJWK(keys[0])

    def verify_token(self, token: str, **kwargs: Any) -> dict[str, Any]:
        """Beside signature, time and nonce, which the library checks: who issued the token, and for whom."""
        payload: dict[str, Any] = super().verify_token(token, **kwargs)
        audience = payload["aud"] if isinstance(payload["aud"], list) else [payload["aud"]]
        if payload["iss"].rstrip("/") != settings.OIDC_ISSUER or self.OIDC_RP_CLIENT_ID not in audience:
            raise SuspiciousOperation("The token is from another issuer or for another client.")
        if len(audience) > 1 and payload.get("azp") != self.OIDC_RP_CLIENT_ID:
            raise SuspiciousOperation("The token was given to another client.")
        return payload

    def get_or_create_user(self, access_token: str, id_token: str, payload: dict[str, Any]) -> User:
        """The account of these claims, with the role that they give it. Raises ``Refused``."""
        information = self.get_userinfo(access_token, id_token, payload)
        if information["sub"] != payload["sub"]:
            raise SuspiciousOperation("The provider describes another person than the one who logged in.")
        claims = information | payload
        claim = settings.OIDC_USERNAME_CLAIM
        name = str(claims.get(claim) or "")
        if not name or (claim == "email" and claims.get("email_verified") is not True):
            raise Refused(f"Your login provider gives no {'verified email' if claim == 'email' else claim}.")
        given = claims.get(settings.OIDC_GROUPS_CLAIM) or []
        mapped = roles()
        matching = {mapped[group] for group in given if group in mapped}
        role = max(matching, key=list(GROUPS).index, default=settings.OIDC_DEFAULT_ROLE)
        if not role:
            raise Refused(f"No group of {name} has access here. Ask an administrator.")
        account = User.objects.filter(username=name).first()
        if account is None:
            return add_member(name, role)
        # Whoever can choose names at the provider must not take over an account that is not from there.
        if account.has_usable_password():
            raise Refused(f"The account {name} has a password. Log in with it.")
        if not account.is_active:
            raise Refused(f"The account {name} is inactive. Ask an administrator.")
        if [group.name for group in account.groups.filter(name__in=GROUPS)] != [role]:
            assign_group(account, role)
        return account


class RequestView(OIDCAuthenticationRequestView):  # type: ignore[misc]
    get_settings = staticmethod(_setting)


class CallbackView(OIDCAuthenticationCallbackView):  # type: ignore[misc]
    get_settings = staticmethod(_setting)
    user: User | None = None


def start(request: HttpRequest) -> HttpResponseBase:
    """To the provider's login."""
    try:
        response: HttpResponseBase = RequestView.as_view()(request)
    except FAILURES as error:
        return _failed(request, "The login provider cannot be used now. Try again later.", error)
    return response


def callback(request: HttpRequest) -> HttpResponseBase:
    """Back from the provider's login."""
    view = CallbackView()
    view.setup(request)
    try:
        response: HttpResponseBase = view.dispatch(request)
    except Refused as refused:
        return _failed(request, str(refused))
    except InvalidRequest as invalid:
        return _failed(request, f"Your login provider gives a name that cannot be used. {invalid}")
    except FAILURES as error:
        return _failed(request, UNCONFIRMED, error)
    return response if view.user else _failed(request, UNCONFIRMED)


def _failed(request: HttpRequest, message: str, error: Exception | None = None) -> HttpResponseBase:
    if error:
        logger.warning("login by OpenID Connect failed: %s: %s", type(error).__name__, error)
    messages.error(request, message)
    return redirect(settings.LOGIN_URL)


urlpatterns = [
    path("login/oidc/", start, name="oidc"),
    path("login/oidc/callback/", callback, name="oidc_authentication_callback"),
]
