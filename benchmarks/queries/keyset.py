"""Pages of a long list that all cost the same: each begins after the last row of the one before (keyset pagination).

A cursor is ``"<key>~<id>"``, where the key is the row's value of the order's field. Rows without that value are not
part of the order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from django.db.models import BooleanField, F, Func, Model, Q, QuerySet, Value

Row = TypeVar("Row", bound=Model)


class BadCursor(ValueError):
    """A cursor that no page returned."""


@dataclass(frozen=True, slots=True)
class Order:
    """One field, ties broken by id. ``kind`` reads the field's value from a cursor."""

    field: str
    descending: bool = False
    kind: type[int] | type[float] = int

    @property
    def reverse(self) -> Order:
        return Order(self.field, not self.descending, self.kind)

    def cursor(self, row: Model) -> str:
        return f"{getattr(row, self.field)}~{row.pk}"

    def beyond(self, cursor: str) -> Func:
        """The condition of the rows after the cursor. Raises ``BadCursor``."""
        key, _, pk = cursor.partition("~")
        try:
            at, at_pk = self.kind(key), int(pk)
        except (ValueError, OverflowError):
            raise BadCursor(cursor) from None
        # What no database column holds would fail in the query. NaN fails the comparison, too.
        if not -(2**63) <= at_pk < 2**63 or not -(2.0**63) <= at < 2.0**63:
            raise BadCursor(cursor)
        # Compared as rows, a pair starts in the index where the cursor is, however many rows have the same key.
        rows = (Func(*pair, function="") for pair in ((F(self.field), F("pk")), (Value(at), Value(at_pk))))
        sign = " < " if self.descending else " > "
        return Func(*rows, template="%(expressions)s", arg_joiner=sign, output_field=BooleanField())

    def applied(self, rows: QuerySet[Row]) -> QuerySet[Row]:
        sign = "-" if self.descending else ""
        return rows.filter(**{f"{self.field}__isnull": False}).order_by(f"{sign}{self.field}", f"{sign}pk")


@dataclass(frozen=True, slots=True)
class KeysetPage(Generic[Row]):
    """The rows of one page, and the cursors of the next and the previous page if they exist.

    ``searched_to`` is the last position that a text search looked at; ``None`` without a search.
    """

    rows: list[Row]
    after: str | None
    before: str | None = None
    searched_to: int | None = None


def keyset_page(
    rows: QuerySet[Row], order: Order, size: int, after: str | None = None, before: str | None = None, *, few: int = 0
) -> KeysetPage[Row]:
    """The page after (or before) a cursor; the first one without a cursor. One query. Raises ``BadCursor``.

    The last page has up to ``few`` rows more, instead of a page of their own.
    """
    # One row more than the page holds shows whether another page follows.
    if before:
        backward = order.reverse
        page = list(backward.applied(rows).filter(backward.beyond(before))[: size + 1])
        more_before, more_after = len(page) > size, True
        page = page[:size][::-1]
    else:
        ordered = order.applied(rows)
        page = list((ordered.filter(order.beyond(after)) if after else ordered)[: size + few + 1])
        more_before, more_after = bool(after), len(page) > size + few
        page = page[:size] if more_after else page
    if not page:
        return KeysetPage([], None)
    return KeysetPage(
        page,
        after=order.cursor(page[-1]) if more_after else None,
        before=order.cursor(page[0]) if more_before else None,
    )


def window_page(
    rows: QuerySet[Row], wanted: Q, size: int, *, window: int, last: int, after: str | None = None
) -> KeysetPage[Row]:
    """Matches among the next ``window`` positions of a list that ends at position ``last``. Raises ``BadCursor``.

    For what no index finds, such as a word inside a text: however long the list, a page looks through one window.
    ``after`` continues behind ``searched_to``.
    """
    start = -1
    if after:
        position = after.partition("~")[0]
        if not (position.isascii() and position.isdigit() and len(position) <= 10 and int(position) < 2**31):
            raise BadCursor(after)
        start = int(position)
    end = start + window
    within = rows.filter(position__gt=start, position__lte=end)
    # The limit keeps PostgreSQL from searching the texts first, which it would do in all rows of the table. The range
    # is repeated outside the subquery, or SQLite would read all rows to check which of them are inside.
    in_window = within.order_by("position").values("pk")[:window]
    matches = list(within.filter(wanted, pk__in=in_window).order_by("position", "pk")[: size + 1])
    if len(matches) > size:
        matches = matches[:size]
        end = matches[-1].position  # type: ignore[attr-defined]  # lists that are searched have positions
    return KeysetPage(matches, f"{end}~0" if end < last else None, searched_to=min(end, last))


def neighbors(rows: QuerySet[Row], order: Order, row: Row) -> tuple[int | None, int | None]:
    """Ids of the rows before and after ``row`` in the order, if they exist. Two queries."""
    if getattr(row, order.field) is None:
        return None, None
    before, after = (
        direction.applied(rows).filter(direction.beyond(order.cursor(row))).values_list("pk", flat=True).first()
        for direction in (order.reverse, order)
    )
    return before, after
