"""Kinds of failures across models: how often each has them, and where the models part."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.analysis.matrices import Row
from benchmarks.models import Run
from benchmarks.presentation.labels import OUTCOME, sentence_case
from benchmarks.presentation.numbers import n_of, number, plural
from benchmarks.presentation.ranks import tied_names
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


def failures_said(tables: Sequence[Failures]) -> list[str]:
    """Who fails least and most often over all datasets, and how; baselines do not compete. Empty without failures."""
    failed, of, kinds = Counter[str](), Counter[str](), dict[tuple[str, str], Counter[str]]()
    for table in tables:
        names = {run.pk: name for run, name, _, _ in table.columns}
        for run, name, n_failed, total in table.columns:
            failed[name] += n_failed
            of[name] += 0 if run.is_baseline else total
        for kind, of_runs in table.kinds:
            counts = kinds.setdefault((kind.outcome, kind.label), Counter())
            counts.update({names[run.pk]: n for run, n, _ in of_runs})
    if not kinds:
        return []
    whole = f"{n_of(failed.total(), sum(column[3] for table in tables for column in table.columns))} results"
    said = [f"{whole} are not correct."]
    shares: dict[float, list[str]] = {}
    for name in (name for name in of if of[name]):
        shares.setdefault(failed[name] / of[name], []).append(name)
    if len(shares) > 1:
        best, worst = shares[min(shares)], shares[max(shares)]
        least, most = (n_of(failed[names[0]], of[names[0]]) for names in (best, worst))
        fails = "fails" if len(best) == 1 else "fail"
        who, others = (tied_names(names, len(of)) for names in (best, worst))
        said.insert(0, f"{who} {fails} least often, {least} results; {others} most often, {most}.")
    (_, label), counts = max(kinds.items(), key=lambda each: each[1].total())
    most_of = [name for name, n in counts.items() if n == max(counts.values())]
    with_whom = f", {number(max(counts.values()))} of them with {most_of[0]}" if len(most_of) == 1 < len(of) else ""
    return [*said, f"Most frequent: {label}, {number(counts.total())}{with_whom}."]


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
