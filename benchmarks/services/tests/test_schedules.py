"""Schedules: saved with the checks of a request, started once when due, their drops told apart from noise."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection

from benchmarks import worker
from benchmarks.engine.execution.dispatch import work_on_run_once
from benchmarks.engine.webhooks.delivery import send_due
from benchmarks.models import AuditEntry, Dataset, Run, RunStatus, Schedule, ScheduledRun, ScoreDrop
from benchmarks.presentation.numbers import percent
from benchmarks.queries.schedules import LEVEL, earlier_runs, score_drops
from benchmarks.services import schedules
from benchmarks.services.access import assign_group
from benchmarks.services.errors import InvalidRequest
from benchmarks.services.runs.control import cancel_run
from benchmarks.services.schedules import delete_schedule, dismiss_score_drop, save_schedule, start_due
from tests.loopback.replies import Asked
from tests.support.factories import MODEL, make_dataset
from tests.support.page_factories import make_scored_run
from tests.support.receiver import SECRET, SECRET_ENV, receiving
from tests.support.running import Endpoint

pytestmark = pytest.mark.django_db(transaction=True)
TASKS = 60


class Model:
    """Adds, but gets a share of the sums wrong: others every night, and the same ones whenever the test runs."""

    def __init__(self, wrong: float = 0.0) -> None:
        self.wrong = wrong

    def __call__(self, asked: Asked) -> str:
        number = int(asked.prompt.removeprefix("What is ").split(" ")[0])
        errs = random.Random(f"{asked.attempt} {number}").random() < self.wrong
        return "no idea" if errs else str(2 * number)


@dataclass
class Sinking:
    """Errs on the first ``lost`` of the sums."""

    lost: int = 0

    def __call__(self, asked: Asked) -> str:
        number = int(asked.prompt.removeprefix("What is ").split(" ")[0])
        return "no idea" if number <= self.lost else str(2 * number)


def request(**more: Any) -> dict[str, Any]:
    return {"dataset": "sums", "model": MODEL, "metrics": ["exact_match", "contains"], **more}


def nightly(endpoint: Endpoint, script: Any = None, tasks: int = TASKS, **more: Any) -> Schedule:
    """A schedule of a run at three every night."""
    endpoint(script or Model())
    make_dataset(tasks)
    return save_schedule("nightly", "03:00", request(**more))


def night(schedule: Schedule) -> Run:
    """The next run of the schedule, finished and compared with the previous one."""
    schedule.refresh_from_db()
    [run] = start_due(schedule.next_run_at + timedelta(minutes=1))
    work_on_run_once(run.pk)
    worker.follow_schedules()
    run.refresh_from_db()
    return run


def problem(schedule: Schedule) -> str:
    schedule.refresh_from_db()
    return schedule.last_problem


def test_a_schedule_keeps_the_request_as_the_api_takes_it(endpoint: Endpoint) -> None:
    schedule = nightly(endpoint, repeats="2")
    assert schedule.request == request(repeats=2)
    assert schedule.next_run_at > datetime.now(UTC)
    assert AuditEntry.objects.get(action="schedule.create").detail["when"] == "03:00"


def test_every_mistake_is_told_at_once(endpoint: Endpoint) -> None:
    endpoint()
    make_dataset(1)
    with pytest.raises(InvalidRequest) as caught:
        save_schedule(" ", "noon", request(model="nowhere/x", colour="red"))
    assert set(caught.value.errors) >= {"name", "when", "colour"}
    with pytest.raises(InvalidRequest) as caught:
        save_schedule("nightly", "03:00", request(model="nowhere/x"))
    assert set(caught.value.errors) == {"model"}
    save_schedule("nightly", "03:00", request())
    with pytest.raises(InvalidRequest) as caught:
        save_schedule("nightly", "04:00", request())
    assert set(caught.value.errors) == {"name"}
    assert Schedule.objects.count() == 1


def test_a_run_starts_when_it_is_due_and_not_before(endpoint: Endpoint) -> None:
    schedule = nightly(endpoint)
    due = schedule.next_run_at
    assert start_due(due - timedelta(seconds=1)) == []
    [run] = start_due(due)
    assert (run.dataset.slug, run.model, run.metrics) == ("sums", MODEL, ["exact_match", "contains"])
    assert ScheduledRun.objects.get(run=run).due_at == due
    assert start_due(due) == []
    schedule.refresh_from_db()
    assert schedule.next_run_at == due + timedelta(days=1)


def test_of_workers_that_see_a_schedule_due_one_starts_its_run(endpoint: Endpoint) -> None:
    schedule = nightly(endpoint)

    def start(_: int) -> int:
        try:
            return len(start_due(schedule.next_run_at))
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as workers:
        assert sum(workers.map(start, range(4))) == 1
    assert Run.objects.count() == 1


def test_nights_that_were_missed_give_one_run(endpoint: Endpoint) -> None:
    schedule = nightly(endpoint)
    a_week_later = schedule.next_run_at + timedelta(days=7, minutes=5)
    assert len(start_due(a_week_later)) == 1
    schedule.refresh_from_db()
    assert schedule.next_run_at == a_week_later + timedelta(days=1, minutes=-5)


def test_a_schedule_that_is_not_enabled_starts_nothing(endpoint: Endpoint) -> None:
    schedule = nightly(endpoint)
    due = schedule.next_run_at
    save_schedule("nightly", "03:00", request(), enabled=False, schedule=schedule)
    assert start_due(due) == []
    assert schedule.next_run_at is None


def test_a_request_that_became_invalid_keeps_its_problem_and_the_others_start(
    endpoint: Endpoint, settings: Any
) -> None:
    broken = nightly(endpoint)
    save_schedule("fine", "03:00", request(model="baseline/reference"))
    providers = {"elsewhere": settings.CODEFORGE.providers["loop"]}
    settings.CODEFORGE = settings.CODEFORGE.model_copy(update={"providers": providers})
    [run] = start_due(broken.next_run_at)
    assert run.model == "baseline/reference"
    assert "Provider loop is not configured" in problem(broken)
    assert broken.next_run_at > run.scheduled.due_at


def test_an_unexpected_error_is_kept_and_costs_one_turn(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    schedule = nightly(endpoint)
    due = schedule.next_run_at
    with monkeypatch.context() as broken:
        broken.setattr(schedules, "start_run", lambda *args: 1 / 0)
        assert start_due(due) == []
    assert "unexpected error" in problem(schedule)
    assert len(start_due(due + timedelta(days=1))) == 1
    assert problem(schedule) == ""


def test_a_due_time_is_skipped_while_the_previous_run_is_live(endpoint: Endpoint) -> None:
    schedule = nightly(endpoint)
    [run] = start_due(schedule.next_run_at)
    assert start_due(schedule.next_run_at + timedelta(days=1)) == []
    assert f"run {run.pk}" in problem(schedule)
    cancel_run(run)
    assert len(start_due(schedule.next_run_at + timedelta(days=2))) == 1


def test_runs_start_with_the_permissions_that_the_account_has_then(endpoint: Endpoint, settings: Any) -> None:
    endpoint()
    make_dataset(1)
    ada = User.objects.create_user("ada")
    assign_group(ada, "editor")
    schedule = save_schedule("nightly", "03:00", request(), user=ada)
    settings.DEV_MODE = False
    [run] = start_due(schedule.next_run_at)
    assert run.created_by == ada
    cancel_run(run)
    assign_group(ada, "viewer")
    assert start_due(schedule.next_run_at + timedelta(days=1)) == []
    assert "ada no longer has permission to start runs" in problem(schedule)
    ada.delete()
    assert start_due(schedule.next_run_at + timedelta(days=2)) == []
    assert "The account that saved this schedule no longer has permission" in problem(schedule)


def test_a_real_drop_gives_a_drop_for_each_metric_and_a_message(
    endpoint: Endpoint, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = Model()
    schedule = nightly(endpoint, model)
    first = night(schedule)
    assert ScheduledRun.objects.get(run=first).compared_with is None
    model.wrong = 0.4
    monkeypatch.setenv(SECRET_ENV, SECRET)
    with receiving() as receiver:
        hook = receiver.webhook(events=["score.dropped"])
        settings.CODEFORGE = settings.CODEFORGE.model_copy(update={"webhooks": {"ops": hook}})
        second = night(schedule)
        assert send_due() == 1
    drops = ScoreDrop.objects.order_by("pk")
    assert [drop.metric for drop in drops] == ["exact_match", "contains"]
    for drop in drops:
        assert drop.scheduled_run.run == second
        assert drop.compared_with == drop.scheduled_run.compared_with == first
        assert drop.difference < drop.high < 0
        assert drop.p_adjusted <= LEVEL
        assert drop.n_shared == TASKS
        assert drop.sentence.endswith(f"Tasks with scores in both runs: {TASKS} of {TASKS}.")
    [message] = receiver.messages
    assert message.is_signed()
    assert message.json["type"] == "score.dropped"
    told = message.json["data"]
    assert told["schedule"] == {"id": schedule.pk, "name": "nightly"}
    assert told["run"]["summary"]["exact_match"]["n"] == TASKS
    assert [drop["metric"] for drop in told["drops"]] == ["exact_match", "contains"]
    assert told["drops"][0]["compared_with"] == first.pk
    assert told["drops"][0]["difference"] == drops[0].difference
    assert told["drops"][0]["sentence"] == drops[0].sentence


def test_a_drop_says_how_many_of_the_shared_tasks_have_both_scores(endpoint: Endpoint) -> None:
    schedule = nightly(endpoint)
    dataset = Dataset.objects.get()
    missing: list[float | None] = [None] * 5
    earlier, run = (make_scored_run(dataset, missing + [value] * (TASKS - 5)) for value in (1.0, 0.0))
    scheduled = ScheduledRun.objects.create(schedule=schedule, run=run, due_at=datetime.now(UTC))
    [drop] = score_drops(scheduled, [earlier])
    share = percent((TASKS - 5) / TASKS)
    assert drop.sentence.endswith(f"Tasks with scores in both runs: {TASKS - 5} of {TASKS} ({share}).")


def test_noise_gives_no_drop(endpoint: Endpoint) -> None:
    """The model errs on other sums every night, as often as before: differences there are, and none is real."""
    schedule = nightly(endpoint, Model(wrong=0.3))
    runs = [night(schedule) for _ in range(6)]
    means = [run.summary["metrics"]["exact_match"]["mean"] for run in runs]
    assert any(later < earlier for earlier, later in pairwise(means))
    assert ScheduledRun.objects.exclude(compared_with=None).count() == 5
    assert not ScoreDrop.objects.exists()


def test_a_model_that_gets_better_gives_no_drop(endpoint: Endpoint) -> None:
    model = Model(wrong=0.5)
    schedule = nightly(endpoint, model)
    night(schedule)
    model.wrong = 0.0
    night(schedule)
    assert not ScoreDrop.objects.exists()


def test_a_run_is_held_against_the_latest_that_completed(endpoint: Endpoint) -> None:
    model = Model()
    schedule = nightly(endpoint, model)
    first = night(schedule)
    schedule.refresh_from_db()
    [stopped] = start_due(schedule.next_run_at)
    cancel_run(stopped)
    model.wrong = 0.5
    last = night(schedule)
    assert ScheduledRun.objects.get(run=stopped).compared_at is None
    assert ScheduledRun.objects.get(run=last).compared_with == first
    assert ScoreDrop.objects.filter(scheduled_run__run=last).exists()


def test_a_score_that_sinks_slowly_is_dropd_against_the_beginning_and_then_begins_anew(endpoint: Endpoint) -> None:
    model = Sinking()
    schedule = nightly(endpoint, model)
    first = night(schedule)
    nights = [first]
    while not ScoreDrop.objects.exists():
        assert len(nights) < 12, "a loss of four tasks a night goes unnoticed"
        model.lost += 4
        nights.append(night(schedule))
    assert len(nights) > 3, "it was no slow decline"
    [drop] = ScoreDrop.objects.filter(metric="exact_match")
    assert (drop.scheduled_run.run, drop.scheduled_run.compared_with, drop.compared_with) == (
        nights[-1],
        nights[-2],
        first,
    )
    assert f"run {first.pk}" in drop.sentence
    assert drop.p_adjusted <= LEVEL / 2
    night(schedule)
    later = night(schedule)
    scheduled = ScheduledRun.objects.get(run=later)
    assert [run.pk for run in earlier_runs(scheduled)] == [later.pk - 1]
    assert ScoreDrop.objects.filter(metric="exact_match").count() == 1


def test_a_changed_request_has_nothing_to_be_compared_with(endpoint: Endpoint) -> None:
    model = Model()
    schedule = nightly(endpoint, model)
    night(schedule)
    model.wrong = 0.5
    save_schedule("nightly", "03:00", request(temperature=2.0), schedule=schedule)
    run = night(schedule)
    scheduled = ScheduledRun.objects.get(run=run)
    assert scheduled.compared_at is not None
    assert scheduled.compared_with is None
    assert not ScoreDrop.objects.exists()


def test_a_run_is_compared_once(endpoint: Endpoint) -> None:
    model = Model()
    schedule = nightly(endpoint, model)
    night(schedule)
    model.wrong = 0.5
    run = night(schedule)
    scheduled = ScheduledRun.objects.get(run=run)
    drops = list(ScoreDrop.objects.all())
    worker.follow_schedules()
    again = [ScoreDrop(scheduled_run=scheduled, metric="x", difference=-1, low=-1, high=-1, p_adjusted=0, n_shared=1)]
    assert not schedules.store_score_drops(scheduled, None, again)
    assert list(ScoreDrop.objects.all()) == drops


def test_what_cannot_be_compared_keeps_no_other_waiting(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    schedule = nightly(endpoint)
    first = night(schedule)
    ScheduledRun.objects.update(compared_at=None)
    real = worker.schedule_reads.earlier_runs

    def breaks_on_the_first(scheduled: ScheduledRun) -> list[Run]:
        if scheduled.run_id == first.pk:
            raise ArithmeticError("a defect")
        return real(scheduled)

    monkeypatch.setattr(worker.schedule_reads, "earlier_runs", breaks_on_the_first)
    second = night(schedule)
    assert ScheduledRun.objects.get(run=second).compared_with == first


def test_a_drop_is_dismissed_once_and_that_is_recorded(endpoint: Endpoint) -> None:
    model = Model()
    schedule = nightly(endpoint, model)
    night(schedule)
    model.wrong = 0.5
    night(schedule)
    drop = ScoreDrop.objects.earliest("pk")
    ada, grace = User.objects.create_user("ada"), User.objects.create_user("grace")
    dismiss_score_drop(drop, ada)
    dismiss_score_drop(drop, grace)
    drop.refresh_from_db()
    assert drop.dismissed_by == ada
    assert AuditEntry.objects.filter(action="score_drop.dismiss").count() == 1


def test_a_schedule_is_deleted_and_its_runs_stay(endpoint: Endpoint) -> None:
    schedule = nightly(endpoint)
    run = night(schedule)
    delete_schedule(schedule)
    assert Run.objects.get().status == RunStatus.COMPLETED
    assert not ScheduledRun.objects.filter(run=run).exists()
    assert AuditEntry.objects.filter(action="schedule.delete").count() == 1
