"""The tables of a run's statistics beyond its means."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchmarks.models import Run
from benchmarks.presentation.cells import Group, Info, Mean
from benchmarks.presentation.comparisons import threshold_sentence
from benchmarks.presentation.labels import DIFFICULTY, OUTCOME, sentence_case, words
from benchmarks.presentation.numbers import plural, score
from benchmarks.presentation.sentences import bounds_with_missing, n_of_expected, n_of_mean
from benchmarks.presentation.tables import Column, Table
from benchmarks.summary import Adaptive, Chance, Corrected, CorrectedGroup, Expected, Reliability, Threshold


@dataclass(frozen=True, slots=True)
class Guessed:
    """A task class beside guessing, or the average of all, which has no ``group``."""

    title: str
    corrected: Corrected
    n_of: str
    group: CorrectedGroup | None = None


@dataclass(frozen=True, slots=True)
class Counted:
    """A mean or share with what it is of, and the n of N behind it; ``asked`` are canvases."""

    title: str
    numbers: Expected
    n_of: str
    asked: int = 0


def n_of(numbers: Expected) -> str:
    return n_of_expected(numbers.n, numbers.n_expected)


def mean(numbers: Expected) -> Mean:
    return Mean(numbers.mean, numbers.low, numbers.high)


def guessed_rows(run: Run, metric: str, chance: Chance) -> Iterator[Guessed]:
    for group in chance.groups:
        title = sentence_case(group.group) or "All tasks with choices"
        yield Guessed(title, group.corrected, n_of(group.raw), group)
    if len(chance.groups) > 1:
        yield Guessed("Average of task classes", chance.average, n_of(run.numbers_of(metric)))


def best_guess_note(chance: Chance) -> str:
    """What the table of ``Chance`` says above itself."""
    note = "0 is the score of the best guess, 1 is perfect. Means with 95% intervals."
    if not chance.left_out:
        return note
    names = ", ".join(map(words, chance.left_out))
    return f"{note} No score or no known guess rate: {names}. An average needs all task classes."


def above_best_guess(row: Guessed) -> Group:
    return Group([mean(row.corrected), *filter(None, [bounds_with_missing(row.corrected)])], between="; ")


ABOVE_BEST_GUESS = Table[Guessed](
    "Above best guess",
    [
        Column("Task class", lambda row: row.title, "name"),
        Column("Guess rate", lambda row: score(row.group.guess) if row.group else "", "number", info="guess_rate"),
        Column("Score", lambda row: mean(row.group.raw) if row.group else "", look="nowrap"),
        Column("Above best guess", above_best_guess, look="nowrap"),
        Column("n", lambda row: row.n_of, "number", "nowrap"),
    ],
    captioned=True,
    region=True,
    label="Above best guess",
)
THRESHOLDS = Table[Threshold](
    "Difficulty at which the score is halfway between guessing and perfect",
    [
        Column("Task class", lambda row: sentence_case(row.group) or "All task classes", "name"),
        Column("Difficulty measure", lambda row: DIFFICULTY[row.measure].capitalize()),
        Column(
            "50% threshold, 95% interval",
            threshold_sentence,
            info="threshold",
        ),
        Column("n", lambda row: n_of_expected(row.n, row.n_expected), "number", "nowrap"),
    ],
    captioned=True,
    region=True,
    label="50% thresholds",
)


def fault_rows(run: Run) -> Iterator[Counted]:
    """Answers that score 0 without being read; none of a run whose numbers lack them."""
    for outcome, rate in (run.numbers.fault_rates or {}).items():
        yield Counted(OUTCOME[outcome], rate, n_of(rate))


FAULT_RATES = Table[Counted](
    "Shares of all answers with 95% intervals.",
    [
        Column("Outcome", lambda row: row.title, "name"),
        Column("Share", lambda row: mean(row.numbers), look="nowrap"),
        Column("n", lambda row: row.n_of, "number", "nowrap"),
    ],
    captioned=True,
    region=True,
    label="Refused, cut off, unreadable",
)


def repeated_rows(metric: str, numbers: Reliability) -> Iterator[Counted]:
    passing = (
        ("At least 1 of {0} repeats correct (pass@{0})", numbers.pass_at),
        ("All {0} repeats correct (pass^{0})", numbers.pass_hat),
    )
    # Numbers that 0.1.0 stored have k = 1, which is the score.
    for title, by_k in passing:
        for k in sorted(by_k, key=int):
            if k != "1":
                yield Counted(title.format(k), by_k[k], n_of_mean(metric, by_k[k]))
    yield Counted("Tasks with differing repeats", numbers.flipped, n_of(numbers.flipped))
    yield Counted("Agreement between two repeats", numbers.agreement, n_of(numbers.agreement))


def repeats_note(numbers: Reliability) -> Group:
    """What the table of repeats says above itself."""
    note: list[str | Group] = ["Shares of tasks with 95% intervals."]
    if numbers.alpha is None:
        note.append("All repeats have the same score, so Krippendorff's α is undefined.")
    else:
        note += [Group(["Krippendorff's α", Info("alpha")], between=""), f"between repeats: {score(numbers.alpha)}."]
    if judge := numbers.judge:
        answers, spread = plural(judge.n_answers, "identical answer"), score(judge.deviation)
        note.append(
            f"The judge scored {answers} more than once: standard deviation {spread}, "
            f"largest difference {score(judge.widest)}."
        )
    return Group(note)


CONSISTENCY = Table[Counted](
    "Shares of tasks with 95% intervals.",
    [
        Column("Measure", lambda row: row.title, "name"),
        Column("Share", lambda row: mean(row.numbers), look="nowrap"),
        Column("Tasks", lambda row: row.n_of, "number", "nowrap"),
    ],
    captioned=True,
    region=True,
    label="Consistency across repeats",
)


def adaptive_rows(run: Run, adaptive: Adaptive) -> Sequence[Counted]:
    """Beside each mean is the n of N results behind it, because its own n counts canvases, and what it is at least."""
    first = run.metrics[0]
    rows = [
        Counted(
            str(each.n_shapes), each, n_of_mean(first, run.parts.at("n_shapes", str(each.n_shapes), first)), each.asked
        )
        for each in adaptive.strata
    ]
    average = "Average of all numbers of shapes"
    return [*rows, Counted(average, adaptive.overall, n_of_mean(first, run.numbers_of(first)), adaptive.canvases)]


ADAPTIVE = Table[Counted](
    "Scores by number of shapes",
    [
        Column("Shapes", lambda row: row.title, "name", "num"),
        Column("Canvases used", lambda row: row.asked, "number"),
        Column("Mean, 95% interval", lambda row: mean(row.numbers), look="nowrap", info="interval"),
        Column("n", lambda row: row.n_of, "number", "nowrap"),
    ],
    region=True,
)
