"""The score of a judged answer, and how it was read."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Status(StrEnum):
    CORRECT = "correct"
    PARTIAL = "partial"
    WRONG = "wrong"
    UNPARSABLE = "unparsable"
    """No answer found, or several conflicting ones."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """A value in [0, 1], or None if the reply is unparsable; the part that was compared; the reason.

    `failure` says in a few words why the reply is not right, such as "Counted one too few". Results are grouped by it.
    """

    value: float | None
    status: Status
    extracted: str | None
    reason: str
    failure: str = ""

    @classmethod
    def of(cls, value: float, extracted: str | None, reason: str, failure: str = "") -> Verdict:
        """Return the verdict of a reply that could be read."""
        status = Status.CORRECT if value == 1 else Status.PARTIAL if value > 0 else Status.WRONG
        return cls(value, status, extracted, reason, failure)

    @classmethod
    def unparsable(cls, reason: str, extracted: str | None = None, failure: str = "") -> Verdict:
        return cls(None, Status.UNPARSABLE, extracted, reason, failure)
