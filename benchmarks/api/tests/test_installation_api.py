"""Workers alive, what waits and for how long: as JSON, for Prometheus, and for the health check of a container."""

from __future__ import annotations

import socket
import threading
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone
from prometheus_client.parser import text_string_to_metric_families

from benchmarks.engine import workers
from benchmarks.engine.execution.dispatch import work_on_run_once
from benchmarks.models import Run, Worker
from benchmarks.worker import presence_thread
from tests.support.factories import make_dataset, make_run

ADDRESS = "/api/v1/benchmarks/installation"


def figures(client: Client) -> dict[str, Any]:
    answer: dict[str, Any] = client.get(ADDRESS).json()
    return answer


def scraped(client: Client) -> dict[str, float]:
    response = client.get("/metrics", headers={"accept": "application/openmetrics-text;q=0.9,text/plain;q=0.5"})
    assert response["Content-Type"].startswith("text/plain")
    families = text_string_to_metric_families(response.content.decode())
    return {
        sample.name + "".join(f" {value}" for value in sample.labels.values()): sample.value
        for family in families
        for sample in family.samples
    }


@pytest.mark.django_db
def test_an_empty_installation_has_nothing_of_anything(client: Client) -> None:
    found = figures(client)
    assert set(found.pop("runs").values()) == {0}
    assert set(found.values()) == {0}


@pytest.mark.django_db
def test_a_silent_worker_is_not_counted(client: Client) -> None:
    for number, silent in enumerate((0, 20, 60)):
        workers.report(f"host:{number}:token", threads=8)
        Worker.objects.filter(name=f"host:{number}:token").update(
            heartbeat_at=timezone.now() - timedelta(seconds=silent)
        )
    assert (figures(client)["workers_alive"], figures(client)["worker_threads"]) == (2, 16)


@pytest.mark.django_db
def test_the_queue_is_as_old_as_its_oldest_run(client: Client) -> None:
    dataset = make_dataset()
    for minutes in (1, 5):
        run = make_run(dataset, model="baseline/reference")
        Run.objects.filter(pk=run.pk).update(created_at=timezone.now() - timedelta(minutes=minutes))
    assert figures(client)["queue_age_seconds"] == pytest.approx(300, abs=20)
    assert figures(client)["runs"]["queued"] == 2


@pytest.mark.django_db(transaction=True)
def test_what_is_done_is_counted_and_waits_no_more(client: Client) -> None:
    work_on_run_once(make_run(model="baseline/reference").pk)
    found = figures(client)
    assert (found["results_done"], found["results_failed"], found["queue_depth"]) == (3, 0, 0)
    assert (found["queue_age_seconds"], found["runs"]["completed"]) == (0, 1)


@pytest.mark.django_db
def test_prometheus_is_told_the_same(client: Client) -> None:
    workers.report("host:1:token", threads=4)
    make_run(model="baseline/reference")
    told, found = scraped(client), figures(client)
    names = {name for name in found if name not in ("runs", "queue_age_seconds")}
    assert {name: told[f"codeforge_{name}"] for name in names} == {name: found[name] for name in names}
    assert told["codeforge_runs queued"] == 1


@pytest.mark.django_db(transaction=True)
def test_a_worker_reports_itself_from_its_start_to_its_end() -> None:
    presence = presence_thread(threads=3, seconds=0.01)
    presence.start()
    heartbeats = set()
    while len(heartbeats) < 3:
        heartbeats |= set(Worker.objects.values_list("heartbeat_at", flat=True))
    assert Worker.objects.get().threads == 3
    presence.stop()
    presence.join(timeout=10)
    assert not Worker.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_an_unavailable_database_costs_reports_and_not_the_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = threading.Event()

    def unavailable(name: str, threads: int) -> None:
        tried.set()
        raise RuntimeError("the database is unavailable")

    with monkeypatch.context() as patched:
        patched.setattr(workers, "report", unavailable)
        presence = presence_thread(threads=3, seconds=0.01)
        presence.start()
        assert tried.wait(timeout=10)
    while not Worker.objects.exists():
        assert presence.is_alive()
    presence.stop()
    presence.join(timeout=10)


@pytest.mark.django_db
def test_the_health_check_of_a_container_needs_a_live_worker_on_this_host() -> None:
    workers.report("elsewhere:1:token", threads=8)
    with pytest.raises(CommandError, match="No worker on"):
        call_command("worker_health")
    workers.report(f"{socket.gethostname()}:1:token", threads=8)
    call_command("worker_health")


@pytest.mark.django_db
def test_workers_that_are_long_gone_are_forgotten() -> None:
    workers.report("old:1:token", threads=8)
    Worker.objects.update(heartbeat_at=timezone.now() - timedelta(days=2))
    workers.report("new:1:token", threads=8)
    assert [worker.name for worker in Worker.objects.all()] == ["new:1:token"]
