"""The search over everything that has a name, and the help: the words of the statistics, the keys, the documents."""

from __future__ import annotations

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.safestring import mark_safe
from django.views.decorators.http import require_safe

from benchmarks.presentation.glossary import GLOSSARY
from benchmarks.queries.search import MOST, search
from frontend.documents import DOCUMENTS, TITLES, document_html
from frontend.navigation import places
from frontend.params import text

SHORTEST = 2
"""Characters that a search needs; a number may be shorter."""


@require_safe
def search_page(request: HttpRequest) -> HttpResponse:
    """What matches ``?q=``, with the pages of that name; for htmx the matches alone."""
    words = text(request.GET, "q")
    searched = len(words) >= SHORTEST or words.isdigit()
    context = {
        "words": words,
        "searched": searched,
        "shortest": SHORTEST,
        "most": MOST,
        "pages": [page for page in _pages(request) if searched and words.lower() in page[0].lower()],
        "matches": search(words) if searched else None,
    }
    template = "matches" if request.headers.get("HX-Request") else "search"
    return render(request, f"frontend/search/{template}.html", context)


def _pages(request: HttpRequest) -> list[tuple[str, str]]:
    """Title and address of the pages that the search finds."""
    named = [(place.title, place.url) for place in places(request)]
    return [*named, ("Help", reverse("frontend:help"))]


@require_safe
def help_page(request: HttpRequest) -> HttpResponse:
    return render(request, "frontend/help.html", {"glossary": GLOSSARY, "documents": DOCUMENTS})


@require_safe
def document(request: HttpRequest, name: str) -> HttpResponse:
    """One document of the project."""
    if name not in TITLES:
        raise Http404(f"The document {name} does not exist.")
    try:
        html = document_html(settings.SHIPPED_DIR / "docs", name)
    except OSError as missing:
        raise Http404(f"This installation does not contain the document {name}.") from missing
    context = {
        "title": TITLES[name],
        "text": mark_safe(html),
        "crumbs": [("Help", reverse("frontend:help")), (TITLES[name], None)],
    }
    return render(request, "frontend/document.html", context)
