"""The kinds of providers. To add one: a ``Provider`` in its own file, a line in ``PROVIDER_KINDS``, a test."""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks.providers.base import Provider, ProviderSpec
from benchmarks.providers.baseline import BaselineProvider
from benchmarks.providers.litellm_provider import LiteLLMProvider
from benchmarks.providers.openai_compatible import OpenAICompatibleProvider

BASELINE = "baseline"
"""The provider that every installation has, and its kind."""

PROVIDER_KINDS: Mapping[str, type[Provider]] = {
    "openai_compatible": OpenAICompatibleProvider,
    "litellm": LiteLLMProvider,
    BASELINE: BaselineProvider,
}


def make_provider(spec: ProviderSpec) -> Provider:
    """The provider that a spec describes; nothing is contacted. Raises ``ValueError`` if the spec cannot work."""
    if spec.kind not in PROVIDER_KINDS:
        raise ValueError(
            f"provider {spec.name}: kind {spec.kind!r} does not exist. Use one of: {', '.join(PROVIDER_KINDS)}."
        )
    return PROVIDER_KINDS[spec.kind](spec)


def split_model(model: str) -> tuple[str, str]:
    """``openai/gpt-4o`` → ``("openai", "gpt-4o")``. The model's own name may contain further slashes."""
    provider, _, name = model.partition("/")
    if not provider or not name or model != model.strip() or name.startswith("/"):
        raise ValueError(f"{model!r} is not a valid model name. Use provider/model, for example, openai/gpt-4o.")
    return provider, name
