"""Real workers killed with SIGKILL while they work, on the embedded stack and on PostgreSQL with Redis.

``CODEFORGE_CRASHES`` says how often one run's worker is killed (3 by default, 20 in continuous integration).
"""

from __future__ import annotations

import os
import random
import threading
import time
from collections import Counter

import pytest

from tests.loopback.faults import FAULTS, Fault
from tests.loopback.hosting import serve
from tests.loopback.replies import Asked
from tests.support.running import VERDICT, is_trial, relevant
from tests.support.stacks import BOTH, kill, site

CRASHES = int(os.environ.get("CODEFORGE_CRASHES", "3"))
CONCURRENCY = 8
AT_RISK = 2 * CONCURRENCY
"""Requests that a killed worker can have sent in vain: those in flight, and as many answers not stored yet."""


@pytest.mark.parametrize("kind", BOTH)
def test_a_run_survives_its_workers(kind: str) -> None:
    tasks = 40 + 60 * CRASHES
    dice = random.Random(11)
    with site(kind, "--delay-ms", "40") as here:
        run = here.start(tasks, concurrency=CONCURRENCY)
        for _ in range(CRASHES):
            worker = here.stack.start_worker()
            here.wait_for(run, min(here.done(run) + dice.randrange(1, 60), tasks))
            kill(worker)
        here.stack.start_worker()
        here.wait_for_the_end(run, 180)
        assert here.counts() == ["completed", str(tasks), str(tasks), "0", str(tasks), "0", "0"]
        stats = here.stats()
    sent_again = stats["requests"] - tasks
    print(f"{kind}: {CRASHES} kills, {tasks} tasks, {stats['requests']} requests: {sent_again} sent again")
    assert stats["questions"] == tasks
    assert sent_again <= CRASHES * AT_RISK


@pytest.mark.parametrize("kind", BOTH)
def test_a_run_survives_everything_being_killed_at_once_and_an_empty_broker(kind: str) -> None:
    with site(kind, "--delay-ms", "40") as here:
        here.stack.start_worker()
        here.stack.start_worker()
        run = here.start(150, concurrency=CONCURRENCY)
        here.wait_for(run, 30)
        for process in here.stack.processes:
            kill(process)
        here.empty_the_broker()
        here.stack.start_web()
        here.stack.start_worker()
        here.wait_for(run, 60)
        here.empty_the_broker()
        here.wait_for_the_end(run)
        assert here.counts() == ["completed", "150", "150", "0", "150", "0", "0"]
        assert here.stats()["requests"] <= 150 + AT_RISK


@pytest.mark.parametrize("kind", BOTH)
def test_two_workers_share_a_run_whose_message_was_lost_and_send_everything_once(kind: str) -> None:
    with site(kind) as here:
        run = here.start(100, repeats=2)
        here.empty_the_broker()
        here.stack.start_worker()
        here.stack.start_worker()
        here.wait_for_the_end(run)
        assert here.counts()[:4] == ["completed", "200", "200", "0"]
        assert here.stats()["requests"] == 200


@pytest.mark.parametrize("kind", BOTH)
def test_a_worker_that_shuts_down_hands_over_within_seconds_and_nothing_is_sent_twice(kind: str) -> None:
    with site(kind, "--delay-ms", "100") as here:
        worker = here.stack.start_worker()
        run = here.start(500)
        here.wait_for(run, 20)
        began = time.monotonic()
        worker.terminate()
        assert worker.wait(timeout=10) == 0
        print(f"{kind}: handed over and ended within {time.monotonic() - began:.1f} s")
        assert here.stack.get(run)["status"] == "running"
        assert here.done(run) == here.stats()["answered"] < 500
        here.stack.start_worker()
        here.wait_for_the_end(run)
        assert here.stats()["requests"] == 500


@pytest.mark.parametrize("kind", BOTH)
def test_a_verdict_that_came_before_a_kill_is_not_asked_again(kind: str) -> None:
    """The judge scores correctness at once, and never answers about relevancy before the worker is killed."""
    correctness: Counter[str] = Counter()
    relevancy = 0
    killed = threading.Event()

    def reply(question: Asked) -> Fault | str:
        if question.body["model"] == "model":
            return "2"
        if is_trial(question):
            return VERDICT
        if "REFERENCE" in question.prompt:
            correctness[question.prompt] += 1
            return VERDICT
        nonlocal relevancy
        relevancy += 1
        return relevant(question) if killed.is_set() else FAULTS["hang"]

    with serve(reply) as server, site(kind, served=server.url) as here:
        worker = here.stack.start_worker()
        run = here.start(12, concurrency=4, metrics=["correctness", "answer_relevancy"])
        stored = "from benchmarks.models import Score; print(Score.objects.exclude(value=None).count())"
        here.stack.wait_until(lambda: here.stack.manage("shell", "--no-imports", "-c", stored) == "4\n", "4 verdicts")
        kill(worker)
        killed.set()
        here.stack.start_worker()
        here.wait_for_the_end(run)
        assert here.counts()[:5] == ["completed", "12", "12", "0", "12"]
    assert list(correctness.values()) == [1] * 12
    assert relevancy == 12 * 2 + 4, "two requests each, and again what was in flight at the kill"


def test_a_second_signal_does_not_delay_the_shutdown() -> None:
    with site(BOTH[0], "--delay-ms", "100") as here:
        worker = here.stack.start_worker()
        here.wait_for(here.start(500), 20)
        worker.terminate()
        threading.Event().wait(0.2)
        worker.terminate()
        worker.wait(timeout=10)
