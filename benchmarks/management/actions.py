"""What commands share: refusals with an exit code, actions with their arguments, JSON, tables, files.

An action of a command is a method with ``@action``; it is called with its options and may return an exit code.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, TypeVar

from django.core.management import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError, OperationalError, ProgrammingError

from benchmarks.page_urls import site_address
from benchmarks.presentation.tables import Table, aligned
from benchmarks.providers.extra_parameters import pair_of, parsed_pairs
from benchmarks.queries.resources.base import Reader, json_of
from benchmarks.run_parameters import RUN_PARAMETERS, Kind, RunParameter
from benchmarks.services.access import Caller, may_see_reviewers
from benchmarks.services.errors import InvalidRequest, NotPossible
from benchmarks.services.labels import reviewer_name
from benchmarks.services.operations.schema import migrations_problem, schema_problem

OK, MISSED, REFUSED, RUN_FAILED, UNDECIDED, INTERRUPTED = 0, 1, 2, 3, 4, 130
"""Exit codes."""
POSITIONAL = "dataset"

_METAVARS = {Kind.INTEGER: "N", Kind.NUMBER: "X", Kind.CHOICE: "NAME"}

Argument = tuple[list[str], dict[str, Any]]
R = TypeVar("R")
Act = TypeVar("Act", bound=Callable[..., int | None])


def reader_of(caller: Caller = None) -> Reader:
    """Whoever calls a command, as the reader of what it prints."""
    return Reader(site_address(), reviewer_name(caller), may_see_reviewers(caller))


def argument(names: str, metavar: str | None, text: str, **options: Any) -> Argument:
    """An argument as ``add_argument`` takes it; an option may have several names, separated by spaces."""
    return names.split(), {"help": text, **({"metavar": metavar} if metavar else {}), **options}


def switch(name: str, text: str, **options: Any) -> Argument:
    return argument(name, None, text, action="store_true", **options)


def group(title: str, *arguments: Argument) -> list[Argument]:
    """Arguments that the help lists below a title."""
    return [(names, {**options, "group": title}) for names, options in arguments]


NAME_AND_TAGS = (
    argument("--name", "TEXT", "name of the run"),
    argument("--tag", "TAG", "tag of the run; repeatable", action="append", dest="tags"),
)
JSON = switch("--json", "print JSON instead of text", dest="as_json")


def action(
    text: str,
    *arguments: Argument,
    name: str = "",
    request: bool = False,
    more: Callable[[Any], Iterable[Argument]] = lambda command: (),
) -> Callable[[Act], Act]:
    """Make a method an action of its command, by default under its own name.

    ``request`` adds an argument for each parameter of a run, ``more`` those that differ between commands. ``text`` may
    name what does so, too: ``{self.noun}``.
    """

    def mark(method: Act) -> Act:
        how = (name or method.__name__.replace("_", "-"), text, arguments, request, more)
        method.action = how  # type: ignore[attr-defined]
        return method

    return mark


class ServiceCommand(BaseCommand):
    """A command that a service can refuse, which ends it with ``REFUSED``.

    What it prints on standard output is the result, either as text or, with ``--json``, as one JSON document.
    """

    option_names: Mapping[str, str] = MappingProxyType({})
    """Field of a request → the option that sets it."""

    def execute(self, *args: Any, **options: Any) -> Any:
        try:
            return super().execute(*args, **options)
        except InvalidRequest as refusal:
            names = {field: self.option_names.get(field, field.replace("_", " ")) for field in refusal.errors}
            lines = (f"  {names[field]}: {text}" for field, texts in refusal.errors.items() for text in texts)
            raise CommandError("\n".join(["Request refused:", *lines]), returncode=REFUSED) from None
        except NotPossible as refusal:
            raise CommandError(refusal.message, returncode=REFUSED) from None
        except (OperationalError, ProgrammingError) as error:
            try:
                problem = schema_problem() or migrations_problem()
            except DatabaseError:
                problem = "The database does not respond. Check DATABASE_URL, and that its server runs."
            if problem:
                raise CommandError(problem, returncode=REFUSED) from error
            raise

    def print_json(self, value: Any) -> None:
        self.stdout.write(json.dumps(json_of(value), indent=2, ensure_ascii=False))

    def print_either(self, as_json: bool, value: Any, text: str) -> None:
        if as_json:
            self.print_json(value)
        else:
            self.stdout.write(text)


class ActionCommand(ServiceCommand):
    epilog: ClassVar[str | None] = None
    below: ClassVar[Mapping[str, type[ActionCommand]]] = MappingProxyType({})
    """Commands that are an action of this one, with actions of their own."""

    def add_arguments(self, parser: CommandParser) -> None:
        names_of = dict.fromkeys(name for cls in type(self).__mro__ for name in vars(cls))
        methods = [method for name in names_of if hasattr(method := getattr(type(self), name), "action")]
        names = "|".join([*(method.action[0] for method in methods), *self.below])
        actions = parser.add_subparsers(dest="action", required=True, metavar=names)
        for method in methods:
            name, text, arguments, request, more = method.action
            text = text.format(self=self)
            parser = actions.add_parser(name, help=text, description=text, epilog=self.epilog)
            option_names: dict[str, str] = {}
            parser.set_defaults(act=method, acting=self, option_names=option_names)
            groups: dict[str, argparse._ActionsContainer] = {"": parser}
            for flags, given in (*more(self), *(request_arguments() if request else ()), *arguments):
                options = {**given}
                title = options.pop("group", "")
                if title not in groups:
                    groups[title] = parser.add_argument_group(title)
                added = groups[title].add_argument(*flags, **options)
                if added.option_strings:
                    option_names[added.dest] = added.option_strings[0]
        for name, command in self.below.items():
            text = command.help
            command().add_arguments(actions.add_parser(name, help=text, description=text, epilog=command.epilog))

    def handle(
        self,
        *args: Any,
        act: Callable[..., int | None],
        acting: ActionCommand,
        option_names: Mapping[str, str],
        **options: Any,
    ) -> None:
        self.option_names = option_names
        acting.stdout, acting.stderr, acting.style = self.stdout, self.stderr, self.style
        if code := act(acting, **options):
            sys.exit(code)

    def print_rows(
        self, rows: Sequence[Mapping[str, Any]], empty: str, *, as_json: bool = False, right: Sequence[int] = ()
    ) -> None:
        """Print rows below their keys, or ``empty`` if there are none."""
        text = aligned(list(rows[0]), [list(row.values()) for row in rows], right) if rows else empty
        self.print_either(as_json, rows, text)

    def print_table(self, table: Table[R], rows: Iterable[R], empty: str) -> None:
        """The rows as text, or ``empty`` if there are none."""
        listed = list(rows)
        self.stdout.write(table.text(listed) if listed else empty)

    def print_outcome(self, text: str, errors: object = None) -> None:
        self.stdout.write(self.style.ERROR(text) if errors else self.style.SUCCESS(text))


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Refuse the command if the file cannot be written."""
    try:
        yield
    except OSError as error:
        raise CommandError(f"Cannot write {path}: {error.strerror}", returncode=REFUSED) from None


def request_arguments() -> list[Argument]:
    """A positional argument for the dataset, and an option for every other parameter and the labels of a run.

    Values go to the service as typed, so errors have the same words as in the API and the form.
    """
    return [
        ([POSITIONAL], {"help": RUN_PARAMETERS[POSITIONAL].description}),
        *NAME_AND_TAGS,
        *group("run parameters", *parameter_options(name for name in RUN_PARAMETERS if name != POSITIONAL)),
    ]


def parameter_options(names: Iterable[str]) -> list[Argument]:
    """An option for each of these parameters of a run."""
    rows = [RUN_PARAMETERS[name] for name in names]
    return [([row.option], {"dest": row.name, "default": None, **_how(row)}) for row in rows]


def _how(parameter: RunParameter) -> dict[str, Any]:
    text = parameter.description.replace("%", "%%")
    if parameter.kind is Kind.SWITCH:
        return {"action": argparse.BooleanOptionalAction, "help": text}
    if parameter.kind is Kind.NAMES:
        return {"nargs": "+", "metavar": "NAME", "help": text}
    if parameter.kind is Kind.PARAMETERS:
        return {"action": "append", "metavar": "NAME=VALUE", "help": f"{text}. A value is JSON or a word; repeatable"}
    choices = f"; one of {', '.join(parameter.choices)}" if parameter.choices else ""
    return {"metavar": _METAVARS.get(parameter.kind, "TEXT"), "help": f"{text}{choices}"}


def request_data(options: Mapping[str, Any]) -> dict[str, Any]:
    """The request that the options make. Omitted options are omitted from it, so the defaults of the service apply.

    ``--metrics a b`` and ``--metrics a,b`` mean the same.
    """
    given = {name: options[name] for name in RUN_PARAMETERS if options.get(name) is not None}
    labels = {name: options[name] for name in ("name", "tags") if options.get(name)}
    return labels | {name: _value(RUN_PARAMETERS[name], value) for name, value in given.items()}


def _value(parameter: RunParameter, value: Any) -> Any:
    if parameter.kind is Kind.NAMES:
        return [part for text in value for part in text.split(",") if part]
    if parameter.kind is Kind.PARAMETERS:
        try:
            return parsed_pairs(map(pair_of, value))
        except ValueError as error:
            raise InvalidRequest({parameter.name: [str(error)]}) from None
    return value
