"""``manage.py groups``: the groups viewer, runner, editor and admin, and their members."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.core.management import BaseCommand, CommandError, CommandParser

from benchmarks.services.access import GROUPS, assign_group, make_groups
from benchmarks.services.errors import NotPossible


class Command(BaseCommand):
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
            raise CommandError(f"Specify the group to add {account} to: {', '.join(GROUPS)}.", returncode=2)
        user = User.objects.filter(username=account).first()
        if user is None:
            raise CommandError(f"Account {account} does not exist. Create it in the admin under Users.", returncode=2)
        try:
            assign_group(user, group)
        except NotPossible as refusal:
            raise CommandError(refusal.message, returncode=2) from None
        self.stdout.write(f"{account} is a member of the group {group}.")
