"""What was paid for is counted and kept: verdicts of a judging that is broken off, and tokens nobody reported."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable

import pytest
from django.db import connection

from benchmarks.engine.execution import executor
from benchmarks.engine.execution.dispatch import work_on_run_once
from benchmarks.models import Outcome, ResultState, Run, RunStatus
from benchmarks.services.runs.control import cancel_run, raise_budget, resume_run, retry_failed
from tests.loopback.faults import FAULTS, Fault
from tests.loopback.replies import Asked, Reply
from tests.loopback.server import LoopbackServer
from tests.support.factories import make_dataset, make_run, make_task

pytestmark = pytest.mark.django_db(transaction=True)
Endpoint = Callable[..., LoopbackServer]
VERDICT = '{"score": 10, "reason": "right"}'


def worked(run: Run) -> Run:
    work_on_run_once(run.pk)
    run.refresh_from_db()
    return run


def judge_requests(server: LoopbackServer) -> list[str]:
    return [body["messages"][0]["content"] for body in server.stats.bodies if body["model"] == "judge"]


def price_of(prompts: list[str], replies: int) -> float:
    """US dollars for so many prompts and verdicts, by the loopback endpoint's own counting of tokens."""
    tokens_in = sum(max(1, len(prompt) // 4) for prompt in prompts)
    return (tokens_in + 2 * replies * (len(VERDICT) // 4)) / 1e6


def relevant(asked: Asked) -> str:
    """A judge's replies on the relevancy of an answer, by what it is asked for."""
    replies = {
        "statements": {"statements": ["It is 2."]},
        "verdicts": {"verdicts": [{"verdict": "yes", "reason": None}]},
        "reason": {"reason": "to the point"},
    }
    wanted = asked.body["response_format"]["json_schema"]["schema"]["properties"]
    return json.dumps(next(reply for name, reply in replies.items() if name in wanted))


@pytest.fixture
def relevancy_hangs(endpoint: Endpoint) -> LoopbackServer:
    """A judge that gives a verdict on correctness and stays silent on the relevancy of an answer."""

    def reply(asked: Asked) -> Fault | str | None:
        if asked.body["model"] == "model":
            return "2"
        if "REFERENCE" in asked.prompt:
            return VERDICT
        return FAULTS["hang"]

    return endpoint(reply)


def test_cancelling_between_two_judged_metrics_keeps_the_first_verdict(
    relevancy_hangs: LoopbackServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(executor, "GRACE_SECONDS", 0.1)
    server = relevancy_hangs
    run = make_run(make_dataset(1), metrics=["correctness", "answer_relevancy"])
    worker = threading.Thread(target=work_on_run_once, args=(run.pk,))
    worker.start()
    while len(judge_requests(server)) < 2 and worker.is_alive():
        worker.join(0.01)
    cancel_run(run)
    worker.join(30)
    assert not worker.is_alive()
    run.refresh_from_db()
    result = run.results.get()
    assert (run.status, result.outcome, result.error_kind) == (RunStatus.CANCELLED, Outcome.CANCELLED, "unjudged")
    kept = result.scores.get()
    assert (kept.metric, kept.value, kept.reason) == ("correctness", 1.0, "right")
    spent = price_of(judge_requests(server)[:1], replies=1)
    assert run.judge_cost_usd == pytest.approx(spent)
    assert result.judge_cost_usd == pytest.approx(spent)
    server.script = relevant
    assert resume_run(run) == 1
    worked(run)
    assert run.status == RunStatus.COMPLETED, run.error_message
    assert run.results.get().scores.get(metric="correctness").pk == kept.pk
    assert sum("REFERENCE" in prompt for prompt in judge_requests(server)) == 1, "its verdict is not paid twice"
    assert run.judge_cost_usd == pytest.approx(run.results.get().judge_cost_usd)
    assert run.results.get().judge_cost_usd > spent


def test_replies_for_a_verdict_that_is_broken_off_are_counted(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(executor, "GRACE_SECONDS", 0.1)

    def reply(asked: Asked) -> Fault | str | None:
        if asked.body["model"] == "model":
            return "2"
        return "nonsense" if len(judge_requests(server)) == 1 else FAULTS["hang"]

    server = endpoint(reply)
    run = make_run(make_dataset(1), metrics=["correctness"])
    worker = threading.Thread(target=work_on_run_once, args=(run.pk,))
    worker.start()
    while len(judge_requests(server)) < 2 and worker.is_alive():
        worker.join(0.01)
    cancel_run(run)
    worker.join(30)
    run.refresh_from_db()
    result = run.results.get()
    assert not result.scores.exists()
    assert run.judge_tokens_in == max(1, len(judge_requests(server)[0]) // 4)
    assert run.judge_cost_usd == result.judge_cost_usd
    assert (result.judge_cost_usd or 0) > 0


def test_a_budget_that_is_used_up_stops_judging_too_and_a_higher_one_goes_on(endpoint: Endpoint) -> None:
    server = endpoint(lambda asked: "2" if asked.body["model"] == "model" else "nonsense")
    run = worked(make_run(make_dataset(3), metrics=["correctness"], budget_usd=10.0, max_tokens=10))
    assert run.errors == 3
    server.script = lambda asked: VERDICT
    spent = (run.cost_usd or 0) + (run.judge_cost_usd or 0)
    Run.objects.filter(pk=run.pk).update(budget_usd=spent)
    assert retry_failed(run) == 3
    asked = server.stats.requests
    worked(run)
    assert run.status == RunStatus.PAUSED
    assert "budget" in run.error_message
    assert server.stats.requests == asked
    assert run.reserved_usd == 0
    assert set(run.results.values_list("state", flat=True)) == {ResultState.ANSWERED}
    raise_budget(run, 10.0)
    worked(run)
    assert (run.status, run.done, run.errors) == (RunStatus.COMPLETED, 3, 0)
    assert run.reserved_usd == pytest.approx(0, abs=1e-12)


def test_judging_again_never_reserves_less_than_nothing(endpoint: Endpoint) -> None:
    server = endpoint(lambda asked: "2" if asked.body["model"] == "model" else "nonsense")
    run = worked(make_run(make_dataset(3), metrics=["correctness"], budget_usd=10.0, max_tokens=10))
    server.script = lambda asked: VERDICT
    retry_failed(run)
    reserved: list[float] = []

    def watch() -> None:
        while worker.is_alive():
            reserved.append(Run.objects.get(pk=run.pk).reserved_usd)
        connection.close()

    worker = threading.Thread(target=work_on_run_once, args=(run.pk,))
    watcher = threading.Thread(target=watch)
    worker.start()
    watcher.start()
    worker.join(60)
    watcher.join(60)
    assert min(reserved) >= 0
    assert worked(run).status == RunStatus.COMPLETED


def unreported(text: str) -> Reply:
    return Reply(text, reports_usage=False)


def test_what_a_judge_does_not_report_is_unknown_and_not_nothing(endpoint: Endpoint) -> None:
    endpoint(lambda asked: "2" if asked.body["model"] == "model" else unreported(VERDICT))
    run = worked(make_run(make_dataset(2), metrics=["correctness"]))
    assert run.status == RunStatus.COMPLETED
    assert (run.judge_tokens_in, run.judge_tokens_out, run.judge_cost_usd) == (None, None, None)
    assert set(run.results.values_list("judge_cost_usd", flat=True)) == {None}
    assert run.results.first().scores.get().judge["tokens_in"] is None
    assert (run.cost_usd or 0) > 0
    assert (run.tokens_in or 0) > 0


def test_what_a_model_does_not_report_is_unknown_and_not_nothing(endpoint: Endpoint) -> None:
    endpoint(lambda asked: unreported("2") if "2 + 2" in asked.prompt else "2")
    run = worked(make_run(make_dataset(2)))
    assert (run.tokens_in, run.tokens_out, run.cost_usd) == (None, None, None)
    known, unknown = run.results.order_by("position")
    assert (known.cost_usd or 0) > 0
    assert (unknown.tokens_in, unknown.cost_usd) == (None, None)


def test_a_conversation_that_breaks_off_unreported_is_unknown_too(endpoint: Endpoint) -> None:
    def reply(asked: Asked) -> Reply | Fault:
        if asked.after_tools:
            return FAULTS["bad_request_400"]
        return Reply(None, [("look_up", "{}")], "tool_calls", reports_usage=False)

    endpoint(reply)
    task = make_task(1, tools=({"type": "function", "function": {"name": "look_up", "parameters": {}}},))
    run = worked(make_run(make_dataset([task])))
    assert run.results.get().outcome == Outcome.PROVIDER_ERROR
    assert (run.tokens_in, run.cost_usd) == (None, None)


def test_an_endpoint_that_never_replied_costs_nothing_known(endpoint: Endpoint) -> None:
    endpoint(lambda asked: FAULTS["bad_request_400"])
    run = worked(make_run(make_dataset(2)))
    assert (run.tokens_in, run.tokens_out, run.cost_usd) == (0, 0, 0.0)


def test_a_budget_cannot_be_held_over_a_judge_that_reports_nothing(endpoint: Endpoint) -> None:
    endpoint(lambda asked: "2" if asked.body["model"] == "model" else unreported(VERDICT))
    run = worked(make_run(make_dataset(40), metrics=["correctness"], budget_usd=10.0, max_tokens=10, concurrency=2))
    assert run.status == RunStatus.PAUSED
    assert "does not report token usage" in run.error_message
    assert run.done < 40
