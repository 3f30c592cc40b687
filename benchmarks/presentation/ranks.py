"""What rankings say alike everywhere: which scores are equal and share a rank, and what a baseline shows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.presentation.labels import sentence_case
from benchmarks.presentation.numbers import number, score
from benchmarks.statistics.spread import are_equal

BASELINE_UNRANKED = "A baseline has no rank."
PHRASES: Mapping[str, str] = {
    "reference": "giving the expected answer",
    "random": "guessing at random",
    "majority": "always giving the most common answer",
    "blind": "answering without seeing the canvas",
    "empty": "giving an empty answer",
    "solver": "solving the text by rules",
}
"""Name of a built-in baseline → what it does, as the subject of a sentence."""
EFFORTLESS = frozenset({"random", "majority", "blind", "empty"})
"""Baselines that do not read the question, so a model should score more."""
_COUNTS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


@dataclass(frozen=True, slots=True)
class Mark:
    """A baseline with its mean: what models are compared with, not one of them."""

    name: str
    mean: float

    @property
    def phrase(self) -> str:
        return PHRASES.get(self.name, self.name)


def shared_ranks(ordered: Sequence[Sequence[float]]) -> list[int]:
    """The rank of each, in the order given, best first: equal ones share the best of their ranks (1, 1, 3)."""
    ranks: list[int] = []
    for place, values in enumerate(ordered):
        before = ordered[place - 1] if place else None
        shared = before is not None and all(map(are_equal, values, before))
        ranks.append(ranks[-1] if shared else place + 1)
    return ranks


def in_words(count: int) -> str:
    """``four``, ``12``."""
    return _COUNTS[count - 2] if 2 <= count < 2 + len(_COUNTS) else number(count)


def listed(names: Sequence[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else "".join(names)


def tied_names(names: Sequence[str], n_all: int, noun: str = "models") -> str:
    """Who has the highest score, of ``n_all``: ``a``, ``a and b``, ``a and 2 others``, ``All three models``."""
    if len(names) == n_all > 2:
        return f"All {in_words(n_all)} {noun}"
    return listed(names) if len(names) < 3 else f"{names[0]} and {number(len(names) - 1)} others"


def effortless(marks: Iterable[Mark]) -> Mark | None:
    """The best of the baselines that every model should exceed; ``None`` without any."""
    return max((mark for mark in marks if mark.name in EFFORTLESS), key=lambda mark: mark.mean, default=None)


def is_below(mean: float, mark: Mark | None) -> bool:
    return mark is not None and mean < mark.mean and not are_equal(mean, mark.mean)


def against(mark: Mark) -> str:
    """``always giving the most common answer scores 0.342``."""
    return f"{mark.phrase} scores {score(mark.mean)}"


def under(mean: float, marks: Iterable[Mark]) -> str:
    """The baseline that a model does not reach: ``Guessing at random scores 0.342``; empty if it reaches all."""
    bar = effortless(marks)
    return sentence_case(against(bar)) if bar and is_below(mean, bar) else ""


def only_baselines(marks: Sequence[Mark], measured: str = "") -> str:
    """The sentence where no model has run."""
    best_first = sorted(marks, key=lambda mark: -mark.mean)
    return f"Only baselines have run{measured}: {listed([against(mark) for mark in best_first])}."
