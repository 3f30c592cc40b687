"""One gate in front of every page: without the permission to read, only the pages listed here are open."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

from axes.helpers import get_client_username
from axes.models import AccessLog
from django.conf import settings
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils import timezone
from django.utils.deprecation import MiddlewareMixin
from rest_framework.views import APIView

from benchmarks.services.access import READ_REFUSAL, may_read

OPEN_ROUTES = frozenset(
    {
        *("login", "logout", "frontend:theme", "frontend:shared"),
        "frontend:set-password",
        *("oidc", "oidc_authentication_callback"),
    }
)
"""Pages for everybody: the login, the choice of theme, a page shared by a signed link, a script without data, and a
password set by a signed link."""


KNOWN_FOR = timedelta(days=30)
"""How long an address is known for an account after a login."""


class ReadingMiddleware(MiddlewareMixin):
    """Redirects whoever may not read to the login, whatever the page.

    The admin and the API check permissions themselves: the admin requires staff accounts, and the API's views check
    after they have read the caller's token.
    """

    def process_view(
        self, request: HttpRequest, view: Callable[..., Any], args: Any, kwargs: Any
    ) -> HttpResponseBase | None:
        if may_read(request.user) or _checks_access_itself(request, view):
            return None
        if request.method in ("GET", "HEAD") and not request.user.is_authenticated:
            return redirect_to_login(request.get_full_path(), settings.LOGIN_URL)
        raise PermissionDenied(READ_REFUSAL)


def _checks_access_itself(request: HttpRequest, view: Callable[..., Any]) -> bool:
    match = request.resolver_match
    if match is None:
        return False
    api_view = getattr(view, "cls", None)
    guarded_api = isinstance(api_view, type) and issubclass(api_view, APIView) and bool(api_view.permission_classes)
    return guarded_api or match.app_name == "admin" or match.view_name in OPEN_ROUTES


def lockout_parameters(request: HttpRequest, credentials: Mapping[str, Any] | None = None) -> list[str]:
    """What failed logins are counted by: the address, and the account.

    From an address where the account's owner has logged in lately, only the address counts. So a stranger who guesses
    from many addresses is blocked, but cannot lock the owner out.
    """
    account, since = get_client_username(request, credentials), timezone.now() - KNOWN_FOR
    logins = AccessLog.objects.filter(username=account, ip_address=client_address(request), attempt_time__gte=since)
    return ["ip_address"] if account is None or logins.exists() else ["ip_address", "username"]


def client_address(request: HttpRequest) -> str:
    """The client's address, for counting failed logins. Behind a proxy: the last hop, which the proxy itself added."""
    forwarded = request.headers.get("X-Forwarded-For", "") if settings.BEHIND_PROXY else ""
    return forwarded.rpartition(",")[2].strip() or request.META.get("REMOTE_ADDR", "")
