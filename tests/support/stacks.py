"""Installations for tests with real processes: the embedded stack, and PostgreSQL with Redis."""

from __future__ import annotations

import atexit
import functools
import os
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import redis

from tests.loopback.hosting import fetch_stats, spawn
from tests.support import services
from tests.support.stack import Code, Stack, installed

EMBEDDED, SERVICES = "embedded", "postgres-redis"
BOTH = (EMBEDDED, SERVICES)
COUNT = """
from django.db.models import Count
from benchmarks.models import Lease, Result, Run
run = Run.objects.get()
rows = Result.objects.filter(run=run)
twice = rows.values("task", "repeat").annotate(n=Count("id")).filter(n__gt=1).count()
print(run.status, run.total, run.done, run.errors, rows.filter(state="done").count(), twice, Lease.objects.count())
"""


@dataclass
class Site:
    """An installation and the endpoint that its models live at."""

    stack: Stack
    url: str

    def stats(self) -> dict[str, Any]:
        return fetch_stats(self.url)

    def start(self, tasks: int, dataset: str = "sums", **request: Any) -> str:
        """A queued run on a new dataset of sums; returns its address. Starts the web server if need be."""
        self.stack.write_sums(dataset, tasks)
        self.stack.manage("datasets", "sync")
        if not self.stack.address:
            self.stack.start_web()
        asked = {"dataset": dataset, "model": "loop/model", "metrics": ["exact_match"], "concurrency": 8, **request}
        run = self.stack.post("/api/v1/benchmarks/runs", asked)
        return f"/api/v1/benchmarks/runs/{run['id']}"

    def done(self, run: str) -> int:
        done: int = self.stack.get(run)["progress"]["done"]
        return done

    def wait_for(self, run: str, done: int) -> None:
        self.stack.wait_until(lambda: self.done(run) >= done, f"{done} results are there", 120)

    def wait_for_the_end(self, run: str, seconds: float = 120) -> None:
        self.stack.wait_until(lambda: self.stack.get(run)["status"] == "completed", "the run has completed", seconds)

    def counts(self) -> list[str]:
        """Of the only run: status, total, done, errors, results done, tasks with two results, leases left."""
        return self.stack.manage("shell", "--no-imports", "-c", COUNT).split()

    def empty_the_broker(self) -> None:
        if broker := self.stack.environment.get("REDIS_URL"):
            redis.Redis.from_url(broker).flushdb()
        else:
            for message in (self.stack.state / "broker" / "queue").iterdir():
                message.unlink(missing_ok=True)


@contextmanager
def site(
    kind: str,
    *endpoint: str,
    extra: Mapping[str, str] | None = None,
    served: str | None = None,
    code: Code | None = None,
) -> Iterator[Site]:
    """An installation of the kind ``embedded`` or ``postgres-redis``, with an endpoint of these options, or the one
    that is ``served`` at this URL. With ``code``, it is an installation of that."""
    given = dict(extra or {})
    with nullcontext(served) if served else spawn(*endpoint) as url:
        if kind == EMBEDDED:
            with installed(url, given, code=code) as stack, telling_the_log(stack):
                yield Site(stack, url)
            return
        broker = services.redis_url()
        redis.Redis.from_url(broker).flushdb()
        with (
            services.postgres_database(like="template1" if code else _migrated_postgres()) as database,
            installed(url, {"DATABASE_URL": database, "REDIS_URL": broker, **given}, migrated=True, code=code) as stack,
            telling_the_log(stack),
        ):
            yield Site(stack, url)


@functools.cache
def _migrated_postgres() -> str:
    """The name of a migrated database, which is copied a hundred times faster than it is migrated."""
    kept = ExitStack()
    atexit.register(kept.close)
    address = kept.enter_context(services.postgres_database())
    with installed("http://127.0.0.1:1", {"DATABASE_URL": address}):
        return address.rpartition("/")[2]


@contextmanager
def telling_the_log(stack: Stack) -> Iterator[None]:
    """Where a test fails, what the processes said last is the first thing one wants to know."""
    try:
        yield
    except BaseException:
        print((stack.state / "processes.log").read_text(errors="replace")[-5_000:])
        raise


def kill(process: subprocess.Popen[bytes]) -> None:
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
