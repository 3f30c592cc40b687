"""Pages of lists, with a page size that the caller chooses within bounds."""

from __future__ import annotations

from typing import Any

from django.core.paginator import Page, Paginator
from django.utils.functional import cached_property
from rest_framework.pagination import PageNumberPagination


class Pages(PageNumberPagination):
    page_size = 50
    page_size_query_param = "page_size"
    max_page_size = 500


class ResultPaginator(Paginator):  # type: ignore[type-arg]  # generic in its stubs only
    """Knows the length of an unfiltered list without counting rows, and reads its pages without an OFFSET.

    Positions in a run go from 1 to its length, so a page of the unfiltered list in order is a range of positions.
    """

    @cached_property
    def count(self) -> int:
        known: int | None = getattr(self.object_list, "known_count", None)
        return super().count if known is None else known

    def page(self, number: int | str) -> Page[Any]:
        if not getattr(self.object_list, "by_position", False):
            return super().page(number)
        valid = self.validate_number(number)
        begin = (valid - 1) * self.per_page
        listed: Any = self.object_list
        rows = listed.filter(position__gt=begin, position__lte=begin + self.per_page)
        return Page(list(rows), valid, self)


class ResultPages(Pages):
    django_paginator_class = ResultPaginator
