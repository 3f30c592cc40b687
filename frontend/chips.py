"""Filters of a list as chips, and the columns that it shows. Both stand in the address."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.http import QueryDict

from benchmarks.presentation.tables import Table
from frontend.params import text

COLUMNS = "columns"


@dataclass(frozen=True, slots=True)
class Chip:
    """A filter in force, and the address without it."""

    text: str
    url: str


def chips(query: QueryDict, labels: Mapping[str, str], titles: Mapping[str, Mapping[str, str]]) -> list[Chip]:
    """The filters of the address that ``labels`` names, with the ``titles`` of their values."""
    shown = []
    for name, label in labels.items():
        if value := text(query, name):
            title = titles.get(name, {}).get(value, value)
            shown.append(Chip(f"{label}: {title}" if label else title, without(query, name)))
    return shown


@dataclass(frozen=True, slots=True)
class Toggle:
    """A filter that is on or off, and the address with it switched."""

    text: str
    url: str
    is_on: bool


@dataclass(frozen=True, slots=True)
class Choice:
    """A filter of which one value is in force: its label, what its chip says, and its values."""

    label: str
    text: str
    options: list[Toggle]
    is_set: bool
    """Whether the address sets it."""


def choice(query: QueryDict, name: str, label: str, options: Iterable[Any], chosen: object) -> Choice:
    """``options`` are values, or pairs of a value and its title; the chip of a choice of nothing says its label."""
    titles: dict[Any, str] = dict(each if isinstance(each, tuple) else (each, str(each)) for each in options)
    switched, shown = _left(query, name), []
    for value, title in titles.items():
        switched[name] = str(value)
        url = f"?{switched.urlencode()}" if str(value) else without(query, name)
        shown.append(Toggle(title, url, value == chosen))
    return Choice(label, titles.get(chosen, label), shown, bool(text(query, name)))


def toggles(
    query: QueryDict, name: str, titles: Mapping[str, str], chosen: Collection[str] | None = None
) -> list[Toggle]:
    """The values of a filter that may have several, each as a chip that switches it. ``chosen`` are those in force, by
    default the ones in the address."""
    chosen = [value for value in (query.getlist(name) if chosen is None else chosen) if value in titles]
    shown = []
    for value, title in titles.items():
        switched = query.copy()
        switched.setlist(name, [each for each in titles if (each in chosen) != (each == value)])
        shown.append(Toggle(title, f"?{switched.urlencode()}", value in chosen))
    return shown


def without(query: QueryDict, name: str) -> str:
    """The address without a filter, at its first page."""
    return f"?{_left(query, name).urlencode()}"


def _left(query: QueryDict, name: str) -> QueryDict:
    left = query.copy()
    for gone in (name, "page", "after", "before"):
        left.pop(gone, None)
    return left


def chosen_columns(query: QueryDict, table: Table[Any]) -> dict[str, bool]:
    """The columns that can be left out → whether the address shows them; all without a choice."""
    names = [column.given for column in table.columns if column.given]
    chosen = set(query.getlist(COLUMNS)) if COLUMNS in query else set(names)
    return {name: name in chosen for name in names}


def columns_offered(table: Table[Any], chosen: Mapping[str, bool]) -> list[tuple[str, str, bool]]:
    """Name, head and whether it is shown, of each column that can be left out."""
    return [(column.given, column.head, chosen[column.given]) for column in table.columns if column.given]
