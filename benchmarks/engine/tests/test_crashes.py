"""Real workers killed with SIGKILL while they work, on the embedded stack and on PostgreSQL with Redis.

``CODEFORGE_CRASHES`` says how often one run's worker is killed (3 by default, 20 in continuous integration).
"""

from __future__ import annotations

import json
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

pytestmark = pytest.mark.slow
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


@pytest.mark.parametrize("kind", BOTH)
def test_a_preference_run_survives_its_worker_and_asks_for_no_verdict_twice(kind: str) -> None:
    judged: Counter[str] = Counter()
    killed = threading.Event()

    def reply(question: Asked) -> Fault | str:
        if question.body["model"] != "judge":
            return f"{question.body['model']} says 2"
        judged[question.prompt] += 1
        if not killed.is_set() and judged.total() > 6:
            return FAULTS["hang"]
        return '{"reason": "because", "verdict": "tie"}'

    with serve(reply) as server, site(kind, served=server.url) as here:
        worker = here.stack.start_worker()
        runs = [here.start(10, model=f"loop/{model}") for model in ("one", "two")]
        for run in runs:
            here.wait_for_the_end(run)
        ids = [int(run.rpartition("/")[2]) for run in runs]
        asked = {"runs": ids, "judge_model": "loop/judge", "concurrency": 3}
        made = here.stack.post("/api/v1/benchmarks/preferences", asked)
        address = f"/api/v1/benchmarks/preferences/{made['id']}"
        here.stack.wait_until(lambda: here.stack.get(address)["done"] == 6, "6 verdicts")
        kill(worker)
        killed.set()
        here.stack.start_worker()
        here.stack.wait_until(lambda: here.stack.get(address)["status"] == "completed", "it has completed", 120)
        numbers = here.stack.get(address)["numbers"]
    assert (numbers["n"], numbers["n_tasks"], numbers["pairs"][0]["ties"]) == (20, 10, 20)
    assert len(judged) == 20
    assert judged.total() <= 20 + 3, "only what hung when the worker was killed was asked again"


@pytest.mark.parametrize("kind", BOTH)
def test_a_panel_survives_its_worker_and_no_stored_verdicts_are_asked_for_again(kind: str) -> None:
    """Two judges, each asked twice: the four verdicts on an answer are stored as one score."""
    judged: Counter[tuple[str, str]] = Counter()
    answered: Counter[str] = Counter()
    killed = threading.Event()
    tasks, slots, verdicts = 12, 4, 4

    def reply(question: Asked) -> Fault | str:
        model = question.body["model"]
        if model == "model":
            answered[question.prompt] += 1
            return "2"
        if is_trial(question):
            return VERDICT
        if not killed.is_set() and judged.total() >= 5 * verdicts:
            return FAULTS["hang"]
        judged[model, question.prompt] += 1
        return json.dumps({"reason": "because", "score": 10 if model == "judge" else 0})

    with serve(reply) as server, site(kind, served=server.url) as here:
        worker = here.stack.start_worker()
        panel = {"metrics": ["correctness"], "judge_model": "loop/judge, loop/second", "judge_repeats": 2}
        run = here.start(tasks, concurrency=slots, **panel)
        here.stack.wait_until(lambda: judged.total() >= 5 * verdicts, "the panel hangs")
        # A kill between the last verdict on an answer and its row would have that answer judged again, too.
        judges_of = Counter(prompt for (_, prompt), count in judged.items() if count == 2)
        here.wait_for(run, sum(judges == 2 for judges in judges_of.values()))
        before = here.done(run)
        kill(worker)
        killed.set()
        here.stack.start_worker()
        here.wait_for_the_end(run)
        assert here.counts()[:5] == ["completed", *[str(tasks)] * 2, "0", str(tasks)]
        printed = "import json; from benchmarks.models import Run; print(json.dumps(Run.objects.get().summary))"
        panels = json.loads(here.stack.manage("shell", "--no-imports", "-c", printed))["panels"]["correctness"]
    assert 1 <= before < tasks
    assert panels["n_answers"] == tasks
    assert {judge["judge"]: judge["mean"] for judge in panels["judges"]} == {"loop/judge": 1.0, "loop/second": 0.0}
    assert panels["same"]["n"] == tasks
    again = {prompt for (_, prompt), count in judged.items() if count > 2}
    assert len(again) <= slots, "only answers that were with the panel when the worker was killed"
    assert judged.total() <= verdicts * (tasks + slots)
    assert set(answered.values()) == {1}, "a stored answer is judged without the model"
