"""Work on runs as a worker's jobs do, without Celery in between."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta

from django.db import connection
from django.utils import timezone

from benchmarks.engine.execution.dispatch import lease_run, work_on_run_once
from benchmarks.models import Lease, Run
from tests.loopback.faults import Fault
from tests.loopback.replies import Asked, Reply
from tests.loopback.server import LoopbackServer

Endpoint = Callable[..., LoopbackServer]
Script = Callable[[Asked], Reply | Fault | str | None]
VERDICT = '{"score": 10, "reason": "right"}'


def worked(run: Run) -> Run:
    """The run after a worker has worked on it once."""
    work_on_run_once(run.pk)
    run.refresh_from_db()
    return run


@contextmanager
def working(run: Run, workers: int = 1) -> Iterator[list[threading.Thread]]:
    """Workers work on the run during the block, each on a thread; after it they have ended and the run is refreshed."""

    def work() -> None:
        try:
            work_on_run_once(run.pk)
        finally:
            connection.close()

    threads = [threading.Thread(target=work) for _ in range(workers)]
    for thread in threads:
        thread.start()
    try:
        yield threads
    finally:
        for thread in threads:
            thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    if Run.objects.filter(pk=run.pk).exists():
        run.refresh_from_db()


def wait_while(condition: Callable[[], bool], thread: threading.Thread) -> None:
    """Wait until the condition is false or the thread has ended."""
    while condition() and thread.is_alive():
        thread.join(0.01)


def leased(run: Run, *, preparing: bool = False) -> Lease:
    """A lease on the run, which must need one."""
    lease = lease_run(run.pk, preparing=preparing)
    assert lease is not None
    return lease


def orphan(lease: Lease) -> None:
    """Leave the lease as a process that no longer exists leaves it."""
    host = lease.worker.rsplit(":", 2)[0]
    long_ago = timezone.now() - timedelta(seconds=10)
    Lease.objects.filter(pk=lease.pk).update(worker=f"{host}:4194305:gone", heartbeat_at=long_ago)


def judged_by(reply: Reply | Fault | str) -> Script:
    """A model that answers 2, and a judge with this reply."""
    return lambda asked: reply if asked.body["model"] == "judge" else "2"


def relevant(asked: Asked) -> str:
    """A judge's replies on the relevancy of an answer, by the schema it is given."""
    replies = {
        "statements": {"statements": ["It is 2."]},
        "verdicts": {"verdicts": [{"verdict": "yes", "reason": None}]},
        "reason": {"reason": "to the point"},
    }
    properties = asked.body["response_format"]["json_schema"]["schema"]["properties"]
    return json.dumps(next(reply for name, reply in replies.items() if name in properties))


def is_trial(asked: Asked) -> bool:
    """Whether a judge is being tried."""
    return "capital of France" in asked.prompt


def judge_prompts(server: LoopbackServer) -> list[str]:
    return [body["messages"][0]["content"] for body in server.stats.bodies if body["model"] == "judge"]


def model_requests(server: LoopbackServer) -> int:
    return [body["model"] for body in server.stats.bodies].count("model")
