"""Series of gates: counted, begun anew, shared by commands, API and schedules."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from benchmarks import worker
from benchmarks.models import AuditEntry, GateCheck, GateSeries, Run, RunStatus, Schedule, ScheduledRun, ScoreDrop
from benchmarks.services.errors import InvalidRequest, NotPossible
from benchmarks.services.gates import check_scheduled, gate, reset_series, series_of
from benchmarks.services.schedules import save_schedule
from benchmarks.statistics.margins import NIGHTS
from tests.support.factories import make_dataset, make_task
from tests.support.page_factories import make_scored_run

pytestmark = pytest.mark.django_db
TASKS = 40


@pytest.fixture
def runs() -> dict[str, Run]:
    dataset = make_dataset(TASKS)
    shares = {"reference": 1.0, "same": 1.0, "worse": 0.0}
    return {name: make_scored_run(dataset, [share] * TASKS) for name, share in shares.items()}


def checked(run: Run, against: Run, **more: Any) -> GateCheck:
    counted = gate(run, {"against": against.pk, "margin": 20, "series": "release", **more}).counted
    assert counted is not None
    return counted


def test_a_check_is_counted_once_however_often_it_is_made(runs: dict[str, Run]) -> None:
    first = checked(runs["same"], runs["reference"])
    again = checked(runs["same"], runs["reference"], margin=30)
    second = checked(runs["worse"], runs["reference"])
    assert [(each.number, each.verdict) for each in (first, again, second)] == [(1, "pass"), (1, "pass"), (2, "worse")]
    series = GateSeries.objects.get()
    assert (series.counted, series.checks.count()) == (2, 2)
    stored = series.checks.get(run=runs["worse"])
    assert (stored.difference, stored.n, stored.metric) == (-1.0, TASKS, "exact_match")
    assert stored.low is not None
    assert stored.high is not None
    assert stored.low <= -1 <= stored.high < -0.2


def test_a_series_has_a_wider_upper_bound_than_a_single_check(runs: dict[str, Run]) -> None:
    data = {"against": runs["reference"].pk, "margin": 20}
    alone = gate(runs["worse"], data).check.edges
    in_series = gate(runs["worse"], {**data, "series": "release"}).check.edges
    nightly = gate(runs["worse"], {**data, "nightly": True})
    assert alone.high is not None
    assert in_series.high is not None
    assert alone.high < in_series.high
    assert (nightly.check.edges.high, nightly.counted) == (in_series.high, None)
    assert alone.low == in_series.low


def test_a_reset_and_a_new_version_begin_the_series_anew(runs: dict[str, Run]) -> None:
    checked(runs["same"], runs["reference"])
    reset_series(GateSeries.objects.get())
    after = checked(runs["same"], runs["reference"])
    assert (after.period, after.number) == (2, 1)
    assert GateCheck.objects.count() == 2, "earlier checks stay listed"
    assert AuditEntry.objects.filter(action="gate_series.reset").count() == 1
    checked(runs["worse"], runs["reference"])
    Run.objects.update(added_canvases=5)
    changed = checked(Run.objects.get(pk=runs["same"].pk), runs["reference"])
    assert (changed.period, changed.number) == (3, 1)


def test_deleting_a_run_gives_no_check_back(runs: dict[str, Run]) -> None:
    checked(runs["same"], runs["reference"])
    runs["same"].delete()
    assert checked(runs["worse"], runs["reference"]).number == 2


def test_after_a_hundred_checks_the_series_says_that_it_is_used_up(runs: dict[str, Run], client: Client) -> None:
    checked(runs["same"], runs["reference"])
    GateSeries.objects.update(counted=NIGHTS)
    body = {"against": runs["reference"].pk, "margin": 20, "series": "release"}
    told = client.post(f"/api/v1/benchmarks/runs/{runs['worse'].pk}/gate", body, "application/json").json()
    assert (told["number"], told["used_up"]) == (NIGHTS + 1, True)
    listed = client.get("/api/v1/benchmarks/gates/release").json()
    assert "are used up. Reset the series" in listed["sentence"]
    assert [each["number"] for each in listed["checks"]] == [NIGHTS + 1, 1]
    again = client.post("/api/v1/benchmarks/gates/release/reset").json()
    assert (again["counted"], again["period"]) == (0, 2)
    listed = client.get("/api/v1/benchmarks/gates?page_size=1").json()
    assert (listed["count"], [each["name"] for each in listed["results"]]) == (1, ["release"])
    assert client.get("/api/v1/benchmarks/gates/nothing").status_code == 404


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        ({"series": "schedule-1"}, "belong to schedules"),
        ({"series": "a b"}, "letters, digits"),
        ({"margin": 0}, "above 0"),
        ({"margin": "nan"}, "number|above 0"),
        ({"margin": True}, "valid number"),
        ({"against": 999}, "does not exist"),
        ({"against": "same"}, "valid integer"),
        ({"more": 1}, "more"),
    ],
)
def test_a_request_that_makes_no_sense_is_refused(runs: dict[str, Run], data: dict[str, Any], problem: str) -> None:
    with pytest.raises(InvalidRequest, match=problem):
        gate(runs["same"], {"against": runs["reference"].pk, **data})
    assert not GateSeries.objects.exists()


def test_a_run_that_shares_no_task_is_refused_and_not_counted(runs: dict[str, Run]) -> None:
    other = make_scored_run(make_dataset([make_task(1, input="Another question?")], slug="others"), [1.0])
    with pytest.raises(InvalidRequest, match=rf"Run {other.pk} shares no task with run {runs['reference'].pk}\."):
        gate(other, {"against": runs["reference"].pk, "series": "release"})
    with pytest.raises(CommandError, match="shares no task") as refused:
        call_command("benchmark", "gate", other.pk, "--against", runs["reference"].pk)
    assert refused.value.returncode == 2
    assert not GateSeries.objects.exists()


def test_a_series_is_on_one_dataset_and_counts_runs_that_have_ended(runs: dict[str, Run]) -> None:
    checked(runs["same"], runs["reference"])
    other = make_dataset(3, slug="others")
    pair = [make_scored_run(other, [1.0] * 3) for _ in range(2)]
    with pytest.raises(InvalidRequest, match="release is a series on sums"):
        checked(pair[1], pair[0])
    with pytest.raises(InvalidRequest, match="with itself"):
        checked(pair[0], pair[0])
    runs["same"].status = RunStatus.RUNNING
    with pytest.raises(NotPossible, match="runs that have ended"):
        checked(runs["same"], runs["reference"])


def nights(scores: list[float], **more: Any) -> tuple[Schedule, list[Run]]:
    """Runs of a schedule with a margin, compared as a worker does, one night after the other."""
    schedule = save_schedule(
        "nightly",
        "03:00",
        {"dataset": "sums", "model": "baseline/random", "metrics": ["exact_match"]},
        **{"margin": "20", **more},
    )
    made = [make_scored_run(schedule_dataset(), [score] * TASKS) for score in scores]
    for run in made:
        ScheduledRun.objects.create(schedule=schedule, run=run, due_at=run.created_at)
        Schedule.objects.update(created_at=run.created_at - timedelta(days=1))
        worker.follow_schedules()
    return schedule, made


def schedule_dataset() -> Any:
    from benchmarks.models import Dataset

    return Dataset.objects.filter(slug="sums").first() or make_dataset(TASKS)


def test_the_nights_of_a_schedule_with_a_margin_are_checks_of_its_series(client: Client) -> None:
    make_dataset(TASKS)
    schedule, made = nights([1.0, 1.0, 0.0])
    series = schedule.gate_series
    checks = [(each.number, each.run, each.against, each.verdict) for each in series.checks.order_by("pk")]
    assert checks == [(1, made[1], made[0], "pass"), (2, made[2], made[0], "worse")]
    drop = ScoreDrop.objects.get()
    assert (drop.scheduled_run.run, drop.compared_with, drop.difference, drop.p_adjusted) == (
        made[2],
        made[0],
        -1,
        None,
    )
    assert drop.sentence.startswith("Worse by more than 20.0 points")
    scheduled = made[2].scheduled
    assert not check_scheduled(scheduled, series, made[0]), "compared already"
    assert series.checks.count() == 2


def test_a_loss_is_reported_in_its_first_night_until_a_night_passes_or_the_series_begins_anew() -> None:
    make_dataset(TASKS)
    schedule, made = nights([1.0, 0.0, 0.0, 0.0, 1.0, 0.0])
    assert [each.verdict for each in schedule.gate_series.checks.order_by("pk")] == [*["worse"] * 3, "pass", "worse"]
    reported = ScoreDrop.objects.order_by("pk").values_list("scheduled_run__run", flat=True)
    assert list(reported) == [made[1].pk, made[5].pk]


def test_the_page_of_a_schedule_shows_its_nights_and_begins_the_series_anew(admin_client: Client) -> None:
    make_dataset(TASKS)
    schedule, made = nights([1.0, 0.0])
    address = f"/settings/schedules/{schedule.pk}/"
    page = admin_client.get(address).content.decode()
    assert "Tolerated loss: 20.0 points. Check 1 of 100" in page
    assert "−100.0" in page
    assert "Worse" in page
    done = admin_client.post(f"{address}do/reset/", follow=True).content.decode()
    assert "The series begins anew" in done
    assert series_of(schedule).period == 2
    later = make_scored_run(schedule_dataset(), [0.0] * TASKS)
    ScheduledRun.objects.create(schedule=schedule, run=later, due_at=later.created_at)
    worker.follow_schedules()
    assert series_of(schedule).counted == 0, "the first run after a reset is what later ones are held against"
    assert "No significant" not in page
    assert made[0].scheduled.compared_with is None


def test_other_settings_make_another_reference(settings: Any) -> None:
    make_dataset(TASKS)
    schedule, made = nights([1.0])
    changed = make_scored_run(schedule_dataset(), [0.0] * TASKS)
    Run.objects.filter(pk=changed.pk).update(question_key="another")
    ScheduledRun.objects.create(schedule=schedule, run=changed, due_at=changed.created_at)
    worker.follow_schedules()
    assert not GateCheck.objects.exists()
    assert not ScoreDrop.objects.exists()
    assert made


def test_a_margin_of_a_schedule_is_checked_and_can_be_removed() -> None:
    make_dataset(TASKS)
    request = {"dataset": "sums", "model": "baseline/random", "metrics": ["exact_match"]}
    with pytest.raises(InvalidRequest, match="enter points above 0"):
        save_schedule("nightly", "03:00", request, margin="-2")
    saved = save_schedule("nightly", "03:00", request, margin="2.5")
    assert saved.margin == 0.025
    assert save_schedule("nightly", "03:00", request, margin="", schedule=saved).margin is None
