"""Who makes a model."""

from __future__ import annotations

from benchmarks.providers.model_families import maker_of

MAKERS = {
    "openai/gpt-4.1": "OpenAI",
    "azure/gpt-5-mini": "OpenAI",
    "openai/o3": "OpenAI",
    "openrouter/openai/gpt-oss-120b": "OpenAI",
    "openrouter/anthropic/claude-sonnet-4.5": "Anthropic",
    "ollama/llama3.2": "Meta",
    "ollama/qwen3:8b": "Qwen",
    "vllm/Qwen/Qwen3-8B": "Qwen",
    "mistral/ministral-8b": "Mistral",
    "ollama/gemma3": "Google",
    "local/smollm2-135m-instruct": "smollm",
    "loop/omega": "omega",
    "loop/4": "",
}


def test_the_maker_is_read_from_the_name_and_not_from_the_provider() -> None:
    assert {model: maker_of(model) for model in MAKERS} == MAKERS
