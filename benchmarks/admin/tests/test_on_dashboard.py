"""What is worked on in the dashboard: read-only lists in the admin, whose rows lead there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from benchmarks.admin.tests.support import ADMIN, rows_with_constant_queries, staff, text_of
from benchmarks.models import ApiToken, Run, Schedule, ScheduledRun, ScoreDrop, WebhookDelivery
from benchmarks.services.access import create_token
from benchmarks.services.schedules import save_schedule
from tests.support.factories import make_dataset, make_run

pytestmark = pytest.mark.django_db
HOSTILE = "<script>alert(1)</script>"


def run(**fields: Any) -> Run:
    made = make_run(make_dataset(1), model="baseline/reference")
    Run.objects.filter(pk=made.pk).update(**fields)
    return made


def schedule(**fields: Any) -> Schedule:
    make_dataset(1)
    asked = {"dataset": "sums", "model": "baseline/reference", "metrics": ["exact_match"]}
    made = save_schedule(f"nightly {Schedule.objects.count()}", "03:00", asked)
    Schedule.objects.filter(pk=made.pk).update(**fields)
    return made


def drop(**fields: Any) -> ScoreDrop:
    turn = ScheduledRun.objects.create(schedule=schedule(), run=run(), due_at=timezone.now())
    numbers = {"difference": -0.2, "low": -0.3, "high": -0.1, "p_adjusted": 0.001, "n_shared": 50}
    return ScoreDrop.objects.create(scheduled_run=turn, metric="exact_match", **numbers, **fields)


def delivery(**fields: Any) -> WebhookDelivery:
    given = {"address": "ops", "event": "run.completed", "state": "given_up", "next_attempt_at": timezone.now()}
    return WebhookDelivery.objects.create(run=run(), **given, **fields)


def token(**fields: Any) -> ApiToken:
    account, _ = User.objects.get_or_create(username="ada")
    name = fields.get("name", f"ci {ApiToken.objects.count()}")
    return create_token(account, name, ["read"])[0]


LISTS: dict[str, tuple[Callable[..., Any], str, Callable[[Any], str]]] = {
    "run": (run, "name", lambda made: f"/runs/{made.pk}/"),
    "schedule": (schedule, "last_problem", lambda made: f"/settings/schedules/{made.pk}/"),
    "scoredrop": (drop, "sentence", lambda made: f"/runs/{made.scheduled_run.run_id}/"),
    "webhookdelivery": (delivery, "last_error", lambda made: "/settings/webhooks/"),
    "apitoken": (token, "name", lambda made: "/settings/tokens/"),
}
"""Model → what makes one, a field for hostile text, and where its row leads."""


@pytest.mark.parametrize("model", LISTS)
def test_a_row_shows_inert_text_and_leads_to_the_dashboard(model: str, admin_client: Client) -> None:
    make, field, leads_to = LISTS[model]
    made = make(**{field: HOSTILE})
    page = text_of(admin_client.get(f"{ADMIN}/{model}/"))
    assert HOSTILE not in page
    assert "&lt;script&gt;" in page
    for method in (admin_client.get, admin_client.post):
        assert method(f"{ADMIN}/{model}/{made.pk}/change/", {"name": "x"})["Location"] == leads_to(made)


@pytest.mark.parametrize("model", LISTS)
def test_nothing_is_added_changed_deleted_or_acted_on(model: str, admin_client: Client) -> None:
    made = LISTS[model][0]()
    before = type(made).objects.values().get(pk=made.pk)
    assert admin_client.get(f"{ADMIN}/{model}/add/").status_code == 403
    assert (
        admin_client.post(f"{ADMIN}/{model}/{made.pk}/delete/", {"post": "yes", "confirmed": "yes"}).status_code == 403
    )
    for action in ("delete_selected", "cancel_runs", "dismiss", "send_again", "revoke"):
        admin_client.post(f"{ADMIN}/{model}/", {"action": action, "_selected_action": [made.pk], "confirmed": "yes"})
    assert type(made).objects.values().get(pk=made.pk) == before


@pytest.mark.parametrize("model", LISTS)
def test_a_list_needs_the_permission_to_view_and_has_constant_cost(model: str, admin_client: Client) -> None:
    make = LISTS[model][0]

    def more(count: int) -> None:
        for _ in range(count):
            make()

    rows = rows_with_constant_queries(admin_client, f"{ADMIN}/{model}/", more)
    if model == "webhookdelivery":
        assert all("body" in row.get_deferred_fields() for row in rows)
    made = make()
    other = staff("view_dataset", name="other")
    assert {other.get(f"{ADMIN}/{model}/{place}").status_code for place in ("", f"{made.pk}/change/")} == {403}


def test_runs_are_searched_by_number_and_beginning_of_the_model(admin_client: Client) -> None:
    first, second = run(model="a/model"), run(model="<b>b</b>")
    for search, expected in (("a/mo", [first]), ("c/", []), ("", [second, first]), (str(second.pk), [second])):
        response = admin_client.get(f"{ADMIN}/run/", {"q": search})
        assert list(response.context["cl"].result_list) == expected, search
        assert "<b>b" not in text_of(response)
