"""The four groups of accounts. Each may what the one before may, and more.

Who may do what. In dev mode everybody may, because only the local user can reach the server.

API tokens and the audit log: who may come in by token, and who did what.

A token's text is 32 random bytes, so that its plain SHA-256 is as good as a slow hash: there is nothing to guess.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser, AnonymousUser, Group, Permission, User
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from benchmarks.models import ApiToken, AuditEntry
from benchmarks.services import origin
from benchmarks.services.errors import InvalidRequest, NotPossible

OURS = ("benchmarks", "tasks_app")

GROUPS: dict[str, Q] = {
    "viewer": Q(content_type__app_label__in=OURS, codename__startswith="view_")
    & ~Q(content_type__model__in=("auditentry", "apitoken", "idempotencykey")),
}
GROUPS["runner"] = GROUPS["viewer"] | Q(codename__in=("launch_run", "delete_run"), content_type__app_label="benchmarks")
GROUPS["editor"] = GROUPS["runner"] | Q(
    content_type__app_label__in=OURS,
    content_type__model__in=(
        "dataset",
        "datasetversion",
        "datasetfile",
        "task",
        "canvasset",
        "canvas",
        "question",
        "schedule",
    ),
)
GROUPS["admin"] = Q(content_type__app_label__in=(*OURS, "auth", "axes"))
STAFF = ("editor", "admin")
"""Groups whose members use the admin panel."""


@transaction.atomic
def make_groups() -> dict[str, int]:
    """Create the groups, or give them exactly their permissions again; returns how many each has."""
    made = {}
    for name, chosen in GROUPS.items():
        group, _ = Group.objects.get_or_create(name=name)
        permissions = Permission.objects.filter(chosen).distinct()
        group.permissions.set(permissions)
        made[name] = len(permissions)
    return made


@transaction.atomic
def put_into_group(account: User, name: str, by: Caller = None) -> None:
    """Make an account a member of this one of the four groups. Raises ``NotPossible`` for a name that is none."""
    if name not in GROUPS:
        raise NotPossible(f"There is no group {name}. Choose one of: {', '.join(GROUPS)}.")
    make_groups()
    account.groups.remove(*Group.objects.filter(name__in=GROUPS))
    account.groups.add(Group.objects.get(name=name))
    account.is_staff = name in STAFF
    account.save(update_fields=["is_staff"])
    record(by, "account.group", f"account {account.get_username()}", group=name)


Caller = User | AnonymousUser | None

LAUNCH_REFUSAL = (
    "Launching needs dev mode (APP_ENV=development) or an authenticated user with the permission 'launch runs'."
)
EDIT_REFUSAL = (
    "Editing needs dev mode (APP_ENV=development) or an authenticated user with the permission 'change dataset'."
)
READ_REFUSAL = "Reading needs a login here. Log in, or open the site with CODEFORGE_PUBLIC_READING=1."


def may_read(user: Caller) -> bool:
    """Whether the user may see datasets, runs and results."""
    return settings.DEV_MODE or settings.PUBLIC_READING or bool(user and user.is_authenticated)


def may_launch(user: Caller) -> bool:
    """Whether the user may start, cancel, resume and delete runs."""
    return _has(user, "benchmarks.launch_run")


def may_edit(user: Caller) -> bool:
    """Whether the user may make, change and delete datasets and canvas sets."""
    return _has(user, "benchmarks.change_dataset")


def account_of(user: Caller) -> User | None:
    """The account behind a caller, to be kept with what it did."""
    return user if isinstance(user, User) else None


def _has(user: Caller, permission: str) -> bool:
    return settings.DEV_MODE or (isinstance(user, User) and user.is_active and user.has_perm(permission))


PREFIX = "cfb_"
BEGINNING = 10
USE_NOTED_EVERY = timedelta(minutes=1)


def create_token(
    account: User, name: str, scopes: Iterable[str], expires_at: datetime | None = None, by: Caller = None
) -> tuple[ApiToken, str]:
    """Make a token for an account; returns it with its text, which cannot be had again.

    Raises ``InvalidRequest`` for a name that the account has used or that is empty, unknown scopes, and a past expiry.
    """
    chosen = [scope for scope in ApiToken.Scope.values if scope in set(scopes)]
    if errors := token_errors(account, name.strip(), set(scopes), expires_at):
        raise InvalidRequest(errors)
    text = PREFIX + secrets.token_urlsafe(32)
    with transaction.atomic():
        token = ApiToken.objects.create(
            account=account,
            name=name.strip(),
            scopes=chosen,
            beginning=text[:BEGINNING],
            digest=_digest(text),
            expires_at=expires_at,
        )
        record(by, "token.create", f"token {token.name}", account=account.get_username(), scopes=chosen)
    return token, text


def revoke_token(token: ApiToken, by: Caller = None) -> None:
    """Make a token useless from now on. Revoking one twice changes nothing."""
    with transaction.atomic():
        if ApiToken.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=timezone.now()):
            record(by, "token.revoke", f"token {token.name}", account=token.account.get_username())


def token_of(text: str) -> ApiToken | None:
    """The token with this text, where it may be used: not revoked, not expired, its account active."""
    now = timezone.now()
    token = (
        ApiToken.objects.select_related("account")
        .filter(Q(expires_at=None) | Q(expires_at__gt=now), digest=_digest(text), revoked_at=None)
        .filter(account__is_active=True)
        .first()
    )
    if token is not None and (token.last_used_at is None or now - token.last_used_at > USE_NOTED_EVERY):
        ApiToken.objects.filter(pk=token.pk).update(last_used_at=now)
    return token


def record(by: AbstractBaseUser | AnonymousUser | None, action: str, subject: str, **detail: Any) -> None:
    """Write down who did what. Call it in the transaction of the deed, so that both are stored or neither."""
    account = by if isinstance(by, User) else None
    AuditEntry.objects.create(
        account=account,
        account_name=account.get_username() if account else "",
        token_name=origin.token_name.get(),
        action=action,
        subject=subject[:200],
        detail=detail,
        request_id=origin.request_id.get(),
    )


def token_errors(account: User, name: str, scopes: set[str], expires_at: datetime | None) -> dict[str, list[str]]:
    """Field → what is wrong with it, empty where a token like this can be made."""
    errors: dict[str, list[str]] = {}
    if not name or len(name) > 100:
        errors["name"] = ["Give the token a name of at most 100 characters that says what it is for."]
    elif ApiToken.objects.filter(account=account, name=name).exists():
        errors["name"] = [f"{account.get_username()} has a token named {name} already. Choose another name."]
    if not scopes or scopes - set(ApiToken.Scope.values):
        errors["scopes"] = [f"Choose one or more of: {', '.join(ApiToken.Scope.values)}."]
    if expires_at is not None and expires_at <= timezone.now():
        errors["expires_at"] = ["The token would be expired from the start. Choose a moment in the future."]
    return errors


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
