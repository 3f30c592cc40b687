"""Results of the other modules in words, as a page states them before any chart.

Scores are told in percent and differences in percentage points, with one decimal and a true minus sign.
"""

from __future__ import annotations

from benchmarks.statistics.contamination import Contamination
from benchmarks.statistics.intervals import Interval
from benchmarks.statistics.paired import Comparison


def percent(share: float) -> str:
    return f"{points(share)} %"


def points(difference: float) -> str:
    """A score or a difference in points: ``0.042`` is ``4.2``. What rounds to nothing has no sign."""
    text = f"{100 * difference:.1f}"
    return "0.0" if text == "-0.0" else text.replace("-", "−")


def p_words(p_value: float) -> str:
    if p_value < 0.001:
        return "p < 0.001"
    return f"p = {p_value:.3f}" if p_value < 0.1 else f"p = {p_value:.2f}"


def count(n: int, noun: str) -> str:
    """``1 task``, ``480 tasks``."""
    return f"{n} {noun}{'' if n == 1 else 's'}"


def interval_sentence(interval: Interval, noun: str = "result", cluster_noun: str = "canvas") -> str:
    """ "62.5 % (50.1 to 73.3) over 64 results on 12 canvases; only 12 independent groups of results"."""
    if interval.mean is None or interval.low is None or interval.high is None:
        return interval.note
    words = (
        f"{percent(interval.mean)} ({points(interval.low)} to {points(interval.high)}) over {count(interval.n, noun)}"
    )
    if interval.n_clusters is not None and interval.n_clusters < interval.n:
        plural = cluster_noun + ("es" if cluster_noun.endswith("s") else "s")
        words += f" on {interval.n_clusters} {cluster_noun if interval.n_clusters == 1 else plural}"
    return f"{words}; {interval.note}" if interval.note else words


def comparison_sentence(
    comparison: Comparison,
    a: str = "A",
    b: str = "B",
    *,
    p_adjusted: float | None = None,
    family_size: int = 1,
) -> str:
    """Which run is better and by how much, or that this cannot be told and what could have been.

    With ``p_adjusted``, the p-value within a family of ``family_size`` comparisons, that one decides.
    """
    if comparison.difference is None or comparison.low is None or comparison.high is None or comparison.p_value is None:
        return f"{a} and {b} cannot be compared: {comparison.note}"
    p_deciding = comparison.p_value if p_adjusted is None else p_adjusted
    if not comparison.is_clear or p_deciding > 1 - comparison.confidence:
        return _no_difference(comparison)
    p_text = p_words(comparison.p_value)
    if p_adjusted is not None and family_size > 1:
        p_text += f" ({p_words(p_adjusted)} among {family_size} comparisons)"
    b_leads = comparison.difference > 0
    nearest, farthest = sorted((abs(comparison.low), abs(comparison.high)))
    return (
        f"{b if b_leads else a} is better by {points(abs(comparison.difference))} points "
        f"({points(nearest)} to {points(farthest)}), {p_text}, on {count(comparison.n_shared, 'shared task')}; "
        f"{comparison.n_changed} changed, {comparison.n_better if b_leads else comparison.n_worse} for the better"
    )


def missing_sentence(comparison: Comparison, a: str = "A", b: str = "B") -> str:
    """What the tasks without a score could do to the difference; empty where every common task has both scores."""
    if not comparison.n_missing or comparison.worst_case is None or comparison.best_case is None:
        return ""
    return (
        f"{count(comparison.n_missing, 'more common task')} without a score in {a} or {b}: "
        f"counted in every possible way, {b} lies between {points(comparison.worst_case)} "
        f"and {points(comparison.best_case)} points from {a}"
    )


def contamination_sentence(found: Contamination) -> str:
    """The difference between the published and the fresh set with its interval, and what it means."""
    if found.difference is None or found.low is None or found.high is None or found.p_value is None:
        return found.verdict
    harder = found.difference < 0
    low, high = sorted((-found.high, -found.low)) if harder else (found.low, found.high)
    return (
        f"{found.verdict}: {points(abs(found.difference))} points {'worse' if harder else 'better'} "
        f"({points(low)} to {points(high)}) on the published set, {p_words(found.p_value)}, "
        f"{count(found.n_published, 'result')} against {found.n_fresh}"
    )


def threshold_sentence(threshold: float | None, low: float | None, high: float | None, note: str) -> str:
    """ "8.4 (7.9 to 9.0)", with an open bound "8.4 (from 7.9)"; without a threshold, what is known of it."""
    if low is not None and high is not None:
        bounds = f" ({low:.1f} to {high:.1f})"
    elif low is not None:
        bounds = f" (from {low:.1f})"
    else:
        bounds = "" if high is None else f" (up to {high:.1f})"
    if threshold is None:
        return f"{note}{bounds}"
    return f"{threshold:.1f}{bounds}; {note}" if note else f"{threshold:.1f}{bounds}"


def _no_difference(comparison: Comparison) -> str:
    words = "no difference can be told"
    if comparison.note.startswith("only"):
        words += f" ({comparison.note})"
    if comparison.detectable_difference is None:
        return words
    tasks = count(comparison.n_shared, "shared task")
    return f"{words}; {tasks} could have shown one of {points(comparison.detectable_difference)} points"
