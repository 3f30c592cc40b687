"""``retry failed``: an error is replaced by a success only, whatever becomes of the retry."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from django.db.models import F
from django.utils import timezone

from benchmarks.engine.execution import finishing, lifecycle
from benchmarks.engine.execution.finishing import close_if_over
from benchmarks.engine.execution.result_store import MAX_KEPT, ResultStore
from benchmarks.engine.execution.sweeper import runs_without_worker
from benchmarks.models import Outcome, Result, ResultState, Run, RunStatus, Score
from benchmarks.services.errors import NotPossible
from benchmarks.services.runs.control import cancel_run, resume_run, retry_failed
from tests.loopback.faults import FAULTS
from tests.loopback.replies import Asked
from tests.loopback.server import LoopbackServer
from tests.support.factories import make_dataset, make_run, make_task
from tests.support.running import (
    VERDICT,
    Endpoint,
    judge_prompts,
    judged_by,
    leased,
    model_requests,
    orphan,
    wait_while,
    worked,
    working,
)

pytestmark = pytest.mark.django_db(transaction=True)


def counters(run: Run) -> tuple[str, int, int]:
    run.refresh_from_db()
    return run.status, run.done, run.errors


def with_one_error(endpoint: Endpoint, fault: str = "bad_request_400") -> tuple[LoopbackServer, Run, Result]:
    """A run of two tasks of which the second failed."""
    server = endpoint(lambda asked: FAULTS[fault] if asked.prompt == "broken" else "2")
    run = worked(make_run(make_dataset([make_task(1), make_task(2, input="broken", expected_output="2")])))
    assert counters(run) == (RunStatus.COMPLETED_WITH_ERRORS, 2, 1)
    return server, run, run.results.get(state=ResultState.ERROR)


def test_an_error_that_fails_again_stays_and_records_the_retry(endpoint: Endpoint) -> None:
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
    assert (last["error_kind"], last["status"]) == ("authentication", 403)
    assert last["message"]
    assert datetime.fromisoformat(last["retried_at"]) >= before
    assert again.attempts == 2
    assert (run.done, run.errors) == (2, 1)


def test_a_retry_that_succeeds_replaces_the_error_and_keeps_its_attempts(endpoint: Endpoint) -> None:
    server, run, failed = with_one_error(endpoint)
    with pytest.raises(NotPossible):
        retry_failed(make_run(run.dataset))
    server.script = lambda asked: "2"
    Run.objects.filter(pk=run.pk).update(total=F("total") + 5, done=F("done") + 5)
    assert retry_failed(run) == 1
    assert counters(run)[1:] == (6, 0), "counts start from what is stored, not from what was read before"
    Run.objects.filter(pk=run.pk).update(total=F("total") - 5, done=F("done") - 5)
    assert counters(worked(run)) == (RunStatus.COMPLETED, 2, 0)
    assert server.stats.times_asked["What is 1 + 1?"] == 1, "only what failed is sent again"
    retried = run.results.get(pk=failed.pk)
    assert (retried.outcome, retried.error_kind, retried.error_message) == (Outcome.CORRECT, "", "")
    assert [attempt["error_kind"] for attempt in retried.transcript.attempts] == ["bad_request", None]
    assert retried.attempts == 2
    assert run.summary["metrics"]["exact_match"]["n"] == 2


def test_a_retry_that_could_not_be_sent_leaves_the_error(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
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
    lease = leased(run)
    assert ResultStore(run, lease, []).claim(ResultState.PENDING, 10) == [failed.pk]
    orphan(lease)
    claimed = run.results.get(pk=failed.pk)
    assert (claimed.outcome, claimed.error_message) == (failed.outcome, failed.error_message)
    assert runs_without_worker() == [run.pk]
    lifecycle.fail(run.pk, "for a test")
    close_if_over(run.pk)
    kept = run.results.get(pk=failed.pk)
    assert (kept.state, kept.outcome, kept.error_message) == (ResultState.ERROR, failed.outcome, failed.error_message)
    assert counters(run) == (RunStatus.FAILED, 2, 1)


def test_a_canceled_retry_leaves_the_errors_it_did_not_reach(endpoint: Endpoint) -> None:
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


def test_a_judge_error_that_fails_again_stays_and_records_the_retry(endpoint: Endpoint) -> None:
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
    tokens_in = sum(max(1, len(prompt) // 4) for prompt in judge_prompts(server))
    assert run.judge_tokens_in == tokens_in, "both judgings are paid for"
    server.script = judged_by(VERDICT)
    retry_failed(run)
    assert counters(worked(run)) == (RunStatus.COMPLETED, 1, 0)
    retried: Score = run.results.get().scores.get(metric="correctness")
    assert (retried.value, retried.detail) == (1.0, {})
    assert model_requests(server) == 1


def test_of_two_failed_verdicts_the_one_that_succeeds_is_kept(endpoint: Endpoint) -> None:
    def judge(asked: Asked) -> str:
        if asked.body["model"] == "model":
            return "2"
        if understands != "relevancy":
            return VERDICT if understands else "nonsense"
        # What answers the two calls of answer_relevancy is nonsense to correctness.
        is_first_call = '"statements"' in asked.prompt and '"verdicts"' not in asked.prompt
        return '{"statements": ["2"]}' if is_first_call else '{"verdicts": [{"verdict": "yes", "reason": ""}]}'

    understands = ""
    server = endpoint(judge)
    run = worked(make_run(make_dataset(1), metrics=["correctness", "answer_relevancy"]))
    statuses = dict(run.results.get().scores.values_list("metric", "status"))
    assert statuses == {"correctness": "judge_error", "answer_relevancy": "judge_error"}
    understands = "relevancy"
    retry_failed(run)
    assert counters(worked(run)) == (RunStatus.COMPLETED_WITH_ERRORS, 1, 1)
    scores = {score.metric: score for score in run.results.get().scores.all()}
    assert (scores["correctness"].status, scores["answer_relevancy"].value) == ("judge_error", 1.0)
    assert len(scores["correctness"].detail["retries"]) == 1
    requests = server.stats.requests
    understands = "correctness"
    retry_failed(run)
    assert counters(worked(run)) == (RunStatus.COMPLETED, 1, 0)
    assert server.stats.requests == requests + 1, "the verdict that is there is not requested again"


def test_canceling_a_retry_of_the_judge_keeps_its_error(endpoint: Endpoint) -> None:
    server = endpoint(judged_by("nonsense"))
    run = worked(make_run(make_dataset(3), metrics=["correctness"]))
    reasons = list(run.results.order_by("pk").values_list("error_message", flat=True))
    server.delay_ms = 200
    retry_failed(run)
    requests = server.stats.requests
    with working(run) as (worker,):
        wait_while(lambda: server.stats.requests == requests, worker)
        cancel_run(run)
    close_if_over(run.pk)
    assert counters(run) == (RunStatus.CANCELLED, 3, 3)
    assert list(run.results.order_by("pk").values_list("error_message", flat=True)) == reasons


def test_the_time_before_a_retry_does_not_count_as_duration(endpoint: Endpoint) -> None:
    server, run, _ = with_one_error(endpoint)
    assert run.active_since is None
    first = run.duration_seconds
    assert 0 < first < 60
    hour_ago = timezone.now() - timedelta(hours=1)
    Run.objects.filter(pk=run.pk).update(started_at=hour_ago, completed_at=hour_ago)
    server.script = lambda asked: "2"
    retry_failed(run)
    run.refresh_from_db()
    assert run.active_since is not None
    assert first <= run.duration_seconds < first + 60
    worked(run)
    run.refresh_from_db()
    assert first < run.duration_seconds < first + 60


def test_a_pause_does_not_count_as_duration(endpoint: Endpoint) -> None:
    endpoint()
    run = make_run()
    assert run.duration_seconds is None
    for change in (lifecycle.begin_preparing, lifecycle.begin_running):
        assert change(run.pk)
    Run.objects.filter(pk=run.pk).update(active_since=timezone.now() - timedelta(minutes=10))
    lifecycle.pause(run.pk, "The budget is spent.")
    run.refresh_from_db()
    assert run.active_since is None
    assert run.duration_seconds == pytest.approx(600, abs=30)
    resume_run(run)
    assert lifecycle.cancel(run.pk)
    run.refresh_from_db()
    assert run.duration_seconds == pytest.approx(600, abs=30)


def test_a_worker_that_is_slow_to_finish_a_run_does_not_end_it_once_it_was_retried(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, run, result = with_one_error(endpoint)
    Run.objects.filter(pk=run.pk).update(status=RunStatus.RUNNING)

    def another_worker_is_faster(finished: Run) -> datetime:
        monkeypatch.undo()
        assert close_if_over(finished.pk)
        retry_failed(Run.objects.get(pk=finished.pk))
        return timezone.now()

    monkeypatch.setattr(finishing, "refresh_summaries", another_worker_is_faster)
    assert not close_if_over(run.pk)
    assert counters(run) == (RunStatus.RUNNING, 1, 0)
    assert worked(run).status == RunStatus.COMPLETED_WITH_ERRORS
    result.refresh_from_db()
    assert result.state == ResultState.ERROR
