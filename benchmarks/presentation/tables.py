"""A table is its columns: what stands above them and what a row says there, for pages, commands and files.

``frontend.tables`` draws one on a page; here it becomes text, Markdown and CSV.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, Literal, TypeVar

from benchmarks.presentation.cells import Cell, cell_text
from benchmarks.presentation.texts import visible

R = TypeVar("R")
Place = Literal["page", "text"]
MOST_IN_CELL = 4_000
"""Characters of a cell in Markdown."""


@dataclass(frozen=True)
class Column(Generic[R]):
    """``cell`` is what a row says below ``head``.

    ``kind`` "number" stands to the right, and "name" names the row. ``look`` are classes of its cells, such as
    ``nowrap``; "wide-only" leaves the column out on phones, where the cells of a ``bare`` one have no label, and those
    of one with a ``unit`` have that behind them in place of the label. ``sort`` is the key by which the server sorts,
    ``info`` a word of the glossary. ``hidden_head`` is a head for screen readers only. ``only`` a page, or only text
    and files, have the column. ``given`` names what must hold for it to be shown, which ``Table.where`` is told.
    """

    head: str
    cell: Callable[[R], Cell]
    kind: Literal["text", "number", "name"] = "text"
    look: str = ""
    sort: str = ""
    info: str = ""
    hidden_head: bool = False
    only: Literal["", "page", "text"] = ""
    given: str = ""
    bare: bool = False
    unit: str | None = None


@dataclass(frozen=True)
class Table(Generic[R]):
    """``title`` is the caption, above the table for screen readers only, unless it is ``captioned``.

    ``region`` makes a table without links reachable by the keyboard, so that it can be scrolled, under the name
    ``label``, or else its title. On a page, ``group`` is what stands above the rows that follow each other with it.
    """

    title: Cell
    columns: Sequence[Column[R]]
    captioned: bool = False
    region: bool = False
    label: str = ""
    sortable: bool = False
    look: str = ""
    group: Callable[[R], str] | None = None

    def of(self, rows: Iterable[R], **changed: Any) -> Shown[R]:
        """The table with these rows, and with ``changed`` in place of its own title and look."""
        return Shown(replace(self, **changed), list(rows))

    def where(self, **holds: bool) -> Table[R]:
        """Without the columns that need something that is not so: ``where(may_launch=False)``."""
        return replace(self, columns=[column for column in self.columns if holds.get(column.given, True)])

    @property
    def heads(self) -> list[str]:
        """The heads of text and files."""
        return [column.head for column in self.of([]).columns_of("text")]

    def text(self, rows: Iterable[R]) -> str:
        """Aligned columns below heads that begin with small letters."""
        shown = self.of(rows)
        columns = shown.columns_of("text")
        heads = [head if (head := column.head)[:2].isupper() else head[:1].lower() + head[1:] for column in columns]
        right = [place for place, column in enumerate(columns) if column.kind == "number"]
        return aligned(heads, shown.texts(), right)

    def lines(self, row: R) -> list[str]:
        """One row, a line for each column that says something."""
        cells = ((column.head, cell_text(column.cell(row))) for column in self.of([]).columns_of("text"))
        return [f"{head}: {visible(text)}" for head, text in cells if text]

    def markdown(self, rows: Iterable[R]) -> str:
        shown = self.of(rows)
        columns = shown.columns_of("text")
        rule = "|".join("---:" if column.kind == "number" else "---" for column in columns)
        head, *body = (f"| {' | '.join(map(markdown_of, cells))} |" for cells in (self.heads, *shown.texts()))
        return "\n".join([head, f"|{rule}|", *body])


@dataclass(frozen=True)
class Shown(Generic[R]):
    """A table with its rows, as a page gets it. Without rows it is false."""

    table: Table[R]
    rows: Sequence[R]

    def __bool__(self) -> bool:
        return bool(self.rows)

    def columns_of(self, place: Place) -> list[Column[R]]:
        return [column for column in self.table.columns if column.only in ("", place)]

    def texts(self) -> list[list[str]]:
        """The cells of each row in words."""
        columns = self.columns_of("text")
        return [[cell_text(column.cell(row)) for column in columns] for row in self.rows]


def aligned(head: Sequence[str], rows: Iterable[Sequence[Any]], right: Collection[int] = ()) -> str:
    """Aligned columns below a head, those in ``right`` to the right; an empty cell for ``None``."""
    lines = [tuple(head), *(tuple("" if cell is None else visible(str(cell)) for cell in row) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]

    def line(cells: Sequence[str]) -> str:
        placed = enumerate(zip(cells, widths, strict=True))
        return "  ".join(
            cell.rjust(width) if place in right else cell.ljust(width) for place, (cell, width) in placed
        ).rstrip()

    return "\n".join(map(line, lines))


def markdown_of(text: str) -> str:
    """One line of text that Markdown and HTML leave alone."""
    plain = " ".join(visible(text).split())[:MOST_IN_CELL]
    plain = plain.replace("\\", "\\\\").replace("&", "&amp;").replace("<", "&lt;")
    return "".join(f"\\{sign}" if sign in "|*_`[]#" else sign for sign in plain)
