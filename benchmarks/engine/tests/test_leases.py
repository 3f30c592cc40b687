"""Leases: who may claim, whose claims are given back, how many a run needs, and who yields to whom."""

from __future__ import annotations

import contextlib
import itertools
import socket
import threading
import time
from datetime import timedelta
from uuid import uuid4

import pytest
from django.db import IntegrityError, OperationalError, connection, transaction
from django.utils import timezone

from benchmarks.engine import lease as leases
from benchmarks.engine.execution import dispatch, executor, finishing, lifecycle, preparing
from benchmarks.engine.execution.dispatch import work_on_run_once
from benchmarks.engine.execution.executor import NO_ITEM
from benchmarks.engine.execution.finishing import refresh_summary
from benchmarks.engine.execution.preparing import prepare_run
from benchmarks.engine.execution.result_store import ResultStore, give_back_claims
from benchmarks.engine.execution.sweeper import runs_without_worker
from benchmarks.engine.execution.work_items import Prompt, Question
from benchmarks.models import Lease, Outcome, Result, ResultState, Run, RunStatus
from benchmarks.services.runs.control import cancel_run, resume_run
from tests.loopback.faults import FAULTS
from tests.support.factories import make_dataset, make_run, make_task
from tests.support.running import Endpoint, leased, orphan, wait_while, worked, working

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def run(endpoint: Endpoint) -> Run:
    """A prepared run of three tasks, to which 2 is always the answer."""
    endpoint(lambda asked: "2")
    run = make_run()
    prepare_run(run)
    return run


def claim(run: Run, lease: Lease, limit: int = 10) -> list[int]:
    return ResultStore(run, lease, []).claim(ResultState.PENDING, limit)


def few_slots(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatch, "SLOTS_PER_LEASE", 4)


def quick_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("YIELD_AFTER_SECONDS", "CROWDED_SECONDS", "CHECK_SECONDS", "GRACE_SECONDS"):
        monkeypatch.setattr(executor, name, 0.02)


def test_an_exclusive_subject_has_one_holder_until_it_is_released() -> None:
    with leases.exclusive("retention") as held:
        assert held is not None
        assert leases.heartbeat(held)
        with leases.exclusive("retention") as second:
            assert second is None
        with leases.exclusive("canvas set 3") as other:
            assert other is not None
    assert not leases.heartbeat(held), "a released lease cannot be renewed"
    with pytest.raises(RuntimeError), leases.exclusive("retention"):
        raise RuntimeError
    assert not Lease.objects.exists(), "an error in the block releases the lease too"


def test_a_lease_expires_once_its_worker_is_gone() -> None:
    here, seconds = socket.gethostname(), leases.LEASE_SECONDS
    for worker, silence, expired in (
        (leases.worker_name(), 10, True),  # this process, but no job of it holds the lease
        (f"{here}:4194305:token", 10, True),
        (f"{here}:1:token", 10, False),
        (f"{here}:1:token", seconds + 10, True),
        ("elsewhere:1:token", seconds - 10, False),
        ("elsewhere:1:token", seconds + 10, True),
    ):
        row = f"{worker}, silent for {silence} s"
        heartbeat_at = timezone.now() - timedelta(seconds=silence)
        Lease.objects.create(subject="retention", worker=worker, heartbeat_at=heartbeat_at)
        lease = leases.acquire("retention")
        assert (lease is not None) is expired, f"{row}: another worker takes the subject over"
        Lease.objects.all().delete()
        Lease.objects.create(subject="retention", worker=worker, heartbeat_at=heartbeat_at)
        assert leases.release_expired() == expired, f"{row}: a sweep releases it"
        Lease.objects.all().delete()


def test_a_lease_that_was_committed_without_an_answer_is_released_by_a_sweep(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = connection.commit

    def without_an_answer() -> None:
        commit()
        raise OperationalError("the connection broke after the commit")

    monkeypatch.setattr(connection, "commit", without_an_answer)
    with pytest.raises(OperationalError):
        dispatch.lease_run(run.pk)
    monkeypatch.undo()
    Lease.objects.update(heartbeat_at=timezone.now() - timedelta(seconds=10))
    assert dispatch.lease_run(run.pk) is None, "the lease is there, and has all slots"
    runs_without_worker()
    assert dispatch.lease_run(run.pk) is not None


@pytest.mark.parametrize("hours", [-1, 1])
def test_a_lease_of_another_host_expires_though_the_clock_was_set(run: Run, hours: int) -> None:
    then = timezone.now() + timedelta(hours=hours)
    lease = Lease.objects.create(run=run, subject="run", worker="elsewhere:1:token", slots=8, heartbeat_at=then)
    runs_without_worker()
    assert not Lease.objects.filter(pk=lease.pk).exists()


def test_a_lease_whose_job_is_over_expires_though_its_process_lives(run: Run) -> None:
    lease = leased(run)
    assert len(claim(run, lease)) == 3
    Lease.objects.update(heartbeat_at=timezone.now() - timedelta(seconds=10))
    assert runs_without_worker() == []
    leases.leave(lease)
    assert runs_without_worker() == [run.pk]
    assert run.results.filter(state=ResultState.PENDING).count() == 3


def test_a_released_lease_claims_nothing_and_changes_no_final_numbers(run: Run) -> None:
    lease = leased(run)
    leases.release(lease, give_back_claims)
    assert claim(run, lease) == []
    Run.objects.filter(pk=run.pk).update(budget_usd=1.0)
    unit = Question(run.results.values_list("pk", flat=True)[0], 1, Prompt(()), NO_ITEM, reserved_usd=0.01)
    assert ResultStore(run, lease, []).reserve([unit], uuid4()) == []
    assert Run.objects.get(pk=run.pk).reserved_usd == 0.0
    assert not Result.objects.exclude(state=ResultState.PENDING).exists()
    worked(run)
    Run.objects.filter(pk=run.pk).update(summary={"final": True})
    refresh_summary(run.pk, lease)
    assert Run.objects.get(pk=run.pk).summary == {"final": True}


def test_a_reservation_whose_commit_had_no_answer_is_not_made_twice(run: Run) -> None:
    lease = leased(run)
    Run.objects.filter(pk=run.pk).update(budget_usd=0.025)
    units = [Question(id, 1, Prompt(()), NO_ITEM, reserved_usd=0.01) for id in claim(run, lease)]
    store, key = ResultStore(run, lease, []), uuid4()
    assert store.reserve(units, key) == units[:2]
    assert store.reserve(units, key) == units[:2]
    assert Run.objects.get(pk=run.pk).reserved_usd == 0.02
    assert store.reserve(units[:1], uuid4()) == []


def test_a_worker_that_wakes_without_its_lease_neither_fails_nor_pauses_the_run(run: Run) -> None:
    """Its requests timed out while it was frozen, and others work on the run."""
    lease = leased(run)
    orphan(lease)
    runs_without_worker()
    assert not lifecycle.fail(run.pk, "20 requests in a row failed.", lease)
    assert not lifecycle.pause(run.pk, "The budget is spent.", lease)
    with pytest.raises(ValueError, match="unexpected"), dispatch._failing_on_errors(lease, "why"):
        raise ValueError("unexpected")
    assert Run.objects.get(pk=run.pk).status == RunStatus.RUNNING
    held = leased(run)
    assert lifecycle.fail(run.pk, "20 requests in a row failed.", held)


def test_claims_of_a_dead_worker_on_a_stopped_run_are_settled(run: Run) -> None:
    lease = leased(run)
    claim(run, lease, 2)
    orphan(lease)
    lifecycle.fail(run.pk, "for a test")
    runs_without_worker()
    assert set(run.results.values_list("outcome", flat=True)) == {Outcome.CANCELLED}
    run.refresh_from_db()
    assert run.summary["outcomes"] == {"cancelled": 3}
    assert resume_run(run) == 3
    assert worked(run).status == RunStatus.COMPLETED


def test_the_sweep_writes_the_numbers_that_a_dead_worker_did_not(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def die(run_id: int) -> None:
        raise SystemExit

    lifecycle.cancel(run.pk)
    with monkeypatch.context() as dying:
        dying.setattr(finishing, "refresh_summary", die)
        with pytest.raises(SystemExit):
            finishing.close_if_over(run.pk)
    assert Run.objects.get(pk=run.pk).summarized_at is None
    runs_without_worker()
    assert Run.objects.get(pk=run.pk).summary["outcomes"] == {"cancelled": 3}


def test_a_run_of_high_concurrency_gets_as_many_workers_as_it_needs(endpoint: Endpoint) -> None:
    endpoint(lambda asked: "2")
    dataset = make_dataset(5)
    enqueued: list[int] = []
    first, run = make_run(dataset, concurrency=300), make_run(dataset, concurrency=300)
    preparing = leased(first, preparing=True)
    assert dispatch.lease_run(first.pk, preparing=True) is None, "only one worker prepares, though slots are left"
    leases.release(preparing, give_back_claims)
    work_on_run_once(first.pk, enqueued.append)
    assert enqueued == [first.pk, first.pk], "the worker that prepared it enqueues two more"
    prepare_run(run)
    assert runs_without_worker() == [run.pk] * 3
    assert [leased(run).slots, leased(run).slots] == [128, 128]
    assert runs_without_worker() == [run.pk]
    third = leased(run)
    assert third.slots == 44
    assert runs_without_worker() == []
    leases.release(third, give_back_claims)
    run.results.update(state=ResultState.CLAIMED)
    assert runs_without_worker() == [], "nothing waits for a third worker"


def test_a_run_canceled_while_it_is_prepared_sends_everything_once_it_is_resumed(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = endpoint(lambda asked: "2")
    monkeypatch.setattr(preparing, "BATCH", 2)
    run = make_run(make_dataset(6), repeats=2)
    heartbeat, heartbeats = leases.heartbeat, []

    def canceling(lease: Lease) -> bool:
        heartbeats.append(lease)
        if len(heartbeats) == 3:
            cancel_run(run)
        return heartbeat(lease)

    monkeypatch.setattr(leases, "heartbeat", canceling)
    worked(run)
    assert (run.status, len(heartbeats)) == (RunStatus.CANCELLED, 3)
    assert run.results.filter(outcome=Outcome.CANCELLED).count() == run.results.count() == 6
    resume_run(run)
    worked(run)
    assert (run.status, run.total, run.done, run.errors) == (RunStatus.COMPLETED, 12, 12, 0)
    assert server.stats.requests == 12


def test_a_worker_that_dies_while_it_prepares_leaves_nothing_half_done(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = endpoint(lambda asked: "2")
    monkeypatch.setattr(preparing, "BATCH", 2)
    run = make_run(make_dataset(6))
    lease = leased(run, preparing=True)
    prepare_run(run, lambda: False)
    assert 0 < run.results.count() < 6
    orphan(lease)
    assert runs_without_worker() == [run.pk]
    worked(run)
    assert (run.status, run.total, run.done) == (RunStatus.COMPLETED, 6, 6)
    assert server.stats.requests == 6


def test_a_job_delivered_several_times_at_once_sends_everything_once(endpoint: Endpoint) -> None:
    server = endpoint(lambda asked: "2", delay_ms=5)
    run = make_run(make_dataset(60), concurrency=8)
    with working(run, workers=4):
        pass
    while runs_without_worker():
        worked(run)
    assert (run.status, run.done) == (RunStatus.COMPLETED, 60)
    assert server.stats.requests == 60


def test_leases_of_a_slow_run_claim_no_more_than_their_slots_hold(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Eight tasks for two leases of four slots: the first to come leaves the second its half."""
    server = endpoint(lambda asked: "2", delay_ms=1500)
    few_slots(monkeypatch)
    run = make_run(make_dataset(8), concurrency=8)
    prepare_run(run)
    with working(run, workers=2):
        pass
    while runs_without_worker():
        worked(run)
    assert (run.status, run.done) == (RunStatus.COMPLETED, 8)
    assert server.stats.most_in_flight == 8


def test_an_executor_claims_ahead_if_answers_are_quick_or_it_is_alone(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    endpoint(lambda asked: "2")
    few_slots(monkeypatch)
    dataset = make_dataset(40)
    for concurrency, at_first in ((8, 4), (4, 6)):
        run = make_run(dataset, concurrency=concurrency)
        prepare_run(run)
        run.refresh_from_db()
        work = executor.RunExecutor(run, leased(run))
        assert work._target() == at_first, f"concurrency {concurrency}"
        work.began, work.finished = time.monotonic() - 1, 100
        assert work._target() > 40, f"concurrency {concurrency}"


def test_a_run_outlives_a_machine_that_stands_still_while_it_decides_what_to_claim(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rate falls meanwhile, and with it the target: below what is in progress already."""
    endpoint(lambda asked: "2", delay_ms=20)
    targets = itertools.cycle((40, 1))
    monkeypatch.setattr(executor.RunExecutor, "_target", lambda work: next(targets))
    run = worked(make_run(make_dataset(60), concurrency=4))
    assert (run.status, run.done) == (RunStatus.COMPLETED, 60), run.error_message


def test_a_breaker_that_trips_for_one_lease_stops_the_others(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = endpoint(lambda asked: "2", delay_ms=20)
    few_slots(monkeypatch)
    run = make_run(make_dataset(1000), concurrency=8)
    prepare_run(run)
    with working(run, workers=2) as workers:
        wait_while(lambda: server.stats.answered < 40, workers[0])
        server.api_key = "another"
    assert run.status == RunStatus.FAILED
    assert "401" in run.error_message
    assert server.stats.faults["unauthorized_401"] < 100
    assert not Lease.objects.exists()


def test_a_lease_yields_to_a_waiting_run_without_breaking_off_what_is_in_flight(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = endpoint(lambda asked: "2", delay_ms=100)
    quick_turns(monkeypatch)
    large, small = make_run(make_dataset(40), concurrency=4), make_run(make_dataset(2, slug="small"))
    order: list[int] = []
    waiting = [large.pk, small.pk]
    while waiting:  # a worker with one thread
        order.append(waiting.pop(0))
        if work_on_run_once(order[-1]):
            waiting.append(order[-1])
    assert order[:2] == [large.pk, small.pk]
    assert Run.objects.filter(status=RunStatus.COMPLETED).count() == 2
    assert server.stats.requests == 42


def test_an_endpoint_that_never_answers_fails_its_run_though_others_wait(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    endpoint(lambda asked: FAULTS["server_500"] if asked.body["messages"][0]["content"] != "fine" else "2")
    quick_turns(monkeypatch)
    monkeypatch.setattr(executor, "GRACE_SECONDS", 5.0)
    dead = make_run(make_dataset(100), concurrency=20)
    make_run(make_dataset([make_task(1, input="fine")], slug="waits"))
    leases_taken = 0
    while work_on_run_once(dead.pk):
        leases_taken += 1
        assert leases_taken < 20, "each lease brings some questions to their end"
    assert Run.objects.get(pk=dead.pk).status == RunStatus.FAILED


def test_only_as_many_leases_yield_as_runs_wait(endpoint: Endpoint) -> None:
    endpoint(lambda asked: "2")
    executors = []
    for run in [make_run(make_dataset(3, slug=f"sums-{n}")) for n in range(4)][:3]:
        prepare_run(run)
        run.refresh_from_db()
        executors.append(executor.RunExecutor(run, leased(run)))
    late = time.monotonic() + executor.YIELD_AFTER_SECONDS
    for now, yielding, why in (
        (late, [False, False, False], "nobody yields to a run that has only just come"),
        (late + executor.CROWDED_SECONDS, [True, False, False], "the oldest yields"),
        (late + executor.YIELD_AFTER_SECONDS, [True, True, False], "one more, as the oldest takes long to end"),
    ):
        assert [each._should_yield(now) for each in executors] == yielding, why


def test_a_database_that_is_locked_for_long_loses_nothing(endpoint: Endpoint) -> None:
    if connection.vendor != "sqlite":
        pytest.skip("PostgreSQL has no lock on the whole database; its outage is tested with real processes")
    server = endpoint(lambda asked: "2", delay_ms=5)
    run = make_run(make_dataset(200), concurrency=4)
    worker = threading.Thread(target=_work_without_waiting_for_locks, args=(run.pk,))
    with transaction.atomic():  # holds the database's only writer
        worker.start()
        worker.join(1.0)
    wait_while(lambda: server.stats.answered < 20, worker)
    with transaction.atomic():
        before = server.stats.answered
        worker.join(1.0)
        assert server.stats.answered <= before + 12, "what cannot be stored is not sent"
    worker.join(60)
    run.refresh_from_db()
    assert (run.status, run.done, run.errors) == (RunStatus.COMPLETED, 200, 0)
    assert server.stats.requests == 200


def _work_without_waiting_for_locks(run_id: int) -> None:
    """With a busy timeout of 0.1 s, so that the lock outlasts it many times."""
    connection.settings_dict = {**connection.settings_dict}
    connection.settings_dict["OPTIONS"] = {**connection.settings_dict["OPTIONS"], "timeout": 0.1}
    try:
        while work_on_run_once(run_id):
            pass
    finally:
        connection.close()


def test_a_run_deleted_under_a_worker_ends_its_lease(endpoint: Endpoint) -> None:
    server = endpoint(lambda asked: "2", delay_ms=20)
    run = make_run(make_dataset(300), concurrency=4)
    with working(run) as (worker,):
        wait_while(lambda: server.stats.answered < 8, worker)
        while Run.objects.filter(pk=run.pk).exists():
            with contextlib.suppress(IntegrityError):  # PostgreSQL's, if the worker writes a result in between
                Run.objects.get(pk=run.pk).delete()
    assert server.stats.requests < 200
    assert work_on_run_once(run.pk) is False
