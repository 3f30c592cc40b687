"""The kinds of providers. To add one here: a ``Provider`` in its own file, a line in ``PROVIDER_KINDS``, a test.

An installed package adds one with an entry point in the group ``codeforge_benchmarks.providers``: the kind's name and
its ``Provider`` class. Its code is imported when a configured provider is of that kind.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import EntryPoint, entry_points

from benchmarks.providers.anthropic import AnthropicProvider
from benchmarks.providers.azure_openai import AzureOpenAIProvider
from benchmarks.providers.base import Provider, ProviderSpec
from benchmarks.providers.baseline import BaselineProvider
from benchmarks.providers.litellm_provider import LiteLLMProvider
from benchmarks.providers.openai_compatible import OpenAICompatibleProvider
from benchmarks.providers.openai_responses import OpenAIResponsesProvider

BASELINE = "baseline"
"""The provider that every installation has, and its kind."""
ENTRY_POINTS = "codeforge_benchmarks.providers"

PROVIDER_KINDS: Mapping[str, type[Provider]] = {
    "openai_compatible": OpenAICompatibleProvider,
    "openai_responses": OpenAIResponsesProvider,
    "azure_openai": AzureOpenAIProvider,
    "anthropic": AnthropicProvider,
    "litellm": LiteLLMProvider,
    BASELINE: BaselineProvider,
}


def provider_kinds() -> list[str]:
    """The names of all kinds; a package does not replace one of ours."""
    return [*PROVIDER_KINDS, *sorted(_from_packages().keys() - PROVIDER_KINDS.keys())]


def make_provider(spec: ProviderSpec) -> Provider:
    """The provider that a spec describes; nothing is contacted. Raises ``ValueError`` if the spec cannot work."""
    if spec.kind in PROVIDER_KINDS:
        return PROVIDER_KINDS[spec.kind](spec)
    if spec.kind not in (packaged := _from_packages()):
        raise ValueError(
            f"provider {spec.name}: kind {spec.kind!r} does not exist. Use one of: {', '.join(provider_kinds())}."
        )
    return _loaded(packaged[spec.kind], spec.name)(spec)


def _from_packages() -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=ENTRY_POINTS)}


def _loaded(point: EntryPoint, name: str) -> type[Provider]:
    where = f"provider {name}: kind {point.name!r} of the package {point.dist.name if point.dist else point.module}"
    try:
        loaded = point.load()
    except Exception as error:  # whatever foreign code raises while it is imported
        raise ValueError(f"{where} cannot be imported: {type(error).__name__}: {error}") from error
    if not (isinstance(loaded, type) and issubclass(loaded, Provider)):
        raise ValueError(f"{where} is not a subclass of benchmarks.providers.base.Provider.")
    return loaded


def split_model(model: str) -> tuple[str, str]:
    """``openai/gpt-4o`` → ``("openai", "gpt-4o")``. The model's own name may contain further slashes."""
    provider, _, name = model.partition("/")
    if not provider or not name or model != model.strip() or name.startswith("/"):
        raise ValueError(f"{model!r} is not a valid model name. Use provider/model, for example, openai/gpt-4o.")
    return provider, name
