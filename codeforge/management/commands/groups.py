"""``manage.py groups``: the groups viewer, runner, editor and admin, and their members."""

from __future__ import annotations

from typing import Any

from django.core.management import CommandParser

from benchmarks.management.actions import ServiceCommand
from benchmarks.services.access import GROUPS, account_named, assign_group, make_groups
from benchmarks.services.errors import NotPossible


class Command(ServiceCommand):
    help = "Create the groups viewer, runner, editor and admin, or add an account to one."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("account", nargs="?", help="the name of an account")
        parser.add_argument("group", nargs="?", choices=tuple(GROUPS), help="the group to add it to")

    def handle(self, *args: Any, account: str | None, group: str | None, **options: Any) -> None:
        permissions = make_groups()
        if account is None:
            self.stdout.write(", ".join(f"{name} ({count} permissions)" for name, count in permissions.items()))
            return
        if group is None:
            raise NotPossible(f"Specify the group to add {account} to: {', '.join(GROUPS)}.")
        assign_group(account_named(account), group)
        self.stdout.write(f"{account} is a member of the group {group}.")
