"""What services raise when they cannot do what was asked. The messages are written for the person who asked."""

from __future__ import annotations

from collections.abc import Mapping


class NotPossible(Exception):
    """The thing asked for cannot be done now; the message says why and what can be done instead."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class InvalidRequest(Exception):
    """A request that cannot be accepted: field → what is wrong with it, every field at once."""

    def __init__(self, errors: Mapping[str, list[str]]) -> None:
        super().__init__("; ".join(f"{field}: {' '.join(messages)}" for field, messages in errors.items()))
        self.errors = dict(errors)
