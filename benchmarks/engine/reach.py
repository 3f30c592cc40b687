"""How this worker process reaches models: one provider object and one gate for each, made on first use and shared."""

from __future__ import annotations

import atexit
import os
from functools import cache

from django.conf import settings

from benchmarks.engine.line import Model
from benchmarks.engine.loop import ENGINE_LOOP
from benchmarks.providers.base import Provider
from benchmarks.providers.gate import Limits
from benchmarks.providers.gates import Gates
from benchmarks.providers.registered_providers import ProviderSpec, make_provider, split_model
from benchmarks.providers.retrying import RetryPolicy
from benchmarks.providers.timeouts import Timeouts


def model_at(name: str) -> Model:
    """The model named ``provider/model``. Raises ``ValueError`` where its provider is not configured (any more)."""
    provider, model = split_model(name)
    configured = settings.CODEFORGE.providers.get(provider)
    policy = RetryPolicy(**configured.retries.model_dump()) if configured else RetryPolicy(max_attempts=1)
    return Model(_provider(provider), model, _gates().of(provider, model, limits_of(name)), policy)


CLOSING_SECONDS = 2.0
_made: list[Provider] = []


@cache
def _provider(name: str) -> Provider:
    provider = make_provider(_spec(name))
    _made.append(provider)
    return provider


def _spec(name: str) -> ProviderSpec:
    if name == "baseline":
        return ProviderSpec(name=name, kind="baseline")
    configured = settings.CODEFORGE.providers.get(name)
    if configured is None:
        raise ValueError(f"provider {name!r} is not configured in codeforge.yaml")
    return ProviderSpec(
        name=name,
        kind=configured.kind,
        base_url=configured.base_url,
        api_key=configured.api_key(os.environ),
        timeouts=Timeouts(**configured.timeouts.model_dump()),
        headers=configured.headers,
    )


@cache
def _gates() -> Gates:
    return Gates(settings.REDIS_URL or None)


def limits_of(name: str) -> Limits:
    """The model's own limits, and its provider's where it has none."""
    config = settings.CODEFORGE
    configured = config.providers.get(split_model(name)[0])
    own = config.model(name).limits.model_dump(exclude_none=True)
    return Limits(**{**(configured.limits.model_dump() if configured else {}), **own})


def forget() -> None:
    """Close connections, and make providers and gates anew on their next use, from the configuration as it is then."""
    for provider in _made:
        ENGINE_LOOP.submit(provider.close()).result(CLOSING_SECONDS)
    if _made:
        ENGINE_LOOP.submit(_gates().close()).result(CLOSING_SECONDS)
    _made.clear()
    _provider.cache_clear()
    _gates.cache_clear()


atexit.register(forget)
