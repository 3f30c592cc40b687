"""Canvas sets in the admin."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from benchmarks import jobs
from benchmarks.admin.tests.support import CONFIRMED, text_of
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


def test_sets_are_generated_and_extended_on_the_dashboard(admin_client: Client) -> None:
    canvas_set = make_canvas_set("7", 2)
    assert admin_client.get(f"{SETS}add/").status_code == 403
    assert '<a href="/canvases/">Generate set in dashboard</a>' in text_of(admin_client.get(SETS))
    page = text_of(admin_client.get(f"{SETS}{canvas_set.pk}/change/"))
    assert f'href="/canvases/{canvas_set.slug}/"' in page


def test_sets_are_audited_again_and_only_stopped_ones_are_resumed(
    admin_client: Client, queued: list[int], django_capture_on_commit_callbacks: Any
) -> None:
    complete, stopped = make_canvas_set("7", 2), make_canvas_set("8", 2)
    CanvasSet.objects.filter(pk=stopped.pk).update(error_message="a class failed", wanted=9)
    assert "a class failed" in text_of(admin_client.get(SETS))
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
    admin_client.post(f"{SETS}{used.pk}/delete/", CONFIRMED)
    assert "2 canvases" in text_of(admin_client.get(f"{SETS}{free.pk}/delete/"))
    admin_client.post(f"{SETS}{free.pk}/delete/", CONFIRMED)
    assert list(CanvasSet.objects.all()) == [used]
