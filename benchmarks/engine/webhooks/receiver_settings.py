"""What may be set of a webhook, in codeforge.yaml and on the page. No Django: the configuration is read before it."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import urlsplit

from pydantic import Field

from benchmarks.providers.base import Section


def receiver_address(value: str) -> str:
    """The URL, unchanged. Errors do not quote it, because the URL of a webhook can be a secret."""
    try:
        parts = urlsplit(value)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable or not value.isascii() or not value.isprintable() or " " in value:
        raise ValueError("This is not an HTTP(S) URL. Use a URL such as https://hooks.example.com/codeforge.")
    if parts.username or parts.password:
        raise ValueError("The URL must not contain a user name or password. Deliveries are signed.")
    return value


class Redelivery(Section):
    """Attempts at one delivery that fails: the next after ``base_seconds``, then after twice as long each time, up to
    ``cap_seconds``."""

    max_attempts: Annotated[int, Field(ge=1, le=50)] = 10
    """Attempts at one delivery"""
    base_seconds: Annotated[float, Field(ge=1, le=86_400)] = 30.0
    """Seconds until the second attempt, doubled with each further one"""
    cap_seconds: Annotated[float, Field(ge=1, le=86_400)] = 3600.0
    """Limit of that doubling"""

    def pause(self, attempts: int) -> float:
        """Seconds from the end of attempt number ``attempts`` to the next one."""
        return float(min(self.cap_seconds, self.base_seconds * 2.0 ** (attempts - 1)))
