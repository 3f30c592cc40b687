"""Canvas sets in the admin."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import pytest
from django.test import Client

from benchmarks import jobs
from benchmarks.admin.tests.support import text_of
from benchmarks.services.runs.start import start_run
from tasks_app.models import CanvasSet
from tests.support.canvas_sets import make_canvas_set

SETS = "/admin/tasks_app/canvasset/"
pytestmark = pytest.mark.django_db


@pytest.fixture
def queued(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The ids of the sets for which a job was queued."""
    ids: list[int] = []
    monkeypatch.setattr(jobs.generate_canvases, "delay", ids.append)
    return ids


def test_the_form_queues_a_set_or_shows_errors_at_its_fields(
    admin_client: Client, queued: list[int], django_capture_on_commit_callbacks: Any
) -> None:
    assert "Generate canvas set" in text_of(admin_client.get(f"{SETS}add/"))
    page = admin_client.post(f"{SETS}add/", {"shapes": "25", "count": "0"})
    assert set(page.context["adminform"].form.errors) == {"shapes", "count"}
    assert not CanvasSet.objects.exists()
    with django_capture_on_commit_callbacks(execute=True):
        page = admin_client.post(f"{SETS}add/", {"shapes": "3-12", "count": "20", "seed": "5"}, follow=True)
    canvas_set = CanvasSet.objects.get()
    assert queued == [canvas_set.pk]
    assert f"Generating {canvas_set.name} with 20 canvases." in text_of(page)
    assert "0 of 20, being generated" in text_of(page)
    assert f'href="/canvases/{canvas_set.slug}/"' in text_of(page)


def test_a_link_opens_the_form_with_the_settings_of_the_set(admin_client: Client) -> None:
    canvas_set = make_canvas_set("7", 2)
    page = text_of(admin_client.get(f"{SETS}{canvas_set.pk}/change/"))
    link = re.search(r'href="([^"]+)">Raise the number of canvases', page)
    assert link is not None
    form = text_of(admin_client.get(unescape(link[1])))
    for value in ("7", "2", "11", "7 shapes, seed 11", "3"):
        assert f'value="{value}"' in form, value


def test_sets_are_audited_again_and_only_stopped_ones_are_resumed(
    admin_client: Client, queued: list[int], django_capture_on_commit_callbacks: Any
) -> None:
    complete, stopped = make_canvas_set("7", 2), make_canvas_set("8", 2)
    CanvasSet.objects.filter(pk=stopped.pk).update(error_message="a class failed", wanted=9)
    assert "2 of 9, stopped by an error" in text_of(admin_client.get(SETS))
    for action, selected, expected in (
        ("continue_sets", [complete.pk, stopped.pk], [stopped.pk]),
        ("audit_sets", [complete.pk], [complete.pk]),
    ):
        queued.clear()
        with django_capture_on_commit_callbacks(execute=True):
            admin_client.post(SETS, {"action": action, "_selected_action": selected})
        assert queued == expected, action


def test_a_set_is_deleted_after_confirmation_and_one_with_runs_is_kept(admin_client: Client) -> None:
    used, free = make_canvas_set("7", 2), make_canvas_set("8", 2)
    start_run({"dataset": used.slug, "model": "baseline/solver"})
    assert "7-shapes-seed-11 has 1 run" in text_of(admin_client.get(f"{SETS}{used.pk}/delete/"))
    admin_client.post(f"{SETS}{used.pk}/delete/")
    assert "2 canvases" in text_of(admin_client.get(f"{SETS}{free.pk}/delete/"))
    admin_client.post(f"{SETS}{free.pk}/delete/")
    assert list(CanvasSet.objects.all()) == [used]
