"""Reads of runs whose reports are shared."""

from __future__ import annotations

from collections.abc import Iterable

from django.db.models import QuerySet
from django.utils import timezone

from benchmarks.models import AuditEntry, Run


def shared_runs() -> QuerySet[Run]:
    """Runs with a valid share link, the latest link first."""
    shared = Run.objects.filter(shared_until__gt=timezone.now()).order_by("-shared_until")
    return shared.select_related("dataset").only("model", "shared_until", "dataset__slug")


def shared_by(shared: Iterable[Run]) -> dict[int, str]:
    """Run id → name of the account that created its latest share link, if it was logged in."""
    subjects = {f"run {run.pk}": run.pk for run in shared}
    entries = AuditEntry.objects.filter(action="run.share", subject__in=subjects).order_by("pk")
    return {subjects[subject]: name for subject, name in entries.values_list("subject", "account_name")}
