"""What commands with several actions share: exit codes of refusals, and an option for each parameter of a run."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from django.core.management import BaseCommand, CommandError, CommandParser

from benchmarks.management import gates
from benchmarks.run_parameters import RUN_PARAMETERS, Kind, RunParameter
from benchmarks.services.errors import InvalidRequest, NotPossible

POSITIONAL = "dataset"
_METAVARS = {Kind.INTEGER: "N", Kind.NUMBER: "X", Kind.CHOICE: "NAME"}


class ActionCommand(BaseCommand):
    """A command whose actions return an exit code. A refusal of a service ends it with ``gates.REFUSED``."""

    epilog: ClassVar[str | None] = None

    @classmethod
    def action(cls, actions: Any, name: str, text: str, act: Callable[..., int]) -> CommandParser:
        """Add an action to the result of ``add_subparsers``; ``act`` is called with its options."""
        parser: CommandParser = actions.add_parser(name, help=text, description=text, epilog=cls.epilog)
        parser.set_defaults(act=act)
        return parser

    def handle(self, *args: Any, act: Callable[..., int], **options: Any) -> None:
        try:
            code = act(**options)
        except InvalidRequest as refusal:
            raise CommandError(self.refusal_text(refusal), returncode=gates.REFUSED) from None
        except NotPossible as refusal:
            raise CommandError(refusal.message, returncode=gates.REFUSED) from None
        if code:
            sys.exit(code)

    def refusal_text(self, refusal: InvalidRequest) -> str:
        """A refused request in lines, each with the name of the field as users of the command know it."""
        lines = [f"{name.replace('_', ' ')}: {text}" for name, texts in refusal.errors.items() for text in texts]
        return "\n".join(lines)

    def print_json(self, value: Any) -> None:
        self.stdout.write(json.dumps(value, indent=2, ensure_ascii=False))


def add_json_option(parser: argparse._ActionsContainer) -> None:
    parser.add_argument("--json", action="store_true", dest="as_json", help="print JSON instead of text")


def add_request_options(parser: argparse.ArgumentParser) -> None:
    """Add a positional argument for the dataset, and an option for every other parameter of a run.

    Values go to the service as typed, so errors have the same words as in the API and the form.
    """
    group = parser.add_argument_group("run parameters")
    for name, parameter in RUN_PARAMETERS.items():
        if name == POSITIONAL:
            parser.add_argument(name, help=parameter.description)
        else:
            group.add_argument(parameter.option, dest=name, default=None, **_how(parameter))


def _how(parameter: RunParameter) -> dict[str, Any]:
    text = parameter.description.replace("%", "%%")
    if parameter.kind is Kind.SWITCH:
        return {"action": argparse.BooleanOptionalAction, "help": text}
    if parameter.kind is Kind.NAMES:
        return {"nargs": "+", "metavar": "NAME", "help": text}
    choices = f"; one of {', '.join(parameter.choices)}" if parameter.choices else ""
    return {"metavar": _METAVARS.get(parameter.kind, "TEXT"), "help": f"{text}{choices}"}


def request_data(options: Mapping[str, Any]) -> dict[str, Any]:
    """The request that the options make. Omitted options are omitted from it, so the defaults of the service apply.

    ``--metrics a b`` and ``--metrics a,b`` mean the same.
    """
    given = {name: options[name] for name in RUN_PARAMETERS if options.get(name) is not None}
    return {
        name: [part for text in value for part in text.split(",") if part] if isinstance(value, list) else value
        for name, value in given.items()
    }
