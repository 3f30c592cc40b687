"""Authentication by an API token: ``Authorization: Bearer cfb_…``."""

from __future__ import annotations

from django.contrib.auth.models import User
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from benchmarks.models import ApiToken
from benchmarks.services import origin
from benchmarks.services.access import token_of


class TokenAuthentication(BaseAuthentication):
    """The account of a token. An invalid token is refused even if no login is required."""

    def authenticate(self, request: Request) -> tuple[User, ApiToken] | None:
        scheme, _, text = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "bearer":
            return None
        token = token_of(text.strip())
        if token is None:
            raise AuthenticationFailed("The token is unknown, revoked or expired. Request a new token.")
        origin.token_name.set(token.name)
        return token.account, token

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"


class TokenScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]  # its subclass hook has no types
    target_class = TokenAuthentication
    name = "token"

    def get_security_definition(self, auto_schema: object) -> dict[str, str]:
        return {"type": "http", "scheme": "bearer"}
