"""Results of the other modules in words. A complete sentence ends with a period; ``threshold_sentence`` is a phrase.

Scores are written in percent and differences in percentage points, with one decimal.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from benchmarks.presentation.numbers import number, p_words, plural, points
from benchmarks.statistics.contamination import Contamination
from benchmarks.statistics.paired import Comparison
from benchmarks.statistics.ranking import Ranking


def comparison_sentences(
    comparison: Comparison,
    a: str = "A",
    b: str = "B",
    *,
    p_adjusted: float | None = None,
    family_size: int = 1,
    newer_first: bool = False,
) -> list[str]:
    """Which run is better and by how much, or that the difference is not significant; then what that rests on.

    ``p_adjusted``, the p-value within a family of ``family_size`` comparisons, decides if it is given. With
    ``newer_first``, ``b`` is the subject although it may be worse: a schedule reports on its latest run.
    """
    if comparison.difference is None or comparison.low is None or comparison.high is None or comparison.p_value is None:
        return [f"{a} and {b} cannot be compared: {comparison.note}."]
    p_text = p_words(comparison.p_value)
    if p_adjusted is not None and family_size > 1:
        p_text += f", Holm-adjusted {p_words(p_adjusted)} for {number(family_size)} comparisons"
    if not comparison.is_clear or (p_adjusted is not None and p_adjusted > 1 - comparison.confidence):
        interval = f"{points(comparison.difference)} points, {points(comparison.low)} to {points(comparison.high)}"
        return _not_significant(comparison, f"between {a} and {b} ({b} minus {a}: {interval}; {p_text})")
    b_leads = comparison.difference > 0
    nearest, farthest = sorted((abs(comparison.low), abs(comparison.high)))
    size = f"{points(abs(comparison.difference))} points"
    evidence = f"({points(nearest)} to {points(farthest)}; {p_text})"
    shared = plural(comparison.n_shared, "shared task")
    if newer_first:
        direction, first, second = ("above", "better", "worse") if b_leads else ("below", "worse", "better")
        counts = {"better": comparison.n_better, "worse": comparison.n_worse}
        return [
            f"{b} is {size} {direction} {a} {evidence}.",
            f"{number(counts[first])} of {shared} got {first}, {number(counts[second])} got {second}.",
        ]
    winner, wins, loser, losses = b, comparison.n_better, a, comparison.n_worse
    if not b_leads:
        winner, wins, loser, losses = loser, losses, winner, wins
    equal = comparison.n_shared - comparison.n_changed
    return [
        f"{winner} is better than {loser} by {size} {evidence}.",
        f"{number(wins)} of {shared} favor {winner}, {number(losses)} favor {loser}, {number(equal)} are equal.",
    ]


def _not_significant(comparison: Comparison, difference: str) -> list[str]:
    sentences = [f"No significant difference {difference}."]
    if comparison.note:
        sentences.append(f"{comparison.note[0].upper()}{comparison.note[1:]}.")
    if not comparison.is_hopeless and comparison.detectable_difference is not None:
        sentences.append(
            f"With {plural(comparison.n_shared, 'shared task')}, differences of "
            f"{points(comparison.detectable_difference)} points or more are detectable with "
            f"{100 * comparison.power:g}% power."
        )
    return sentences


def missing_sentence(comparison: Comparison, a: str = "A", b: str = "B") -> str:
    """How tasks without a score could change the difference; empty if every common task has both scores."""
    if not comparison.n_missing or comparison.worst_case is None or comparison.best_case is None:
        return ""
    tasks = f"{plural(comparison.n_missing, 'more shared task')} {'has' if comparison.n_missing == 1 else 'have'}"
    scores = "its score" if comparison.n_missing == 1 else "their scores"
    return (
        f"{tasks} no score in {a} or {b}. Depending on {scores}, the difference ({b} minus {a}) is between "
        f"{points(comparison.worst_case)} and {points(comparison.best_case)} points."
    )


def contamination_sentence(check: Contamination) -> str:
    """The difference between the published and the fresh set with its interval, and its meaning."""
    if check.difference is None or check.low is None or check.high is None or check.p_value is None:
        return "Not comparable: no number of shapes or level has scores in both sets."
    lower = check.difference < 0
    low, high = (-check.high, -check.low) if lower else (check.low, check.high)
    evidence = (
        f"{points(abs(check.difference))} points {'lower' if lower else 'higher'} on the published set{{}} "
        f"({points(low)} to {points(high)}; {p_words(check.p_value)}; "
        f"{number(check.n_published)} and {plural(check.n_fresh, 'result')})."
    )
    if check.low > 0:
        scores = evidence.format(" than on the fresh set")
        return f"Possible contamination: the model scores {scores} It may have been trained on the published set."
    if check.high < 0:
        return f"No sign of contamination: the model scores {evidence.format(' than on the fresh set')}"
    return f"No significant difference between the published and the fresh set: {evidence.format('')}"


def threshold_sentence(threshold: float | None, low: float | None, high: float | None, note: str) -> str:
    """ "8.4 (7.9 to 9.0)", with an open bound "8.4 (at least 7.9)"; without a threshold the note, capitalized."""
    if low is not None and high is not None:
        bounds = f" ({low:.1f} to {high:.1f})"
    elif low is not None:
        bounds = f" (at least {low:.1f})"
    else:
        bounds = "" if high is None else f" (at most {high:.1f})"
    if threshold is None:
        return f"{note[:1].upper()}{note[1:]}{bounds}"
    return f"{threshold:.1f}{bounds}; {note}" if note else f"{threshold:.1f}{bounds}"


def ranking_sentences(ranking: Ranking, names: Sequence[str]) -> list[str]:
    """Who leads, who is next by how much ("" if nobody is behind), and what is not separated. Empty for one candidate.

    ``names`` are those of the candidates in the order of the ranking's rows.
    """
    if ranking.n < 2:
        return []
    first, *others = ranking.order
    tied = [other for other in others if not ranking.is_above(first, other)]
    behind = next((other for other in others if ranking.is_above(first, other)), None)
    sentences = [_lead(names[first], [names[other] for other in tied], is_all=behind is None), ""]
    if behind is not None:
        gap = ranking.difference(first, behind)
        whom = f" {names[first]}" if tied else ""
        interval = f"{points(gap.low)} to {points(gap.high)}"
        sentences[1] = f"{names[behind]} is {points(gap.mean)} points behind{whom} ({interval})."
        rest = ranking.order[ranking.order.index(behind) :]
        close = [(a, b) for a, b in pairwise(rest) if not ranking.is_above(a, b)]
        if len(close) > 2:
            sentences.append(f"{number(len(close))} more differences between neighbors are not significant.")
        else:
            sentences += [f"The difference between {names[a]} and {names[b]} is not significant." for a, b in close]
    if tied and (detectable := ranking.difference(first, tied[0]).detectable) is not None:
        sentences.append(
            f"Differences of {points(detectable)} points or more between {names[first]} and {names[tied[0]]} are "
            "detectable with 80% power."
        )
    return sentences


def _lead(first: str, tied: Sequence[str], *, is_all: bool) -> str:
    """``tied`` are those that are not significantly behind the first; ``is_all``, if that is everybody."""
    if not tied:
        return f"{first} leads."
    if len(tied) == 1:
        verdict = "the difference between them is not significant."
        return (
            f"{first} scores highest before {tied[0]}; {verdict}"
            if is_all
            else f"{first} and {tied[0]} lead; {verdict}"
        )
    if is_all:
        return f"{first} scores highest; its differences from the {number(len(tied))} others are not significant."
    listed = f"{', '.join(tied[:-1])} and {tied[-1]}" if len(tied) < 5 else f"{number(len(tied))} others"
    return f"{first} leads; its differences from {listed} are not significant."
