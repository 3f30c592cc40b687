"""Where the rows of a matrix part: kinds of failures that some have more often than others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.analysis.matrices import Row
from benchmarks.presentation.labels import OUTCOME, sentence_case
from benchmarks.summary import Failure

MOST_KINDS, MOST_ROWS = 8, 6


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of failure with the number of its results in each row, and the width of its bar in percent of the largest
    of all. ``example`` is one result of the row that has most."""

    outcome: str
    label: str
    counts: Sequence[tuple[int, int]]
    example: tuple[int, int] | None


@dataclass(frozen=True, slots=True)
class Parting:
    names: Sequence[str]
    kinds: Sequence[Kind]


def parting(rows: Sequence[Row]) -> Parting:
    """The kinds in which the first rows differ most; none with fewer than two rows."""
    shown = rows[:MOST_ROWS]
    counts: dict[tuple[str, str], list[int]] = {}
    examples: dict[tuple[str, str], tuple[int, int, int]] = {}
    for place, row in enumerate(shown):
        for run in row.runs:
            for failure in run.numbers.failures:
                key = (failure.outcome, failure.reason)
                counts.setdefault(key, [0] * len(shown))[place] += failure.n
                examples[key] = max(examples.get(key, (0, 0, 0)), _example(failure, run.pk))
    differing = [key for key, of_rows in counts.items() if len(shown) > 1 and len({*of_rows}) > 1]
    differing.sort(key=lambda key: (min(counts[key]) - max(counts[key]), key))
    largest = max((max(counts[key]) for key in differing), default=1)
    return Parting(
        [row.name for row in shown], [_kind(key, counts[key], examples[key], largest) for key in differing[:MOST_KINDS]]
    )


def _example(failure: Failure, run: int) -> tuple[int, int, int]:
    return (failure.n, run, failure.examples[0]) if failure.examples else (0, 0, 0)


def _kind(key: tuple[str, str], counts: Sequence[int], example: tuple[int, int, int], largest: int) -> Kind:
    outcome, reason = key
    label = sentence_case(reason) if reason else OUTCOME[outcome]
    bars = [(n, 100 * n // largest) for n in counts]
    return Kind(outcome, label, bars, example[1:] if example[0] else None)
