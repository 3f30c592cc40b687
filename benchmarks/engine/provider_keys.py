"""Where a provider's API key comes from: the environment, or else the database, where it is encrypted.

The encryption key is derived from ``SECRET_KEY``, which is not in the database: whoever has only a copy of the
database, such as a backup, has no API key.
"""

from __future__ import annotations

import base64
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from django.conf import settings

from benchmarks.models import ProviderKey
from benchmarks.providers.clean_text import remember_secret

if TYPE_CHECKING:
    from cryptography.fernet import Fernet

KeySource = Literal["not needed", "environment", "stored", "unreadable", "missing"]
"""``unreadable``: stored, but under another ``SECRET_KEY``."""


@dataclass(frozen=True, slots=True)
class Key:
    source: KeySource
    value: str | None = field(default=None, repr=False)


def key_of(provider: str) -> Key:
    """The key that requests to a provider use. At most one query, none if the environment has the key."""
    if key := _key_without_query(provider):
        return key
    sealed = ProviderKey.objects.filter(provider=provider).values_list("sealed", flat=True).first()
    return _opened(provider, sealed)


def keys_of(providers: list[str]) -> dict[str, Key]:
    """Likewise for several providers, in at most one query."""
    known = {name: key for name in providers if (key := _key_without_query(name))}
    rest = [name for name in providers if name not in known]
    rows = ProviderKey.objects.filter(provider__in=rest).values_list("provider", "sealed") if rest else ()
    stored = dict(rows)
    return known | {name: _opened(name, stored.get(name)) for name in rest}


def keys_allowed() -> bool:
    """Whether keys are stored in, and read from, the database of this installation."""
    return bool(settings.DEV_MODE or settings.KEYS_ON_PAGE)


def sealed_key(provider: str, key: str) -> str:
    """The encrypted form of a key, which only this provider's name and this ``SECRET_KEY`` open."""
    sealed: bytes = _fernet(provider).encrypt(key.encode())
    return sealed.decode()


def _key_without_query(provider: str) -> Key | None:
    configured = settings.CODEFORGE.providers.get(provider)
    if configured is None or configured.api_key_env is None:
        return Key("not needed")
    if value := configured.api_key(os.environ):
        return Key("environment", value)
    return None if keys_allowed() else Key("missing")


def _opened(provider: str, sealed: str | None) -> Key:
    if sealed is None:
        return Key("missing")
    from cryptography.fernet import InvalidToken

    try:
        value = _fernet(provider).decrypt(sealed.encode()).decode()
    except InvalidToken:
        return Key("unreadable")
    remember_secret(value)
    return Key("stored", value)


def _fernet(provider: str) -> Fernet:
    """The cipher for a provider's key. ``cryptography`` is imported here, because most processes never need it."""
    from cryptography.fernet import Fernet
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    # The provider's name is part of the derivation, so that a key copied to another provider's row does not open there.
    purpose = f"codeforge provider key {provider}".encode()
    derived = HKDF(SHA256(), length=32, salt=None, info=purpose).derive(settings.SECRET_KEY.encode())
    return Fernet(base64.urlsafe_b64encode(derived))
