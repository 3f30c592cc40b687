"""Kinds of failures across models: how often each has them, and where the models part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.analysis.matrices import Row
from benchmarks.models import Run
from benchmarks.presentation.labels import OUTCOME, sentence_case
from benchmarks.presentation.numbers import n_of, number, plural
from benchmarks.summary import Failure

MOST_KINDS, MOST_ROWS = 8, 6
MOST_LISTED = 60


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of failure with the number of its results in each column, and the width of its bar in percent of the
    largest of all. ``example`` is a run and one of its results, of the column that has most."""

    outcome: str
    reason: str
    label: str
    counts: Sequence[tuple[int, int]]
    example: tuple[int, int] | None


@dataclass(frozen=True, slots=True)
class Parting:
    names: Sequence[str]
    kinds: Sequence[Kind]


@dataclass(frozen=True, slots=True)
class Failures:
    """What failed on one dataset. ``columns`` are a run, its name, how many of its results failed and how many it has.
    ``kinds`` come with each run, the number of its results and the width of their bar; ``left_out`` counts the others.
    """

    dataset: str
    title: str
    columns: Sequence[tuple[Run, str, int, int]]
    kinds: Sequence[tuple[Kind, Sequence[tuple[Run, int, int]]]]
    left_out: int

    @property
    def sentence(self) -> str:
        """How many results failed, and how most of them did; empty if none failed."""
        if not self.kinds:
            return ""
        n_failed, total = (sum(counts) for counts in zip(*(column[2:] for column in self.columns), strict=True))
        kind, of_runs = self.kinds[0]
        return (
            f"{n_of(n_failed, total)} results of {plural(len(self.columns), 'run')} are not correct. "
            f"Most frequent: {kind.label}, {number(sum(n for _, n, _ in of_runs))}."
        )


def parting(rows: Sequence[Row]) -> Parting:
    """The kinds in which the first rows differ most; none with fewer than two rows."""
    shown = rows[:MOST_ROWS]
    kinds = [kind for kind in _kinds([row.runs for row in shown]) if len({n for n, _ in kind.counts}) > 1]
    kinds.sort(key=lambda kind: min(kind.counts)[0] - max(kind.counts)[0])
    return Parting([row.name for row in shown], kinds[:MOST_KINDS])


def failures(dataset: str, title: str, columns: Sequence[tuple[Run, str]]) -> Failures:
    """What failed in runs on one dataset, the most frequent kind first."""
    kinds = sorted(_kinds([[run] for run, _ in columns]), key=lambda kind: -sum(n for n, _ in kind.counts))
    counted = [
        (run, name, sum(failure.n for failure in run.numbers.failures), sum(run.numbers.outcomes.values()))
        for run, name in columns
    ]
    listed = [
        (kind, [(run, n, width) for (run, _), (n, width) in zip(columns, kind.counts, strict=True)])
        for kind in kinds[:MOST_LISTED]
    ]
    return Failures(dataset, title, counted, listed, len(kinds) - len(listed))


def _kinds(columns: Sequence[Sequence[Run]]) -> list[Kind]:
    """Every kind of failure of the runs, by outcome and reason, counted in each column."""
    counts: dict[tuple[str, str], list[int]] = {}
    examples: dict[tuple[str, str], tuple[int, int, int]] = {}
    for place, runs in enumerate(columns):
        for run in runs:
            for failure in run.numbers.failures:
                key = (failure.outcome, failure.reason)
                counts.setdefault(key, [0] * len(columns))[place] += failure.n
                examples[key] = max(examples.get(key, (0, 0, 0)), _example(failure, run.pk))
    largest = max((max(of_columns) for of_columns in counts.values()), default=1)
    return [_kind(key, counts[key], examples[key], largest) for key in sorted(counts)]


def _example(failure: Failure, run: int) -> tuple[int, int, int]:
    return (failure.n, run, failure.examples[0]) if failure.examples else (0, 0, 0)


def _kind(key: tuple[str, str], counts: Sequence[int], example: tuple[int, int, int], largest: int) -> Kind:
    outcome, reason = key
    label = sentence_case(reason) if reason else OUTCOME[outcome]
    bars = [(n, 100 * n // largest) for n in counts]
    return Kind(outcome, reason, label, bars, example[1:] if example[0] else None)
