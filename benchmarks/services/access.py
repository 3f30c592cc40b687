"""Who may do what: groups of accounts, permissions, API tokens, and the audit log of who did what."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser, AnonymousUser, Group, Permission, User
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from benchmarks.models import ApiToken, AuditEntry
from benchmarks.services import origin
from benchmarks.services.errors import InvalidRequest, NotPossible

Caller = AbstractBaseUser | AnonymousUser | None

_OURS = Q(content_type__app_label__in=("benchmarks", "tasks_app"))
_HIDDEN_FROM_VIEWERS = Q(
    content_type__model__in=("auditentry", "apitoken", "idempotencykey", "providerkey", "enteredsystem", "webhook")
)
_EDITED_MODELS = ("dataset", "datasetversion", "datasetfile", "task", "canvasset", "canvas", "question", "schedule")
_VIEWER = _OURS & Q(codename__startswith="view_") & ~_HIDDEN_FROM_VIEWERS
_REVIEWER = _VIEWER | (_OURS & Q(codename="label_result"))
_RUNNER = _REVIEWER | (_OURS & Q(codename__in=("launch_run", "delete_run")))
_EDITOR = _RUNNER | (_OURS & (Q(content_type__model__in=_EDITED_MODELS) | Q(codename="see_reviewers")))

GROUPS: dict[str, Q] = {
    "viewer": _VIEWER,
    "reviewer": _REVIEWER,
    "runner": _RUNNER,
    "editor": _EDITOR,
    "admin": _OURS | Q(content_type__app_label__in=("auth", "axes")),
}
"""Group → its permissions. Each group has those of the previous one and more."""
STAFF = ("editor", "admin")
"""Groups whose members use the admin."""

LAUNCH_REFUSAL = (
    "You do not have permission to start runs. Log in, or ask an administrator for the permission “launch runs”."
)
EDIT_REFUSAL = (
    "You do not have permission to edit datasets. Log in, or ask an administrator for the permission “change dataset”."
)
LABEL_REFUSAL = (
    "You do not have permission to label results. Log in, or ask an administrator for the permission “label result”."
)
KEYS_REFUSAL = "Only administrators can enter API keys, addresses, prices and systems. Log in as one, or ask one."
READ_REFUSAL = "You must log in to view this site."

TOKEN_PREFIX = "cfb_"
TOKEN_BEGINNING = 10
"""Characters of a token that are stored to identify it."""
USE_RECORDED_EVERY = timedelta(minutes=1)


@transaction.atomic
def make_groups() -> dict[str, int]:
    """Create the groups, or reset their permissions. Returns the number of permissions of each."""
    counts = {}
    for name, chosen in GROUPS.items():
        group, _ = Group.objects.get_or_create(name=name)
        permissions = Permission.objects.filter(chosen).distinct()
        group.permissions.set(permissions)
        counts[name] = len(permissions)
    return counts


@transaction.atomic
def assign_group(account: User, name: str, by: Caller = None) -> None:
    """Make an account a member of exactly this group of ``GROUPS``.

    Raises ``NotPossible`` for an unknown group, and for one that may do what the caller may not.
    """
    if name not in GROUPS:
        raise NotPossible(f"Group {name} does not exist. Choose one of: {', '.join(GROUPS)}.")
    make_groups()
    group = grantable_groups(by).filter(name=name).first()
    if group is None:
        raise NotPossible(f"The role {name} has permissions that you do not have. Ask an administrator who has them.")
    account.groups.remove(*Group.objects.filter(name__in=GROUPS))
    account.groups.add(group)
    account.is_staff = name in STAFF
    account.save(update_fields=["is_staff"])
    record(by, "account.group", f"account {account.get_username()}", group=name)


def grantable_permissions(by: Caller) -> QuerySet[Permission]:
    """The permissions that a caller may give to others: those it has itself.

    A superuser has all, and so has a command, which has no account.
    """
    author = account_of(by)
    if author is None or author.is_superuser:
        return Permission.objects.all()
    return Permission.objects.filter(Q(user=author) | Q(group__user=author)).distinct()


def grantable_groups(by: Caller) -> QuerySet[Group]:
    """The groups all of whose permissions the caller may give."""
    return Group.objects.exclude(permissions__in=_beyond(by))


def manageable_accounts(by: Caller) -> QuerySet[User]:
    """The accounts that may do nothing beyond what the caller may, so that using one of them gains the caller nothing.

    The caller's own is among them. Inactive accounts count with what they may do once they are active.
    """
    author = account_of(by)
    if author is None or author.is_superuser:
        return User.objects.all()
    beyond = _beyond(by)
    weaker = User.objects.filter(is_superuser=False)
    return weaker.exclude(user_permissions__in=beyond).exclude(groups__permissions__in=beyond)


def _beyond(by: Caller) -> QuerySet[Permission]:
    return Permission.objects.exclude(pk__in=grantable_permissions(by).values("pk"))


def may_read(user: Caller) -> bool:
    """Whether the user may view datasets, runs and results."""
    return settings.DEV_MODE or settings.PUBLIC_READING or bool(user and user.is_authenticated)


def may_launch(user: Caller) -> bool:
    """Whether the user may start, cancel, resume and delete runs."""
    return may(user, "benchmarks.launch_run")


def may_label(user: Caller) -> bool:
    """Whether the user may label results and answers of review queues."""
    return may(user, "benchmarks.label_result")


def may_see_reviewers(user: Caller) -> bool:
    """Whether the user may see which person gave a label. Others see numbers instead of names."""
    return may(user, "benchmarks.see_reviewers")


def may_edit(user: Caller) -> bool:
    """Whether the user may create, change and delete datasets and canvas sets."""
    return may(user, "benchmarks.change_dataset")


def may_set_keys(user: Caller) -> bool:
    """Whether the user may enter and remove API keys, addresses, prices and systems, and start and stop the local
    model."""
    return may(user, "benchmarks.change_providerkey")


def account_of(user: Caller) -> User | None:
    """The account of a caller, for storing with what the caller did."""
    return user if isinstance(user, User) else None


def account_named(name: str) -> User:
    """Raises ``NotPossible`` if there is none."""
    account = User.objects.filter(username=name).first()
    if account is None:
        raise NotPossible(f"Account {name} does not exist. Create it under Settings, Members.")
    return account


def may(user: Caller, *permissions: str) -> bool:
    """Whether the user has all these permissions, such as ``benchmarks.change_schedule``."""
    # In development mode only the local user can reach the server.
    return settings.DEV_MODE or (isinstance(user, User) and user.is_active and user.has_perms(permissions))


def create_token(
    account: User, name: str, scopes: Iterable[str], expires_at: datetime | None = None, by: Caller = None
) -> tuple[ApiToken, str]:
    """Create a token for an account. Returns it with its text, which is not stored and cannot be shown again.

    Raises ``InvalidRequest`` for an empty or used name, unknown scopes, an expiry in the past, and an account that may
    do what the caller may not.
    """
    name, chosen = name.strip(), set(scopes)
    if errors := token_errors(account, name, chosen, expires_at, by):
        raise InvalidRequest(errors)
    text = TOKEN_PREFIX + secrets.token_urlsafe(32)
    with transaction.atomic():
        token = ApiToken.objects.create(
            account=account,
            name=name,
            scopes=[scope for scope in ApiToken.Scope.values if scope in chosen],
            beginning=text[:TOKEN_BEGINNING],
            digest=_digest(text),
            expires_at=expires_at,
        )
        record(by, "token.create", f"token {name}", account=account.get_username(), scopes=token.scopes)
    return token, text


def token_errors(
    account: User, name: str, scopes: set[str], expires_at: datetime | None, by: Caller
) -> dict[str, list[str]]:
    """Field → errors of a new token with these values; empty if the caller can create it."""
    errors: dict[str, list[str]] = {}
    if not manageable_accounts(by).filter(pk=account.pk).exists():
        errors["account"] = [f"{account.get_username()} has permissions that you do not have. Choose another account."]
    if not name or len(name) > 100:
        errors["name"] = ["Enter a token name of at most 100 characters that describes its purpose."]
    elif ApiToken.objects.filter(account=account, name=name).exists():
        errors["name"] = [f"{account.get_username()} already has a token named {name}. Choose another name."]
    if not scopes or scopes - set(ApiToken.Scope.values):
        errors["scopes"] = [f"Choose one or more of: {', '.join(ApiToken.Scope.values)}."]
    if expires_at is not None and expires_at <= timezone.now():
        errors["expires_at"] = ["The expiry time is in the past. Choose a future time."]
    return errors


def revoke_token(token: ApiToken, by: Caller = None) -> None:
    """Make a token invalid from now on. Revoking it again changes nothing."""
    with transaction.atomic():
        if ApiToken.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=timezone.now()):
            record(by, "token.revoke", f"token {token.name}", account=token.account.get_username())


def token_of(text: str) -> ApiToken | None:
    """The token with this text if it is valid: not revoked, not expired, its account active."""
    now = timezone.now()
    token = (
        ApiToken.objects.select_related("account")
        .filter(Q(expires_at=None) | Q(expires_at__gt=now), digest=_digest(text), revoked_at=None)
        .filter(account__is_active=True)
        .first()
    )
    # A write per minute and token, not per request: many requests of one token would queue for the same row.
    if token is not None and (token.last_used_at is None or now - token.last_used_at > USE_RECORDED_EVERY):
        ApiToken.objects.filter(pk=token.pk).update(last_used_at=now)
    return token


def _digest(text: str) -> str:
    # A plain SHA-256 suffices: the text has 256 random bits, so there is nothing to guess that a slow hash would slow.
    return hashlib.sha256(text.encode()).hexdigest()


def record(by: Caller, action: str, subject: str, **detail: Any) -> None:
    """Add an entry to the audit log. Call it in the transaction of the action, so that both are stored or neither."""
    account = account_of(by)
    AuditEntry.objects.create(
        account=account,
        account_name=account.get_username() if account else "",
        token_name=origin.token_name.get(),
        action=action,
        subject=subject[:200],
        detail=detail,
        request_id=origin.request_id.get(),
    )
