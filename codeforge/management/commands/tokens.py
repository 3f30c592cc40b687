"""``manage.py tokens``: create, list and revoke API tokens."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.contrib.auth.models import User
from django.core.management import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from benchmarks.models import ApiToken
from benchmarks.services.access import create_token, revoke_token
from benchmarks.services.errors import InvalidRequest


class Command(BaseCommand):
    help = "Create, list and revoke API tokens."

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        create = actions.add_parser("create", help="create a token and print it, only this once")
        create.add_argument("account", help="the token has at most this account's permissions")
        create.add_argument("name", help="its purpose, such as nightly-ci")
        create.add_argument("--scope", action="append", choices=ApiToken.Scope.values, help="may be repeated")
        create.add_argument("--days", type=int, help="days until it expires (default: never)")
        actions.add_parser("list", help="list all tokens, without their values")
        revoke = actions.add_parser("revoke", help="revoke a token")
        revoke.add_argument("account")
        revoke.add_argument("name")

    def handle(self, *args: Any, action: str, **options: Any) -> None:
        {"create": self._create, "list": self._list, "revoke": self._revoke}[action](options)

    def _create(self, options: dict[str, Any]) -> None:
        expires_at = None if options["days"] is None else timezone.now() + timedelta(days=options["days"])
        scopes = options["scope"] or [ApiToken.Scope.READ]
        try:
            _, text = create_token(_account(options["account"]), options["name"], scopes, expires_at)
        except InvalidRequest as refusal:
            raise CommandError(str(refusal), returncode=2) from None
        self.stderr.write("Store this token. It is not shown again:")
        self.stdout.write(text)

    def _list(self, options: dict[str, Any]) -> None:
        for token in ApiToken.objects.select_related("account").order_by("account__username", "name"):
            self.stdout.write("  ".join((token.account.get_username(), str(token), *token.scopes, _state(token))))

    def _revoke(self, options: dict[str, Any]) -> None:
        account = _account(options["account"])
        token = ApiToken.objects.filter(account=account, name=options["name"]).first()
        if token is None:
            raise CommandError(
                f"{account} has no token {options['name']}. List the tokens with `manage.py tokens list`.", returncode=2
            )
        revoke_token(token)
        self.stdout.write(f"{token} revoked.")


def _account(name: str) -> User:
    account = User.objects.filter(username=name).first()
    if account is None:
        raise CommandError(f"Account {name} does not exist. Create it in the admin under Users.", returncode=2)
    return account


def _state(token: ApiToken) -> str:
    if token.revoked_at:
        return "revoked"
    if token.expires_at is None:
        return "does not expire"
    return f"{'expired' if token.expires_at <= timezone.now() else 'expires'} {token.expires_at:%Y-%m-%d}"
