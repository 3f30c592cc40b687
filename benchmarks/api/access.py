"""Who calls the API, by an API token (``Authorization: Bearer cfb_…``) or a session, and what that account may do."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed, PermissionDenied
from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request

from benchmarks.models import ApiToken
from benchmarks.services import access, origin

RULES = {
    ApiToken.Scope.READ: (access.may_read, access.READ_REFUSAL),
    ApiToken.Scope.LABEL: (access.may_label, access.LABEL_REFUSAL),
    ApiToken.Scope.LAUNCH: (access.may_launch, access.LAUNCH_REFUSAL),
    ApiToken.Scope.EDIT: (access.may_edit, access.EDIT_REFUSAL),
}


class TokenAuthentication(BaseAuthentication):
    """The account of a token. An invalid token is refused even if no login is required."""

    def authenticate(self, request: Request) -> tuple[User, ApiToken] | None:
        scheme, _, text = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "bearer":
            return None
        token = access.token_of(text.strip())
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


class ReadOrPermitted(BasePermission):
    """Reading as the site allows it; everything else requires the permission to launch. A refusal says why.

    A request with a token also requires the scope: a token never allows more than its account.
    """

    writing = ApiToken.Scope.LAUNCH

    def has_permission(self, request: Request, view: Any) -> bool:
        needed = ApiToken.Scope.READ if request.method in SAFE_METHODS else self.writing
        if isinstance(request.auth, ApiToken) and needed not in request.auth.scopes:
            raise PermissionDenied(f"The token lacks the scope {needed}. Request a token with this scope.")
        may, refusal = RULES[needed]
        if not may(request.user):
            raise PermissionDenied(refusal)
        return True


class ReadOrLabel(ReadOrPermitted):
    """As ``ReadOrPermitted``, for what reviewers say of results."""

    writing = ApiToken.Scope.LABEL


class ReadOrEdit(ReadOrPermitted):
    """As ``ReadOrPermitted``, for data that only editors write."""

    writing = ApiToken.Scope.EDIT


class ReadOrEnter(ReadOrEdit):
    """As ``ReadOrEdit``, for what only administrators enter: keys, addresses, systems."""

    def has_permission(self, request: Request, view: Any) -> bool:
        # First, because neither a scope nor the permission to edit would help anybody else.
        if request.method not in SAFE_METHODS and not access.may_set_keys(request.user):
            raise PermissionDenied(access.KEYS_REFUSAL)
        return super().has_permission(request, view)
