"""The four groups of accounts. Each may what the one before may, and more."""

from __future__ import annotations

from django.contrib.auth.models import Group, Permission, User
from django.db import transaction
from django.db.models import Q

from benchmarks.services.access import record
from benchmarks.services.errors import NotPossible
from benchmarks.services.permissions import Caller

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
