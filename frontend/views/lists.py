"""Pages that are one list: a title, a sentence, a table with its pages, or what to do while there is nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.core.paginator import Page, Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from benchmarks.presentation.tables import Shown

PAGE_SIZE = 50
FEW_ROWS = 5
"""Below fewer rows there is room for more: what explains them, or earlier ones."""
Crumbs = Sequence[tuple[str, str | None]]


@dataclass(frozen=True, slots=True)
class Button:
    """A link to another page of the dashboard, above the list."""

    label: str
    route: str
    query: str = ""

    @property
    def url(self) -> str:
        return "?".join(filter(None, (reverse(f"frontend:{self.route}"), self.query)))


@dataclass(frozen=True, slots=True)
class Example:
    """What a list is for. Its ``url`` is where such a thing is made, for whoever may."""

    name: str
    text: str
    url: str = ""


def page_of(request: HttpRequest, rows: Any) -> Page[Any]:
    return Paginator(rows, PAGE_SIZE).get_page(request.GET.get("page"))


def listed(
    request: HttpRequest,
    title: str,
    shown: Shown[Any],
    *,
    lead: str,
    empty: str,
    page: Page[Any] | None = None,
    crumbs: Crumbs = (),
    add: Button | None = None,
    examples: Sequence[Example] = (),
    **below: object,
) -> HttpResponse:
    """The page of a list. ``add`` is for whoever may add to it, as are the links of ``examples``, which an empty list
    shows. ``below`` are ``problems``, notices, and the templates ``after``, which stands after the list, ``instead``,
    in an empty one, and that of ``reference``, folded by its title below the list, with what they take."""
    context = {
        **{"title": title, "shown": shown, "lead": lead, "empty": empty, "page": page},
        **{"crumbs": crumbs, "add": add, "examples": examples},
        **below,
    }
    return render(request, "frontend/list.html", context)
