"""What every page knows about the site: development mode, the navigation, the theme."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest
from django.urls import reverse

THEMES = ("light", "dark")
THEME_COOKIE = "theme"

SECTIONS = (
    ("Overview", "overview"),
    ("Benchmarks", "benchmarks"),
    ("Runs", "runs"),
    ("Experiments", "experiments"),
    ("Leaderboard", "leaderboard"),
    ("Datasets", "datasets"),
    ("Canvases", "canvases"),
    ("Judges", "judges"),
)
"""Title and route of the entries of the main navigation."""
TOOLS = (("Compare", "compare"), ("Providers", "providers"), ("Settings", "settings"))
"""Other pages. All but the first are linked at the right of the header, settings for members only."""


def site(request: HttpRequest) -> dict[str, object]:
    theme = request.COOKIES.get(THEME_COOKIE, "")
    user = getattr(request, "user", None)
    is_member = settings.DEV_MODE or (user is not None and user.is_authenticated)
    return {
        "dev_mode": settings.DEV_MODE,
        "theme": theme if theme in THEMES else "",
        "navigation": [_entry(request, *section) for section in SECTIONS],
        "tools": [_entry(request, *tool) for tool in TOOLS[1 : None if is_member else 2]],
        "may_enter_admin": settings.DEV_MODE or (user is not None and user.is_active and user.is_staff),
    }


def _entry(request: HttpRequest, title: str, name: str) -> dict[str, object]:
    url = reverse(f"frontend:{name}")
    current = request.path == url if name == "overview" else request.path.startswith(url)
    return {"title": title, "url": url, "current": current}
