"""Score drops on the overview, and dismissing them."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from benchmarks.models import Run, ScheduledRun, ScoreDrop
from benchmarks.services.schedules import save_schedule
from tests.support.factories import make_dataset, make_run
from tests.support.page_factories import make_scored_run

pytestmark = pytest.mark.django_db
HOSTILE = "<script>alert(1)</script>\u202e"


@pytest.fixture
def drop() -> ScoreDrop:
    dataset = make_dataset(1)
    request = {"dataset": "sums", "model": "baseline/reference", "metrics": ["exact_match"]}
    schedule = save_schedule("<b>Every</b> night", "03:00", request)
    runs = [make_run(dataset, model="baseline/reference") for _ in range(2)]
    scheduled = ScheduledRun.objects.create(
        schedule=schedule, run=runs[1], due_at=timezone.now(), compared_at=timezone.now(), compared_with=runs[0]
    )
    numbers = {"difference": -0.2, "low": -0.3, "high": -0.1, "p_adjusted": 0.001, "n_shared": 50}
    text = {"metric": "exact_match", "sentence": HOSTILE, **numbers}
    return ScoreDrop.objects.create(scheduled_run=scheduled, compared_with=runs[0], **text)


def test_the_overview_shows_a_drop_until_it_is_dismissed(client: Client, drop: ScoreDrop) -> None:
    page = client.get("/").content.decode()
    assert "lost 20.0 points" in page
    assert f"/compare/?runs={drop.compared_with_id},{drop.scheduled_run.run_id}" in page
    assert HOSTILE not in page
    assert "<b>Every" not in page
    assert "\u202e" not in page
    of_run = client.get(f"/runs/{drop.scheduled_run.run_id}/").content.decode()
    assert "lost 20.0 points" in of_run
    assert HOSTILE not in of_run
    assert "lost 20.0 points" not in client.get(f"/runs/{drop.compared_with_id}/").content.decode()
    response = client.post(f"/score-drops/{drop.pk}/dismiss/", follow=True)
    shown = response.content.decode()
    assert "dismissed." in shown
    assert "lost 20.0 points" not in shown


def test_the_drops_of_one_run_are_one_row_and_are_dismissed_together(client: Client, drop: ScoreDrop) -> None:
    drop.pk, drop.metric, drop.difference = None, "contains", -0.1
    drop.save()
    page = client.get("/").content.decode()
    assert "“Contains” score −10.0 points." in page
    assert page.count("/dismiss/") == 1
    assert "One item needs your attention." in page
    assert re.search(
        rf"Run {drop.scheduled_run.run_id} of \w+ \d+, \d\d:\d\d is newer than run {drop.compared_with_id} of", page
    )
    assert "Same version and prompt." in page
    Run.objects.filter(pk=drop.compared_with_id).update(summary={"response_models": {"old-1": 1}})
    Run.objects.filter(pk=drop.scheduled_run.run_id).update(summary={"response_models": {"new-2": 1}})
    compare = f"/compare/?runs={drop.scheduled_run.run_id},{drop.compared_with_id}"
    for path in ("/", compare):
        shown = " ".join(client.get(path).content.decode().split())
        assert "Same version and prompt; the vendor answers as new-2 instead of old-1." in shown
        assert f"is newer than run {drop.compared_with_id} of" in shown
    client.post(f"/score-drops/{drop.pk}/dismiss/")
    assert not ScoreDrop.objects.filter(dismissed_at=None).exists()


def test_the_list_of_schedules_shows_the_scores_of_the_nights_and_what_fell(client: Client) -> None:
    dataset = make_dataset(3)
    schedule = save_schedule(
        "Every night", "03:00", {"dataset": "sums", "model": "ollama/b", "metrics": ["exact_match"]}
    )
    nights = [make_scored_run(dataset, (1.0, right, right), model="ollama/b") for right in (1.0, 0.0, 0.0)]
    turns = [ScheduledRun.objects.create(schedule=schedule, run=run, due_at=timezone.now()) for run in nights]
    html = " ".join(client.get("/settings/schedules/").content.decode().split())
    assert 'aria-label="Scores of 3 runs, the latest 0.333"' in html
    assert "No score fell. The next run starts in " in html
    assert "No significant drop" in html
    page = client.get(f"/settings/schedules/{schedule.pk}/").content.decode()
    assert "<h2>Score over time</h2>" in page
    assert "<figcaption>Sums<small>Exact match" in page
    numbers = {"difference": -0.667, "low": -0.9, "high": -0.1, "p_adjusted": 0.001, "n_shared": 3, "sentence": "Fell."}
    ScoreDrop.objects.create(scheduled_run=turns[2], compared_with=nights[0], metric=nights[2].headline, **numbers)
    html = " ".join(client.get("/settings/schedules/").content.decode().split())
    assert "▼" not in html, "the notice says it"
    assert "No score fell." not in html
    assert html.index("lost 66.7 points") < html.index("<table"), "what fell comes first"
    assert html.count("lost 66.7 points") == 1
    told = f"From 1.000 in run {nights[0].pk} to 0.333 in run {nights[2].pk}, 3 shared tasks"
    assert f"{told}, 95% interval 10.0 to 90.0 points." in html
    assert "▼" not in client.get(f"/settings/schedules/{schedule.pk}/").content.decode(), "the notice says it"
    ScoreDrop.objects.update(difference=-0.5)
    html = " ".join(client.get("/settings/schedules/").content.decode().split())
    assert "3 shared tasks, 95% interval" in html
    assert "From 1.000" not in html, "what is compared is not the scores of the runs"


def test_the_page_of_a_dataset_says_a_drop_once(client: Client) -> None:
    dataset = make_dataset(20)
    schedule = save_schedule(
        "Every night", "03:00", {"dataset": "sums", "model": "ollama/b", "metrics": ["exact_match"]}
    )
    nights = [make_scored_run(dataset, [right] * 20, model="ollama/b") for right in (1.0, 0.0)]
    turn = ScheduledRun.objects.create(schedule=schedule, run=nights[1], due_at=timezone.now())
    assert "Score over time" in client.get("/datasets/sums/").content.decode(), "nothing else says it"
    make_scored_run(dataset, [1.0] * 10 + [0.0] * 10, model="a/other")
    assert "these tasks can show" in client.get("/datasets/sums/").content.decode()
    numbers = {"difference": -1, "low": -1, "high": -0.8, "p_adjusted": 0.001, "n_shared": 20, "sentence": "Fell."}
    ScoreDrop.objects.create(scheduled_run=turn, compared_with=nights[0], metric="exact_match", **numbers)
    html = " ".join(client.get("/datasets/sums/").content.decode().split())
    assert html.count("100.0 points") == 2, "in the statement, and as the end of its interval"
    assert f"From 1.000 in run {nights[0].pk} to 0.000 in run {nights[1].pk}, 20 shared tasks, 95% interval" in html
    assert "Score over time" not in html
    assert "▼" not in html
    assert "these tasks can show" not in html, "the drop comes first; the analysis says it"


def test_without_permission_score_drops_are_shown_and_cannot_be_dismissed(
    client: Client, drop: ScoreDrop, settings: Any
) -> None:
    settings.DEV_MODE, settings.PUBLIC_READING = False, True
    page = client.get("/").content.decode()
    assert "lost 20.0 points" in page
    assert "/dismiss/" not in page
    assert client.post(f"/score-drops/{drop.pk}/dismiss/").status_code == 403
    drop.refresh_from_db()
    assert drop.dismissed_at is None


def test_a_score_drop_that_does_not_exist_is_reported(client: Client) -> None:
    assert client.post("/score-drops/999/dismiss/").status_code == 404


def test_a_run_says_which_schedule_started_it(client: Client, drop: ScoreDrop) -> None:
    scheduled, other = Run.objects.order_by("-pk")
    assert "&lt;b&gt;Every&lt;/b&gt; night</a>" in client.get(f"/runs/{scheduled.pk}/").content.decode()
    assert "by schedule" not in client.get(f"/runs/{other.pk}/").content.decode()
