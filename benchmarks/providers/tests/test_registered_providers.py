from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.providers.anthropic import AnthropicProvider
from benchmarks.providers.azure_openai import AzureOpenAIProvider
from benchmarks.providers.base import ChatRequest, ProviderSpec
from benchmarks.providers.baseline import BaselineProvider
from benchmarks.providers.litellm_provider import LiteLLMProvider
from benchmarks.providers.openai_compatible import OpenAICompatibleProvider
from benchmarks.providers.openai_responses import OpenAIResponsesProvider
from benchmarks.providers.registered_providers import PROVIDER_KINDS, make_provider
from tests.support.packages import install_package


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("openai_compatible", OpenAICompatibleProvider),
        ("openai_responses", OpenAIResponsesProvider),
        ("azure_openai", AzureOpenAIProvider),
        ("anthropic", AnthropicProvider),
        ("litellm", LiteLLMProvider),
        ("baseline", BaselineProvider),
    ],
)
def test_a_spec_becomes_a_provider_of_its_kind(kind: str, expected: type) -> None:
    provider = make_provider(ProviderSpec("mine", kind, base_url="http://127.0.0.1:1/v1?api-version=1"))
    assert type(provider) is expected
    assert provider.name == "mine"


def test_an_unknown_kind_is_an_error_that_lists_the_known() -> None:
    with pytest.raises(
        ValueError, match=r"kind 'soap' does not exist\. Use one of: openai_compatible, .*, litellm, .*, baseline"
    ):
        make_provider(ProviderSpec("p", "soap"))


def test_an_endpoint_without_an_address_is_refused() -> None:
    with pytest.raises(ValueError, match="provider p: base_url is missing"):
        make_provider(ProviderSpec("p", "openai_compatible"))


PACKAGED = """
from benchmarks.providers.base import ChatReply, Provider

class EchoProvider(Provider):
    async def complete(self, request):
        return ChatReply(request.messages[-1]["content"])

not_a_provider = 7
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An installed package with entry points, on a path of its own."""
    code = {"echo_provider": PACKAGED, "broken_provider": "raise RuntimeError('no license')"}
    points = {
        "echo": "echo_provider:EchoProvider",
        "odd": "echo_provider:not_a_provider",
        "broken": "broken_provider:P",
        "anthropic": "echo_provider:EchoProvider",
    }
    install_package(monkeypatch, tmp_path, "echo-package", code, {"providers": points})


@pytest.mark.usefixtures("package")
async def test_a_package_adds_a_kind_and_replaces_none() -> None:
    assert PROVIDER_KINDS.names()[-3:] == ["broken", "echo", "odd"]
    provider = make_provider(ProviderSpec("mine", "echo"))
    assert (await provider.complete(ChatRequest("m", [{"role": "user", "content": "hello"}]))).text == "hello"
    assert type(make_provider(ProviderSpec("a", "anthropic", "http://127.0.0.1:1/v1"))) is AnthropicProvider


@pytest.mark.usefixtures("package")
@pytest.mark.parametrize(
    ("kind", "says"),
    [
        ("odd", "kind 'odd' of the package echo-package is not a subclass"),
        ("broken", "kind 'broken' of the package echo-package cannot be imported: RuntimeError: no license"),
    ],
)
def test_a_kind_that_cannot_be_used_names_its_package(kind: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        make_provider(ProviderSpec("mine", kind))


def test_secrets_are_not_in_the_repr_of_a_spec() -> None:
    spec = ProviderSpec("p", api_key="sk-secret", headers={"X-Key": "hidden"})
    assert "secret" not in repr(spec)
    assert "hidden" not in repr(spec)
