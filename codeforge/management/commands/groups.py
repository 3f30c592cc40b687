"""``manage.py groups``: the groups viewer, runner, editor and admin, and who belongs to which."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.core.management import BaseCommand, CommandError, CommandParser

from benchmarks.services.access import GROUPS, make_groups, put_into_group
from benchmarks.services.errors import NotPossible


class Command(BaseCommand):
    help = "Make the groups viewer, runner, editor and admin, or put an account into one of them."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("account", nargs="?", help="the name of an account")
        parser.add_argument("group", nargs="?", choices=tuple(GROUPS), help="the group it is to be in")

    def handle(self, *args: Any, account: str | None, group: str | None, **options: Any) -> None:
        made = make_groups()
        if account is None:
            self.stdout.write(", ".join(f"{name} ({count} permissions)" for name, count in made.items()))
            return
        if group is None:
            raise CommandError(f"Say which group {account} is to be in: {', '.join(GROUPS)}.", returncode=2)
        found = User.objects.filter(username=account).first()
        if found is None:
            raise CommandError(f"There is no account {account}. Make it in the admin, under Users.", returncode=2)
        try:
            put_into_group(found, group)
        except NotPossible as refusal:
            raise CommandError(refusal.message, returncode=2) from None
        self.stdout.write(f"{account} is in the group {group}.")
