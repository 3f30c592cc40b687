"""Following a run: the bar on a terminal, and working on what nobody else works on."""

from __future__ import annotations

import threading
from datetime import timedelta
from io import StringIO

import pytest

from benchmarks.engine import lease as leases
from benchmarks.engine.execution import dispatch
from benchmarks.engine.execution.dispatch import work_on_run_once
from benchmarks.engine.execution.executor import STOPPING
from benchmarks.engine.execution.preparing import prepare_run
from benchmarks.engine.execution.result_store import give_back_claims
from benchmarks.engine.workers import report
from benchmarks.management import following
from benchmarks.management.following import Progress, follow
from benchmarks.models import Run, RunStatus
from benchmarks.services.runs.control import cancel_run
from tests.support.factories import make_dataset, make_run
from tests.support.running import Endpoint


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following, "POLL_SECONDS", 0.01)
    monkeypatch.setattr(following, "WAIT_FOR_WORKER_SECONDS", 0.0)
    monkeypatch.setattr("benchmarks.engine.execution.sweeper.ENQUEUE_AGAIN_AFTER", timedelta())


def test_the_bar_is_one_line_that_is_written_over() -> None:
    stream = StringIO()
    bar = Progress(stream, shown=True)
    bar.show(0, 0, "queued")
    bar.show(3, 6, "running")
    bar.end()
    assert "\n" not in stream.getvalue()
    lines = stream.getvalue().split("\r")
    assert lines[1].startswith("[..............................] 0/? queued")
    assert lines[2].startswith("[###############...............] 3/6 running")
    assert lines[-1] == "", "the line is left empty"


def test_nothing_is_written_where_there_is_no_terminal() -> None:
    stream = StringIO()
    bar = Progress(stream)
    bar.show(1, 2, "running")
    bar.end()
    assert stream.getvalue() == ""


@pytest.mark.django_db(transaction=True)
def test_a_run_that_a_worker_has_is_not_worked_on_here(endpoint: Endpoint) -> None:
    endpoint()
    run = make_run()
    prepare_run(run)
    lease = dispatch.lease_run(run.pk)
    assert lease is not None
    said: list[str] = []
    ended = threading.Timer(0.2, lambda: (leases.release(lease, give_back_claims), work_on_run_once(run.pk)))
    ended.start()
    found = follow(run.pk, Progress(StringIO()), said.append, work_here=False)
    ended.join()
    assert found.status == RunStatus.COMPLETED
    assert said == []


@pytest.mark.django_db(transaction=True)
def test_what_is_said_of_the_workers_is_true(endpoint: Endpoint) -> None:
    endpoint()
    said: list[str] = []
    first = make_run()
    follow(first.pk, Progress(StringIO()), said.append)
    report("here:1:a", 1)
    idle, other, third = make_run(), make_run(), make_run()
    follow(idle.pk, Progress(StringIO()), said.append)
    prepare_run(other)
    assert dispatch.lease_run(other.pk)
    follow(third.pk, Progress(StringIO()), said.append)
    assert said == [
        f"No worker is running, so this command executes run {first.pk}.",
        f"No worker picked the run up within 0 s, so this command executes run {idle.pk}.",
        f"All workers are busy with run {other.pk}, so this command executes run {third.pk}.",
    ]


@pytest.mark.django_db(transaction=True)
def test_an_interruption_hands_over_and_keeps_what_was_answered(endpoint: Endpoint) -> None:
    endpoint(delay_ms=20)
    run = make_run(make_dataset(300), concurrency=2)

    class Interrupting(Progress):
        def show(self, done: int, total: int, words: str) -> None:
            if done > 3:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        follow(run.pk, Interrupting(StringIO()), lambda words: None)
    run.refresh_from_db()
    assert not STOPPING.is_set()
    assert run.status == RunStatus.RUNNING
    assert 3 < run.done < 300
    assert not run.leases.exists()
    kept = run.done
    follow(run.pk, Progress(StringIO()), lambda words: None)
    run.refresh_from_db()
    assert (run.status, run.done) == (RunStatus.COMPLETED, 300)
    assert kept < run.done


@pytest.mark.django_db(transaction=True)
def test_a_run_that_somebody_cancels_is_followed_to_its_end(endpoint: Endpoint) -> None:
    endpoint(delay_ms=50)
    run = make_run(make_dataset(500), concurrency=2)

    class Cancelling(Progress):
        def show(self, done: int, total: int, words: str) -> None:
            if done and Run.objects.get(pk=run.pk).status == RunStatus.RUNNING:
                cancel_run(run)

    found = follow(run.pk, Cancelling(StringIO()), lambda words: None)
    assert found.status == RunStatus.CANCELLED
