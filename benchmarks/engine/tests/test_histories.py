"""Random histories of a run: whatever is done to it in whatever order, it stays consistent and can go on."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from benchmarks.engine.execution.finishing import close_if_over
from benchmarks.engine.execution.result_store import ResultStore
from benchmarks.engine.execution.sweeper import runs_without_worker
from benchmarks.models import COMPLETED, LIVE, Outcome, ResultState, Run, RunStatus
from benchmarks.presentation.actions import allowed_actions
from benchmarks.services.runs.control import cancel_run, raise_budget, resume_run, retry_failed
from tests.loopback.faults import FAULTS, Fault
from tests.loopback.replies import Asked
from tests.loopback.server import LoopbackServer
from tests.support.factories import make_dataset, make_run
from tests.support.running import VERDICT, Endpoint, leased, orphan, wait_while, worked, working

pytestmark = pytest.mark.django_db(transaction=True)

TASKS = 30
FINISHED = (ResultState.DONE, ResultState.ERROR)


def faulty(chance: random.Random, answered: list[str]) -> Callable[[Asked], str | Fault]:
    """A model and a judge that fail at random. ``answered`` collects the questions that the model answered."""

    def reply(asked: Asked) -> str | Fault:
        if chance.random() < 0.25:
            return FAULTS["bad_request_400"]
        if asked.body["model"] == "judge":
            return VERDICT
        answered.append(asked.prompt)
        return "2"

    return reply


def work_partly(run: Run, server: LoopbackServer, requests: int) -> None:
    """Cancel the run after some more requests."""
    stop_at = server.stats.requests + requests
    with working(run) as (worker,):
        wait_while(lambda: server.stats.requests < stop_at, worker)
        run.refresh_from_db()
        if "cancel" in allowed_actions(run):
            cancel_run(run)


def die_with_claims(run: Run, chance: random.Random) -> None:
    """A worker claims results and is never heard of again; a sweep gives them back."""
    lease = leased(run, preparing=run.status != RunStatus.RUNNING)
    if run.status == RunStatus.RUNNING:
        ResultStore(run, lease, []).claim(ResultState.PENDING, chance.randint(1, 9))
    orphan(lease)
    runs_without_worker()


@pytest.mark.parametrize("seed", range(20))
def test_every_task_is_asked_once_or_said_to_be_unasked(endpoint: Endpoint, seed: int) -> None:
    chance, answered = random.Random(seed), []
    server = endpoint(faulty(chance, answered))
    budget = {"budget_usd": 0.0012, "max_tokens": 16} if seed % 4 == 0 else {}
    run = make_run(make_dataset(TASKS), metrics=["exact_match", "correctness"], concurrency=4, **budget)

    for _ in range(12):
        run.refresh_from_db()
        allowed = allowed_actions(run)
        steps = [name for name in ("resume", "retry", "budget") if name in allowed]
        steps += ["work", "work_partly", "die"] if run.status in LIVE else []
        step = chance.choice([*steps, "close"])
        match step:
            case "resume":
                resume_run(run)
            case "retry":
                retry_failed(run)
            case "budget":
                raise_budget(run, (run.budget_usd or 0) + chance.choice((0.0005, 1)))
            case "work":
                worked(run)
            case "work_partly":
                work_partly(run, server, chance.randint(1, 25))
            case "die":
                die_with_claims(run, chance)
            case "close":
                close_if_over(run.pk)
        run.refresh_from_db()
        check(run, answered, step)


def check(run: Run, answered: list[str], step: str) -> None:
    """What must be true of a run after every step."""
    results = run.results
    unasked = results.filter(outcome=Outcome.CANCELLED).count()
    errors = results.filter(state=ResultState.ERROR).exclude(outcome=Outcome.CANCELLED).count()
    state = (step, run.status, run.done, run.errors, unasked)
    assert len(answered) == len(set(answered)), f"{state}: an answered question was asked again"
    assert {"resume", "retry", "cancel", "delete"} & allowed_actions(run).keys(), state
    assert run.done == results.filter(state__in=FINISHED).count() - unasked, state
    assert run.errors == errors, state
    assert run.unasked == unasked, state
    if run.status in COMPLETED:
        assert (run.done, unasked) == (TASKS, 0), state
        assert (run.status == RunStatus.COMPLETED_WITH_ERRORS) is (errors > 0), state
    if run.status in (RunStatus.CANCELLED, RunStatus.FAILED) and run.total:
        assert run.done + unasked == TASKS, state
        assert unasked == 0 or "resume" in allowed_actions(run), state


def test_retrying_the_errors_of_a_stopped_run_does_not_complete_it(endpoint: Endpoint) -> None:
    server = endpoint(lambda asked: FAULTS["bad_request_400"] if "7" in asked.prompt else "2", delay_ms=20)
    run = make_run(make_dataset(100), concurrency=4)
    with working(run) as (worker,):
        wait_while(lambda: server.stats.answered < 40, worker)
        cancel_run(run)
    unasked = run.unasked
    assert unasked > 0 < run.errors
    server.script, server.delay_ms = (lambda asked: "2"), 0
    retry_failed(run)
    assert worked(run).status == RunStatus.CANCELLED
    assert (run.errors, run.unasked, run.done) == (0, unasked, 100 - unasked)
    assert run.error_message == f"{unasked} results not asked or judged yet. Resume the run to finish it."
    assert resume_run(run) == unasked
    assert (worked(run).status, run.done, run.unasked) == (RunStatus.COMPLETED, 100, 0)
