"""Rows that change while a run is summarized: the numbers are those of one moment, whoever writes or deletes."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.db import OperationalError, connection

from benchmarks.engine import db_retry
from benchmarks.engine import lease as leases
from benchmarks.engine.execution import executor, finishing, lifecycle
from benchmarks.engine.execution.finishing import close_if_over, refresh_summary
from benchmarks.engine.execution.sweeper import runs_without_worker
from benchmarks.engine.sql import insert_results
from benchmarks.engine.summary import means
from benchmarks.models import Lease, Outcome, ResultState, Run, RunStatus, Score
from benchmarks.services.runs.control import delete_run
from tests.support.factories import make_dataset, make_run
from tests.support.running import Endpoint, leased, worked

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def run(endpoint: Endpoint) -> Run:
    """Its two repeats make clusters, which are read after the sums."""
    endpoint(lambda asked: "2")
    return worked(make_run(make_dataset(3), repeats=2))


@pytest.fixture
def meanwhile(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], None]:
    """Let another thread do something once, between two queries of a summary."""

    def arrange(action: Callable[[], object]) -> None:
        def act() -> None:
            action()
            connection.close()

        def add_clusters(*arguments: Any) -> None:
            monkeypatch.undo()
            other = threading.Thread(target=act)
            other.start()
            other.join()
            means._add_clusters(*arguments)

        monkeypatch.setattr(means, "_add_clusters", add_clusters)

    return arrange


def test_a_run_deleted_while_it_is_summarized_is_gone_without_an_error(
    run: Run, meanwhile: Callable[[Callable[[], object]], None]
) -> None:
    Run.objects.update(status=RunStatus.CANCELLED)
    meanwhile(lambda: delete_run(Run.objects.get()))
    close_if_over(run.pk)
    assert not Run.objects.exists()


def test_scores_that_another_lease_stores_do_not_fail_the_summary_of_a_live_run(
    run: Run, meanwhile: Callable[[Callable[[], object]], None]
) -> None:
    Run.objects.update(status=RunStatus.RUNNING, concurrency=300)
    score = Score.objects.order_by("pk").last()
    assert score is not None
    score.delete()
    lease = leased(run)
    meanwhile(lambda: Score.objects.bulk_create([score]))
    refresh_summary(run.pk, lease)
    metric = Run.objects.get().summary["metrics"][run.metrics[0]]
    assert (metric["n"], metric["n_clusters"], Score.objects.count()) == (5, 3, 6)


def test_who_is_slow_keeps_no_numbers_of_a_run_that_ended_again_meanwhile(
    run: Run, meanwhile: Callable[[Callable[[], object]], None]
) -> None:
    """A worker closes a canceled run; before it writes, somebody resumes the run, more is scored, and it is paused."""

    def ends_again() -> None:
        run.scores.order_by("pk").update(value=0.0)
        Run.objects.update(status=RunStatus.PAUSED, summarized_at=None)
        close_if_over(run.pk)

    Run.objects.update(status=RunStatus.CANCELLED, summarized_at=None)
    meanwhile(ends_again)
    close_if_over(run.pk)
    assert Run.objects.get().summary["metrics"][run.metrics[0]]["mean"] == 0.0


def test_a_run_does_not_end_with_numbers_that_a_late_worker_kept_from_being_stored(
    run: Run, meanwhile: Callable[[Callable[[], object]], None]
) -> None:
    """Its message came twice: a worker with nothing to do has a lease while another one stores the last numbers."""
    Run.objects.update(status=RunStatus.RUNNING, summary={}, headline={})
    late: list[Lease] = []
    meanwhile(lambda: late.append(leased(run)))
    with pytest.MonkeyPatch.context() as leaving:
        leaving.setattr(finishing, "write_prompt_hash", lambda run_id: leases.release(late[0]))
        assert not close_if_over(run.pk)
    assert Run.objects.get().status == RunStatus.RUNNING, "its numbers are not stored"
    assert close_if_over(run.pk), "which the late worker does"
    ended = Run.objects.get()
    assert (ended.status, ended.summary["metrics"][run.metrics[0]]["n"]) == (RunStatus.COMPLETED, 6)


def test_results_that_a_slow_worker_adds_to_a_paused_run_count(endpoint: Endpoint) -> None:
    """It was frozen while it prepared the run; others paused it, and computed its numbers without them."""
    endpoint(lambda asked: "2")
    run = make_run(make_dataset(3))
    lifecycle.pause(run.pk, "")
    close_if_over(run.pk)

    def pending() -> int:
        return Run.objects.get().numbers.metrics[run.metrics[0]].n_pending

    assert pending() == 0
    insert_results(run, run.dataset_version.tasks.all(), 0, 1)
    runs_without_worker()
    assert pending() == 3


def test_who_is_slow_keeps_no_numbers_without_the_results_that_came_meanwhile(
    run: Run, meanwhile: Callable[[Callable[[], object]], None]
) -> None:
    Run.objects.update(status=RunStatus.PAUSED, total=5, done=5)
    run.results.filter(repeat=2).order_by("position")[0].delete()
    tasks = run.dataset_version.tasks.order_by("position")
    meanwhile(lambda: insert_results(run, tasks, 0, 2))
    close_if_over(run.pk)
    assert Run.objects.get().summarized_at is None, "a sweep computes them again"


def test_who_read_the_counts_before_the_last_result_ended_does_not_end_the_run(
    run: Run, meanwhile: Callable[[Callable[[], object]], None]
) -> None:
    """The numbers of errors are left out of a run that counted none when it was read."""
    Run.objects.update(status=RunStatus.RUNNING)
    meanwhile(lambda: Run.objects.update(errors=1))
    run.results.order_by("pk").update(state=ResultState.ERROR, outcome=Outcome.PROVIDER_ERROR, error_kind="server")
    Run.objects.update(errors=5)
    assert not close_if_over(run.pk)
    Run.objects.update(errors=6)
    assert close_if_over(run.pk)
    assert Run.objects.get().numbers.error_kinds == {"server": 6}


def test_a_live_summary_that_the_database_refuses_keeps_nothing_from_being_stored(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker once tried again until its lease had expired, and answers that were paid for were lost."""

    def refuse(run_id: int, lease: Lease) -> None:
        raise OperationalError("the database is unavailable")

    endpoint(lambda asked: "2")
    monkeypatch.setattr(executor, "refresh_summary", refuse)
    monkeypatch.setattr(executor, "CHECK_SECONDS", 0.0)
    monkeypatch.setattr(executor, "SUMMARY_SECONDS", 0.0)
    monkeypatch.setattr(db_retry, "RETRY_SECONDS", 0.0)
    run = worked(make_run(make_dataset(3)))
    assert (run.status, run.done) == (RunStatus.COMPLETED, 3)
