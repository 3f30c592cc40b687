"""A real worker frozen in the middle of a transaction, on the embedded stack and on PostgreSQL with Redis.

It keeps its locks and its leases. The others go on, requests answer, and what it does when it wakes changes nothing.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import pytest

from benchmarks.engine.processes import is_stopped
from tests.support.stacks import BOTH, EMBEDDED, SERVICES, Site, site

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("waiting")]
CONCURRENCY = 8
AT_RISK = 2 * CONCURRENCY
"""Requests that a frozen worker can have sent in vain: those in flight, and as many answers not stored yet."""
ROWS = """
from benchmarks.models import Lease, Result, Run, Score, Transcript
for model in (Run, Result, Score, Transcript):
    for row in model.objects.order_by("pk").values():
        print(sorted(row.items()))
"""


def freeze(here: Site, run: str) -> subprocess.Popen[bytes]:
    """A worker that froze while it wrote answers of the run."""
    worker = here.stack.start_worker("tests.support.freezing_celery")
    here.wait_for(run, 20)
    (here.stack.state / "freeze").touch()
    here.stack.wait_until(lambda: is_stopped(worker.pid), "the worker is frozen")
    return worker


def longest_stall(here: Site, run: str, total: int, seconds: float) -> float:
    """The longest time in which none of the run's results was stored, until it has them all."""
    deadline = time.monotonic() + seconds
    moved, done, longest = time.monotonic(), here.done(run), 0.0
    while done < total:
        assert time.monotonic() < deadline, f"{run} has {done} of {total} after {seconds:g} s"
        time.sleep(0.1)
        now, seen = time.monotonic(), here.done(run)
        longest = max(longest, now - moved)
        if seen != done:
            moved, done = now, seen
    return longest


@pytest.mark.parametrize("kind", BOTH)
def test_a_frozen_worker_delays_its_own_run_briefly_and_another_hardly(kind: str) -> None:
    with site(kind, "--delay-ms", "40", extra={"CODEFORGE_WORKER_THREADS": "1"}) as here:
        own = here.start(400, dataset="own", concurrency=CONCURRENCY)
        other = here.start(200, dataset="other", concurrency=4)
        frozen = freeze(here, own)
        began = time.monotonic()
        here.stack.start_worker()
        here.stack.start_worker()
        with ThreadPoolExecutor() as pool:
            others = pool.submit(longest_stall, here, other, 200, 90)
            owns = pool.submit(longest_stall, here, own, 400, 150)
        print(f"{kind}: unrelated run stalled {others.result():.1f} s, its own {owns.result():.1f} s")
        assert others.result() < 75
        assert owns.result() < 90
        here.wait_for_the_end(own)
        here.wait_for_the_end(other)
        print(f"{kind}: both over {time.monotonic() - began:.1f} s after the freeze")
        if kind == EMBEDDED:
            assert frozen.wait(timeout=5) == -signal.SIGKILL, "the other workers needed its lock"
        else:
            before = here.stack.manage("shell", "--no-imports", "-c", ROWS)
            os.killpg(frozen.pid, signal.SIGCONT)
            third = here.start(20, dataset="third")
            here.wait_for_the_end(third)
            after = here.stack.manage("shell", "--no-imports", "-c", ROWS)
            assert set(before.splitlines()) <= set(after.splitlines()), "what woke wrote nothing"
            assert frozen.poll() is None
        sent_again = here.stats()["requests"] - (600 if kind == EMBEDDED else 620)
        print(f"{kind}: {sent_again} requests sent again")
        assert 0 <= sent_again <= AT_RISK


def click(address: str) -> tuple[int, str, float]:
    """Post to the address: status, Retry-After, seconds."""
    began = time.monotonic()
    request = urllib.request.Request(address, b"{}", {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=60) as response:
            return response.status, "", time.monotonic() - began
    except urllib.error.HTTPError as refused:
        return refused.code, refused.headers["Retry-After"], time.monotonic() - began


@pytest.mark.parametrize("kind", BOTH)
def test_requests_answer_within_five_seconds_while_a_worker_is_frozen(kind: str) -> None:
    """Nobody else works, so the run stays locked until the database ends the frozen transaction, if it can."""
    with site(kind, "--delay-ms", "40") as here:
        run = here.start(400, concurrency=CONCURRENCY)
        frozen = freeze(here, run)
        with ThreadPoolExecutor(16) as pool:
            clicks = list(pool.map(click, [f"{here.stack.address}{run}/cancel"] * 8))
            began = time.monotonic()
            assert here.stack.get(run)["status"] == "running"
            read = time.monotonic() - began
        print(f"{kind}: eight clicks took {max(took for *_, took in clicks):.1f} s at most, then reading {read:.1f} s")
        assert {(status, wait) for status, wait, _ in clicks} == {(503, "5")}
        assert max(took for *_, took in clicks) < 5
        if kind == SERVICES:
            here.stack.wait_until(lambda: click(f"{here.stack.address}{run}/cancel")[0] == 200, "its lock is gone", 40)
        os.killpg(frozen.pid, signal.SIGCONT)
        if kind == EMBEDDED:
            here.stack.wait_until(lambda: click(f"{here.stack.address}{run}/cancel")[0] == 200, "it has gone on", 20)
        here.stack.wait_until(lambda: here.counts()[-1] == "0", "the worker has given its lease back")
        assert here.stack.get(run)["status"] == "cancelled"
