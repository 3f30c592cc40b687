"""Runs that leave out tasks with a doubtful expected answer say so wherever their score is shown."""

from __future__ import annotations

import pytest
from django.test import Client

from benchmarks.engine.canvas_sets.generation import audit_set
from tests.support.canvas_sets import canvas_run, set_with_a_wrong_reference

pytestmark = pytest.mark.django_db(transaction=True)


def test_runs_results_leaderboards_and_comparisons_are_marked(client: Client) -> None:
    canvas_set = set_with_a_wrong_reference()
    audit_set(canvas_set.pk)
    runs = [canvas_run(canvas_set, model) for model in ("baseline/solver", "baseline/reference")]
    left_out, all_in = "1 doubtful expected answer left out", "Includes doubtful expected answers"
    pages = (
        "/runs/",
        f"/runs/{runs[0].pk}/",
        "/leaderboard/",
        f"/compare/?runs={runs[0].pk},{runs[1].pk}",
    )
    for url in pages:
        html = client.get(url).content.decode()
        assert left_out in html, url
        assert all_in not in html, url
    result = runs[0].results.get(value=None)
    html = client.get(f"/runs/{runs[0].pk}/results/{result.pk}/").content.decode()
    assert "The audit finds the expected answer of this task wrong." in html
    assert "The run leaves out its score." in html
    assert "Include doubtful expected answers" in client.get(f"/runs/{runs[0].pk}/").content.decode()
    client.post(f"/runs/{runs[0].pk}/do/include_doubtful/")
    assert "doubtful expected answers included" in client.get("/leaderboard/").content.decode()
    client.post(f"/runs/{runs[1].pk}/do/include_doubtful/")
    for url in pages:
        assert all_in in client.get(url).content.decode(), url
    html = client.get(f"/runs/{runs[0].pk}/results/{result.pk}/").content.decode()
    assert "The run counts its score." in html
