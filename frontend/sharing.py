"""Share links as pages offer them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar
from urllib.parse import urlencode

from django.http import HttpRequest
from django.urls import reverse

from benchmarks.models import ShareLink
from benchmarks.queries.access import share_links
from benchmarks.services.access import may_launch
from benchmarks.services.share_links import FIELDS, VALID_DAYS, link_key

SHOWS = {
    ShareLink.Kind.RUN: "Shows scores, failures and answers",
    ShareLink.Kind.EXPERIMENT: "Shows scores, ranks and costs, also of runs added later,",
    ShareLink.Kind.COMPARISON: "Shows scores, differences and costs",
    ShareLink.Kind.LEADERBOARD: "Shows scores, ranks and costs, also of later runs,",
    ShareLink.Kind.OVERALL: "Shows scores and ranks, also of later runs,",
}
"""Kind of link → what it shows, before "to anyone with the link"."""


@dataclass(frozen=True, slots=True)
class Shareable:
    """What a page may share: the fields of the form that does so, and its link with the address, if there is one."""

    kind: str
    query: str
    shows: str
    link: ShareLink | None
    address: str
    days: ClassVar = VALID_DAYS


def shared_or_shareable(request: HttpRequest, kind: str, asked: Mapping[str, object]) -> Shareable | None:
    """For a page's button and its link; ``None`` if the user may not share. Of ``asked``, the fields of the kind
    count."""
    if not may_launch(request.user):
        return None
    query = urlencode({name: value for name, value in asked.items() if value and name in FIELDS[kind]})
    link = share_links().filter(kind=kind, query=query).first()
    return Shareable(kind, query, SHOWS[ShareLink.Kind(kind)], link, address_of(request, link) if link else "")


def address_of(request: HttpRequest, link: ShareLink) -> str:
    return request.build_absolute_uri(reverse("frontend:shared", args=(link_key(link),)))
