"""``retry failed``: an error is replaced by a success only, whatever becomes of the retry."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import datetime, timedelta

import pytest
from django.utils import timezone

from benchmarks.dataset_format.spec import ToolUse
from benchmarks.engine.execution import dispatch, lifecycle
from benchmarks.engine.execution.dispatch import work_on_run_once
from benchmarks.engine.execution.finishing import close_if_over
from benchmarks.engine.execution.result_store import MAX_KEPT, ResultStore
from benchmarks.engine.execution.sweeper import runs_without_worker
from benchmarks.models import Lease, Outcome, Result, ResultState, Run, RunStatus, Score
from benchmarks.services.runs.control import cancel_run, resume_run, retry_failed
from tests.loopback.faults import FAULTS
from tests.loopback.replies import Asked, Reply
from tests.loopback.server import LoopbackServer
from tests.support.factories import make_dataset, make_run, make_task

pytestmark = pytest.mark.django_db(transaction=True)
Endpoint = Callable[..., LoopbackServer]


def worked(run: Run) -> Run:
    work_on_run_once(run.pk)
    run.refresh_from_db()
    return run


def counters(run: Run) -> tuple[str, int, int]:
    run.refresh_from_db()
    return run.status, run.done, run.errors


def with_one_error(endpoint: Endpoint, fault: str = "bad_request_400") -> tuple[LoopbackServer, Run, Result]:
    """A run of two tasks of which the second failed."""
    server = endpoint(lambda asked: FAULTS[fault] if asked.prompt == "broken" else "2")
    run = worked(make_run(make_dataset([make_task(1), make_task(2, input="broken", expected_output="2")])))
    assert counters(run) == (RunStatus.COMPLETED_WITH_ERRORS, 2, 1)
    return server, run, run.results.get(state=ResultState.ERROR)


def test_an_error_that_fails_again_stays_and_says_that_it_was_tried(endpoint: Endpoint) -> None:
    server, run, failed = with_one_error(endpoint)
    first_attempts = failed.transcript.attempts
    server.script = lambda asked: FAULTS["forbidden_403"]
    before = timezone.now()
    assert retry_failed(run) == 1
    worked(run)
    again = run.results.get(pk=failed.pk)
    for name in ("state", "outcome", "error_kind", "error_message", "finished_at", "cost_usd"):
        assert getattr(again, name) == getattr(failed, name), name
    assert again.error_kind == "bad_request"
    *kept, last = again.transcript.attempts
    assert kept == first_attempts
    assert (last["error_kind"], last["status"]) == ("auth", 403)
    assert last["message"]
    assert datetime.fromisoformat(last["retried_at"]) >= before
    assert again.attempts == 2
    assert (run.done, run.errors) == (2, 1)


def test_a_retry_that_succeeds_replaces_the_error_and_keeps_its_attempts(endpoint: Endpoint) -> None:
    server, run, failed = with_one_error(endpoint)
    server.script = lambda asked: "2"
    retry_failed(run)
    assert counters(worked(run)) == (RunStatus.COMPLETED, 2, 0)
    mended = run.results.get(pk=failed.pk)
    assert (mended.outcome, mended.error_kind, mended.error_message) == (Outcome.CORRECT, "", "")
    assert [attempt["error_kind"] for attempt in mended.transcript.attempts] == ["bad_request", None]
    assert mended.attempts == 2
    assert run.summary["metrics"]["exact_match"]["n"] == 2


def test_a_retry_that_could_not_even_be_put_leaves_the_error(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, run, failed = with_one_error(endpoint)
    retry_failed(run)

    def broken(*_: object) -> None:
        raise LookupError("no such representation")

    monkeypatch.setattr("benchmarks.engine.execution.prompts.PromptBuilder.prompt", broken)
    assert counters(worked(run)) == (RunStatus.COMPLETED_WITH_ERRORS, 2, 1)
    again = run.results.get(pk=failed.pk)
    assert again.error_message == failed.error_message
    assert "no such representation" in again.transcript.attempts[-1]["message"]


def test_a_worker_that_dies_on_a_retry_does_not_lose_the_error(endpoint: Endpoint) -> None:
    _, run, failed = with_one_error(endpoint)
    retry_failed(run)
    lease = dispatch.lease_run(run.pk)
    assert lease is not None
    assert ResultStore(run, lease, []).claim(ResultState.PENDING, 10) == [failed.pk]
    host = lease.worker.split(":")[0]
    Lease.objects.update(worker=f"{host}:4194305:gone", heartbeat_at=timezone.now() - timedelta(seconds=10))
    claimed = run.results.get(pk=failed.pk)
    assert (claimed.outcome, claimed.error_message) == (failed.outcome, failed.error_message)
    assert runs_without_worker() == [run.pk]
    lifecycle.fail(run.pk, "for a test")
    close_if_over(run.pk)
    kept = run.results.get(pk=failed.pk)
    assert (kept.state, kept.outcome, kept.error_message) == (ResultState.ERROR, failed.outcome, failed.error_message)
    assert counters(run) == (RunStatus.FAILED, 2, 1)


def test_a_retry_that_is_cancelled_leaves_the_errors_it_did_not_come_to(endpoint: Endpoint) -> None:
    _, run, failed = with_one_error(endpoint)
    retry_failed(run)
    cancel_run(run)
    assert counters(run) == (RunStatus.CANCELLED, 2, 1)
    kept = run.results.get(pk=failed.pk)
    assert (kept.state, kept.outcome, kept.error_message) == (ResultState.ERROR, failed.outcome, failed.error_message)
    assert resume_run(run) == 0
    assert counters(worked(run)) == (RunStatus.COMPLETED_WITH_ERRORS, 2, 1)


def test_a_breaker_that_ends_a_retry_leaves_the_errors(endpoint: Endpoint) -> None:
    server, run, failed = with_one_error(endpoint)
    server.api_key = "another"
    retry_failed(run)
    assert counters(worked(run)) == (RunStatus.FAILED, 2, 1)
    assert "401" in run.error_message
    assert run.results.get(pk=failed.pk).error_message == failed.error_message


def test_what_is_kept_of_many_retries_is_bounded(endpoint: Endpoint) -> None:
    _, run, failed = with_one_error(endpoint)
    failed.transcript.attempts *= MAX_KEPT
    failed.transcript.save()
    retry_failed(run)
    worked(run)
    kept = run.results.get(pk=failed.pk)
    assert len(kept.transcript.attempts) == kept.attempts == MAX_KEPT
    assert "retried_at" in kept.transcript.attempts[-1]


def judged_by(reply: Reply | str) -> Callable[[Asked], Reply | str]:
    return lambda asked: reply if asked.body["model"] == "judge" else "2"


def test_a_judge_error_that_fails_again_stays_and_says_that_it_was_tried(endpoint: Endpoint) -> None:
    server = endpoint(judged_by("first nonsense"))
    run = worked(make_run(make_dataset(1), metrics=["correctness", "exact_match"]))
    failed = run.results.get()
    first: Score = failed.scores.get(metric="correctness")
    server.script = judged_by("second nonsense")
    retry_failed(run)
    worked(run)
    again = run.results.get()
    kept: Score = again.scores.get(metric="correctness")
    assert (again.outcome, again.error_message) == (Outcome.JUDGE_ERROR, failed.error_message)
    assert (kept.status, kept.reason, kept.judge) == (first.status, first.reason, first.judge)
    (retry,) = kept.detail["retries"]
    assert "second nonsense" in retry["reason"]
    assert datetime.fromisoformat(retry["retried_at"]) <= timezone.now()
    assert again.scores.get(metric="exact_match").value == 1.0
    assert (run.done, run.errors) == (1, 1)
    assert run.judge_cost_usd == pytest.approx(again.judge_cost_usd)
    bodies = server.stats.bodies
    asked_in = sum(max(1, len(body["messages"][0]["content"]) // 4) for body in bodies if body["model"] == "judge")
    assert run.judge_tokens_in == asked_in, "both judgings are paid for"
    server.script = judged_by('{"score": 10, "reason": "right"}')
    retry_failed(run)
    assert counters(worked(run)) == (RunStatus.COMPLETED, 1, 0)
    mended: Score = run.results.get().scores.get(metric="correctness")
    assert (mended.value, mended.detail) == (1.0, {})
    assert [body["model"] for body in bodies].count("model") == 1


def test_of_two_failed_verdicts_the_one_that_succeeds_is_kept(endpoint: Endpoint) -> None:
    def judge(asked: Asked) -> str:
        if asked.body["model"] == "model":
            return "2"
        return '{"score": 10, "reason": "right"}' if understands in asked.prompt else "nonsense"

    understands = "a prompt that is never sent"
    server = endpoint(judge)
    task = make_task(1, expected_tools=(ToolUse(name="look_up", args={}),))
    run = worked(make_run(make_dataset([task]), metrics=["correctness", "tool_correctness"]))
    statuses = dict(run.results.get().scores.values_list("metric", "status"))
    assert statuses == {"correctness": "judge_error", "tool_correctness": "judge_error"}
    understands = "look_up"
    retry_failed(run)
    assert counters(worked(run)) == (RunStatus.COMPLETED_WITH_ERRORS, 1, 1)
    scores = {score.metric: score for score in run.results.get().scores.all()}
    assert (scores["correctness"].status, scores["tool_correctness"].value) == ("judge_error", 1.0)
    assert len(scores["correctness"].detail["retries"]) == 1
    asked = server.stats.requests
    understands = ""
    retry_failed(run)
    assert counters(worked(run)) == (RunStatus.COMPLETED, 1, 0)
    assert server.stats.requests == asked + 1, "the verdict that was there is not asked for again"


def test_cancelling_a_retry_of_the_judge_keeps_its_error(endpoint: Endpoint) -> None:
    server = endpoint(judged_by("nonsense"))
    run = worked(make_run(make_dataset(3), metrics=["correctness"]))
    reasons = list(run.results.order_by("pk").values_list("error_message", flat=True))
    server.delay_ms = 200
    retry_failed(run)
    asked = server.stats.requests
    worker = threading.Thread(target=work_on_run_once, args=(run.pk,))
    worker.start()
    while server.stats.requests == asked and worker.is_alive():
        worker.join(0.01)
    cancel_run(run)
    worker.join(30)
    assert not worker.is_alive()
    close_if_over(run.pk)
    assert counters(run) == (RunStatus.CANCELLED, 3, 3)
    assert list(run.results.order_by("pk").values_list("error_message", flat=True)) == reasons
