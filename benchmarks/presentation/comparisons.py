"""What comparisons, rankings and checks for contamination show, in words.

A complete sentence ends with a period; ``threshold_sentence`` is a phrase. Scores are written in percent and
differences in percentage points, with one decimal.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from benchmarks.presentation.numbers import (
    interval,
    n_of,
    number,
    p_words,
    percent,
    plural,
    points,
    score,
    whole_points,
)
from benchmarks.presentation.ranks import Mark, against, effortless, is_below, listed, tied_names
from benchmarks.statistics.contamination import Contamination
from benchmarks.statistics.crossed import Shares
from benchmarks.statistics.margins import LEVEL, NIGHTS, Edges
from benchmarks.statistics.margins import Verdict as GateVerdict
from benchmarks.statistics.paired import Comparison
from benchmarks.statistics.psychometric import ThresholdStatus
from benchmarks.statistics.ranking import Verdict
from benchmarks.statistics.self_check import SelfCheck
from benchmarks.statistics.spread import are_equal
from benchmarks.summary import Threshold


def comparison_sentences(
    comparison: Comparison,
    a: str = "A",
    b: str = "B",
    *,
    p_adjusted: float | None = None,
    family_size: int = 1,
    n_open: int = 1,
    newer_first: bool = False,
) -> list[str]:
    """Which run is better and by how much, or that they tie or the difference is not significant; then what that rests
    on, with the p-value.

    ``p_adjusted``, the p-value within a family of ``family_size`` comparisons, decides if it is given; ``n_open`` of
    them are not significant. With ``newer_first``, ``b`` is the subject although it may be worse: a schedule reports on
    its latest run.
    """
    if comparison.difference is None or comparison.low is None or comparison.high is None or comparison.p_value is None:
        return [f"{a} and {b} cannot be compared: {comparison.note}."]
    p_text = p_words(comparison.p_value)
    if p_adjusted is not None and family_size > 1:
        p_text += f", Holm-adjusted {p_words(p_adjusted)} for {number(family_size)} comparisons"
    if not comparison.is_clear or (p_adjusted is not None and p_adjusted > 1 - comparison.confidence):
        return _not_significant(comparison, a, b, p_text, n_open)
    b_leads = comparison.difference > 0
    nearest, farthest = sorted((abs(comparison.low), abs(comparison.high)))
    size = f"{points(abs(comparison.difference))} points"
    bounds = f"({points(nearest)} to {points(farthest)})"
    shared = _shared_tasks(comparison)
    if newer_first:
        direction, first, second = ("above", "better", "worse") if b_leads else ("below", "worse", "better")
        counts = {"better": comparison.n_better, "worse": comparison.n_worse}
        return [
            f"{b} is {size} {direction} {a} {bounds}.",
            f"{number(counts[first])} of {shared} got {first}, {number(counts[second])} got {second} ({p_text}).",
        ]
    winner, wins, loser, losses = b, comparison.n_better, a, comparison.n_worse
    if not b_leads:
        winner, wins, loser, losses = loser, losses, winner, wins
    equal = comparison.n_shared - comparison.n_changed
    return [
        f"{winner} is better than {loser} by {size} {bounds}.",
        f"{number(wins)} of {shared} favor {winner}, {number(losses)} favor {loser}, {number(equal)} are equal "
        f"({p_text}).",
    ]


def _shared_tasks(comparison: Comparison) -> str:
    """``40 shared tasks``, or ``40 shared tasks in 8 clusters``."""
    shared, clusters = plural(comparison.n_shared, "shared task"), comparison.n_clusters
    return shared if clusters in (None, comparison.n_shared) else f"{shared} in {plural(clusters, 'cluster')}"


def _not_significant(comparison: Comparison, a: str, b: str, p_text: str, n_open: int) -> list[str]:
    difference = comparison.difference or 0.0
    bounds = f"{points(comparison.low or 0.0)} to {points(comparison.high or 0.0)}"
    if are_equal(difference, 0.0) and comparison.interval_a is not None:
        on = f"{n_of(comparison.n_shared, comparison.n_shared + comparison.n_missing)} shared tasks"
        lead = f"{a} and {b} tie at {score(comparison.interval_a.mean)} on {on} ({b} minus {a}: {bounds} points)."
    else:
        lead = f"No significant difference between {a} and {b} ({b} minus {a}: {points(difference)} points, {bounds})."
    sentences = [lead, f"The paired test gives {p_text}."]
    if comparison.is_undone_by_missing:
        gains = b if difference > 0 else a
        undone = f"but not with the missing scores counted against {gains}"
        sentences[1:] = [f"By the scored tasks alone it would be ({p_text}), {undone}."]
    if comparison.note:
        sentences.append(f"{comparison.note[0].upper()}{comparison.note[1:]}.")
    detectable = comparison.detectable(max(1, n_open))
    if detectable is not None:
        sentences.append(
            f"With {_shared_tasks(comparison)}, differences of {whole_points(detectable)} points or more are "
            f"detectable with {100 * comparison.power:g}% power."
        )
    elif not comparison.is_hopeless:
        sentences.append(
            f"{_shared_tasks(comparison)} are too few to show a difference in {number(n_open)} comparisons."
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


def same_sentence(
    edges: Edges, margin: float, a: str = "A", b: str = "B", *, is_clear: bool, family_size: int = 1
) -> str:
    """Whether the runs are the same within the margin, with the bounds that say so; empty if they share no scores.

    That they differ by more is one bound, which can hold where their two-sided test shows nothing: ``is_clear``.
    """
    if edges.low is None or edges.high is None or edges.low_missing is None or edges.high_missing is None:
        return ""
    within = f"within {points(margin)} points"
    low, high = edges.low_missing, edges.high_missing
    if low > margin or high < -margin:
        if is_clear:
            return f"They differ by more than {points(margin)} points."
        return f"They are not shown to be the same {within} ({_tests(low, high, a, b, family_size)})."
    if edges.is_same(margin):
        return f"{a} and {b} are the same {within} ({_tests(low, high, a, b, family_size)})."
    tests = _tests(edges.low, edges.high, a, b, family_size)
    if edges.would_be_same(margin):
        return (
            f"By the scored tasks alone they would be the same {within} ({tests}), but the missing scores prevent it."
        )
    return f"It is open whether they are the same {within} ({tests})."


def _tests(low: float, high: float, a: str, b: str, family_size: int) -> str:
    level = f"{100 * LEVEL / max(family_size, 1):.2g}%"
    return f"two one-sided tests at {level}: {b} minus {a} between {points(low)} and {points(high)}"


_MOST_PAIRS = 6
"""Pairs that are the same and named."""


def same_rows_sentence(names: Sequence[str], edges: Sequence[Edges], margin: float) -> str:
    """Which pairs of ranked rows are the same within the margin; ``edges`` come in the order of ``combinations``."""
    pairs = list(combinations(names, 2))
    within = f"within {points(margin)} points"
    same = [f"{a} and {b}" for (a, b), found in zip(pairs, edges, strict=True) if found.is_same(margin)]
    tested = f"two one-sided tests of {plural(len(pairs), 'pair')}"
    if not same:
        return f"None are shown to be the same {within} ({tested})."
    more = [f"{len(same) - _MOST_PAIRS} more pairs"] if len(same) > _MOST_PAIRS else []
    return f"The same {within}: {'; '.join([*same[:_MOST_PAIRS], *more])} ({tested})."


def gate_sentence(edges: Edges, margin: float, a: str, b: str) -> str:
    """The verdict of a gate on run ``b`` against run ``a``, with its bounds and what would decide it."""
    if edges.difference is None or edges.low is None or edges.high is None:
        return f"Undecided: {a} and {b} share no task with scores in both."
    on = n_of(edges.n, edges.n + edges.n_missing)
    found = f"{b} minus {a}: {points(edges.difference)} points, one-sided bounds {points(edges.low)} and "
    found += f"{points(edges.high)}, on {on} shared tasks"
    verdict = edges.verdict(margin)
    if verdict is GateVerdict.PASS:
        return f"Not worse by {points(margin)} points ({found})."
    if verdict is GateVerdict.WORSE:
        return f"Worse by more than {points(margin)} points ({found})."
    if verdict is GateVerdict.MISSING:
        return f"Undecided: the missing scores prevent it ({found})."
    more = edges.more_tasks(margin)
    if more is None:
        return f"Undecided: the difference is at the margin, which no number of tasks can decide ({found})."
    return f"Undecided: {plural(more, 'more task')} needed, if the difference stays as it is ({found})."


def series_sentence(name: str, counted: int) -> str:
    """Which check of a series of gates the latest one is, and whether the bound on false alarms still holds."""
    bound = f"{100 * LEVEL:.0f}%"
    if not counted:
        return f"{name} has no checks yet. The first {NIGHTS} share {bound} of false alarms."
    if counted > NIGHTS:
        return (
            f"Check {number(counted)} of {name}: the {bound} of false alarms were for {NIGHTS} checks, and are used "
            "up. Reset the series to begin anew."
        )
    return f"Check {number(counted)} of {NIGHTS} that share {bound} of false alarms ({name})."


_VERDICT_WORDS = {
    GateVerdict.PASS: "passed",
    GateVerdict.WORSE: "worse",
    GateVerdict.UNDECIDED: "undecided",
    GateVerdict.MISSING: "without verdicts",
}


def self_check_sentences(check: SelfCheck, margin: float) -> list[str]:
    """How a run differs from itself, what a gate says of that, and what repeats would change."""
    counted = ", ".join(f"{_VERDICT_WORDS[verdict]} {number(count)}" for verdict, count in check.verdicts.items())
    lines = [
        f"Two repeats score {percent(check.flip_rate)} of {plural(check.n_tasks, 'task')} differently; "
        f"{number(check.flipping_tasks)} flip in {check.repeats} repeats.",
        f"A gate of {points(margin)} points on each repeat against each other one: {counted}.",
    ]
    lines += [
        f"{plural(each.repeats, 'repeat')}: an unchanged system passes with {percent(each.passes)}, is called worse "
        f"with {percent(each.called_worse)}; 90% interval ±{points(each.half_width)} points."
        for each in check.outlooks
    ]
    return lines


def contamination_sentence(check: Contamination) -> str:
    """The difference between the published and the fresh set with its interval, and its meaning."""
    if check.difference is None or check.low is None or check.high is None or check.p_value is None:
        return "Not comparable: no number of shapes or level has scores in both sets."
    lower = check.difference < 0
    low, high = (-check.high, -check.low) if lower else (check.low, check.high)
    evidence = (
        f"{points(abs(check.difference))} points {'lower' if lower else 'higher'} on the published set{{}} "
        f"({points(low)} to {points(high)}; {number(check.n_published)} and {plural(check.n_fresh, 'result')})."
    )
    test = f"The test gives {p_words(check.p_value)}."
    if check.is_undone_by_missing:
        return (
            f"By the scored results alone, the model scores {evidence.format(' than on the fresh set')} {test} "
            f"But the {plural(check.n_missing, 'missing score')} could explain that."
        )
    if check.is_higher:
        scores = evidence.format(" than on the fresh set")
        return (
            f"Possible contamination: the model scores {scores} It may have been trained on the published set. {test}"
        )
    if check.is_lower:
        return f"No sign of contamination: the model scores {evidence.format(' than on the fresh set')} {test}"
    return f"No significant difference between the published and the fresh set: {evidence.format('')} {test}"


def threshold_sentence(row: Threshold) -> str:
    """ "8.4 (7.9 to 9.0)", with an open bound "8.4 (at least 7.9)"; without a threshold the note, capitalized.

    Of a flat curve it names the levels that were tested together, because a single one of them may still be weak.
    """
    if row.status == ThresholdStatus.FLAT and row.levels:
        return f"None: no significant trend from {row.levels[0].difficulty:g} to {row.levels[-1].difficulty:g}"
    low, high, note = row.low, row.high, row.note
    if low is not None and high is not None:
        bounds = f" ({low:.1f} to {high:.1f})"
    elif low is not None:
        bounds = f" (at least {low:.1f})"
    else:
        bounds = "" if high is None else f" (at most {high:.1f})"
    if row.threshold is None:
        return f"{note[:1].upper()}{note[1:]}{bounds}"
    return f"{row.threshold:.1f}{bounds}; {note}" if note else f"{row.threshold:.1f}{bounds}"


def ranking_sentences(
    verdict: Verdict,
    names: Sequence[str],
    marks: Sequence[Mark] = (),
    *,
    bounds: tuple[float, float] | None = None,
    measured: str = "",
    noun: str = "models",
) -> list[str]:
    """Who leads, or that the first ones tie; who is next by how much ("" if nobody is behind); what is not separated.

    ``names`` are those of the candidates in the order of the ranking's rows, all of them together are ``noun``, and
    ``bounds`` is the interval of a single one. Candidates that score less than a baseline of ``marks`` are named with
    it. ``measured`` says in parentheses what the score is, where that needs to be known.
    """
    tied, close = ([names[own] for own in part] for part in (verdict.tied, verdict.close))
    best, bar, shown = verdict.means[verdict.tied[0]], effortless(marks), _gaps_shown(verdict)
    under = against(bar) if bar is not None and is_below(best, bar) else ""
    others = _not_behind(tied[0], close)
    if under or len(tied) > 1:
        verb = "scores" if len(tied) == 1 else "score" if len(tied) == len(names) > 2 else "tie at"
        lead = f"{tied_names(tied, len(names), noun)} {verb} {score(best)}{measured}"
        lead += f"; {under or shown}" if under or shown else ""
        others += [f"{shown}."] if under and shown else []
    elif len(names) == 1:
        lead = f"{tied[0]} scores {score(best)}{f' ({interval(*bounds)})' if bounds else ''}{measured}"
    else:
        lead = _lead(tied[0], close, measured, is_all=verdict.behind is None)
        others = [f"{shown}."] if shown else []
    behind = ""
    if verdict.behind is not None and verdict.gap is not None:
        whom = f" {tied[0]}" if len(tied) > 1 or close or under else ""
        gap = f"{points(verdict.gap.low)} to {points(verdict.gap.high)}"
        behind = f"{names[verdict.behind]} is {points(verdict.gap.mean)} points behind{whom} ({gap})."
    return [f"{lead}.", behind, *_unclear(verdict, names), *others, *([] if under else _below(verdict, names, bar))]


def none_right_sentence(whose: Sequence[str], unparsable: int, n: int) -> str:
    """That no answer is correct, before anything is concluded from it: of all, or of ``whose`` (``with step by step``).

    ``n`` answers are meant, of which so many are ``unparsable``; empty for none.
    """
    if not n:
        return ""
    names = f" {' or '.join(filter(None, [', '.join(whose[:-1]), *whose[-1:]]))}" if whose else ""
    if unparsable == n:
        return f"No answer{names} can be read: check the answer format."
    counted = f" ({number(unparsable)} of {number(n)} unparsable)" if unparsable else ""
    return f"No answer{names} is correct{counted}: check the prompt or the answer format."


_FEW_VARIANTS = 3
"""The fewest that means are over. Of three, intervals cover 91% if variants matter much; of more, 93% or more."""


def variance_sentence(n_variants: int, shares: Sequence[Shares | None]) -> str:
    """What the variants contribute to the scores of models; empty if no score varies."""
    known = [each.variants for each in shares if each is not None]
    over = f"Means are over {n_variants} variants, taken as a sample of others like them"
    small = " Three are a small sample: intervals are approximate." if n_variants == _FEW_VARIANTS else ""
    if not known:
        return f"{over}.{small}" if shares else ""
    low, high = min(known), max(known)
    between = percent(low) if percent(low) == percent(high) else f"{percent(low)} to {percent(high)}"
    return f"{over}: they make up {between} of the variance of scores.{small}"


def _lead(first: str, close: Sequence[str], measured: str, *, is_all: bool) -> str:
    """Of one leader; ``close`` are those that are not significantly behind it; ``is_all``, if that is everybody."""
    if not close:
        return f"{first} leads{measured}"
    if len(close) == 1:
        verdict = "the difference between them is not significant"
        leaders = f"{first} scores highest before {close[0]}" if is_all else f"{first} and {close[0]} lead"
        return f"{leaders}{measured}; {verdict}"
    verb = "scores highest" if is_all else "leads"
    whom = f"the {number(len(close))} others" if is_all else listed(close) if len(close) < 5 else f"{len(close)} others"
    return f"{first} {verb}{measured}; its differences from {whom} are not significant"


def _not_behind(first: str, close: Sequence[str]) -> list[str]:
    """What is said of those close to the first where the lead does not name them."""
    if len(close) < 2:
        return [f"The difference between {first} and {other} is not significant." for other in close]
    return [f"{number(len(close))} others are not significantly behind."]


def _unclear(verdict: Verdict, names: Sequence[str]) -> list[str]:
    """Which neighbors among those behind the first are not separated, unless both have nothing right."""
    unclear = [(a, b) for a, b in verdict.unclear if verdict.means[a] or verdict.means[b]]
    if len(unclear) > 2:
        return [f"{number(len(unclear))} more differences between neighbors are not significant."]
    return [f"The difference between {names[a]} and {names[b]} is not significant." for a, b in unclear]


def _gaps_shown(verdict: Verdict) -> str:
    """``23 tasks can show gaps of 25 points or more``, if the first one is not alone; empty over several datasets."""
    if verdict.nearest is None or not verdict.nearest.n_tasks:
        return ""
    tasks = plural(verdict.nearest.n_tasks, "task")
    if verdict.nearest.detectable is None:
        return f"{tasks} {'is' if verdict.nearest.n_tasks == 1 else 'are'} too few to show any gap"
    return f"{tasks} can show gaps of {whole_points(verdict.nearest.detectable)} points or more"


def _below(verdict: Verdict, names: Sequence[str], bar: Mark | None) -> list[str]:
    """Who scores less than a baseline that reads no question."""
    found = [(names[own], mean) for own, mean in enumerate(verdict.means) if bar is not None and is_below(mean, bar)]
    if bar is None or not found:
        return []
    if len(found) == 1:
        return [f"{found[0][0]} scores {score(found[0][1])}; {against(bar)}."]
    who = listed([f"{name} ({score(mean)})" for name, mean in sorted(found, key=lambda each: -each[1])])
    return [f"{who} score less than {bar.phrase} ({score(bar.mean)})."]
