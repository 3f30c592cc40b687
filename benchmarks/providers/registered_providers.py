"""The kinds of providers. To add one here: a ``Provider`` in its own file, a line in ``PROVIDER_KINDS``, a test.

An installed package adds one with an entry point (``benchmarks.plugins``): the kind's name and its ``Provider`` class.
"""

from __future__ import annotations

from benchmarks.plugins import PluginProblem, Plugins
from benchmarks.providers.anthropic import AnthropicProvider
from benchmarks.providers.azure_openai import AzureOpenAIProvider
from benchmarks.providers.base import Provider, ProviderSpec
from benchmarks.providers.baseline import BaselineProvider
from benchmarks.providers.litellm_provider import LiteLLMProvider
from benchmarks.providers.model_names import BASELINE
from benchmarks.providers.openai_compatible import OpenAICompatibleProvider
from benchmarks.providers.openai_responses import OpenAIResponsesProvider
from benchmarks.providers.systems.command import CommandSystem
from benchmarks.providers.systems.http_system import HttpSystem
from benchmarks.providers.systems.python_function import PythonSystem

PROVIDER_KINDS: Plugins[type[Provider]] = Plugins(
    "providers",
    "provider kind",
    Provider,
    {
        "openai_compatible": OpenAICompatibleProvider,
        "openai_responses": OpenAIResponsesProvider,
        "azure_openai": AzureOpenAIProvider,
        "anthropic": AnthropicProvider,
        "litellm": LiteLLMProvider,
        "http": HttpSystem,
        "command": CommandSystem,
        "python": PythonSystem,
        BASELINE: BaselineProvider,
    },
    make=lambda kind: kind,
)


def make_provider(spec: ProviderSpec) -> Provider:
    """The provider that a spec describes; nothing is contacted. Raises ``ValueError`` if the spec cannot work."""
    if spec.kind not in (known := PROVIDER_KINDS.names()):
        raise ValueError(f"provider {spec.name}: kind {spec.kind!r} does not exist. Use one of: {', '.join(known)}.")
    try:
        kind = PROVIDER_KINDS.load(spec.kind)
    except PluginProblem as problem:
        raise ValueError(f"provider {spec.name}: {problem}") from problem
    return kind(spec)
