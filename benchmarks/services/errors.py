"""Errors that services raise. Their messages are written for the person who made the request."""

from __future__ import annotations

import re
from collections.abc import Mapping

_FIELD = re.compile(r"⟨([a-z_]+)⟩")


class NotPossible(Exception):
    """The action is not possible now; the message says why, and what to do instead."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class InvalidRequest(Exception):
    """A request is not valid: field → messages, for all fields at once.

    A message refers to a field as ``⟨max_tokens⟩``. ``errors`` writes the name of the field, as the API and the command
    line do; ``labeled`` writes the label that the field has on the dashboard; ``unlabeled`` keeps the mark.
    """

    def __init__(self, errors: Mapping[str, list[str]]) -> None:
        self.unlabeled = dict(errors)
        super().__init__(" ".join(f"{field}: {' '.join(messages)}" for field, messages in self.errors.items()))

    @property
    def errors(self) -> dict[str, list[str]]:
        return self.labeled({})

    def labeled(self, labels: Mapping[str, str]) -> dict[str, list[str]]:
        """The messages, with the label of each field they refer to, or its name where it has no label."""

        def named(message: str) -> str:
            return _FIELD.sub(lambda field: labels.get(field[1], field[1]), message)

        return {field: [named(message) for message in messages] for field, messages in self.unlabeled.items()}
