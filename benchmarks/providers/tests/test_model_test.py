"""What a test finds out about a model, against an endpoint that supports as much as the test wants."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from benchmarks.providers import model_test
from benchmarks.providers.base import ProviderSpec, Timeouts
from benchmarks.providers.model_test import CAPABILITIES, REQUESTS, ModelReport, run_model_test
from benchmarks.providers.openai_compatible import OpenAICompatibleProvider
from tests.loopback import FAULTS, LoopbackServer, Reply, serve
from tests.loopback.faults import Fault
from tests.loopback.replies import Asked, Script

LIMIT = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
REFUSED_LIMIT = json.dumps({"error": {"message": LIMIT, "param": "max_tokens", "code": "unsupported_parameter"}})


async def report(script: Script | None = None, *, timeouts: Timeouts | None = None, **options: Any) -> ModelReport:
    with serve(script, **options) as server:
        return await report_from(server, timeouts or Timeouts())


async def report_from(server: LoopbackServer, timeouts: Timeouts) -> ModelReport:
    spec = ProviderSpec("loop", base_url=server.url, timeouts=timeouts)
    plain, streaming = OpenAICompatibleProvider(spec), OpenAICompatibleProvider(replace(spec, stream=True))
    try:
        return await run_model_test(plain, streaming, "model")
    finally:
        await plain.close()
        await streaming.close()


def supports(found: ModelReport) -> dict[str, str]:
    return {name: capability.support for name, capability in found.capabilities.items()}


def sees(asked: Asked) -> str | None:
    return "Red." if isinstance(asked.body["messages"][-1]["content"], list) else None


def refuses(asked: Asked) -> Any:
    if "temperature" in asked.body:
        return FAULTS["refused_parameter_400"]
    if "tools" in asked.body:
        return FAULTS["server_500"]
    return Reply("not JSON") if "response_format" in asked.body else None


async def test_a_model_that_can_do_everything_is_found_to() -> None:
    found = await report(sees)
    assert found.error is None
    assert found.duration_ms is not None
    assert supports(found) == dict.fromkeys(CAPABILITIES, "yes")


async def test_refused_ignored_and_failed_are_told_apart() -> None:
    found = await report(refuses)
    assert supports(found) == {
        "tools": "unknown",
        "json_schema": "ignored",
        "streaming": "yes",
        "images": "ignored",
        "temperature": "refused",
    }
    assert "'temperature' does not support 0" in found.capabilities["temperature"].message
    assert "The server had an error" in found.capabilities["tools"].message


async def test_without_an_answer_nothing_more_is_sent() -> None:
    with serve(models=("other",)) as server:
        found = await report_from(server, Timeouts())
        assert server.stats.requests == 1
    assert found.error is not None
    assert found.error.kind == "not_found"
    assert found.capabilities == {}


async def test_a_test_sends_no_more_than_it_announces() -> None:
    with serve() as server:
        await report_from(server, Timeouts())
        assert server.stats.requests == REQUESTS - 1
        assert server.stats.most_in_flight <= model_test.PARALLEL
        assert all(body["max_tokens"] <= model_test.MAX_TOKENS for body in server.stats.bodies)


async def test_a_model_with_another_name_of_the_limit_is_tested_with_that() -> None:
    def script(asked: Asked) -> Any:
        limited = "max_tokens" in asked.body
        return Fault("a refusal", 400, lambda ordinary: REFUSED_LIMIT.encode()) if limited else sees(asked)

    with serve(script) as server:
        found = await report_from(server, Timeouts())
        assert server.stats.requests == REQUESTS
    assert (found.error, supports(found)) == (None, dict.fromkeys(CAPABILITIES, "yes"))


async def test_a_test_ends_in_time_however_long_the_endpoint_is_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_test, "TEST_SECONDS", 0.3)
    found = await report(lambda asked: FAULTS["hang"])
    assert found.error is not None
    assert found.error.kind == "timeout"
    found = await report(lambda asked: FAULTS["hang"] if "temperature" in asked.body else None)
    assert found.error is None
    assert found.capabilities["temperature"].support == "unknown"
    assert "No response within 0.3 s" in found.capabilities["temperature"].message


@pytest.mark.parametrize("fault", ["html_instead_of_json", "redirect", "gzip_bomb", "oversized_body", "deep_json"])
async def test_a_hostile_answer_is_an_error_and_nothing_worse(fault: str) -> None:
    found = await report(lambda asked: FAULTS[fault])
    assert found.error is not None
    assert found.error.message.startswith("loop: ")
