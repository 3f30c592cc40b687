"""A judge that cannot be called gives errors with a reason, costs no answer and delays nothing."""

from __future__ import annotations

import time

import pytest

from benchmarks.engine.execution.event_loop import ENGINE_LOOP
from benchmarks.engine.execution.judge import EngineJudge, JudgeParameters
from benchmarks.engine.execution.model_clients import model_client
from benchmarks.models import Outcome, Result, ResultState, RunStatus, Score
from benchmarks.providers.base import ProviderError
from benchmarks.services.runs.control import retry_failed
from tests.loopback.faults import FAULTS, Fault
from tests.loopback.replies import Asked
from tests.support.factories import JUDGE, make_dataset, make_run
from tests.support.running import VERDICT, Endpoint, Script, judged_by, model_requests, relevant, worked


def failing_after(verdicts: int, fault: Fault) -> Script:
    """A model that answers 2, and a judge that returns ``verdicts`` verdicts and then fails for good."""
    left = iter(range(verdicts))

    def reply(asked: Asked) -> Fault | str:
        if asked.body["model"] == "model":
            return "2"
        return fault if next(left, None) is None else VERDICT

    return reply


def test_the_causes_of_a_judges_error_form_no_circle(endpoint: Endpoint) -> None:
    endpoint(api_key="right")
    parameters = JudgeParameters(0.0, 100, "json_schema", {})
    with pytest.raises(ProviderError) as failed:
        ENGINE_LOOP.submit(EngineJudge(model_client(JUDGE), parameters).ask("Judge this.")).result(timeout=10)
    seen = []
    error: BaseException | None = failed.value
    while error is not None:
        assert error not in seen
        seen.append(error)
        error = error.__cause__ or error.__context__


@pytest.mark.django_db(transaction=True)
def test_a_judged_metric_scores_and_counts_its_own_cost(endpoint: Endpoint) -> None:
    endpoint(judged_by('{"score": 9, "reason": "because"}'))
    run = worked(make_run(make_dataset(3), metrics=["correctness", "exact_match"]))
    assert run.status == RunStatus.COMPLETED
    assert run.summary["metrics"]["correctness"]["mean"] == pytest.approx(0.9)
    assert (run.judge_tokens_in or 0) > 0
    assert (run.judge_cost_usd or 0) > 0
    moments = [run.started_at, run.progressed_at, run.completed_at]
    assert moments == sorted(filter(None, moments))
    score = Result.objects.filter(run=run).earliest("position").scores.get(metric="correctness")
    assert score.reason == "because"
    assert "What is 1 + 1?" in score.judge["prompt"]


@pytest.mark.django_db(transaction=True)
def test_a_judge_without_a_verdict_gives_errors_that_retrying_judges_without_the_model(endpoint: Endpoint) -> None:
    server = endpoint()
    for reply in ("no json", FAULTS["bad_request_400"]):
        server.script, before = judged_by(reply), model_requests(server)
        run = worked(make_run(make_dataset(3), metrics=["correctness"]))
        assert run.status == RunStatus.COMPLETED_WITH_ERRORS, reply
        assert set(run.results.values_list("outcome", flat=True)) == {Outcome.JUDGE_ERROR}, reply
        correctness = run.summary["metrics"]["correctness"]
        assert (correctness["mean"], correctness["n_judge_error"]) == (None, 3), reply
        server.script = judged_by(VERDICT)
        assert retry_failed(run) == 3
        worked(run)
        assert (run.status, run.done, run.errors) == (RunStatus.COMPLETED, 3, 0), reply
        assert run.summary["metrics"]["correctness"]["mean"] == 1.0, reply
        assert model_requests(server) == before + 3, reply


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("fault", ["server_500", "hang", "unauthorized_401", "reset_before_reply"])
def test_a_judge_that_fails_in_the_middle_costs_no_answer_and_no_time(endpoint: Endpoint, fault: str) -> None:
    server = endpoint(failing_after(10, FAULTS[fault]), first_byte=0.6 if fault == "hang" else 30.0)
    run = make_run(make_dataset(100), metrics=["correctness", "exact_match"], concurrency=16)
    began = time.monotonic()
    worked(run)
    assert time.monotonic() - began < 60
    assert (run.status, run.done) == (RunStatus.COMPLETED_WITH_ERRORS, 100)
    failed = run.results.filter(outcome=Outcome.JUDGE_ERROR)
    assert failed.count() == run.errors == 90
    assert not failed.filter(error_message="").exists()
    assert failed.filter(error_message__contains="was not called: ").exists()
    correctness, exact = run.summary["metrics"]["correctness"], run.summary["metrics"]["exact_match"]
    assert (correctness["n"], correctness["mean"], correctness["n_judge_error"]) == (10, 1.0, 90)
    assert exact["n"] == 100, "answers are kept, and scored by whatever needs no judge"
    assert model_requests(server) == 100
    judge_requests = server.stats.requests - 100
    assert judge_requests < 10 + (20 + 16) * 3, "the breaker spared the others: 3 attempts each, 16 in flight"
    server.script = judged_by(VERDICT)
    assert retry_failed(run) == 90
    worked(run)
    assert (run.status, run.done, run.errors) == (RunStatus.COMPLETED, 100, 0)
    assert model_requests(server) == 100


@pytest.mark.django_db(transaction=True)
def test_a_judge_that_still_fails_ends_a_retry_as_soon(endpoint: Endpoint) -> None:
    server = endpoint(failing_after(5, FAULTS["unauthorized_401"]))
    run = worked(make_run(make_dataset(60), metrics=["correctness"], concurrency=8))
    reasons = list(run.results.order_by("pk").values_list("error_message", flat=True))
    requests = server.stats.requests
    assert retry_failed(run) == run.errors
    worked(run)
    assert (run.status, run.done, run.errors) == (RunStatus.COMPLETED_WITH_ERRORS, 60, 55)
    assert server.stats.requests - requests <= 8 + 1
    assert list(run.results.order_by("pk").values_list("error_message", flat=True)) == reasons


@pytest.mark.django_db(transaction=True)
def test_a_judge_that_never_judged_anything_fails_the_run_and_keeps_its_answers(endpoint: Endpoint) -> None:
    server = endpoint(failing_after(0, FAULTS["unauthorized_401"]), delay_ms=10)
    run = worked(make_run(make_dataset(300), metrics=["correctness"], concurrency=4))
    assert run.status == RunStatus.FAILED
    assert run.error_message.startswith("The judge loop/judge failed. ")
    assert "401" in run.error_message
    assert server.stats.requests < 100
    assert run.results.exclude(transcript__actual_output=None).count() == model_requests(server)
    assert not run.results.filter(state__in=(ResultState.ANSWERED, ResultState.JUDGING)).exists()


@pytest.mark.django_db(transaction=True)
def test_two_verdicts_that_fail_again_keep_their_first_errors(endpoint: Endpoint) -> None:
    server = endpoint(judged_by("no json"))
    run = worked(make_run(make_dataset(2), metrics=["correctness", "answer_relevancy"]))
    before = list(run.results.order_by("pk").values("error_kind", "error_message"))
    server.script = judged_by(FAULTS["bad_request_400"])
    assert retry_failed(run) == 2
    worked(run)
    assert list(run.results.order_by("pk").values("error_kind", "error_message")) == before
    for score in Score.objects.filter(run=run):
        (again,) = score.detail["retries"]
        assert again["reason"] != score.reason
    server.script = lambda asked: "2" if asked.body["model"] == "model" else _right(asked)
    assert retry_failed(run) == 2
    worked(run)
    assert (run.status, run.done, run.errors) == (RunStatus.COMPLETED, 2, 0)
    spent = sum(result.judge_cost_usd or 0.0 for result in run.results.all())
    assert run.judge_cost_usd == pytest.approx(spent)


def _right(asked: Asked) -> str:
    return VERDICT if "REFERENCE" in asked.prompt else relevant(asked)
