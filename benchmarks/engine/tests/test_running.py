"""Whole runs against an endpoint on loopback: what is sent, stored and scored."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.dataset_format.tools import ToolUse
from benchmarks.engine.execution import model_clients
from benchmarks.engine.execution.work_items import Answer, Prompt, Question
from benchmarks.metrics.base import Item
from benchmarks.models import CachedResponse, Outcome, RunStatus
from benchmarks.providers.base import ChatReply
from benchmarks.sandbox.sandbox import Sandbox
from benchmarks.services.runs.control import verify_run
from codeforge.config import Config
from tests.loopback.replies import Asked, Reply
from tests.support import services
from tests.support.factories import make_dataset, make_run, make_task
from tests.support.running import Endpoint, worked

pytestmark = pytest.mark.django_db(transaction=True)


def adds(asked: Asked) -> str:
    """Answers the sums of the factories."""
    number = asked.prompt.removeprefix("What is ").split(" ")[0]
    return str(2 * int(number))


def test_every_task_is_sent_once_and_scored(endpoint: Endpoint) -> None:
    server = endpoint(adds)
    run = worked(make_run(make_dataset(40)))
    assert run.status == RunStatus.COMPLETED
    assert (run.total, run.done, run.errors) == (40, 40, 0)
    assert run.summary["metrics"]["exact_match"]["mean"] == 1.0
    assert run.summary["metrics"]["exact_match"]["n"] == 40
    assert run.tokens_in > 0
    assert run.cost_usd == pytest.approx(run.tokens_in / 1e6 + run.tokens_out * 2 / 1e6)
    worked(run)
    assert server.stats.requests == 40, "working on a finished run again sends nothing"


def test_a_wrong_answer_is_wrong_and_an_error_is_no_zero(endpoint: Endpoint) -> None:
    endpoint(lambda asked: "5" if "What is 1" in asked.prompt else adds(asked))
    broken = make_task(3, input="[[fault:bad_request_400]] What is 3 + 3?")
    run = worked(make_run(make_dataset([make_task(1), make_task(2), broken])))
    assert run.status == RunStatus.COMPLETED_WITH_ERRORS
    outcomes = list(run.results.order_by("position").values_list("outcome", flat=True))
    assert outcomes == [Outcome.WRONG, Outcome.CORRECT, Outcome.PROVIDER_ERROR]
    exact = run.summary["metrics"]["exact_match"]
    assert (exact["mean"], exact["n"], exact["n_expected"], exact["n_provider_error"]) == (0.5, 2, 3, 1)
    failed = run.results.get(outcome=Outcome.PROVIDER_ERROR)
    assert failed.error_kind == "bad_request"
    assert failed.error_message
    assert not failed.scores.exists()


def test_what_failed_is_grouped_by_reason_with_places_and_examples(endpoint: Endpoint) -> None:
    replies = {"1 ": "two", "2 ": "5", "3 ": "6 or 7", "4 ": Reply("", finish_reason="content_filter"), "5 ": "11"}
    server_faults = make_task(6, input="[[fault:bad_request_400]] What is 6 + 6?", difficulty="hard")
    endpoint(lambda asked: replies.get(asked.prompt.removeprefix("What is ")[:2], "") or adds(asked))
    tasks = [make_task(number, difficulty="easy" if number < 5 else "hard") for number in range(1, 6)]
    run = worked(make_run(make_dataset([*tasks, server_faults]), metrics=["numeric"]))
    groups = {(group["outcome"], group["reason"]): group for group in run.summary["failures"]}
    assert {key: (group["n"], group["where"]) for key, group in groups.items()} == {
        ("wrong", "Different number"): (2, {"easy": 1, "hard": 1}),
        ("unparsable", "Several numbers"): (1, {"easy": 1}),
        ("refused", "Stopped by a content filter"): (1, {"easy": 1}),
        ("provider_error", "bad_request"): (1, {"hard": 1}),
    }
    wrong = list(run.results.filter(outcome=Outcome.WRONG).values_list("pk", flat=True))
    assert groups["wrong", "Different number"]["examples"] == wrong
    assert run.results.get(outcome=Outcome.CORRECT).failure == ""
    assert set(run.results.exclude(outcome=Outcome.PROVIDER_ERROR).values_list("response_model")) == {("model",)}
    assert run.summary["response_models"] == {"model": 5}
    assert "fingerprints" not in run.summary, "this endpoint sends none"


@pytest.mark.parametrize("stream", [False, True])
def test_fingerprints_of_the_endpoint_are_stored_and_counted(endpoint: Endpoint, settings: Any, stream: bool) -> None:
    endpoint(lambda asked: Reply("2", fingerprint=f"fp_{len(asked.prompt) % 2}" + "x" * 200))
    loop = settings.CODEFORGE.providers["loop"].model_copy(update={"stream": stream})
    settings.CODEFORGE = settings.CODEFORGE.model_copy(update={"providers": {"loop": loop}})
    run = worked(make_run(make_dataset([make_task(1, input="1"), make_task(2, input="1 "), make_task(3, input="3")])))
    counts = {name[:4]: n for name, n in run.summary["fingerprints"].items()}
    assert sum(counts.values()) == 3
    stored = list(run.results.values_list("response_fingerprint", flat=True))
    assert all(each and each.startswith("fp_") and len(each) == 100 for each in stored)


def test_an_endpoint_that_refuses_every_request_fails_the_run_early_with_the_reason(endpoint: Endpoint) -> None:
    server = endpoint(adds, api_key="right")
    run = worked(make_run(make_dataset(200), concurrency=4))
    assert run.status == RunStatus.FAILED
    assert "401" in run.error_message
    assert server.stats.requests < 50
    assert run.results.filter(outcome=Outcome.CANCELLED).count() > 100


def test_repeats_send_each_task_as_often_and_never_use_the_cache(endpoint: Endpoint) -> None:
    server = endpoint(lambda asked: "2")
    run = worked(make_run(make_dataset(2), repeats=3, use_cache=True))
    assert run.total == server.stats.requests == 6
    assert sorted(run.results.values_list("repeat", flat=True)) == [1, 1, 2, 2, 3, 3]
    assert not CachedResponse.objects.exists()


def test_the_prompt_that_was_sent_is_the_prompt_that_is_stored(endpoint: Endpoint) -> None:
    server = endpoint(lambda asked: "2")
    task: Any = make_task(1, context=("First passage.", "Second passage."))
    run = worked(make_run(make_dataset([task]), system_prompt="Be brief.", seed=7))
    assert server.stats.bodies[0]["messages"] == run.results.get().transcript.messages
    assert server.stats.bodies[0]["seed"] == 7


TEMPLATES = {
    "Q: {input}\nA:": "Context:\n\n[1] Sums.\n\n[2] {input}\n\nQ: What is 1 + 1?\nA:",
    "{input}\n\nUse {{only}}:\n{context}": "What is 1 + 1?\n\nUse {only}:\n[1] Sums.\n\n[2] {input}",
}


@pytest.mark.parametrize("template", TEMPLATES)
def test_a_prompt_template_surrounds_the_task_and_loses_no_passage(endpoint: Endpoint, template: str) -> None:
    server = endpoint(lambda asked: "2")
    task: Any = make_task(1, context=("Sums.", "{input}"))
    run = worked(make_run(make_dataset([task]), prompt_template=template))
    assert server.stats.bodies[0]["messages"] == [{"role": "user", "content": TEMPLATES[template]}]
    assert verify_run(run).holds


def test_tools_are_offered_and_their_results_sent_back(endpoint: Endpoint) -> None:
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
    assert (result.state, result.outcome, result.finish_reason) == ("done", "unparsable", "tool_calls")
    assert len(result.transcript.tool_calls) == 3
    assert run.tokens_in == result.tokens_in
    assert (result.tokens_in or 0) > 0


def test_code_of_an_answer_runs_after_the_answer_is_stored(endpoint: Endpoint) -> None:
    if refusal := Sandbox().refusal():
        services.missing(f"a sandbox ({refusal})")
    endpoint(lambda asked: "def double(n):\n    return n * 2", benchmark={"code_tests": True})
    task = make_task(1, expected_output="def double(n): ...", tests="assert double(2) == 4")
    wrong = make_task(2, expected_output="def double(n): ...", tests="assert double(2) == 5")
    run = worked(make_run(make_dataset([task, wrong]), metrics=["code_tests"]))
    assert run.status == RunStatus.COMPLETED
    assert run.summary["metrics"]["code_tests"]["mean"] == 0.5
    assert list(run.results.order_by("position").values_list("outcome", flat=True)) == ["correct", "wrong"]


def test_a_metric_that_does_not_apply_says_what_is_missing_or_what_does_not_fit(endpoint: Endpoint) -> None:
    endpoint(lambda asked: "Paris")
    tasks = [make_task(1, expected_output="Paris"), make_task(2, expected_output="4", pattern="4")]
    metrics = ["exact_match", "numeric", "json_match", "regex"]
    run = worked(make_run(make_dataset(tasks), metrics=metrics))
    scores = run.scores.filter(result__task__position=1, status="not_applicable")
    assert dict(scores.values_list("metric", "reason")) == {
        "numeric": "The expected answer is neither a number nor a list of numbers.",
        "json_match": "The expected answer is not JSON.",
        "regex": "The task has no pattern.",
    }


def test_thinking_is_stored_beside_the_answer_and_its_tokens_are_counted(endpoint: Endpoint) -> None:
    endpoint(lambda asked: Reply(f"<think>Sum: </think>{adds(asked)}", reasoning_tokens=40, cached_tokens=3))
    run = worked(make_run(make_dataset(2)))
    result = run.results.first()
    assert (result.outcome, result.transcript.actual_output) == (Outcome.CORRECT, "2")
    assert result.transcript.reasoning == "Sum:"
    assert (result.reasoning_tokens, result.cached_tokens) == (40, 3)
    assert run.summary["tokens"] == {"reasoning": 80, "cached": 6}


def test_an_answer_cut_off_while_thinking_says_so(endpoint: Endpoint) -> None:
    endpoint(lambda asked: Reply("", finish_reason="length", reasoning="Let me see"))
    result = worked(make_run(make_dataset(1))).results.get()
    assert result.outcome == Outcome.TRUNCATED
    assert "while it was thinking" in result.transcript.notes[0]
    assert "before an answer began" in result.scores.get().reason


def test_a_vendor_gets_its_thinking_back_with_the_results_of_tools(endpoint: Endpoint) -> None:
    def calls_once(asked: Asked) -> Reply:
        return Reply("2") if asked.after_tools else Reply(None, [("look_up", "{}")], "tool_calls", reasoning="hm")

    server = endpoint(calls_once)
    tool = {"type": "function", "function": {"name": "look_up", "parameters": {}}}
    worked(make_run(make_dataset([make_task(1, tools=[tool])])))
    assert server.stats.bodies[1]["messages"][1]["reasoning_content"] == "hm"


def test_streamed_answers_have_the_time_of_their_first_token_and_a_speed(endpoint: Endpoint, settings: Any) -> None:
    server = endpoint(lambda asked: Reply("one two three four five"), token_ms=2)
    document = settings.CODEFORGE.model_dump()
    document["providers"]["loop"]["stream"] = True
    settings.CODEFORGE = Config.model_validate(document)
    model_clients.forget()
    run = worked(make_run(make_dataset(3)))
    assert run.status == RunStatus.COMPLETED
    assert all(body["stream"] for body in server.stats.bodies)
    for result in run.results.all():
        assert 0 < result.first_token_ms < result.duration_ms
        generating = result.duration_ms - result.first_token_ms
        assert result.tokens_per_second == pytest.approx(1000 * (result.tokens_out - 1) / generating)
    for name in ("first_token_ms", "tokens_per_second"):
        assert run.summary[name]["n"] == 3
        assert run.summary[name]["p50"] <= run.summary[name]["p95"] <= run.summary[name]["max"]


def test_the_speed_of_a_conversation_counts_the_time_in_which_tokens_came() -> None:
    answer = Answer(Question(1, 1, Prompt(()), Item("", "", "")), [])
    answer.count(ChatReply("a", duration_ms=300, first_token_ms=100, tokens_out=11))
    answer.count(ChatReply("b", duration_ms=700, first_token_ms=500, tokens_out=31))
    assert (answer.first_token_ms, answer.tokens_per_second) == (100, 100.0)


def test_answers_that_are_not_streamed_have_no_first_token(endpoint: Endpoint) -> None:
    endpoint(adds)
    run = worked(make_run(make_dataset(1)))
    assert run.results.filter(first_token_ms=None, tokens_per_second=None).count() == 1
    assert (run.summary["first_token_ms"], run.summary["tokens_per_second"]) == ({}, {})
