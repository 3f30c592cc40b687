from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from benchmarks.providers import baseline
from benchmarks.providers.base import BaselineContext, ChatReply, ChatRequest, ProviderError, ProviderSpec
from benchmarks.providers.baseline import BASELINE_MODELS, BaselineProvider

TOOLS = [{"name": "search", "args": {"q": "weather"}}, {"name": "now"}]


BASELINE = BaselineProvider(ProviderSpec("baseline", "baseline"))


async def ask(model: str, messages: Any = None, **context: Any) -> ChatReply:
    facts = BaselineContext(
        **{"expected_output": "four", "choices": ("four", "five"), "majority": "five", "blind": "six", **context}
    )
    request = ChatRequest(model, messages or [{"role": "user", "content": "2+2?"}], baseline=facts)
    return await BASELINE.complete(request)


@pytest.mark.parametrize(
    ("model", "text"), [("reference", "four"), ("majority", "five"), ("blind", "six"), ("empty", "")]
)
async def test_a_baseline_answers_what_it_is_named_for(model: str, text: str) -> None:
    reply = await ask(model)
    assert (reply.text, reply.finish_reason, reply.tokens_in, reply.tokens_out) == (text, "stop", 0, 0)


async def test_the_reference_makes_the_expected_tool_calls_in_order() -> None:
    reply = await ask("reference", expected_tools=TOOLS)
    assert [(call.name, call.arguments) for call in reply.tool_calls] == [("search", {"q": "weather"}), ("now", {})]
    assert reply.tool_calls[0].raw_arguments == '{"q":"weather"}'
    assert reply.finish_reason == "tool_calls"


async def test_the_reference_answers_without_calls_once_it_has_a_tools_result() -> None:
    messages = [{"role": "user", "content": "2+2?"}, {"role": "tool", "content": "sunny"}]
    reply = await ask("reference", messages, expected_tools=TOOLS)
    assert (reply.text, reply.tool_calls, reply.finish_reason) == ("four", (), "stop")


async def test_a_random_answer_repeats_for_the_same_salt() -> None:
    first = [(await ask("random", salt=f"{i}")).text for i in range(20)]
    again = [(await ask("random", salt=f"{i}", choices=("five", "four"))).text for i in range(20)]
    assert first == again
    assert set(first) == {"four", "five"}


async def test_random_answers_are_even_over_the_choices() -> None:
    choices = ("a", "b", "c", "d")
    counts = Counter([(await ask("random", salt=f"run {i}", choices=choices)).text for i in range(4000)])
    chi_square = sum((counts[choice] - 1000) ** 2 / 1000 for choice in choices)
    assert chi_square < 16.27  # 99.9 % of the distribution with 3 degrees of freedom


async def test_the_solver_gets_only_the_text_of_the_last_user_message(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    monkeypatch.setattr(baseline, "solve", lambda prompt: seen.append(prompt) or "solved")
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    messages = [
        {"role": "system", "content": "Be brief"},
        {"role": "user", "content": [{"type": "text", "text": "How many?"}, image]},
    ]
    assert (await ask("solver", messages)).text == "solved"
    assert seen == ["How many?"]


async def test_the_solver_refuses_what_is_not_a_canvas_question_instead_of_guessing() -> None:
    reply = await ask("solver", [{"role": "user", "content": "Tell a joke"}])
    assert reply.text == ""
    assert reply.refusal == "the prompt's text does not determine the answer"


@pytest.mark.parametrize("model", ["nonsense", ""])
async def test_an_unknown_baseline_is_an_error_that_lists_the_known(model: str) -> None:
    with pytest.raises(ProviderError, match="baseline/reference") as raised:
        await ask(model)
    assert (raised.value.kind, raised.value.retryable, raised.value.systemic) == ("not_found", False, True)


@pytest.mark.parametrize("model", ["reference", "random", "majority"])
async def test_a_request_without_its_context_is_refused(model: str) -> None:
    with pytest.raises(ProviderError, match="needs the request's baseline context"):
        await BASELINE.complete(ChatRequest(model, []))


async def test_random_without_choices_is_refused() -> None:
    with pytest.raises(ProviderError, match="at least one choice"):
        await ask("random", choices=())


async def test_every_listed_model_answers() -> None:
    for model in BASELINE_MODELS:
        assert (await ask(model)).model == model
