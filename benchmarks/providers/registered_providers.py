"""The kinds of provider there are. To add one: a ``Provider`` in a file of its own, a line here, a test."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from benchmarks.providers.base import Provider
from benchmarks.providers.baseline import BaselineProvider
from benchmarks.providers.litellm_provider import LiteLLMProvider
from benchmarks.providers.openai_compatible import OpenAICompatibleProvider
from benchmarks.providers.timeouts import Timeouts
from tasks_app.solver import Unsolvable, solve

BASELINE = "baseline"
"""The one provider that every installation has, and its kind."""


@dataclass(frozen=True, slots=True)
class ProviderSpec:
    """All that is needed to reach a provider. Secrets stay out of ``repr``."""

    name: str
    kind: str = "openai_compatible"
    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    timeouts: Timeouts = field(default_factory=Timeouts)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)


def make_provider(spec: ProviderSpec) -> Provider:
    """The provider that a spec describes; nothing is contacted. ``ValueError`` where the spec cannot work."""
    try:
        factory = PROVIDER_KINDS[spec.kind]
    except KeyError:
        known = ", ".join(PROVIDER_KINDS)
        raise ValueError(f"provider {spec.name}: no kind is named {spec.kind!r}; there are {known}") from None
    return factory(spec)


def split_model(model: str) -> tuple[str, str]:
    """``openai/gpt-4o`` → ``("openai", "gpt-4o")``. The model's own name may hold further slashes."""
    provider, _, name = model.partition("/")
    if not provider or not name or model != model.strip() or name.startswith("/"):
        raise ValueError(f"{model!r} is no model: write provider/model, such as openai/gpt-4o")
    return provider, name


def _openai_compatible(spec: ProviderSpec) -> Provider:
    if spec.base_url is None:
        raise ValueError(f"provider {spec.name}: base_url is missing, the address that ends in /v1")
    return OpenAICompatibleProvider(
        spec.name, spec.base_url, api_key=spec.api_key, timeouts=spec.timeouts, headers=spec.headers
    )


def _litellm(spec: ProviderSpec) -> Provider:
    return LiteLLMProvider(
        spec.name, api_key=spec.api_key, base_url=spec.base_url, timeouts=spec.timeouts, headers=spec.headers
    )


def _baseline(spec: ProviderSpec) -> Provider:
    return BaselineProvider(spec.name, _solved_or_none)


def _solved_or_none(prompt: str) -> str | None:
    try:
        return solve(prompt)
    except Unsolvable:
        return None


PROVIDER_KINDS: Mapping[str, Callable[[ProviderSpec], Provider]] = {
    "openai_compatible": _openai_compatible,
    "litellm": _litellm,
    BASELINE: _baseline,
}
