"""Shared by the writers of documents: the form of documents and questions, and repeatable random choices."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")

MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)


@dataclass(frozen=True, slots=True)
class Question:
    """One task. ``answer`` is the reference; ``form`` follows ``Answer:`` in the instruction."""

    id: str
    name: str
    difficulty: str
    text: str
    form: str
    answer: str
    numeric: bool = False


@dataclass(frozen=True, slots=True)
class Document:
    """A long text in chapters, which become the passages of every question about it."""

    key: str
    chapters: tuple[str, ...]
    questions: tuple[Question, ...]


class Dice:
    """Repeatable choices. Uses only ``random()``, because Python guarantees its sequence for a seed."""

    def __init__(self, seed: str) -> None:
        self._random = random.Random(seed).random

    def between(self, lowest: int, highest: int) -> int:
        return lowest + int(self._random() * (highest - lowest + 1))

    def pick(self, items: Sequence[T]) -> T:
        return items[self.between(0, len(items) - 1)]

    def sample(self, items: Sequence[T], size: int) -> list[T]:
        left = list(items)
        return [left.pop(self.between(0, len(left) - 1)) for _ in range(size)]

    def chance(self, share: float) -> bool:
        return self._random() < share


class Deck:
    """Filler sentences, none repeated until all were used."""

    def __init__(self, sentences: Sequence[str], dice: Dice) -> None:
        self._sentences = sentences
        self._dice = dice
        self._left: list[str] = []

    def draw(self) -> str:
        if not self._left:
            self._left = self._dice.sample(self._sentences, len(self._sentences))
        return self._left.pop()


def ordinal(number: int) -> str:
    """``1st``, ``22nd``, ``13th``."""
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"
