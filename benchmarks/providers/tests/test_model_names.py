"""The name of a model says its provider, its own name, and whether it is a built-in baseline."""

from __future__ import annotations

import pytest

from benchmarks.providers.model_names import is_baseline, split_model


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("openai/gpt-4o", ("openai", "gpt-4o")),
        ("openrouter/meta-llama/llama-3-8b", ("openrouter", "meta-llama/llama-3-8b")),
        ("ollama/qwen3:8b", ("ollama", "qwen3:8b")),
        ("bot", ("bot", "")),
    ],
)
def test_a_model_is_split_at_its_first_slash(model: str, expected: tuple[str, str]) -> None:
    assert split_model(model) == expected


@pytest.mark.parametrize("model", ["", "/gpt-4o", "openai/", "openai//gpt-4o", " openai/gpt-4o", "/"])
def test_a_model_without_provider_or_name_is_refused(model: str) -> None:
    with pytest.raises(ValueError, match="Use provider/model"):
        split_model(model)


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("baseline/random", True),
        ("baseline/", True),
        ("baseline", False),
        ("baselines/a", False),
        ("a/baseline/b", False),
    ],
)
def test_a_baseline_is_a_model_of_the_built_in_provider(model: str, expected: bool) -> None:
    assert is_baseline(model) is expected
