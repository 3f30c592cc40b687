"""What every page knows of the site: the mode, the main navigation, the chosen colours."""

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
    ("Runs", "runs"),
    ("Compare", "compare"),
    ("Leaderboard", "leaderboard"),
    ("Judges", "judges"),
)


def site(request: HttpRequest) -> dict[str, object]:
    theme = request.COOKIES.get(THEME_COOKIE, "")
    return {
        "dev_mode": settings.DEV_MODE,
        "theme": theme if theme in THEMES else "",
        "navigation": [
            {"title": title, "url": url, "current": _lies_under(request.path, url)}
            for title, url in ((title, reverse(f"frontend:{name}")) for title, name in SECTIONS)
        ],
    }


def _lies_under(path: str, url: str) -> bool:
    return path == url if url == "/" else path.startswith(url)
