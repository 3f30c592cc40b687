from __future__ import annotations

import pytest

from benchmarks.providers.base import ProviderSpec
from benchmarks.providers.baseline import BaselineProvider
from benchmarks.providers.litellm_provider import LiteLLMProvider
from benchmarks.providers.openai_compatible import OpenAICompatibleProvider
from benchmarks.providers.registered_providers import make_provider, split_model


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("openai_compatible", OpenAICompatibleProvider),
        ("litellm", LiteLLMProvider),
        ("baseline", BaselineProvider),
    ],
)
def test_a_spec_becomes_a_provider_of_its_kind(kind: str, expected: type) -> None:
    provider = make_provider(ProviderSpec("mine", kind, base_url="http://127.0.0.1:1/v1"))
    assert type(provider) is expected
    assert provider.name == "mine"


def test_an_unknown_kind_is_an_error_that_lists_the_known() -> None:
    with pytest.raises(
        ValueError, match=r"kind 'soap' does not exist\. Use one of: openai_compatible, litellm, baseline"
    ):
        make_provider(ProviderSpec("p", "soap"))


def test_an_endpoint_without_an_address_is_refused() -> None:
    with pytest.raises(ValueError, match="provider p: base_url is missing"):
        make_provider(ProviderSpec("p", "openai_compatible"))


def test_secrets_are_not_in_the_repr_of_a_spec() -> None:
    spec = ProviderSpec("p", api_key="sk-secret", headers={"X-Key": "hidden"})
    assert "secret" not in repr(spec)
    assert "hidden" not in repr(spec)


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("openai/gpt-4o", ("openai", "gpt-4o")),
        ("openrouter/meta-llama/llama-3-8b", ("openrouter", "meta-llama/llama-3-8b")),
        ("ollama/qwen3:8b", ("ollama", "qwen3:8b")),
    ],
)
def test_a_model_is_split_at_its_first_slash(model: str, expected: tuple[str, str]) -> None:
    assert split_model(model) == expected


@pytest.mark.parametrize("model", ["", "gpt-4o", "/gpt-4o", "openai/", "openai//gpt-4o", " openai/gpt-4o", "/"])
def test_a_model_without_provider_or_name_is_refused(model: str) -> None:
    with pytest.raises(ValueError, match="Use provider/model"):
        split_model(model)
