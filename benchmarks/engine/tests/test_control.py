"""Cancelling, resuming, retrying, budgets, repeats, cache, tools and judges, through whole runs."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db.models import F
from django.utils import timezone

from benchmarks.dataset_format.spec import ToolUse
from benchmarks.engine.execution import dispatch, model_clients
from benchmarks.engine.execution.dispatch import work_on_run_once
from benchmarks.engine.execution.preparing import prepare_run
from benchmarks.engine.execution.result_store import ResultStore
from benchmarks.engine.execution.sweeper import runs_without_worker
from benchmarks.models import CachedResponse, Lease, Outcome, Result, ResultState, Run, RunStatus
from benchmarks.sandbox.sandbox import Sandbox
from benchmarks.services.errors import NotPossible
from benchmarks.services.runs.control import cancel_run, delete_run, raise_budget, resume_run, retry_failed
from codeforge.config import Config
from tests.loopback.replies import Asked, Reply
from tests.loopback.server import LoopbackServer
from tests.support import services
from tests.support.factories import make_dataset, make_run, make_task

pytestmark = pytest.mark.django_db(transaction=True)
Endpoint = Callable[..., LoopbackServer]


def worked(run: Run) -> Run:
    """The run after a worker's visit."""
    work_on_run_once(run.pk)
    run.refresh_from_db()
    return run


def judging(verdict: int) -> Callable[[Asked], str | None]:
    """A model that says 2 and a judge that always gives the same score out of ten."""
    return lambda asked: f'{{"score": {verdict}, "reason": "because"}}' if asked.body["model"] == "judge" else "2"


def test_a_judged_metric_scores_and_counts_its_own_cost(endpoint: Endpoint) -> None:
    endpoint(judging(9))
    run = worked(make_run(make_dataset(3), metrics=["correctness", "exact_match"]))
    assert run.status == RunStatus.COMPLETED
    assert run.summary["metrics"]["correctness"]["mean"] == pytest.approx(0.9)
    assert run.judge_tokens_in > 0
    assert run.judge_cost_usd is not None
    assert run.judge_cost_usd > 0
    score = Result.objects.filter(run=run).earliest("position").scores.get(metric="correctness")
    assert score.reason == "because"
    assert "What is 1 + 1?" in score.judge["prompt"]


def test_a_judge_that_talks_nonsense_is_an_error_that_retrying_asks_without_the_model(endpoint: Endpoint) -> None:
    server = endpoint(lambda asked: "no json" if asked.body["model"] == "judge" else "2")
    run = worked(make_run(make_dataset(3), metrics=["correctness"]))
    assert run.status == RunStatus.COMPLETED_WITH_ERRORS
    assert set(run.results.values_list("outcome", flat=True)) == {Outcome.JUDGE_ERROR}
    assert run.summary["metrics"]["correctness"]["mean"] is None
    assert run.summary["metrics"]["correctness"]["n_judge_error"] == 3
    server.script = judging(10)
    asked_before = server.stats.times_asked.total() - server.stats.times_asked["judge"]
    assert retry_failed(run) == 3
    worked(run)
    assert run.status == RunStatus.COMPLETED
    assert (run.done, run.errors) == (3, 0)
    assert run.summary["metrics"]["correctness"]["mean"] == 1.0
    models = [body["model"] for body in server.stats.bodies]
    assert models.count("model") == 3
    assert asked_before > 0


def test_retrying_replaces_an_error_only_by_a_success(endpoint: Endpoint) -> None:
    server = endpoint(lambda asked: "2")
    broken = make_task(2, input="[[fault:bad_request_400*1]] again")
    hopeless = make_task(3, input="[[fault:bad_request_400]] never")
    run = worked(make_run(make_dataset([make_task(1), broken, hopeless])))
    assert (run.status, run.done, run.errors) == (RunStatus.COMPLETED_WITH_ERRORS, 3, 2)
    assert retry_failed(run) == 2
    worked(run)
    assert (run.done, run.errors) == (3, 1)
    assert server.stats.times_asked["What is 1 + 1?"] == 1
    assert run.results.get(task__task_id="task-3").outcome == Outcome.PROVIDER_ERROR
    with pytest.raises(NotPossible):
        retry_failed(make_run(run.dataset))


def test_retrying_counts_from_what_is_stored_not_from_what_was_read_before(endpoint: Endpoint) -> None:
    endpoint(lambda asked: "2")
    run = worked(make_run(make_dataset([make_task(1), make_task(2, input="[[fault:bad_request_400]]")])))
    Run.objects.filter(pk=run.pk).update(done=F("done") + 5)
    assert retry_failed(run) == 1
    run.refresh_from_db()
    assert (run.done, run.errors) == (6, 0)


def test_cancelling_stops_sending_and_keeps_what_was_answered(endpoint: Endpoint) -> None:
    server = endpoint(lambda asked: "2", delay_ms=40)
    run = make_run(make_dataset(400), concurrency=4)
    worker = threading.Thread(target=work_on_run_once, args=(run.pk,))
    worker.start()
    while server.stats.answered < 8:
        worker.join(0.01)
    cancel_run(run)
    worker.join(20)
    assert not worker.is_alive()
    run.refresh_from_db()
    assert run.status == RunStatus.CANCELLED
    kept = run.results.filter(state=ResultState.DONE).count()
    assert kept == run.done >= 8
    assert kept < 400
    assert run.results.filter(outcome=Outcome.CANCELLED).count() == 400 - kept
    assert resume_run(run) == 400 - kept
    run.refresh_from_db()
    assert run.status == RunStatus.RUNNING
    server.delay_ms = 0
    worked(run)
    assert (run.status, run.done) == (RunStatus.COMPLETED, 400)
    assert not server.stats.asked_again


def test_a_budget_pauses_the_run_and_a_higher_one_continues_it(endpoint: Endpoint) -> None:
    server = endpoint(lambda asked: "2")
    run = worked(make_run(make_dataset(30), budget_usd=0.0002, max_tokens=10, concurrency=2))
    assert run.status == RunStatus.PAUSED
    assert "budget" in run.error_message
    assert 0 < run.done < 30
    assert run.cost_usd is not None
    assert run.cost_usd <= 0.0002
    assert run.reserved_usd == 0
    with pytest.raises(NotPossible):
        raise_budget(run, 0.0001)
    raise_budget(run, 1.0)
    worked(run)
    assert (run.status, run.done) == (RunStatus.COMPLETED, 30)
    assert not server.stats.asked_again


def test_repeats_ask_each_task_as_often(endpoint: Endpoint) -> None:
    server = endpoint(lambda asked: "2")
    run = worked(make_run(make_dataset(2), repeats=3, use_cache=True))
    assert run.total == 6
    assert server.stats.requests == 6
    assert sorted(run.results.values_list("repeat", flat=True)) == [1, 1, 2, 2, 3, 3]
    assert not CachedResponse.objects.exists()


def test_the_cache_answers_the_same_request_for_nothing(endpoint: Endpoint) -> None:
    server = endpoint(lambda asked: "2")
    dataset = make_dataset(2)
    first = worked(make_run(dataset, use_cache=True))
    again = worked(make_run(dataset, use_cache=True))
    other = worked(make_run(dataset, use_cache=True, temperature=0.5))
    assert server.stats.requests == 4
    assert (first.cost_usd or 0) > 0
    assert again.cost_usd == 0
    assert set(again.results.values_list("cached", flat=True)) == {True}
    assert set(other.results.values_list("cached", flat=True)) == {False}
    assert again.summary["metrics"] == first.summary["metrics"]


WEATHER = {"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object", "properties": {}}}}
CHANGES: dict[str, Callable[[Any], Any]] = {
    "model": lambda settings: {"model": "loop/judge"},
    "system prompt": lambda settings: {"system_prompt": "Be brief."},
    "most tokens": lambda settings: {"max_tokens": 7},
    "seed": lambda settings: {"seed": 7},
    "tools": lambda settings: {"dataset": make_dataset([make_task(1, tools=(WEATHER,))], slug="with-tools")},
    "endpoint": lambda settings: setattr(settings, "CODEFORGE", elsewhere(settings.CODEFORGE)) or {},
}


@pytest.mark.parametrize("change", CHANGES)
def test_the_cache_is_asked_for_everything_that_is_sent(endpoint: Endpoint, settings: Any, change: str) -> None:
    server = endpoint(lambda asked: "2")
    dataset = make_dataset(1)
    worked(make_run(dataset, use_cache=True))
    other = worked(make_run(**{"dataset": dataset, "use_cache": True, **CHANGES[change](settings)}))
    assert other.status == RunStatus.COMPLETED, other.error_message
    assert server.stats.requests == 2
    assert not other.results.get().cached


def elsewhere(config: Config) -> Config:
    """The configuration with the same server under another address."""
    provider = config.providers["loop"]
    moved = provider.model_copy(update={"base_url": provider.base_url.replace("127.0.0.1", "localhost")})
    model_clients.forget()
    return config.model_copy(update={"providers": {"loop": moved}})


def test_tools_are_offered_and_their_results_fed_back(endpoint: Endpoint) -> None:
    def weather(asked: Asked) -> Reply:
        if asked.after_tools:
            return Reply("It is raining.")
        return Reply(None, [("get_weather", '{"city": "Ghent"}'), ("get_weather", "{broken")], "tool_calls")

    server = endpoint(weather)
    task = make_task(
        1,
        expected_output="raining",
        expected_tools=(ToolUse(name="get_weather", args={"city": "Ghent"}),),
        tool_results={"get_weather": {"sky": "rain"}},
    )
    run = worked(make_run(make_dataset([task]), metrics=["contains"]))
    assert run.status == RunStatus.COMPLETED
    first, second = server.stats.bodies
    assert first["tools"][0]["function"]["name"] == "get_weather"
    assert second["messages"][-2]["content"] == '{"sky":"rain"}'
    transcript = run.results.get().transcript
    assert [call["malformed"] for call in transcript.tool_calls] == [False, True]
    assert transcript.actual_output == "It is raining."
    assert run.summary["metrics"]["contains"]["mean"] == 1.0


def test_a_model_that_never_stops_calling_tools_is_stopped_at_the_limit(endpoint: Endpoint) -> None:
    server = endpoint(lambda asked: Reply(None, [("get_weather", "{}")], "tool_calls"))
    tasks = [make_task(1, expected_tools=(ToolUse(name="get_weather", args={}),))]
    run = worked(make_run(make_dataset(tasks), metrics=["exact_match"], max_tool_steps=3))
    assert server.stats.requests == 3
    result = run.results.get()
    assert (result.state, result.outcome, result.finish_reason) == ("done", "wrong", "tool_calls")
    assert len(result.transcript.tool_calls) == 3
    assert run.tokens_in == result.tokens_in
    assert (result.tokens_in or 0) > 0


def test_a_truncated_and_a_refused_answer_are_told_apart(endpoint: Endpoint) -> None:
    endpoint(lambda asked: "2")
    tasks = [make_task(1, input="[[fault:length]]"), make_task(2, input="[[fault:refusal]]")]
    run = worked(make_run(make_dataset(tasks)))
    assert list(run.results.order_by("position").values_list("outcome", flat=True)) == ["truncated", "refused"]


def test_a_dead_workers_claims_are_given_back(endpoint: Endpoint) -> None:
    server = endpoint(lambda asked: "2")
    run = make_run(make_dataset(5))
    attend_like_a_dead_worker(run)
    assert Result.objects.filter(state=ResultState.CLAIMED).count() == 5
    assert runs_without_worker() == [run.pk]
    assert not Lease.objects.exists()
    worked(run)
    assert (run.status, run.done) == (RunStatus.COMPLETED, 5)
    assert server.stats.requests == 5


def attend_like_a_dead_worker(run: Run) -> None:
    """Prepare and claim everything under the name of a process that no longer exists, and vanish."""
    prepare_run(run)
    lease = dispatch.lease_run(run.pk)
    assert lease is not None
    ResultStore(run, lease, []).claim(ResultState.PENDING, 100)
    host = lease.worker.split(":")[0]
    Lease.objects.update(worker=f"{host}:4194305:gone", heartbeat_at=timezone.now() - timedelta(seconds=10))


def test_a_live_run_cannot_be_deleted_and_an_ended_one_can(endpoint: Endpoint) -> None:
    endpoint(lambda asked: "2")
    run = make_run()
    with pytest.raises(NotPossible):
        delete_run(run)
    worked(run)
    delete_run(run)
    assert not Run.objects.exists()
    assert not Result.objects.exists()


def test_the_prompt_that_was_sent_is_the_prompt_that_is_stored(endpoint: Endpoint) -> None:
    server = endpoint(lambda asked: "2")
    task: Any = make_task(1, context=("First passage.", "Second passage."))
    run = worked(make_run(make_dataset([task]), system_prompt="Be brief.", seed=7))
    assert server.stats.bodies[0]["messages"] == run.results.get().transcript.messages
    assert server.stats.bodies[0]["seed"] == 7


def test_code_of_an_answer_is_run_after_the_answer_is_stored(endpoint: Endpoint) -> None:
    if refusal := Sandbox().refusal():
        services.missing(f"a sandbox ({refusal})")
    endpoint(lambda asked: "def double(n):\n    return n * 2", benchmark={"code_tests": True})
    task = make_task(1, expected_output="def double(n): ...", tests="assert double(2) == 4")
    wrong = make_task(2, expected_output="def double(n): ...", tests="assert double(2) == 5")
    run = worked(make_run(make_dataset([task, wrong]), metrics=["code_tests"]))
    assert run.status == RunStatus.COMPLETED
    assert run.summary["metrics"]["code_tests"]["mean"] == 0.5
    assert list(run.results.order_by("position").values_list("outcome", flat=True)) == ["correct", "wrong"]


def test_the_cache_keeps_a_judges_verdicts_and_no_nonsense(endpoint: Endpoint) -> None:
    server = endpoint(judging(9))
    dataset = make_dataset(2)
    worked(make_run(dataset, metrics=["correctness"], use_cache=True))
    asked = server.stats.requests
    again = worked(make_run(dataset, metrics=["correctness"], use_cache=True))
    assert server.stats.requests == asked
    assert again.judge_cost_usd == 0
    assert again.summary["metrics"]["correctness"]["mean"] == pytest.approx(0.9)
    server.script = lambda asked: "nonsense" if asked.body["model"] == "judge" else "3"
    other = worked(make_run(dataset, metrics=["correctness"], use_cache=True, temperature=0.5))
    assert other.errors == 2
    server.script = judging(10)
    retry_failed(other)
    assert worked(other).errors == 0
