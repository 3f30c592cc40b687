"""What the lists of the admin add to those of Django."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from django import template
from django.utils.html import format_html, strip_tags
from django.utils.safestring import SafeString, mark_safe
from django.utils.text import capfirst

register = template.Library()


@register.filter
def labeled(cells: Iterable[SafeString], headers: Sequence[Mapping[str, Any]]) -> Iterator[SafeString]:
    """The cells of a row, each with the title of its column: phones show it beside the value."""
    for cell, header in zip(cells, headers, strict=True):
        label = format_html(' data-label="{}"', capfirst(strip_tags(str(header["text"])).strip()))
        yield mark_safe(cell[:3] + label + cell[3:])  # "<td" or "<th", as Django made it
