"""Pages that are one list: a title, a sentence, a table with its pages, or what to do while there is nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from django.core.paginator import Page, Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from benchmarks.presentation.tables import Shown, Table
from benchmarks.services.access import may
from frontend.views.shared import require

PAGE_SIZE = 50
Crumbs = Sequence[tuple[str, str | None]]


@dataclass(frozen=True, slots=True)
class Button:
    """A link to another page of the dashboard, above the list or below what stands instead of it."""

    label: str
    route: str
    query: str = ""

    @property
    def url(self) -> str:
        return "?".join(filter(None, (reverse(f"frontend:{self.route}"), self.query)))


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
    otherwise: Button | None = None,
    examples: Sequence[tuple[str, str]] = (),
    **below: object,
) -> HttpResponse:
    """The page of a list. ``add`` is for whoever may add to it. While it is empty: ``examples`` of what it is for, and
    ``otherwise``, where to go. ``below`` are ``problems``, notices, and the templates ``after``, which stands after the
    list, ``instead``, in an empty one, and that of ``reference``, folded by its title, with what they take."""
    context = {
        **{"title": title, "shown": shown, "lead": lead, "empty": empty, "page": page},
        **{"crumbs": crumbs, "add": add, "otherwise": otherwise, "examples": examples},
        **below,
    }
    return render(request, "frontend/list.html", context)


def list_page(
    title: str,
    table: Table[Any],
    rows: Callable[[], Any],
    *,
    lead: str,
    empty: str,
    permissions: Sequence[str] = (),
    crumbs: Callable[..., Crumbs] = lambda *steps: (),
    add: tuple[str, Button] | None = None,
    **below: Any,
) -> Callable[[HttpRequest], HttpResponse]:
    """A view of a list that only its table makes; ``add`` is a permission and what it allows."""

    @never_cache
    @require_safe
    def view(request: HttpRequest) -> HttpResponse:
        require(request, *permissions)
        page = page_of(request, rows())
        button = add[1] if add and may(request.user, add[0]) else None
        path = crumbs((title, None))
        shown = table.of(page)
        return listed(request, title, shown, lead=lead, empty=empty, page=page, crumbs=path, add=button, **below)

    return view
