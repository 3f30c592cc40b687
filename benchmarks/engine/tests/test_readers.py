"""Readers of a live run, in real processes: none gets an error, and the run completes."""

from __future__ import annotations

import psycopg
import pytest

from tests.benches.bench_readers import PAGES
from tests.benches.readers import read
from tests.support.stacks import BOTH, SERVICES, Site, site

pytestmark = pytest.mark.slow
TASKS = 600
SLOW = ("--delay-ms", "100")


@pytest.mark.services
@pytest.mark.parametrize("kind", BOTH)
def test_ten_readers_of_a_live_run_meet_no_error(kind: str) -> None:
    with site(kind, *SLOW) as started:
        stack = started.stack
        earlier = started.start(50, dataset="few")
        stack.start_worker()
        started.wait_for_the_end(earlier)
        live = started.start(TASKS)
        started.wait_for(live, 1)
        numbers = {"earlier": earlier.rpartition("/")[2], "live": live.rpartition("/")[2]}
        pages = {name: path.format(**numbers) for name, path in PAGES.items()}
        read_pages = read(stack.address, pages, readers=10, seconds=4.0, think=0.1)
        assert {name: page.failures for name, page in read_pages.items() if page.failures} == {}
        assert set(read_pages) == set(pages)
        started.wait_for_the_end(live)
        assert stack.get(live)["progress"] == {"total": TASKS, "done": TASKS, "errors": 0, "judging": False}
        if kind == SERVICES:
            assert_statistics_are_fresh(started)


def assert_statistics_are_fresh(started: Site) -> None:
    query = "SELECT relname FROM pg_stat_user_tables WHERE last_analyze IS NOT NULL"
    tables = {f"benchmarks_{name}" for name in ("task", "result", "score", "transcript")}
    with psycopg.connect(started.stack.environment["DATABASE_URL"], autocommit=True) as connection:

        def analyzed() -> bool:
            return tables <= {name for (name,) in connection.execute(query)}

        started.stack.wait_until(analyzed, "the tables of the run's rows are analyzed")
