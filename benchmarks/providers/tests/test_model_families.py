"""What is known of a model by its name."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from benchmarks.providers.model_families import ModelFamily, traits_of

NAMES = [
    # model, what is never sent, the endpoint's name for the limit, how its thinking comes
    ("openai/o1", {"temperature", "top_p"}, "max_completion_tokens", "hidden"),
    ("openai/o4-mini-2025-04-16", {"temperature", "top_p"}, "max_completion_tokens", "hidden"),
    ("openrouter/openai/gpt-5-mini", {"temperature", "top_p"}, "max_completion_tokens", "hidden"),
    ("openai/gpt-5-chat-latest", set(), "max_completion_tokens", None),
    ("openai/gpt-5.1-codex", set(), "max_completion_tokens", "hidden"),
    ("openai/gpt-4o", set(), None, None),
    ("ollama/gpt-oss:20b", set(), None, "field"),
    ("ours/olmo-2", set(), None, None),
    ("anthropic/claude-opus-4-7", {"temperature", "top_p"}, None, "blocks"),
    ("openrouter/anthropic/claude-opus-4.8", {"temperature", "top_p"}, None, "blocks"),
    ("anthropic/claude-sonnet-5", {"temperature", "top_p"}, None, "blocks"),
    ("bedrock/anthropic.claude-haiku-5-5-v1:0", {"temperature", "top_p"}, None, "blocks"),
    ("anthropic/claude-opus-4-20250514", set(), None, None),
    ("anthropic/claude-sonnet-4-6", set(), None, None),
    ("deepseek/deepseek-reasoner", {"temperature", "top_p", "json_schema"}, None, "field"),
    ("deepseek/deepseek-chat", {"json_schema"}, None, None),
    ("vllm/deepseek-ai/deepseek-r1", set(), None, "field"),
    ("vllm/Qwen/Qwen3-8B", set(), None, "tags"),
    ("vllm/qwen/qwen3-coder-30b", set(), None, None),
    ("mistral/magistral-medium-latest", set(), None, "parts"),
    ("moonshot/kimi-k2.5", {"temperature"}, None, "field"),
    ("gemini/gemini-2.5-pro", set(), None, "hidden"),
]


def test_known_models_have_the_traits_of_their_families() -> None:
    for model, never_sent, limit, thinking in NAMES:
        traits = traits_of(model, {})
        expected = (never_sent, limit, thinking)
        assert (set(traits.never_sent), traits.names.get("max_tokens"), traits.thinking) == expected, model


def test_a_seed_has_mistrals_name_only_at_mistral() -> None:
    assert traits_of("mistral/mistral-large-latest", {}).names == {"seed": "random_seed"}
    assert traits_of("vllm/mistralai/mistral-7b", {}).names == {}


def test_families_of_the_user_are_added_and_replace_shipped_ones_of_the_same_name() -> None:
    own = {
        "ours": ModelFamily(models="^vllm/", never_sent=["seed"], thinking="tags"),
        "openai-reasoning": ModelFamily(models="^openai/o3$", never_sent=["seed"]),
    }
    assert traits_of("vllm/x", own).never_sent == {"seed": "ours"}
    assert traits_of("openai/o3", own).never_sent == {"seed": "openai-reasoning"}
    assert not traits_of("openai/gpt-5", own).never_sent


def test_a_pattern_that_is_no_regular_expression_is_refused() -> None:
    with pytest.raises(ValidationError, match="is not a regular expression"):
        ModelFamily(models="gpt-(")
