"""Shifts: who may claim, whose claims come back, how many are wanted, and who makes room for whom."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from benchmarks.engine import lease as leases
from benchmarks.engine.execution import (
    dispatch,
    executor,
    finishing,
    lifecycle,
    preparing,
)
from benchmarks.engine.execution.dispatch import work_on_run_once
from benchmarks.engine.execution.finishing import refresh_summary
from benchmarks.engine.execution.preparing import prepare_run
from benchmarks.engine.execution.result_store import ResultStore, give_back_claims
from benchmarks.engine.execution.sweeper import runs_without_worker
from benchmarks.models import Lease, Outcome, Result, ResultState, Run, RunStatus
from benchmarks.services.runs.control import cancel_run, raise_budget, resume_run
from tests.loopback.faults import FAULTS
from tests.loopback.server import LoopbackServer
from tests.support.factories import make_dataset, make_run, make_task

pytestmark = pytest.mark.django_db(transaction=True)
Endpoint = Callable[..., LoopbackServer]


def opened(run: Run) -> Lease:
    lease = dispatch.lease_run(run.pk)
    assert lease is not None
    return lease


def left_by_a_dead_process(lease: Lease) -> None:
    host = lease.worker.rsplit(":", 2)[0]
    long_ago = timezone.now() - timedelta(seconds=10)
    Lease.objects.filter(pk=lease.pk).update(worker=f"{host}:4194305:gone", heartbeat_at=long_ago)


def visiting(run: Run) -> threading.Thread:
    """A worker's visit to the run, on a thread with a database connection of its own."""

    def visit() -> None:
        try:
            work_on_run_once(run.pk)
        finally:
            connection.close()

    thread = threading.Thread(target=visit)
    thread.start()
    return thread


def visit_at_once(run: Run, times: int) -> None:
    for thread in [visiting(run) for _ in range(times)]:
        thread.join(60)
        assert not thread.is_alive()


def test_a_shift_that_was_ended_claims_nothing(endpoint: Endpoint) -> None:
    endpoint(lambda asked: "2")
    run = make_run()
    prepare_run(run)
    lease = opened(run)
    leases.release(lease, give_back_claims)
    assert ResultStore(run, lease, []).claim(ResultState.PENDING, 10) == []
    assert not Result.objects.exclude(state=ResultState.PENDING).exists()


def test_a_shift_whose_job_is_over_is_dead_though_its_process_lives(endpoint: Endpoint) -> None:
    endpoint(lambda asked: "2")
    run = make_run()
    prepare_run(run)
    lease = opened(run)
    ResultStore(run, lease, []).claim(ResultState.PENDING, 10)
    Lease.objects.update(heartbeat_at=timezone.now() - timedelta(seconds=10))
    assert runs_without_worker() == []
    leases.leave(lease)
    assert runs_without_worker() == [run.pk]


def test_a_shift_elsewhere_is_dead_after_its_lease_only(endpoint: Endpoint) -> None:
    endpoint(lambda asked: "2")
    run = make_run()
    prepare_run(run)
    ResultStore(run, opened(run), []).claim(ResultState.PENDING, 10)
    for silent, ended in ((leases.LEASE_SECONDS - 10, 0), (leases.LEASE_SECONDS + 10, 1)):
        Lease.objects.update(worker="elsewhere:1:token", heartbeat_at=timezone.now() - timedelta(seconds=silent))
        assert leases.release_expired(give_back_claims) == ended
    assert run.results.filter(state=ResultState.PENDING).count() == 3


def test_claims_of_a_dead_worker_on_a_stopped_run_are_settled(endpoint: Endpoint) -> None:
    endpoint(lambda asked: "2")
    run = make_run()
    prepare_run(run)
    lease = opened(run)
    ResultStore(run, lease, []).claim(ResultState.PENDING, 2)
    left_by_a_dead_process(lease)
    lifecycle.fail(run.pk, "for a test")
    runs_without_worker()
    assert set(run.results.values_list("outcome", flat=True)) == {Outcome.CANCELLED}
    run.refresh_from_db()
    assert run.summary["outcomes"] == {"cancelled": 3}
    assert resume_run(run) == 3
    work_on_run_once(run.pk)
    run.refresh_from_db()
    assert run.status == RunStatus.COMPLETED


def test_numbers_that_a_dead_worker_did_not_write_are_written_by_the_sweep(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    endpoint(lambda asked: "2")
    run = make_run()
    prepare_run(run)
    lifecycle.cancel(run.pk)
    with monkeypatch.context() as dying:
        dying.setattr(finishing, "refresh_summary", _die)
        with pytest.raises(SystemExit):
            finishing.close_if_over(run.pk)
    assert Run.objects.get(pk=run.pk).summarized_at is None
    runs_without_worker()
    assert Run.objects.get(pk=run.pk).summary["outcomes"] == {"cancelled": 3}


def _die(run_id: int) -> None:
    raise SystemExit


def test_a_late_refresh_of_a_shift_that_is_gone_changes_no_final_numbers(endpoint: Endpoint) -> None:
    endpoint(lambda asked: "2")
    run = make_run()
    prepare_run(run)
    gone = opened(run)
    leases.release(gone, give_back_claims)
    work_on_run_once(run.pk)
    Run.objects.filter(pk=run.pk).update(summary={"final": True})
    refresh_summary(run.pk, gone)
    assert Run.objects.get(pk=run.pk).summary == {"final": True}


def test_a_run_with_many_lanes_rings_for_as_many_workers(endpoint: Endpoint) -> None:
    endpoint(lambda asked: "2")
    rung: list[int] = []
    run = make_run(make_dataset(5), concurrency=300)
    work_on_run_once(run.pk, rung.append)
    assert rung == [run.pk, run.pk]


def test_the_sweep_rings_for_the_workers_that_a_live_run_lacks(endpoint: Endpoint) -> None:
    endpoint(lambda asked: "2")
    run = make_run(make_dataset(5), concurrency=300)
    prepare_run(run)
    assert runs_without_worker() == [run.pk] * 3
    assert [opened(run).slots, opened(run).slots] == [128, 128]
    assert runs_without_worker() == [run.pk]
    third = opened(run)
    assert third.slots == 44
    assert runs_without_worker() == []
    leases.release(third, give_back_claims)
    run.results.update(state=ResultState.CLAIMED)
    assert runs_without_worker() == [], "nothing waits for a third worker"


def test_a_run_cancelled_while_it_is_prepared_asks_everything_once_it_is_resumed(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = endpoint(lambda asked: "2")
    monkeypatch.setattr(preparing, "BATCH", 2)
    run = make_run(make_dataset(6), repeats=2)
    beat, beats = leases.heartbeat, []

    def cancelling(lease: Lease) -> bool:
        beats.append(lease)
        if len(beats) == 3:
            cancel_run(run)
        return beat(lease)

    monkeypatch.setattr(leases, "heartbeat", cancelling)
    work_on_run_once(run.pk)
    run.refresh_from_db()
    assert (run.status, len(beats)) == (RunStatus.CANCELLED, 3)
    assert run.results.filter(outcome=Outcome.CANCELLED).count() == run.results.count() == 6
    resume_run(run)
    work_on_run_once(run.pk)
    run.refresh_from_db()
    assert (run.status, run.total, run.done, run.errors) == (RunStatus.COMPLETED, 12, 12, 0)
    assert server.stats.requests == 12


def test_a_worker_that_dies_while_it_prepares_leaves_nothing_half_done(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = endpoint(lambda asked: "2")
    monkeypatch.setattr(preparing, "BATCH", 2)
    run = make_run(make_dataset(6))
    lease = dispatch.lease_run(run.pk, preparing=True)
    assert lease is not None
    prepare_run(run, lambda: False)
    assert 0 < run.results.count() < 6
    left_by_a_dead_process(lease)
    assert runs_without_worker() == [run.pk]
    work_on_run_once(run.pk)
    run.refresh_from_db()
    assert (run.status, run.total, run.done) == (RunStatus.COMPLETED, 6, 6)
    assert server.stats.requests == 6


def test_a_job_delivered_twice_at_once_asks_everything_once(endpoint: Endpoint) -> None:
    server = endpoint(lambda asked: "2", delay_ms=5)
    run = make_run(make_dataset(60), concurrency=8)
    visit_at_once(run, 4)
    while runs_without_worker():
        work_on_run_once(run.pk)
    run.refresh_from_db()
    assert (run.status, run.done) == (RunStatus.COMPLETED, 60)
    assert server.stats.requests == 60


def test_shifts_of_a_slow_run_take_no_more_than_their_lanes_hold(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Eight tasks for two shifts of four lanes: the first to come leaves the second its half."""
    server = endpoint(lambda asked: "2", delay_ms=3000)
    monkeypatch.setattr(dispatch, "SLOTS_PER_LEASE", 4)
    run = make_run(make_dataset(8), concurrency=8)
    prepare_run(run)
    visit_at_once(run, 2)
    while runs_without_worker():
        work_on_run_once(run.pk)
    run.refresh_from_db()
    assert (run.status, run.done) == (RunStatus.COMPLETED, 8)
    assert server.stats.most_in_flight == 8


def test_a_shift_claims_ahead_where_answers_are_quick_or_it_is_alone(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    endpoint(lambda asked: "2")
    monkeypatch.setattr(dispatch, "SLOTS_PER_LEASE", 4)
    dataset = make_dataset(40)
    shared, alone = make_run(dataset, concurrency=8), make_run(dataset, concurrency=4)
    for run, at_first in ((shared, 4), (alone, 6)):
        prepare_run(run)
        run.refresh_from_db()
        lease = executor.RunExecutor(run, opened(run))
        assert lease._target() == at_first
        lease.began, lease.finished = time.monotonic() - 1, 100
        assert lease._target() > 40


def test_several_shifts_hold_one_budget(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    server = endpoint(lambda asked: "2", delay_ms=5)
    monkeypatch.setattr(dispatch, "SLOTS_PER_LEASE", 4)
    run = make_run(make_dataset(200), budget_usd=0.0008, max_tokens=10, concurrency=12)
    visit_at_once(run, 3)
    while runs_without_worker():
        work_on_run_once(run.pk)
    run.refresh_from_db()
    assert run.status == RunStatus.PAUSED
    assert 0 < run.done < 200
    assert run.cost_usd is not None
    assert run.cost_usd <= 0.0008
    assert run.reserved_usd == 0
    assert run.summary["metrics"]["exact_match"]["n"] == run.done
    raise_budget(run, 1.0)
    work_on_run_once(run.pk)
    run.refresh_from_db()
    assert (run.status, run.done) == (RunStatus.COMPLETED, 200)
    assert not server.stats.asked_again


def test_what_a_dead_worker_had_reserved_pauses_no_run(endpoint: Endpoint) -> None:
    endpoint(lambda asked: "2")
    run = make_run(make_dataset(3), budget_usd=0.01, max_tokens=10)
    prepare_run(run)
    Run.objects.filter(pk=run.pk).update(reserved_usd=0.01)
    work_on_run_once(run.pk)
    run.refresh_from_db()
    assert (run.status, run.done) == (RunStatus.COMPLETED, 3)


def test_a_budget_that_cannot_be_held_for_want_of_token_counts_pauses_the_run(endpoint: Endpoint) -> None:
    endpoint(lambda asked: "2")
    tasks = [make_task(n, input=f"[[fault:no_usage]] {n}") for n in range(20)]
    run = make_run(make_dataset(tasks), budget_usd=1.0, max_tokens=10, concurrency=2)
    work_on_run_once(run.pk)
    run.refresh_from_db()
    assert run.status == RunStatus.PAUSED
    assert "does not report token usage" in run.error_message
    assert run.done < 20


def test_a_tripped_breaker_of_one_shift_stops_the_others(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    server = endpoint(lambda asked: "2", delay_ms=20)
    monkeypatch.setattr(dispatch, "SLOTS_PER_LEASE", 4)
    run = make_run(make_dataset(3000), concurrency=8)
    prepare_run(run)
    workers = [visiting(run), visiting(run)]
    while server.stats.answered < 40:
        time.sleep(0.01)
    server.api_key = "another"
    for worker in workers:
        worker.join(30)
    run.refresh_from_db()
    assert run.status == RunStatus.FAILED
    assert "401" in run.error_message
    assert server.stats.faults["unauthorized_401"] < 100
    assert not Lease.objects.exists()


def test_a_shift_makes_room_for_a_run_that_waits_without_breaking_off_what_is_out(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = endpoint(lambda asked: "2", delay_ms=100)
    for name, seconds in (
        ("YIELD_AFTER_SECONDS", 0.05),
        ("CROWDED_SECONDS", 0.02),
        ("CHECK_SECONDS", 0.02),
        ("GRACE_SECONDS", 0.02),
    ):
        monkeypatch.setattr(executor, name, seconds)
    large, small = make_run(make_dataset(40), concurrency=4), make_run(make_dataset(2, slug="small"))
    order: list[int] = []
    waiting = [large.pk, small.pk]
    while waiting:  # a worker with one thread
        run_id = waiting.pop(0)
        order.append(run_id)
        if work_on_run_once(run_id):
            waiting.append(run_id)
    assert order[:2] == [large.pk, small.pk]
    assert Run.objects.filter(status=RunStatus.COMPLETED).count() == 2
    assert server.stats.requests == 42


def test_an_endpoint_that_never_answers_fails_its_run_though_should_yield(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    endpoint(lambda asked: FAULTS["server_500"] if asked.body["messages"][0]["content"] != "fine" else "2")
    for name, seconds in (("YIELD_AFTER_SECONDS", 0.01), ("CROWDED_SECONDS", 0.01), ("CHECK_SECONDS", 0.01)):
        monkeypatch.setattr(executor, name, seconds)
    dead = make_run(make_dataset(100), concurrency=20)
    make_run(make_dataset([make_task(1, input="fine")], slug="waits"))
    turns = 0
    while work_on_run_once(dead.pk):
        turns += 1
        assert turns < 20, "each turn brings some questions to their end"
    assert Run.objects.get(pk=dead.pk).status == RunStatus.FAILED


def test_only_as_many_shifts_make_room_as_runs_wait(endpoint: Endpoint) -> None:
    endpoint(lambda asked: "2")
    runs = [make_run(make_dataset(3, slug=f"sums-{n}")) for n in range(4)]
    clerks = []
    for run in runs[:3]:
        prepare_run(run)
        run.refresh_from_db()
        clerks.append(executor.RunExecutor(run, opened(run)))
    late = time.monotonic() + executor.YIELD_AFTER_SECONDS
    assert not any(each._should_yield(late) for each in clerks), "a run that has only just come waits for nobody"
    assert [each._should_yield(late + executor.CROWDED_SECONDS) for each in clerks] == [True, False, False]
    much_later = late + executor.YIELD_AFTER_SECONDS
    assert [each._should_yield(much_later) for each in clerks] == [True, True, False], "the oldest takes long to end"


def test_a_database_that_is_locked_for_long_ends_nothing(endpoint: Endpoint, settings: object) -> None:
    if connection.vendor != "sqlite":
        pytest.skip("PostgreSQL has no lock on the whole database; its outage is tested with real processes")
    server = endpoint(lambda asked: "2", delay_ms=5)
    run = make_run(make_dataset(400), concurrency=4)
    worker = threading.Thread(target=_attend_impatiently, args=(run.pk,))
    with transaction.atomic():  # holds the database's only writer
        worker.start()
        worker.join(1.5)
    while server.stats.answered < 20:
        worker.join(0.01)
    with transaction.atomic():
        before = server.stats.answered
        worker.join(1.5)
        assert server.stats.answered <= before + 12, "what cannot be written down is not asked for"
    worker.join(60)
    run.refresh_from_db()
    assert (run.status, run.done, run.errors) == (RunStatus.COMPLETED, 400, 0)
    assert server.stats.requests == 400


def _attend_impatiently(run_id: int) -> None:
    """With a busy timeout of 0.1 s, so that the lock outlasts it many times."""
    connection.settings_dict = {**connection.settings_dict}
    connection.settings_dict["OPTIONS"] = {**connection.settings_dict["OPTIONS"], "timeout": 0.1}
    try:
        while work_on_run_once(run_id):
            pass
    finally:
        connection.close()


def test_a_run_deleted_under_a_worker_ends_its_shift(endpoint: Endpoint) -> None:
    server = endpoint(lambda asked: "2", delay_ms=20)
    run = make_run(make_dataset(500), concurrency=4)
    worker = visiting(run)
    while server.stats.answered < 8:
        worker.join(0.01)
    while Run.objects.filter(pk=run.pk).exists():
        with contextlib.suppress(IntegrityError):  # PostgreSQL's, where the worker writes a result in between
            Run.objects.get(pk=run.pk).delete()
    worker.join(20)
    assert not worker.is_alive()
    assert server.stats.requests < 200
    assert dispatch.work_on_run_once(run.pk) is False
