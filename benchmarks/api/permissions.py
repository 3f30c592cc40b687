"""Permissions to read and write through the API."""

from __future__ import annotations

from typing import Any

from rest_framework.exceptions import PermissionDenied
from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request

from benchmarks.models import ApiToken
from benchmarks.services.access import (
    EDIT_REFUSAL,
    LAUNCH_REFUSAL,
    LOCAL_HINT,
    READ_REFUSAL,
    may_edit,
    may_launch,
    may_read,
)

RULES = {
    ApiToken.Scope.READ: (may_read, READ_REFUSAL),
    ApiToken.Scope.LAUNCH: (may_launch, f"{LAUNCH_REFUSAL} {LOCAL_HINT}"),
    ApiToken.Scope.EDIT: (may_edit, f"{EDIT_REFUSAL} {LOCAL_HINT}"),
}


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


class ReadOrEdit(ReadOrPermitted):
    """As ``ReadOrPermitted``, for data that only editors write."""

    writing = ApiToken.Scope.EDIT
