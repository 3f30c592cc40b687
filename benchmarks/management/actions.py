"""What the commands with several actions have in common."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, ClassVar

from django.core.management import BaseCommand, CommandError, CommandParser

from benchmarks.management import gates
from benchmarks.services.errors import InvalidRequest, NotPossible


class ActionCommand(BaseCommand):
    """A command whose actions return an exit code each. What a service refuses ends it with ``gates.REFUSED``."""

    epilog: ClassVar[str | None] = None

    @classmethod
    def action(cls, actions: Any, name: str, text: str, act: Callable[..., int]) -> CommandParser:
        """Add an action to what ``add_subparsers`` gave; ``act`` is called with its options."""
        parser: CommandParser = actions.add_parser(name, help=text, description=text, epilog=cls.epilog)
        parser.set_defaults(act=act)
        return parser

    def handle(self, *args: Any, act: Callable[..., int], **options: Any) -> None:
        try:
            code = act(**options)
        except InvalidRequest as refusal:
            raise CommandError(self.told(refusal), returncode=gates.REFUSED) from None
        except NotPossible as refusal:
            raise CommandError(refusal.message, returncode=gates.REFUSED) from None
        if code:
            sys.exit(code)

    def told(self, refusal: InvalidRequest) -> str:
        """A refused request in lines, each with the name of what is wrong as the command's user knows it."""
        lines = [f"{name.replace('_', ' ')}: {text}" for name, texts in refusal.errors.items() for text in texts]
        return "\n".join(lines)
