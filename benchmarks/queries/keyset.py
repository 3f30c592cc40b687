"""Pages of a long list that cost the same wherever they lie: each begins after the last row of the one before.

A cursor is ``"<key>~<id>"``, where the key is the row's value of the order's field. Rows without that value are not
part of the order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from django.db.models import Model, Q, QuerySet

Row = TypeVar("Row", bound=Model)


class BadCursor(ValueError):
    """A cursor that no page has handed out."""


@dataclass(frozen=True, slots=True)
class Order:
    """One field, ties broken by id. ``kind`` reads the field's value back from a cursor."""

    field: str
    descending: bool = False
    kind: type[int] | type[float] = int

    @property
    def reverse(self) -> Order:
        return Order(self.field, not self.descending, self.kind)

    def cursor(self, row: Model) -> str:
        return f"{getattr(row, self.field)}~{row.pk}"

    def beyond(self, cursor: str) -> Q:
        """The rows that come after the cursor. Raises ``BadCursor``."""
        key, pk = self._parts(cursor)
        side = "lt" if self.descending else "gt"
        tied = Q(**{self.field: key, f"pk__{side}": pk})
        # The first condition says nothing new, but lets an index on the field begin at the cursor.
        return Q(**{f"{self.field}__{side}e": key}) & (Q(**{f"{self.field}__{side}": key}) | tied)

    def applied(self, rows: QuerySet[Row]) -> QuerySet[Row]:
        sign = "-" if self.descending else ""
        return rows.filter(**{f"{self.field}__isnull": False}).order_by(f"{sign}{self.field}", f"{sign}pk")

    def _parts(self, cursor: str) -> tuple[Any, int]:
        key, _, pk = cursor.partition("~")
        try:
            parts = self.kind(key), int(pk)
        except (ValueError, OverflowError):
            raise BadCursor(cursor) from None
        if not -(2**63) <= parts[1] < 2**63 or not -(2.0**63) <= parts[0] < 2.0**63:
            raise BadCursor(cursor)
        return parts


@dataclass(frozen=True, slots=True)
class KeysetPage(Generic[Row]):
    """The rows of one page, and the cursors of the pages beside it where there are any."""

    rows: list[Row]
    after: str | None
    before: str | None


def keyset_page(
    rows: QuerySet[Row], order: Order, size: int, after: str | None = None, before: str | None = None
) -> KeysetPage[Row]:
    """The page after (or before) a cursor; the first without one. One query. Raises ``BadCursor``."""
    if before:
        found = list(order.reverse.applied(rows).filter(order.reverse.beyond(before))[: size + 1])
        more_before, more_after = len(found) > size, True
        found = found[:size][::-1]
    else:
        ordered = order.applied(rows)
        found = list((ordered.filter(order.beyond(after)) if after else ordered)[: size + 1])
        more_before, more_after = bool(after), len(found) > size
        found = found[:size]
    if not found:
        return KeysetPage([], None, None)
    return KeysetPage(
        found,
        after=order.cursor(found[-1]) if more_after else None,
        before=order.cursor(found[0]) if more_before else None,
    )


@dataclass(frozen=True, slots=True)
class WindowPage(Generic[Row]):
    """What a search found. ``after`` goes on behind ``searched_to``, the last position that was looked at."""

    rows: list[Row]
    after: str | None
    searched_to: int


def window_page(
    rows: QuerySet[Row], wanted: Q, size: int, *, window: int, last: int, after: str | None = None
) -> WindowPage[Row]:
    """Matches among the next ``window`` positions of a list that ends at position ``last``. Raises ``BadCursor``.

    For what no index finds, such as a word inside a text: however long the list, a page looks through one window.
    """
    start = _position_of(after) if after else -1
    end = start + window
    within = rows.filter(position__gt=start, position__lte=end)
    # The limit keeps PostgreSQL from looking for the texts first, which it would do in all rows there are. The range
    # stands outside too, or SQLite would go through all rows to see which of them are inside.
    in_window = within.order_by("position").values("pk")[:window]
    found = list(within.filter(wanted, pk__in=in_window).order_by("position", "pk")[: size + 1])
    if len(found) > size:
        found = found[:size]
        end = found[-1].position  # type: ignore[attr-defined]  # lists that are searched have positions
    return WindowPage(found, f"{end}~0" if end < last else None, min(end, last))


def _position_of(cursor: str) -> int:
    try:
        position = int(cursor.partition("~")[0])
    except ValueError:
        raise BadCursor(cursor) from None
    if not 0 <= position < 2**31:
        raise BadCursor(cursor)
    return position


def neighbours(rows: QuerySet[Row], order: Order, row: Row) -> tuple[int | None, int | None]:
    """Ids of the rows before and after ``row`` in the order, where there are any. Two queries."""
    if getattr(row, order.field) is None:
        return None, None
    cursor = order.cursor(row)
    return tuple(  # type: ignore[return-value]  # two items, one for each direction
        way.applied(rows).filter(way.beyond(cursor)).values_list("pk", flat=True).first()
        for way in (order.reverse, order)
    )
