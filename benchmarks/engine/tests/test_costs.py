"""Costs and budgets: what was paid for is counted and kept, what nobody reported is unknown, no budget is exceeded."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from django.db import connection

from benchmarks.engine.execution import dispatch, executor
from benchmarks.engine.execution.budget import Price
from benchmarks.engine.execution.preparing import prepare_run
from benchmarks.engine.execution.sweeper import runs_without_worker
from benchmarks.models import Outcome, ResultState, Run, RunStatus
from benchmarks.services.errors import NotPossible
from benchmarks.services.runs.control import cancel_run, raise_budget, resume_run, retry_failed
from codeforge.config import Config
from tests.loopback.faults import FAULTS, Fault
from tests.loopback.replies import Asked, Reply
from tests.loopback.server import LoopbackServer
from tests.support.factories import make_dataset, make_run, make_task
from tests.support.running import (
    VERDICT,
    Endpoint,
    Script,
    judge_prompts,
    judged_by,
    relevant,
    wait_while,
    worked,
    working,
)

pytestmark = pytest.mark.django_db(transaction=True)

LOOK_UP = {"type": "function", "function": {"name": "look_up", "parameters": {}}}


def price_of(prompts: list[str], replies: int) -> float:
    """US dollars for prompts and verdicts, by the loopback endpoint's own counting of tokens."""
    tokens_in = sum(max(1, len(prompt) // 4) for prompt in prompts)
    return (tokens_in + 2 * replies * (len(VERDICT) // 4)) / 1e6


def canceled_while_judged(run: Run, server: LoopbackServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work on the run and cancel it once its judge was called twice."""
    monkeypatch.setattr(executor, "GRACE_SECONDS", 0.1)
    with working(run) as (worker,):
        wait_while(lambda: len(judge_prompts(server)) < 2, worker)
        cancel_run(run)


def test_canceling_between_two_judged_metrics_keeps_the_first_verdict(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    def hangs_on_relevancy(asked: Asked) -> Fault | str:
        if asked.body["model"] == "model":
            return "2"
        return VERDICT if "REFERENCE" in asked.prompt else FAULTS["hang"]

    server = endpoint(hangs_on_relevancy)
    run = make_run(make_dataset(1), metrics=["correctness", "answer_relevancy"])
    canceled_while_judged(run, server, monkeypatch)
    result = run.results.get()
    assert (run.status, result.outcome, result.error_kind) == (RunStatus.CANCELLED, Outcome.CANCELLED, "unjudged")
    kept = result.scores.get()
    assert (kept.metric, kept.value, kept.reason) == ("correctness", 1.0, "right")
    spent = price_of(judge_prompts(server)[:1], replies=1)
    assert run.judge_cost_usd == pytest.approx(spent)
    assert result.judge_cost_usd == pytest.approx(spent)
    server.script = relevant
    assert resume_run(run) == 1
    assert worked(run).status == RunStatus.COMPLETED, run.error_message
    assert run.results.get().scores.get(metric="correctness").pk == kept.pk
    assert sum("REFERENCE" in prompt for prompt in judge_prompts(server)) == 1, "its verdict is not paid for twice"
    assert run.judge_cost_usd == pytest.approx(run.results.get().judge_cost_usd)
    assert run.results.get().judge_cost_usd > spent


def test_replies_for_a_verdict_that_is_aborted_are_counted(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    def hangs_after_nonsense(asked: Asked) -> Fault | str:
        if asked.body["model"] == "model":
            return "2"
        return "nonsense" if len(judge_prompts(server)) == 1 else FAULTS["hang"]

    server = endpoint(hangs_after_nonsense)
    run = make_run(make_dataset(1), metrics=["correctness"])
    canceled_while_judged(run, server, monkeypatch)
    result = run.results.get()
    assert not result.scores.exists()
    assert run.judge_tokens_in == max(1, len(judge_prompts(server)[0]) // 4)
    assert run.judge_cost_usd == result.judge_cost_usd
    assert (result.judge_cost_usd or 0) > 0


def test_several_leases_share_one_budget(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    server = endpoint(lambda asked: "2", delay_ms=5)
    monkeypatch.setattr(dispatch, "SLOTS_PER_LEASE", 4)
    run = make_run(make_dataset(200), budget_usd=0.0008, max_tokens=10, concurrency=12)
    with working(run, workers=3):
        pass
    while runs_without_worker():
        worked(run)
    assert run.status == RunStatus.PAUSED
    assert "Raise the budget" in run.error_message
    assert 0 < run.done < 200
    assert 0 < (run.cost_usd or 0) <= 0.0008
    assert run.reserved_usd == 0
    assert run.summary["metrics"]["exact_match"]["n"] == run.done
    with pytest.raises(NotPossible):
        raise_budget(run, 0.0001)
    raise_budget(run, 1.0)
    assert (worked(run).status, run.done) == (RunStatus.COMPLETED, 200)
    assert not server.stats.asked_again


def test_a_reservation_of_a_dead_worker_pauses_no_run(endpoint: Endpoint) -> None:
    endpoint(lambda asked: "2")
    run = make_run(make_dataset(3), budget_usd=0.01, max_tokens=10)
    prepare_run(run)
    Run.objects.filter(pk=run.pk).update(reserved_usd=0.01)
    assert (worked(run).status, run.done) == (RunStatus.COMPLETED, 3)


def test_more_tokens_than_the_worst_case_exceed_the_budget_by_what_was_reserved_before(endpoint: Endpoint) -> None:
    endpoint(lambda asked: Reply("2", reasoning_tokens=1_000))
    run = worked(make_run(make_dataset(100), budget_usd=0.05, max_tokens=10, concurrency=4))
    assert run.status == RunStatus.PAUSED
    assert run.cost_usd is not None
    # A reply costs 0.01. Of those that were reserved before the first reply, the fifth can still be sent.
    assert 0.03 < run.cost_usd < 0.055


def test_a_spent_budget_stops_judging_too_and_a_higher_one_continues_it(endpoint: Endpoint) -> None:
    server = endpoint(judged_by("nonsense"))
    run = worked(make_run(make_dataset(3), metrics=["correctness"], budget_usd=10.0, max_tokens=10))
    assert run.errors == 3
    server.script = judged_by(VERDICT)
    spent = (run.cost_usd or 0) + (run.judge_cost_usd or 0)
    Run.objects.filter(pk=run.pk).update(budget_usd=spent)
    assert retry_failed(run) == 3
    requests = server.stats.requests
    assert worked(run).status == RunStatus.PAUSED
    assert "budget" in run.error_message
    assert server.stats.requests == requests
    assert run.reserved_usd == 0
    assert set(run.results.values_list("state", flat=True)) == {ResultState.ANSWERED}
    raise_budget(run, 10.0)
    assert (worked(run).status, run.done, run.errors) == (RunStatus.COMPLETED, 3, 0)
    assert run.reserved_usd == pytest.approx(0, abs=1e-12)


def test_judging_again_never_reserves_less_than_nothing(endpoint: Endpoint) -> None:
    server = endpoint(judged_by("nonsense"))
    run = worked(make_run(make_dataset(3), metrics=["correctness"], budget_usd=10.0, max_tokens=10))
    server.script = judged_by(VERDICT)
    retry_failed(run)
    reserved: list[float] = []

    def watch() -> None:
        while worker.is_alive():
            reserved.append(Run.objects.get(pk=run.pk).reserved_usd)
        connection.close()

    with working(run) as (worker,):
        watcher = threading.Thread(target=watch)
        watcher.start()
    watcher.join(60)
    assert min(reserved) >= 0
    assert worked(run).status == RunStatus.COMPLETED


def test_a_cached_answer_reserves_what_its_judge_may_cost(endpoint: Endpoint) -> None:
    server = endpoint(judged_by(VERDICT))
    dataset = make_dataset(2)
    worked(make_run(dataset, use_cache=True, max_tokens=10))
    requests = server.stats.requests
    run = make_run(dataset, metrics=["correctness"], use_cache=True, budget_usd=0.001, max_tokens=10)
    assert worked(run).status == RunStatus.PAUSED, "one judging may cost more than the budget"
    assert server.stats.requests == requests


def unreported(text: str) -> Reply:
    return Reply(text, reports_usage=False)


def test_a_budget_that_cannot_be_enforced_for_lack_of_token_counts_pauses_the_run(endpoint: Endpoint) -> None:
    scripts: dict[str, tuple[Script, str]] = {
        "model": (lambda asked: unreported("2"), "exact_match"),
        "judge": (judged_by(unreported(VERDICT)), "correctness"),
    }
    server = endpoint()
    for silent, (script, metric) in scripts.items():
        server.script = script
        dataset = make_dataset(40, slug=silent)
        run = worked(make_run(dataset, metrics=[metric], budget_usd=10.0, max_tokens=10, concurrency=2))
        assert run.status == RunStatus.PAUSED, silent
        assert "does not report token usage" in run.error_message, silent
        assert run.done < 40, silent


def test_what_a_judge_does_not_report_is_unknown_and_not_zero(endpoint: Endpoint) -> None:
    endpoint(judged_by(unreported(VERDICT)))
    run = worked(make_run(make_dataset(2), metrics=["correctness"]))
    assert run.status == RunStatus.COMPLETED
    assert (run.judge_tokens_in, run.judge_tokens_out, run.judge_cost_usd) == (None, None, None)
    assert set(run.results.values_list("judge_cost_usd", flat=True)) == {None}
    assert run.results.first().scores.get().judge["tokens_in"] is None
    assert (run.cost_usd or 0) > 0
    assert (run.tokens_in or 0) > 0


def test_what_a_model_does_not_report_is_unknown_and_not_zero(endpoint: Endpoint) -> None:
    endpoint(lambda asked: unreported("2") if "2 + 2" in asked.prompt else "2")
    run = worked(make_run(make_dataset(2)))
    assert (run.tokens_in, run.tokens_out, run.cost_usd) == (None, None, None)
    known, unknown = run.results.order_by("position")
    assert (known.cost_usd or 0) > 0
    assert (unknown.tokens_in, unknown.cost_usd) == (None, None)


def test_a_conversation_that_fails_costs_what_its_first_replies_cost(endpoint: Endpoint) -> None:
    server = endpoint()
    for reports_usage in (True, False):
        calls = Reply(None, [("look_up", "{}")], "tool_calls", reports_usage=reports_usage)
        server.script = lambda asked, calls=calls: FAULTS["bad_request_400"] if asked.after_tools else calls
        dataset = make_dataset([make_task(1, tools=(LOOK_UP,))], slug=f"reported-{reports_usage}".lower())
        run = worked(make_run(dataset))
        failed = run.results.get()
        assert (failed.state, failed.outcome) == (ResultState.ERROR, Outcome.PROVIDER_ERROR)
        assert failed.error_kind == "bad_request"
        assert (run.tokens_in, run.cost_usd) == (failed.tokens_in, failed.cost_usd)
        assert bool(failed.cost_usd) is reports_usage, f"usage reported: {reports_usage}"


def test_an_endpoint_that_never_replied_costs_nothing(endpoint: Endpoint) -> None:
    endpoint(lambda asked: FAULTS["bad_request_400"])
    run = worked(make_run(make_dataset(2)))
    assert (run.tokens_in, run.tokens_out, run.cost_usd) == (0, 0, 0.0)


def test_cached_tokens_have_a_price_of_their_own(endpoint: Endpoint, settings: Any) -> None:
    endpoint(lambda asked: Reply("2", cached_tokens=2))
    document = settings.CODEFORGE.model_dump()
    document["models"]["loop/model"]["cached_input_per_million"] = 0.25
    settings.CODEFORGE = Config.model_validate(document)
    run = worked(make_run(make_dataset(2)))
    assert run.tokens_in is not None
    assert run.cost_usd == pytest.approx((run.tokens_in - 4 + 4 * 0.25 + 2 * run.tokens_out) / 1e6)
    assert run.cost_usd == pytest.approx(sum(result.cost_usd for result in run.results.all()))


def test_cached_tokens_without_a_price_cost_as_much_as_others() -> None:
    assert Price(2.0, 1.0).cost(10, 1, cached=4) == 21.0
    assert Price(2.0, 1.0, 0.5).cost(10, 1, cached=4) == 15.0
    assert Price(2.0, 1.0, 0.5).cost(10, 1) == 21.0
