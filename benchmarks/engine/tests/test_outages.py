"""An unavailable database while real workers work, and limits that two workers share.

``CODEFORGE_OUTAGE_SECONDS`` is the length of the outage (10 by default, 60 in continuous integration).
"""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import pytest
import redis

from tests.loopback.hosting import spawn
from tests.support import services
from tests.support.proxy import proxy_to
from tests.support.stack import installed
from tests.support.stacks import BOTH, SERVICES, Site, site

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("waiting")]
OUTAGE_SECONDS = float(os.environ.get("CODEFORGE_OUTAGE_SECONDS", "10"))


def limit(here: Site, **limits: int) -> None:
    """Write limits for the model into the configuration, before anything is started that reads it."""
    config: Path = here.stack.state / "codeforge.yaml"
    written = ", ".join(f"{name}: {value}" for name, value in limits.items())
    plain = "loop/model: {input_per_million"
    assert plain in config.read_text()
    config.write_text(config.read_text().replace(plain, f"loop/model: {{limits: {{{written}}}, input_per_million"))


def pause(seconds: float) -> None:
    """Wait; what is tested is what the workers do meanwhile."""
    threading.Event().wait(seconds)


def test_a_run_survives_an_unavailable_database() -> None:
    broker = services.redis_url()
    redis.Redis.from_url(broker).flushdb()
    with spawn("--delay-ms", "50") as url, services.postgres_database() as address:
        parts = urlsplit(address)
        with proxy_to(parts.hostname or "127.0.0.1", parts.port or 5432) as database:
            place = parts._replace(netloc=f"{parts.username}:{parts.password or ''}@127.0.0.1:{database.port}")
            with installed(url, {"DATABASE_URL": urlunsplit(place), "REDIS_URL": broker}) as stack:
                here = Site(stack, url)
                workers = [stack.start_worker(), stack.start_worker()]
                run = here.start(300)
                here.wait_for(run, 30)
                database.go_away()
                pause(OUTAGE_SECONDS)
                requests = here.stats()["requests"]
                pause(1)
                assert here.stats()["requests"] == requests < 300, "what cannot be stored is not sent"
                database.come_back()
                here.wait_for_the_end(run)
                assert here.counts() == ["completed", "300", "300", "0", "300", "0", "0"]
                assert here.stats()["requests"] == 300
                assert [worker.poll() for worker in workers] == [None, None]


@pytest.mark.parametrize("kind", BOTH)
def test_canceling_stops_a_worker_from_sending_within_a_second(kind: str) -> None:
    """All slots but four wait at the gate then, and those must not be let through either."""
    with site(kind, "--delay-ms", "200") as here:
        limit(here, max_in_flight=4)
        here.stack.start_worker()
        run = here.start(400, concurrency=64)
        here.wait_for(run, 12)
        here.stack.post(f"{run}/cancel", {})
        pause(1.0)
        requests = here.stats()["requests"]
        pause(2.0)
        assert here.stats()["requests"] == requests < 400
        here.stack.wait_until(lambda: here.done(run) == requests, "every answer is stored", 20)
        assert here.stack.get(run)["status"] == "cancelled"


@pytest.mark.parametrize("kind", BOTH)
def test_a_small_run_does_not_wait_for_large_ones_that_have_every_thread(kind: str) -> None:
    with site(kind, "--delay-ms", "100", extra={"CODEFORGE_WORKER_THREADS": "2"}) as here:
        here.stack.start_worker()
        large = [here.start(4000, dataset=f"large-{n}", concurrency=4) for n in (1, 2)]
        for run in large:
            here.wait_for(run, 4)
        began = time.monotonic()
        small = here.start(5, dataset="small")
        here.wait_for_the_end(small)
        took = time.monotonic() - began
        print(f"{kind}: five answers came {took:.1f} s after the launch, with both threads taken")
        assert took < 20
        assert {here.stack.get(run)["status"] for run in large} == {"running"}
        moved = [here.done(run) for run in large]
        for run, done in zip(large, moved, strict=True):
            here.wait_for(run, done + 4)
        for run in large:
            here.stack.post(f"{run}/cancel", {})


def test_two_workers_share_one_limit_in_flight() -> None:
    with site(SERVICES, "--delay-ms", "100") as here:
        limit(here, max_in_flight=3)
        runs = _two_runs_on_two_workers(here, tasks=40)
        for run in runs:
            here.wait_for_the_end(run)
        assert here.stats()["most_in_flight"] == 3
        assert here.stats()["requests"] == 80


def test_two_workers_share_one_limit_per_minute() -> None:
    with site(SERVICES) as here:
        limit(here, requests_per_minute=30)
        runs = _two_runs_on_two_workers(here, tasks=40)
        here.stack.wait_until(lambda: here.stats()["requests"] >= 30, "the window is full")
        pause(3)
        assert here.stats()["requests"] <= 33, "a sliding window lets a few through as it moves on"
        for run in runs:
            here.stack.post(f"{run}/cancel", {})


def _two_runs_on_two_workers(here: Site, tasks: int) -> list[str]:
    """With one thread each, so that both must work for both runs to go."""
    here.stack.environment["CODEFORGE_WORKER_THREADS"] = "1"
    for _ in range(2):
        here.stack.start_worker()
    return [here.start(tasks, dataset=f"sums-{n}", concurrency=16) for n in (1, 2)]


def test_a_429_slows_both_workers_and_they_recover() -> None:
    with site(SERVICES, "--delay-ms", "20", "--fault-rate", "0.05", "--fault", "rate_limited") as here:
        runs = _two_runs_on_two_workers(here, tasks=60)
        for run in runs:
            here.wait_for_the_end(run)
        stats = here.stats()
        assert stats["faults"]["rate_limited"] > 0
        assert stats["requests"] == 120 + stats["faults"]["rate_limited"]
