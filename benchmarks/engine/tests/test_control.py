"""Canceling, resuming and deleting runs that workers work on."""

from __future__ import annotations

import pytest

from benchmarks.models import Outcome, Result, ResultState, Run, RunStatus
from benchmarks.services.errors import NotPossible
from benchmarks.services.runs.control import cancel_run, delete_run, pause_run, resume_run
from tests.support.factories import make_dataset, make_run
from tests.support.running import Endpoint, wait_while, worked, working

pytestmark = pytest.mark.django_db(transaction=True)


def test_canceling_stops_sending_keeps_the_answers_and_resuming_sends_the_rest(endpoint: Endpoint) -> None:
    server = endpoint(lambda asked: "2", delay_ms=40)
    run = make_run(make_dataset(150), concurrency=4)
    with working(run) as (worker,):
        wait_while(lambda: server.stats.answered < 8, worker)
        cancel_run(run)
    assert run.status == RunStatus.CANCELLED
    kept = run.results.filter(state=ResultState.DONE).count()
    assert 8 <= kept == run.done < 150
    assert run.results.filter(outcome=Outcome.CANCELLED).count() == 150 - kept
    assert resume_run(run) == 150 - kept
    run.refresh_from_db()
    assert run.status == RunStatus.RUNNING
    server.delay_ms = 0
    assert (worked(run).status, run.done) == (RunStatus.COMPLETED, 150)
    assert not server.stats.asked_again


def test_a_paused_run_keeps_its_answers_and_numbers_and_asks_the_rest_when_it_is_resumed(endpoint: Endpoint) -> None:
    server = endpoint(lambda asked: "2", delay_ms=40)
    run = make_run(make_dataset(150), concurrency=4)
    with working(run) as (worker,):
        wait_while(lambda: server.stats.answered < 8, worker)
        pause_run(run)
    run.refresh_from_db()
    assert run.status == RunStatus.PAUSED
    assert 8 <= run.done < 150
    assert run.summary["metrics"]["exact_match"]["n"] == run.done
    with pytest.raises(NotPossible, match="Only a queued, preparing or running run can be paused"):
        pause_run(run)
    server.delay_ms = 0
    resume_run(run)
    assert (worked(run).status, run.done) == (RunStatus.COMPLETED, 150)
    assert not server.stats.asked_again


def test_a_live_run_cannot_be_deleted_and_an_ended_one_can(endpoint: Endpoint) -> None:
    endpoint(lambda asked: "2")
    run = make_run()
    with pytest.raises(NotPossible):
        delete_run(run)
    delete_run(worked(run))
    assert not Run.objects.exists()
    assert not Result.objects.exists()
