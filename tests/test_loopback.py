from __future__ import annotations

import asyncio
import http.client
import json
import time
from typing import Any
from urllib.parse import urlsplit

import jsonschema
import pytest

from tests.loopback import FAULTS, Asked, LoopbackServer, Reply, fetch_stats, serve, spawn


def ask(server: LoopbackServer, prompt: str, method: str = "POST", path: str = "", **fields: Any) -> tuple[int, Any]:
    """One request over the plainest client there is; status and decoded body."""
    address = urlsplit(server.url)
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=5)
    headers = fields.pop("headers", {})
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": prompt}], **fields})
    try:
        connection.request(
            method, path or f"{address.path}/chat/completions", body if method == "POST" else None, headers
        )
        response = connection.getresponse()
        return response.status, json.loads(response.read())
    finally:
        connection.close()


def text_of(answer: tuple[int, Any]) -> str:
    return answer[1]["choices"][0]["message"]["content"]


def test_the_same_prompt_gets_the_same_answer_and_another_prompt_another() -> None:
    with serve() as server:
        assert text_of(ask(server, "one")) == text_of(ask(server, "one")) != text_of(ask(server, "two"))


def test_it_counts_how_often_each_question_was_asked() -> None:
    with serve() as server:
        for prompt in ("one", "two", "one", "reworded [[key:two]]"):
            ask(server, prompt)
        assert server.stats.times_asked == {"one": 2, "two": 2}
        deadline = time.monotonic() + 10
        while server.stats.in_flight and time.monotonic() < deadline:  # the reply may arrive before its end is counted
            time.sleep(0.001)
        assert server.stats.requests == server.stats.answered == 4
        assert server.stats.in_flight == 0


def test_a_table_scripts_replies_by_prompt() -> None:
    with serve({"2+2?": "4"}) as server:
        assert text_of(ask(server, "2+2?")) == "4"
        assert text_of(ask(server, "else")).startswith("Answer ")


def test_a_function_scripts_replies_by_attempt() -> None:
    def second_time_lucky(asked: Asked) -> Any:
        return FAULTS["server_500"] if asked.attempt == 1 else Reply("done", reasoning="because")

    with serve(second_time_lucky) as server:
        assert ask(server, "go")[0] == 500
        status, body = ask(server, "go")
        assert status == 200
        assert body["choices"][0]["message"] == {"role": "assistant", "content": "done", "reasoning_content": "because"}


def test_a_marker_spoils_only_the_first_attempts() -> None:
    with serve() as server:
        assert [ask(server, "q [[fault:overloaded_503*2]]")[0] for _ in range(3)] == [503, 503, 200]
        assert server.stats.faults == {"overloaded_503": 2}


def test_an_unknown_marker_is_an_error_that_lists_the_faults() -> None:
    with serve() as server:
        status, body = ask(server, "[[fault:nonsense]]")
        assert status == 400
        assert "server_500" in body["error"]["message"]


def test_chance_faults_depend_on_seed_question_and_attempt_alone() -> None:
    prompts = [f"question {i}" for i in range(60)]
    seen = []
    for order in (prompts, prompts[::-1]):
        with serve(fault_rate=0.3, seed=7) as server:
            seen.append({prompt: ask(server, prompt)[0] for prompt in order})
    assert seen[0] == seen[1]
    assert set(seen[0].values()) == {200, 500}


def test_offered_tools_are_called_once_and_then_answered() -> None:
    parameters = {"type": "object", "properties": {"city": {"type": "string"}}}
    tools = [{"type": "function", "function": {"name": "weather", "parameters": parameters}}]
    with serve() as server:
        call = ask(server, "weather?", tools=tools)[1]["choices"][0]["message"]["tool_calls"][0]
        assert call["function"]["name"] == "weather"
        assert json.loads(call["function"]["arguments"]).keys() == {"city"}
        conversation = [{"role": "user", "content": "weather?"}, {"role": "tool", "content": "sunny"}]
        assert text_of(ask(server, "", messages=conversation, tools=tools)).startswith("Answer ")


def test_a_wanted_schema_gets_an_answer_that_fits_it() -> None:
    schema = {
        "type": "object",
        "properties": {
            "score": {"type": "integer", "minimum": 3, "maximum": 4},
            "verdict": {"enum": ["yes", "no"]},
            "steps": {"type": "array", "items": {"type": "string"}, "minItems": 2},
            "sure": {"type": ["boolean", "null"]},
        },
        "required": ["score", "verdict", "steps", "sure"],
    }
    wanted = {"type": "json_schema", "json_schema": {"name": "verdict", "schema": schema}}
    with serve() as server:
        jsonschema.validate(json.loads(text_of(ask(server, "judge", response_format=wanted))), schema)


def test_a_judge_prompt_gets_a_score_with_a_reason() -> None:
    with serve() as server:
        verdict = json.loads(text_of(ask(server, "Return JSON with a score from 0 to 10.")))
        assert 0 <= verdict["score"] <= 10
        assert verdict["reason"]


def test_models_are_listed_and_others_are_unknown() -> None:
    with serve(models=["known"]) as server:
        assert [model["id"] for model in ask(server, "", "GET", "/v1/models")[1]["data"]] == ["known"]
        assert ask(server, "q", model="known")[0] == 200
        assert ask(server, "q", model="unknown")[0] == 404


def test_a_wrong_key_is_refused_and_echoed() -> None:
    with serve(api_key="right") as server:
        assert ask(server, "q", headers={"Authorization": "Bearer right"})[0] == 200
        status, body = ask(server, "q", headers={"Authorization": "Bearer wrong-key"})
        assert status == 401
        assert "wrong-key" in body["error"]["message"]


@pytest.mark.parametrize("body", ["", "{", "[]", '{"model": "m"}', '{"messages": [1]}'])
def test_nonsense_is_a_400_and_the_server_lives_on(body: str) -> None:
    with serve() as server:
        address = urlsplit(server.url)
        connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=5)
        connection.request("POST", "/v1/chat/completions", body)
        assert connection.getresponse().status == 400
        connection.close()
        assert ask(server, "still there?")[0] == 200


def test_a_delay_is_kept_for_many_at_once() -> None:
    async def ask_all(server: LoopbackServer) -> None:
        await asyncio.gather(*(asyncio.to_thread(ask, server, f"q{i}") for i in range(4)))

    with serve(delay_ms=40) as server:
        asyncio.run(ask_all(server))
        assert server.stats.most_in_flight > 1
        assert server.stats.window_s >= 0.04


def test_a_server_of_its_own_process_reports_its_counts() -> None:
    with spawn("--fault-rate", "1", "--fault", "server_500") as url:
        server = LoopbackServer()
        server.url = url
        assert ask(server, "q")[0] == 500
        assert fetch_stats(url)["faults"] == {"server_500": 1}


def test_an_unknown_fault_name_is_refused_at_once() -> None:
    with pytest.raises(ValueError, match="no fault is named 'nonsense'; there are rate_limited"):
        LoopbackServer(fault_rate=1, faults=["nonsense"])
