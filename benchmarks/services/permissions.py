"""Who may do what. In dev mode everybody may, because only the local user can reach the server."""

from __future__ import annotations

from django.conf import settings
from django.contrib.auth.models import AnonymousUser, User

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
