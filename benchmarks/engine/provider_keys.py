"""Where a provider's API key comes from: the environment, or else the database, where it is encrypted.

A key goes only to the address that it was given for: that of the environment to the addresses in codeforge.yaml, and
one that was entered to the address at that time.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any, Literal

from benchmarks.engine.addresses import Address, addresses_of
from benchmarks.engine.configured import providers_named
from benchmarks.engine.sealing import seal, sealing_allowed, unseal
from benchmarks.models import ProviderKey

KeySource = Literal["not needed", "environment", "stored", "unreadable", "missing"]
"""``unreadable``: stored, but under another ``SECRET_KEY``."""


@dataclass(frozen=True, slots=True)
class Key:
    source: KeySource
    value: str | None = field(default=None, repr=False)


def key_of(provider: str) -> Key:
    """The key that requests to a provider use. At most three queries, none if the environment has the key and the file
    the address."""
    return keys_of([provider])[provider]


def keys_of(providers: list[str]) -> dict[str, Key]:
    """Likewise for several providers, in as many queries."""
    addresses, configured = addresses_of(providers), providers_named(providers)
    known = {name: key for name in providers if (key := _key_without_query(configured.get(name), addresses[name]))}
    rest = [name for name in providers if name not in known]
    rows = ProviderKey.objects.filter(provider__in=rest).values_list("provider", "sealed") if rest else ()
    stored = dict(rows)
    return known | {name: _opened(name, configured[name], stored.get(name)) for name in rest}


def sealed_key(provider: str, key: str) -> str:
    return seal(_purpose(provider), key)


def _key_without_query(configured: Any, address: Address) -> Key | None:
    if configured is None or configured.api_key_env is None:
        return Key("unreadable" if configured and configured.entered and configured.unreadable else "not needed")
    if address.source != "page" and (value := configured.api_key(os.environ)):
        return Key("environment", value)
    return None if sealing_allowed() else _no_key(configured)


def _no_key(configured: Any) -> Key:
    return Key("missing" if configured.key_required else "not needed")


def _opened(provider: str, configured: Any, sealed: str | None) -> Key:
    if sealed is None:
        return _no_key(configured)
    value = unseal(_purpose(provider), sealed)
    return Key("unreadable") if value is None else Key("stored", value)


def _purpose(provider: str) -> str:
    return f"provider key {provider}"
