"""A worker on another machine loses its network while it works on a run, on PostgreSQL with Redis.

Nothing closes its connections: its locks, its lease and its messages stay where they are until somebody gives up.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from benchmarks.engine.tests.test_frozen import AT_RISK, CONCURRENCY, ROWS, longest_stall
from tests.benches.soak.ground import Postgres, Redis
from tests.loopback.hosting import spawn
from tests.support.networks import Network, separate_network
from tests.support.stack import installed
from tests.support.stacks import SERVICES, Site, kill, telling_the_log

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("waiting")]
TASKS = 400


@contextmanager
def machines() -> Iterator[tuple[Site, Network]]:
    """Database, broker and endpoint listen on this end of the cable."""
    if not shutil.which("redis-server") or not any(Path("/usr/lib/postgresql").glob("*/bin/pg_ctl")):
        pytest.skip("needs the programs of PostgreSQL and Redis")
    with ExitStack() as ending:
        network = ending.enter_context(separate_network())
        disk = Path(ending.enter_context(tempfile.TemporaryDirectory(prefix="codeforge-network-")))
        postgres, redis = Postgres(disk, network.here), Redis(network.here)
        ending.callback(postgres.stop, "immediate")
        ending.callback(redis.kill)
        url = ending.enter_context(spawn("--host", network.here, "--delay-ms", "40"))
        addresses = {"DATABASE_URL": postgres.url, "REDIS_URL": redis.url, "CODEFORGE_WORKER_THREADS": "1"}
        stack = ending.enter_context(installed(url, addresses))
        ending.enter_context(telling_the_log(stack))
        yield Site(stack, url), network


@pytest.mark.services
@pytest.mark.parametrize("loss", ["cut", "lose_packets"])
def test_a_worker_that_lost_its_network_loses_nothing_and_writes_nothing_when_it_is_back(loss: str) -> None:
    with machines() as (here, network):
        isolated = here.stack.start_worker(within=network.within)
        run = here.start(TASKS, concurrency=CONCURRENCY)
        here.wait_for(run, 20)
        getattr(network, loss)()
        near = here.stack.start_worker()
        stall = longest_stall(here, run, TASKS, 150)
        print(f"{SERVICES}, {loss}: its run stalled {stall:.1f} s")
        assert stall < 90
        here.wait_for_the_end(run)
        assert here.counts() == ["completed", *[str(TASKS)] * 2, "0", str(TASKS), "0", "0"]
        assert 0 <= here.stats()["requests"] - TASKS <= AT_RISK
        before = here.stack.manage("shell", "--no-imports", "-c", ROWS)
        kill(near)
        network.join()
        began = time.monotonic()
        other = here.start(20, dataset="other")
        here.wait_for_the_end(other, 240)
        print(f"{SERVICES}, {loss}: it worked again {time.monotonic() - began:.1f} s after the link was back")
        after = here.stack.manage("shell", "--no-imports", "-c", ROWS)
        assert set(before.splitlines()) <= set(after.splitlines()), "what came back wrote nothing"
        assert isolated.poll() is None
