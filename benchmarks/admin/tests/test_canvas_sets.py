"""Canvas sets in the admin."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from benchmarks import jobs
from benchmarks.services.runs.start import start_run
from tasks_app.models import CanvasSet
from tests.support.canvas_sets import make_canvas_set

SETS = "/admin/tasks_app/canvasset/"
pytestmark = pytest.mark.django_db


@pytest.fixture
def rung(monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: Any) -> list[int]:
    ids: list[int] = []
    monkeypatch.setattr(jobs.draw_canvases, "delay", ids.append)
    return ids


def test_the_form_queues_a_set(admin_client: Client, rung: list[int], django_capture_on_commit_callbacks: Any) -> None:
    assert b"Generate a canvas set" in admin_client.get(f"{SETS}add/").content
    with django_capture_on_commit_callbacks(execute=True):
        answer = admin_client.post(f"{SETS}add/", {"shapes": "3-12", "count": "20", "seed": "5"}, follow=True)
    canvas_set = CanvasSet.objects.get()
    assert rung == [canvas_set.pk]
    assert b"is queued to have 20 canvases" in answer.content
    assert b"0 of 20, being drawn" in answer.content


def test_an_impossible_request_is_told_at_its_fields(admin_client: Client) -> None:
    page = admin_client.post(f"{SETS}add/", {"shapes": "25", "count": "0"}).content.decode()
    assert "A canvas has 1 to 24 shapes" in page
    assert "greater than or equal to 1" in page
    assert not CanvasSet.objects.exists()


def test_a_link_leads_to_the_form_filled_in_to_draw_more(admin_client: Client) -> None:
    canvas_set = make_canvas_set("7", 2)
    page = admin_client.get(f"{SETS}{canvas_set.pk}/change/").content.decode()
    link = page.split('href="')[[("?shapes=7" in part) for part in page.split('href="')].index(True)].split('"')[0]
    form = admin_client.get(link.replace("&amp;", "&")).content.decode()
    for value in ("7", "2", "11", "7 shapes, seed 11", "3"):
        assert f'value="{value}"' in form


def test_sets_are_listed_and_audited_again(
    admin_client: Client, rung: list[int], django_capture_on_commit_callbacks: Any
) -> None:
    canvas_set = make_canvas_set("7", 2)
    assert b"7 shapes, seed 11" in admin_client.get(SETS).content
    with django_capture_on_commit_callbacks(execute=True):
        admin_client.post(SETS, {"action": "audit_sets", "_selected_action": [canvas_set.pk]})
    assert rung == [canvas_set.pk]


def test_only_a_set_that_an_error_stopped_goes_on(
    admin_client: Client, rung: list[int], django_capture_on_commit_callbacks: Any
) -> None:
    fine, stopped = make_canvas_set("7", 2), make_canvas_set("8", 2)
    CanvasSet.objects.filter(pk=stopped.pk).update(error_message="a class failed", wanted=9)
    assert b"2 of 9, stopped by an error" in admin_client.get(SETS).content
    with django_capture_on_commit_callbacks(execute=True):
        admin_client.post(SETS, {"action": "continue_sets", "_selected_action": [fine.pk, stopped.pk]})
    assert rung == [stopped.pk]


def test_a_set_is_deleted_after_asking_and_one_with_runs_is_kept(admin_client: Client) -> None:
    used, free = make_canvas_set("7", 2), make_canvas_set("8", 2)
    start_run({"dataset": used.slug, "model": "baseline/solver"})
    assert b"7-shapes-seed-11 has 1 run" in admin_client.get(f"{SETS}{used.pk}/delete/").content
    admin_client.post(f"{SETS}{used.pk}/delete/", {"post": "yes"})
    asked = admin_client.get(f"{SETS}{free.pk}/delete/").content.decode()
    assert "canvases: 2" in " ".join(asked.split()).lower()
    admin_client.post(f"{SETS}{free.pk}/delete/", {"post": "yes"})
    assert list(CanvasSet.objects.all()) == [used]
