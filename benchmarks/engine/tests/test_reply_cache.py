"""The response cache: a response is reused for exactly the same request, and costs nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from benchmarks.engine.execution import model_clients
from benchmarks.models import Outcome, RunStatus
from benchmarks.services.runs.control import retry_failed
from codeforge.config import Config
from tests.support.factories import make_dataset, make_run, make_task
from tests.support.running import VERDICT, Endpoint, judged_by, worked

pytestmark = pytest.mark.django_db(transaction=True)


def test_the_same_request_is_answered_from_the_cache_for_nothing(endpoint: Endpoint) -> None:
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
    "prompt template": lambda settings: {"prompt_template": "{input} Think first."},
    "max output tokens": lambda settings: {"max_tokens": 7},
    "seed": lambda settings: {"seed": 7},
    "tools": lambda settings: {"dataset": make_dataset([make_task(1, tools=(WEATHER,))], slug="with-tools")},
    "endpoint": lambda settings: setattr(settings, "CODEFORGE", elsewhere(settings.CODEFORGE)) or {},
}


def elsewhere(config: Config) -> Config:
    """The configuration with the same server under another address."""
    provider = config.providers["loop"]
    moved = provider.model_copy(update={"base_url": provider.base_url.replace("127.0.0.1", "localhost")})
    model_clients.forget()
    return config.model_copy(update={"providers": {"loop": moved}})


def test_whatever_is_sent_is_part_of_the_key(endpoint: Endpoint, settings: Any) -> None:
    server = endpoint(lambda asked: "2")
    dataset = make_dataset(1)
    worked(make_run(dataset, use_cache=True))
    for requests, (name, change) in enumerate(CHANGES.items(), 2):
        other = worked(make_run(**{"dataset": dataset, "use_cache": True, **change(settings)}))
        assert other.status == RunStatus.COMPLETED, (name, other.error_message)
        assert server.stats.requests == requests, name
        assert not other.results.get().cached, name


def test_a_refusal_from_the_cache_is_still_a_refusal(endpoint: Endpoint) -> None:
    server = endpoint(lambda asked: "2")
    dataset = make_dataset([make_task(1, input="[[fault:refusal]]")])
    results = [worked(make_run(dataset, use_cache=True)).results.get() for _ in range(2)]
    assert [result.outcome for result in results] == [Outcome.REFUSED, Outcome.REFUSED]
    first, second = (result.transcript.actual_output for result in results)
    assert first == second != ""
    assert server.stats.requests == 1


def test_a_judges_verdicts_are_cached_and_nonsense_is_not(endpoint: Endpoint) -> None:
    server = endpoint(judged_by('{"score": 9, "reason": "because"}'))
    dataset = make_dataset(2)
    worked(make_run(dataset, metrics=["correctness"], use_cache=True))
    requests = server.stats.requests
    again = worked(make_run(dataset, metrics=["correctness"], use_cache=True))
    assert server.stats.requests == requests
    assert again.judge_cost_usd == 0
    assert again.summary["metrics"]["correctness"]["mean"] == pytest.approx(0.9)
    server.script = lambda asked: "nonsense" if asked.body["model"] == "judge" else "3"
    other = worked(make_run(dataset, metrics=["correctness"], use_cache=True, temperature=0.5))
    assert other.errors == 2
    server.script = judged_by(VERDICT)
    retry_failed(other)
    assert worked(other).errors == 0
