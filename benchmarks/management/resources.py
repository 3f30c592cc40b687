"""What the commands of resources share, as ``ResourceViewSet`` for the API: the list, one of them, its deletion."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar

from benchmarks.management.actions import JSON, OK, ActionCommand, Argument, action, argument, reader_of
from benchmarks.presentation.tables import Table
from benchmarks.queries.resources.base import Resource, json_of

NUMBER = argument("--number", "N", "number of rows, by default 20", type=int, default=20)


class ResourceCommand(ActionCommand):
    """Lists a resource as ``table``, or as ``listed`` with ``--json``; shows one as the cells of its row, or as
    ``shown``."""

    noun: ClassVar[str]
    listed: ClassVar[type[Resource]]
    shown: ClassVar[type[Resource]]
    table: ClassVar[Table[Any]]
    empty: ClassVar[str]
    """What the list says instead of nothing."""
    one: ClassVar[Argument]
    """The argument ``key``, which names one."""
    filters: ClassVar[tuple[Argument, ...]] = ()
    """Options of the list."""

    def rows(self, **options: Any) -> Iterable[Any]:
        """What the list has, as the resource reads it; ``full`` is an option for ``listed``."""
        raise NotImplementedError

    def row(self, key: Any) -> Any:
        """The one with this key. Raises ``NotPossible``."""
        raise NotImplementedError

    def in_table(self, rows: Iterable[Any]) -> Iterable[Any]:
        """The same rows as the table reads them."""
        return rows

    def lines(self, row: Any) -> Iterator[str]:
        """One of them as text."""
        return iter(self.table.lines(*self.in_table([row])))

    @action("List the {self.noun}s, as their page does.", JSON, more=lambda command: command.filters, name="list")
    def list_rows(self, *, as_json: bool, **options: Any) -> None:
        rows = self.rows(full=as_json, **options)
        if as_json:
            reader = reader_of()
            self.print_json([self.listed.of(row, reader) for row in rows])
        else:
            self.print_table(self.table, self.in_table(rows), self.empty)

    @action("Print one {self.noun}.", JSON, more=lambda command: [command.one])
    def show(self, *, key: Any, as_json: bool, **options: Any) -> int | None:
        row = self.row(key)
        self.print_row(row, as_json)
        return self.exit_code(row)

    def exit_code(self, row: Any) -> int:
        """With which ``show`` ends."""
        return OK

    def beside(self, row: Any) -> Mapping[str, Any]:
        """What the command adds to the JSON of the API."""
        return {}

    def print_row(self, row: Any, as_json: bool, **beside: Any) -> None:
        """One of them as the API has it, with what the command adds, or as text."""
        if as_json:
            self.print_json({**json_of(self.shown.of(row, reader_of())), **self.beside(row), **beside})
        else:
            self.stdout.write("\n".join(self.lines(row)))


class DeletingCommand(ResourceCommand):
    """Also deletes one; ``loss`` says what goes with it."""

    loss: ClassVar[str]

    def remove(self, row: Any) -> None:
        raise NotImplementedError

    @action("Delete one {self.noun}. {self.loss}", JSON, more=lambda command: [command.one])
    def delete(self, *, key: Any, as_json: bool, **options: Any) -> None:
        self.remove(self.row(key))
        self.print_either(as_json, {"id": key, "deleted": True}, f"{self.noun.capitalize()} {key} deleted.")
