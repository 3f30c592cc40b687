"""What every page knows about the site: development mode, the main navigation, the theme."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest
from django.urls import reverse

THEMES = ("light", "dark")
THEME_COOKIE = "theme"

SECTIONS = (
    ("Overview", "overview"),
    ("Datasets", "datasets"),
    ("Canvases", "canvases"),
    ("Experiments", "experiments"),
    ("Runs", "runs"),
    ("Compare", "compare"),
    ("Leaderboard", "leaderboard"),
    ("Judges", "judges"),
    ("Providers", "providers"),
)


def site(request: HttpRequest) -> dict[str, object]:
    theme = request.COOKIES.get(THEME_COOKIE, "")
    user = getattr(request, "user", None)
    has_settings = settings.DEV_MODE or (user is not None and user.is_authenticated)
    navigation = []
    for title, name in (*SECTIONS, ("Settings", "settings")) if has_settings else SECTIONS:
        url = reverse(f"frontend:{name}")
        current = request.path == url if name == "overview" else request.path.startswith(url)
        navigation.append({"title": title, "url": url, "current": current})
    return {
        "dev_mode": settings.DEV_MODE,
        "theme": theme if theme in THEMES else "",
        "navigation": navigation,
    }
