"""Schedules edited in the admin, with the errors of a request at its fields, and notices dismissed there."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from benchmarks.admin.tests.accounts import ADMIN, staff
from benchmarks.models import AuditEntry, Run, Schedule, ScheduledRun, ScoreDrop
from benchmarks.services.schedules.control import save_schedule
from tests.support.factories import make_dataset, make_run

pytestmark = pytest.mark.django_db
ADD = f"{ADMIN}/schedule/add/"
HOSTILE = "<script>alert(1)</script>"
EDITS = ("view_schedule", "add_schedule", "change_schedule", "delete_schedule")


def sent(**fields: str) -> dict[str, str]:
    given = {"name": "nightly", "enabled": "on", "when": "03:00", "dataset": "sums", "model": "baseline/reference"}
    return {**given, "metrics": "contains, exact_match", **fields}


def request(**more: Any) -> dict[str, Any]:
    return {"dataset": "sums", "model": "baseline/reference", "metrics": ["contains", "exact_match"], **more}


def make_schedule(name: str = "nightly") -> Schedule:
    make_dataset(1)
    return save_schedule(name, "03:00", request())


def make_notice(schedule: Schedule, sentence: str = "Worse.") -> ScoreDrop:
    run = make_run(schedule_dataset(), model="baseline/reference")
    turn = ScheduledRun.objects.create(schedule=schedule, run=run, due_at=timezone.now())
    numbers = {"difference": -0.2, "low": -0.3, "high": -0.1, "p_adjusted": 0.001, "n_shared": 50}
    return ScoreDrop.objects.create(turn=turn, metric="exact_match", sentence=sentence, **numbers)


def schedule_dataset() -> Any:
    return make_dataset(1)


def test_a_schedule_is_added_with_every_field_of_a_request(admin_client: Client) -> None:
    make_dataset(1)
    page = admin_client.get(ADD).content.decode()
    assert 'name="max_tokens"' in page
    given = sent(max_tokens="100", use_cache="on", system_prompt=" Be brief. ")
    response = admin_client.post(ADD, given)
    schedule = Schedule.objects.get()
    assert response["Location"] == f"{ADMIN}/schedule/{schedule.pk}/change/"
    assert schedule.request == request(max_tokens=100, use_cache=True, system_prompt=" Be brief. ")
    assert schedule.account.username == "admin"
    assert AuditEntry.objects.get(action="schedule.create").subject == "schedule nightly"


def test_mistakes_stand_at_their_fields_and_nothing_is_stored(admin_client: Client) -> None:
    make_dataset(1)
    response = admin_client.post(ADD, sent(name="", when="noon", model="nowhere/x", max_tokens="many"))
    errors = response.context["adminform"].form.errors
    assert set(errors) == {"name", "when", "max_tokens", "model"}
    assert not Schedule.objects.exists()


def test_a_schedule_is_changed_as_it_was_stored(admin_client: Client) -> None:
    schedule = make_schedule()
    address = f"{ADMIN}/schedule/{schedule.pk}/change/"
    assert 'value="contains, exact_match"' in admin_client.get(address).content.decode()
    given = sent(when="30 4 * * 1-5", metrics="exact_match")
    del given["enabled"]
    admin_client.post(address, given)
    schedule.refresh_from_db()
    assert (schedule.enabled, schedule.when, schedule.next_run_at) == (False, "30 4 * * 1-5", None)
    assert schedule.request["metrics"] == ["exact_match"]


def test_a_page_tells_the_problem_the_runs_and_the_notices_inert(admin_client: Client) -> None:
    schedule = make_schedule()
    notice = make_notice(schedule, sentence=HOSTILE)
    Schedule.objects.update(last_problem=HOSTILE, last_problem_at=timezone.now())
    for address in (f"schedule/{schedule.pk}/change/", f"scorenotice/{notice.pk}/change/", "schedule/", "scorenotice/"):
        shown = admin_client.get(f"{ADMIN}/{address}").content.decode()
        assert HOSTILE not in shown
        assert "&lt;script&gt;" in shown
    assert f"run {notice.turn.run_id}" in admin_client.get(f"{ADMIN}/schedule/{schedule.pk}/change/").content.decode()


def test_saving_needs_the_permission_to_launch_besides_that_to_edit() -> None:
    schedule = make_schedule()
    editor = staff(*EDITS)
    assert editor.post(ADD, sent(name="other")).status_code == 403
    address = f"{ADMIN}/schedule/{schedule.pk}/change/"
    assert editor.get(address).status_code == 200
    assert editor.post(address, sent(when="05:00")).status_code == 403
    assert staff("launch_run", name="runner").post(ADD, sent(name="other")).status_code == 403
    launcher = staff(*EDITS, "launch_run", name="grace")
    assert launcher.post(address, sent(when="05:00")).status_code == 302
    schedule.refresh_from_db()
    assert (schedule.when, schedule.account.username) == ("05:00", "grace")


def test_a_schedule_is_deleted_with_its_notices_and_without_its_runs(admin_client: Client) -> None:
    schedule = make_schedule()
    make_notice(schedule)
    assert admin_client.get(f"{ADMIN}/schedule/{schedule.pk}/delete/").status_code == 200
    admin_client.post(f"{ADMIN}/schedule/{schedule.pk}/delete/", {"post": "yes"})
    assert not Schedule.objects.exists()
    assert not ScoreDrop.objects.exists()
    assert Run.objects.count() == 1
    assert AuditEntry.objects.filter(action="schedule.delete").exists()


def test_notices_are_dismissed_by_those_who_launch() -> None:
    notice = make_notice(make_schedule())
    given = {"action": "dismiss", "_selected_action": [notice.pk]}
    staff("view_scorenotice").post(f"{ADMIN}/scorenotice/", given)
    notice.refresh_from_db()
    assert notice.dismissed_at is None
    staff("view_scorenotice", "launch_run", name="grace").post(f"{ADMIN}/scorenotice/", given)
    notice.refresh_from_db()
    assert notice.dismissed_by.username == "grace"


@pytest.mark.parametrize("kind", ["schedule", "scorenotice"])
def test_a_list_costs_the_same_whatever_its_length(admin_client: Client, kind: str) -> None:
    make_dataset(1)
    counts = []
    for _ in range(2):
        for _ in range(10):
            make_notice(save_schedule(f"nightly {Schedule.objects.count()}", "03:00", request()))
        admin_client.get(f"{ADMIN}/{kind}/")
        with CaptureQueriesContext(connection) as queries:
            response = admin_client.get(f"{ADMIN}/{kind}/")
        counts.append(len(queries))
    assert len(response.context["cl"].result_list) == 20
    assert counts[0] == counts[1]


@pytest.mark.parametrize("pk", ["0", "999999", "x", "9" * 25])
def test_a_schedule_that_is_not_there_is_no_error(admin_client: Client, pk: str) -> None:
    for name in ("change", "delete"):
        assert admin_client.get(f"{ADMIN}/schedule/{pk}/{name}/").status_code in (302, 404)
