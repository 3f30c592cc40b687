"""Accounts: add one, change its role, deactivate it, and create a link with which its owner sets the password."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.contrib.auth.tokens import default_token_generator
from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode

from benchmarks.services.access import GROUPS, Caller, account_of, assign_group, manageable_accounts, record
from benchmarks.services.errors import InvalidRequest, NotPossible

OWN_ACCOUNT = "You cannot change your own account. Ask another administrator."


def add_member(name: str, role: str, by: Caller = None) -> User:
    """Create an account without a password, in this group. Raises ``InvalidRequest`` naming the bad fields."""
    errors: dict[str, list[str]] = {}
    account = User(username=User.normalize_username(name.strip()))
    account.set_unusable_password()
    try:
        account.full_clean()
    except ValidationError as error:
        errors["username"] = [message for messages in error.message_dict.values() for message in messages]
    if role not in GROUPS:
        errors["role"] = [f"Choose one of: {', '.join(GROUPS)}."]
    if errors:
        raise InvalidRequest(errors)
    with transaction.atomic():
        account.save()
        record(by, "account.create", f"account {account.username}")
        assign_group(account, role, by)
    return account


def change_role(account: User, role: str, by: Caller = None) -> None:
    """Make an account a member of exactly this group."""
    _require_other(account, by)
    assign_group(account, role, by)


def set_active(account: User, active: bool, by: Caller = None) -> None:
    """Deactivate an account, which ends its sessions and stops its tokens and schedules, or activate it again."""
    _require_other(account, by)
    with transaction.atomic():
        if User.objects.filter(pk=account.pk).exclude(is_active=active).update(is_active=active):
            record(by, "account.active", f"account {account.username}", active=active)


def password_key(account: User, by: Caller = None) -> tuple[str, str]:
    """Id and key of a link with which somebody sets the account's password once, until ``PASSWORD_RESET_TIMEOUT``."""
    if account_of(by) != account:
        _require_other(account, by)
    if not account.is_active:
        raise NotPossible(f"Account {account.username} is inactive. Activate it first.")
    record(by, "account.password_link", f"account {account.username}")
    return urlsafe_base64_encode(force_bytes(account.pk)), default_token_generator.make_token(account)


def why_not_changeable(account: User, by: Caller) -> str:
    """Why the caller may not change this account; empty if it may. Only a superuser may change every account."""
    author = account_of(by)
    if author is None or author.is_superuser:
        return ""
    if author == account:
        return OWN_ACCOUNT
    if account.is_superuser:
        return f"Account {account.username} is a superuser. Only another superuser can change this account."
    if not manageable_accounts(by).filter(pk=account.pk).exists():
        return f"Account {account.username} has permissions that you do not have. Ask an administrator who has them."
    return ""


def _require_other(account: User, by: Caller) -> None:
    """Nobody locks themselves out, and nobody changes an account that may do more than they."""
    if account_of(by) == account:
        raise NotPossible(OWN_ACCOUNT)
    if reason := why_not_changeable(account, by):
        raise NotPossible(reason)
