"""The search, and the help: the words of the statistics, the keys, the documents."""

from __future__ import annotations

from urllib.parse import urlsplit, urlunsplit

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from benchmarks.presentation.glossary import GLOSSARY
from benchmarks.queries.search import MOST
from frontend.documents import DOCUMENTS, START, TITLES, document_page, found_in_documents
from frontend.keys import KEYS
from frontend.palette import rows
from frontend.params import text

SHORTEST = 2
"""Characters that a search needs; a number may be shorter."""


@require_safe
def search_page(request: HttpRequest) -> HttpResponse:
    """What matches ``?q=``, and without it the commands and the entries of the navigation; for htmx the rows alone."""
    words = text(request.GET, "q")
    opened_on = urlsplit(request.headers.get("HX-Current-URL", ""))
    searched = len(words) >= SHORTEST or words.isdigit()
    context = {
        "words": words,
        "searched": searched,
        "shortest": SHORTEST,
        "most": MOST,
        "rows": rows(request, words if searched else ""),
        "back": urlunsplit(("", "", *opened_on[2:4], "")) or request.get_full_path(),
    }
    template = "matches" if request.headers.get("HX-Request") else "search"
    return render(request, f"frontend/search/{template}.html", context)


@require_safe
def help_page(request: HttpRequest) -> HttpResponse:
    """The documents, keys and words; with ``?q=`` the sections and words in which all of it is."""
    words = text(request.GET, "q").strip()
    entries = sorted(GLOSSARY.items(), key=lambda word: word[1].title.lower())
    if words:
        wanted = words.lower().split()
        entries = [(key, entry) for key, entry in entries if all(word in " ".join(entry).lower() for word in wanted)]
    context = {
        "words": words,
        "found": found_in_documents(settings.SHIPPED_DIR, words) if words else [],
        "glossary": entries,
        "first": DOCUMENTS[START],
        "groups": {group: documents for group, documents in DOCUMENTS.items() if group != START},
        "keys": KEYS,
    }
    return render(request, "frontend/help.html", context)


@require_safe
def document(request: HttpRequest, name: str) -> HttpResponse:
    """One document of the project."""
    if name not in TITLES:
        raise Http404(f"The document {name} does not exist.")
    try:
        shown = document_page(settings.SHIPPED_DIR, name)
    except OSError as missing:
        raise Http404(f"This installation does not contain the document {name}.") from missing
    names = list(TITLES)
    place = names.index(name)
    group = next(group for group, documents in DOCUMENTS.items() if name in documents)
    context = {
        "name": name,
        "title": TITLES[name],
        "page": shown,
        "group": group,
        "beside": DOCUMENTS[group],
        "before": [(each, TITLES[each]) for each in names[max(0, place - 1) : place]],
        "after": [(each, TITLES[each]) for each in names[place + 1 : place + 2]],
        "crumbs": [("Help", reverse("frontend:help")), (TITLES[name], None)],
    }
    return render(request, "frontend/document.html", context)
