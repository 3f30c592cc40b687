"""What the tests of the admin share: clients with permissions, and readers of responses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from axes.models import AccessAttempt, AccessFailureLog, AccessLog
from django.contrib.auth.models import Group, Permission, User
from django.db import connection
from django.db.models import Model
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from benchmarks.models import ApiToken, AuditEntry, DatasetFile, ScheduledRun, ScoreDrop, WebhookDelivery
from benchmarks.services.access import create_token
from benchmarks.services.schedules import save_schedule
from tests.support.canvas_sets import make_canvas_set
from tests.support.factories import make_dataset, make_run

ADMIN = "/admin/benchmarks"
CONFIRMED = {"confirmed": "yes"}
"""What the page that asks before a deletion sends."""
MISSING_KEYS = ("0", "999999", "x", "9" * 25)


def staff(*permissions: str, name: str = "ada") -> Client:
    """A logged-in staff member with these permissions of the app, such as ``change_task``."""
    user = User.objects.create_user(name, is_staff=True)
    user.user_permissions.set(Permission.objects.filter(content_type__app_label="benchmarks", codename__in=permissions))
    client = Client()
    client.force_login(user)
    return client


def text_of(response: Any) -> str:
    """The page with all whitespace as single spaces."""
    return " ".join(response.content.decode().split())


def errors_of(response: Any) -> dict[str, list[str]]:
    """Field → error messages of the form on the page."""
    assert response.status_code == 200
    return {name: list(messages) for name, messages in response.context["adminform"].form.errors.items()}


def rows_with_constant_queries(client: Client, address: str, grow: Callable[[int], None]) -> list[Any]:
    """The rows of a list that has grown twice, after asserting that the second time costs no more queries."""
    counts, rows = [], []
    for _ in range(2):
        grow(8)
        client.get(address)  # fills caches that a process fills once
        with CaptureQueriesContext(connection) as queries:
            rows.append(list(client.get(address).context["cl"].result_list))
        counts.append(len(queries))
    assert len(rows[1]) >= len(rows[0]) + 8, address
    assert counts[0] == counts[1] < 12, (address, counts)
    return rows[1]


def one_of_each(owner: User) -> dict[str, Model]:
    """An object of every model in the admin."""
    dataset = make_dataset(2)
    run = make_run(dataset, model="baseline/reference")
    now = timezone.now()
    request = {"dataset": "sums", "model": "baseline/reference", "metrics": ["contains"]}
    schedule = save_schedule("nightly", "03:00", request)
    scheduled = ScheduledRun.objects.create(schedule=schedule, run=run, due_at=now)
    numbers = {"difference": -0.2, "low": -0.3, "high": -0.1, "p_adjusted": 0.001, "n_shared": 50}
    token, _ = create_token(owner, "ci", ["read"], by=owner)
    visit = {"user_agent": "x", "ip_address": "127.0.0.1", "username": "x", "http_accept": "x", "path_info": "/login/"}
    assert dataset.current_version is not None
    objects: list[Model] = [
        dataset,
        dataset.current_version.tasks.earliest("position"),
        DatasetFile.objects.create(path="sums.yaml", dataset=dataset, state="good", checked_at=now),
        run,
        schedule,
        ScoreDrop.objects.create(scheduled_run=scheduled, metric="contains", sentence="Worse.", **numbers),
        WebhookDelivery.objects.create(run=run, address="ops", event="run.completed", next_attempt_at=now),
        make_canvas_set("7", 2),
        ApiToken.objects.get(pk=token.pk),
        AuditEntry.objects.earliest("pk"),
        owner,
        Group.objects.earliest("pk"),
        AccessAttempt.objects.create(get_data="", post_data="", failures_since_start=1, **visit),
        AccessLog.objects.create(**visit),
        AccessFailureLog.objects.create(**visit),
    ]
    return {str(each._meta.model_name): each for each in objects}
