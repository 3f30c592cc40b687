"""Schedules listed and deleted in the admin, and score drops dismissed there."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from benchmarks.admin.tests.support import ADMIN, CONFIRMED, rows_with_constant_queries, staff, text_of
from benchmarks.models import AuditEntry, Run, Schedule, ScheduledRun, ScoreDrop
from benchmarks.services.schedules import save_schedule
from tests.support.factories import make_dataset, make_run

pytestmark = pytest.mark.django_db
ADD = f"{ADMIN}/schedule/add/"
HOSTILE = "<script>alert(1)</script>"
EDITS = ("view_schedule", "add_schedule", "change_schedule", "delete_schedule")


def request(**more: Any) -> dict[str, Any]:
    return {"dataset": "sums", "model": "baseline/reference", "metrics": ["contains", "exact_match"], **more}


def make_schedule(name: str = "nightly") -> Schedule:
    make_dataset(1)
    return save_schedule(name, "03:00", request())


def make_drop(schedule: Schedule, sentence: str = "Worse.") -> ScoreDrop:
    run = make_run(make_dataset(1), model="baseline/reference")
    turn = ScheduledRun.objects.create(schedule=schedule, run=run, due_at=timezone.now())
    numbers = {"difference": -0.2, "low": -0.3, "high": -0.1, "p_adjusted": 0.001, "n_shared": 50}
    return ScoreDrop.objects.create(scheduled_run=turn, metric="exact_match", sentence=sentence, **numbers)


def test_a_schedule_is_added_and_edited_on_the_dashboard(admin_client: Client) -> None:
    schedule = make_schedule()
    assert admin_client.get(ADD)["Location"] == "/settings/schedules/new/"
    change = admin_client.get(f"{ADMIN}/schedule/{schedule.pk}/change/")
    assert change["Location"] == f"/settings/schedules/{schedule.pk}/"


def test_problems_runs_and_score_drops_are_shown_as_inert_text(admin_client: Client) -> None:
    schedule = make_schedule()
    drop = make_drop(schedule, sentence=HOSTILE)
    Schedule.objects.update(last_problem=HOSTILE, last_problem_at=timezone.now())
    for address in (f"scoredrop/{drop.pk}/change/", "schedule/", "scoredrop/"):
        page = text_of(admin_client.get(f"{ADMIN}/{address}"))
        assert HOSTILE not in page, address
        assert "&lt;script&gt;" in page, address
        assert f"/runs/{drop.scheduled_run.run_id}/" in page, address


def test_adding_needs_the_permission_to_launch_besides_that_to_edit() -> None:
    assert staff(*EDITS).get(ADD).status_code == 403
    assert staff("launch_run", name="runner").get(ADD).status_code == 403
    assert staff(*EDITS, "launch_run", name="grace").get(ADD).status_code == 302


def test_a_schedule_is_deleted_with_its_score_drops_and_without_its_runs(admin_client: Client) -> None:
    schedule = make_schedule()
    make_drop(schedule)
    assert "Their runs are kept." in text_of(admin_client.get(f"{ADMIN}/schedule/{schedule.pk}/delete/"))
    admin_client.post(f"{ADMIN}/schedule/{schedule.pk}/delete/", CONFIRMED)
    assert not Schedule.objects.exists()
    assert not ScoreDrop.objects.exists()
    assert Run.objects.count() == 1
    assert AuditEntry.objects.filter(action="schedule.delete").exists()


def test_score_drops_are_dismissed_by_accounts_that_may_launch() -> None:
    drop = make_drop(make_schedule())
    data = {"action": "dismiss", "_selected_action": [drop.pk]}
    staff("view_scoredrop").post(f"{ADMIN}/scoredrop/", data)
    drop.refresh_from_db()
    assert drop.dismissed_at is None
    staff("view_scoredrop", "launch_run", name="grace").post(f"{ADMIN}/scoredrop/", data)
    drop.refresh_from_db()
    assert drop.dismissed_by.username == "grace"


def test_lists_have_constant_cost(admin_client: Client) -> None:
    schedule = make_schedule()

    def more_drops(count: int) -> None:
        for _ in range(count):
            make_drop(schedule)

    def more_schedules(count: int) -> None:
        for _ in range(count):
            other = Schedule.objects.create(name=f"nightly {Schedule.objects.count()}", when="03:00", request=request())
            ScheduledRun.objects.create(
                schedule=other, run=make_run(make_dataset(1), model="baseline/reference"), due_at=timezone.now()
            )

    rows_with_constant_queries(admin_client, f"{ADMIN}/scoredrop/", more_drops)
    rows_with_constant_queries(admin_client, f"{ADMIN}/schedule/", more_schedules)
