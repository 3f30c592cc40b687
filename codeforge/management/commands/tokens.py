"""``manage.py tokens``: create, list and revoke API tokens."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.utils import timezone

from benchmarks.extras import command
from benchmarks.management.actions import JSON, ActionCommand, action, argument
from benchmarks.models import ApiToken
from benchmarks.queries.tables.access import TOKENS, TokenRow
from benchmarks.services.access import account_named, create_token, revoke_token
from benchmarks.services.errors import NotPossible


class Command(ActionCommand):
    help = "Create, list and revoke API tokens."

    @action(
        "Create a token and print it, only this once.",
        argument("account", None, "the token has at most this account's permissions"),
        argument("name", None, "its purpose, such as nightly-ci"),
        argument("--scope", None, "may be repeated", action="append", choices=ApiToken.Scope.values),
        argument("--days", None, "days until it expires (default: never)", type=int),
        JSON,
    )
    def create(
        self, *, account: str, name: str, scope: list[str] | None, days: int | None, as_json: bool, **options: Any
    ) -> None:
        expires_at = None if days is None else timezone.now() + timedelta(days=days)
        token, text = create_token(account_named(account), name, scope or [ApiToken.Scope.READ], expires_at)
        self.stderr.write("Store this token. It is not shown again:")
        self.print_either(as_json, {**_as_json(token), "token": text}, text)

    @action("List all tokens, without their values.", JSON, name="list")
    def list_tokens(self, *, as_json: bool, **options: Any) -> None:
        tokens = list(ApiToken.objects.select_related("account").order_by("account__username", "name"))
        if as_json:
            self.print_json([_as_json(token) for token in tokens])
        else:
            now = timezone.now()
            self.print_table(TOKENS, [TokenRow(token, now) for token in tokens], "No tokens yet.")

    @action("Revoke a token.", argument("account", None, "its account"), argument("name", None, "its name"), JSON)
    def revoke(self, *, account: str, name: str, as_json: bool, **options: Any) -> None:
        token = ApiToken.objects.filter(account=account_named(account), name=name).first()
        if token is None:
            raise NotPossible(f"{account} has no token {name}. List the tokens with `{command('tokens list')}`.")
        revoke_token(token)
        self.print_either(as_json, _as_json(token), f"{token} revoked.")


def _as_json(token: ApiToken) -> dict[str, Any]:
    times = {name: getattr(token, name) for name in ("created_at", "expires_at", "revoked_at", "last_used_at")}
    return {
        "account": token.account.get_username(),
        **{name: getattr(token, name) for name in ("name", "beginning", "scopes")},
        **{name: time and time.isoformat() for name, time in times.items()},
    }
