"""A judge that cannot be asked is an error with a reason, and holds nothing up."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from benchmarks.engine.execution.dispatch import work_on_run_once
from benchmarks.engine.execution.event_loop import ENGINE_LOOP
from benchmarks.engine.execution.model_clients import model_client
from benchmarks.engine.execution.request_pool import EngineJudge
from benchmarks.models import Outcome, ResultState, Run, RunStatus
from benchmarks.providers.base import ProviderError
from benchmarks.services.runs.control import retry_failed
from tests.loopback.faults import FAULTS, Fault
from tests.loopback.replies import Asked
from tests.loopback.server import LoopbackServer
from tests.support.factories import JUDGE, make_dataset, make_run

Endpoint = Callable[..., LoopbackServer]


def test_what_caused_a_judges_error_is_no_circle(endpoint: Endpoint) -> None:
    endpoint(api_key="right")
    with pytest.raises(ProviderError) as failed:
        ENGINE_LOOP.submit(EngineJudge(model_client(JUDGE)).ask("Judge this.")).result(timeout=10)
    seen = []
    error: BaseException | None = failed.value
    while error is not None:
        assert error not in seen
        seen.append(error)
        error = error.__cause__ or error.__context__


@pytest.mark.django_db(transaction=True)
def test_a_judge_that_refuses_every_prompt_leaves_judge_errors_and_no_score(endpoint: Endpoint) -> None:
    endpoint(lambda asked: FAULTS["bad_request_400"] if asked.body["model"] == "judge" else "2")
    run = make_run(make_dataset(3), metrics=["correctness"])
    work_on_run_once(run.pk)
    run.refresh_from_db()
    assert run.status == RunStatus.COMPLETED_WITH_ERRORS
    assert set(run.results.values_list("outcome", flat=True)) == {Outcome.JUDGE_ERROR}
    assert run.summary["metrics"]["correctness"]["mean"] is None


VERDICT = '{"score": 10, "reason": "right"}'


def worked(run: Run) -> Run:
    work_on_run_once(run.pk)
    run.refresh_from_db()
    return run


def dying_after(verdicts: int, fault: Fault) -> Callable[[Asked], Fault | str]:
    """A model that answers 2, and a judge that gives so many verdicts and then fails for good."""
    left = iter(range(verdicts))

    def reply(asked: Asked) -> Fault | str:
        if asked.body["model"] == "model":
            return "2"
        return fault if next(left, None) is None else VERDICT

    return reply


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("fault", ["server_500", "hang", "unauthorized_401", "reset_before_reply"])
def test_a_judge_that_dies_in_the_middle_costs_no_answer_and_no_time(endpoint: Endpoint, fault: str) -> None:
    server = endpoint(dying_after(10, FAULTS[fault]), first_byte=1.5)
    run = make_run(make_dataset(150), metrics=["correctness", "exact_match"], concurrency=16)
    began = time.monotonic()
    worked(run)
    assert time.monotonic() - began < 120
    assert (run.status, run.done) == (RunStatus.COMPLETED_WITH_ERRORS, 150)
    failed = run.results.filter(outcome=Outcome.JUDGE_ERROR)
    assert failed.count() == run.errors == 140
    assert not failed.filter(error_message="").exists()
    assert failed.filter(error_message__contains="was not called: ").exists()
    correctness, exact = run.summary["metrics"]["correctness"], run.summary["metrics"]["exact_match"]
    assert (correctness["n"], correctness["mean"], correctness["n_judge_error"]) == (10, 1.0, 140)
    assert exact["n"] == 150, "answers are kept, and scored by whatever needs no judge"
    asked = [body["model"] for body in server.stats.bodies]
    assert asked.count("model") == 150
    assert asked.count("judge") < 10 + (20 + 16) * 3, "the breaker spared the others: 3 attempts each, 16 in flight"
    server.script = lambda asked: VERDICT
    assert retry_failed(run) == 140
    worked(run)
    assert (run.status, run.done, run.errors) == (RunStatus.COMPLETED, 150, 0)
    assert [body["model"] for body in server.stats.bodies].count("model") == 150


@pytest.mark.django_db(transaction=True)
def test_a_judge_that_is_still_dead_ends_a_retry_as_soon(endpoint: Endpoint) -> None:
    server = endpoint(dying_after(5, FAULTS["unauthorized_401"]))
    run = worked(make_run(make_dataset(60), metrics=["correctness"], concurrency=8))
    reasons = list(run.results.order_by("pk").values_list("error_message", flat=True))
    asked = server.stats.requests
    assert retry_failed(run) == run.errors
    worked(run)
    assert (run.status, run.done, run.errors) == (RunStatus.COMPLETED_WITH_ERRORS, 60, 55)
    assert server.stats.requests - asked <= 8 + 1
    assert list(run.results.order_by("pk").values_list("error_message", flat=True)) == reasons


@pytest.mark.django_db(transaction=True)
def test_a_judge_that_never_judged_anything_fails_the_run_and_keeps_its_answers(endpoint: Endpoint) -> None:
    server = endpoint(dying_after(0, FAULTS["unauthorized_401"]), delay_ms=10)
    run = worked(make_run(make_dataset(500), metrics=["correctness"], concurrency=4))
    assert run.status == RunStatus.FAILED
    assert run.error_message.startswith("The judge loop/judge: ")
    assert "401" in run.error_message
    assert server.stats.requests < 100
    answered = run.results.exclude(transcript__actual_output=None).count()
    assert answered == [body["model"] for body in server.stats.bodies].count("model")
    assert not run.results.filter(state__in=(ResultState.ANSWERED, ResultState.JUDGING)).exists()
