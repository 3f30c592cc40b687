"""What every page knows about the site: development mode, the navigation, the theme, the login provider."""

from __future__ import annotations

from functools import partial

from django.conf import settings
from django.http import HttpRequest

from benchmarks.services.access import may_launch
from frontend.navigation import entries, tabs

THEMES = ("light", "dark")
THEME_COOKIE = "theme"


def site(request: HttpRequest) -> dict[str, object]:
    theme = request.COOKIES.get(THEME_COOKIE, "")
    user = getattr(request, "user", None)
    return {
        "dev_mode": settings.DEV_MODE,
        "theme": theme if theme in THEMES else "",
        "navigation": partial(entries, request),
        "tabs": partial(tabs, request),
        "may_start": user is not None and partial(may_launch, user),
        "oidc_name": settings.OIDC_NAME,
        "may_enter_admin": settings.DEV_MODE or (user is not None and user.is_active and user.is_staff),
    }
