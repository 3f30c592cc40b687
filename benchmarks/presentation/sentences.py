"""Counts and costs in words, as pages, commands and reports state them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from benchmarks.presentation.labels import OUTCOME, sentence_case
from benchmarks.presentation.numbers import UNKNOWN, money, number, plural

_NOUNS = {"n_judge_error": "judge error", "n_metric_error": "metric error"}
_ADJECTIVES = {"n_not_applicable": "not applicable", "n_unparsable": "unparsable"}
_UNREADABLE = {"n_truncated": "cut off", "n_refused": "refused"}


def unscored(metric: Mapping[str, object], *, live: bool) -> list[str]:
    """Why results have no score of a metric, from its summary: ``["2 judge errors", "3 not answered"]``."""
    counts = {key: count for key, count in metric.items() if isinstance(count, int) and count}
    words = [f"{number(counts[key])} {word}" for key, word in _ADJECTIVES.items() if key in counts]
    words += [plural(counts[key], noun) for key, noun in _NOUNS.items() if key in counts]
    if "n_doubtful" in counts:
        words.append(f"{number(counts['n_doubtful'])} with a doubtful reference")
    if "n_missing" in counts:
        words.append(f"{number(counts['n_missing'])} not answered{' yet' if live else ''}")
    return words


def sample(metric: Mapping[str, object], *, live: bool) -> str:
    """``n = 96 (including 2 cut off); not scored: 1 judge error, 3 not answered``."""
    counts = {key: count for key, count in metric.items() if isinstance(count, int) and count}
    unreadable = [f"{number(counts[key])} {word}" for key, word in _UNREADABLE.items() if key in counts]
    words = f"n = {number(counts.get('n', 0))}"
    if unreadable:
        words += f" (including {', '.join(unreadable)})"
    missing = unscored(metric, live=live)
    return f"{words}; not scored: {', '.join(missing)}" if missing else words


def outcome_counts(outcomes: Mapping[str, int]) -> str:
    """``21 correct, 2 wrong, 1 provider error``, the most frequent first."""
    ordered = sorted(outcomes.items(), key=lambda pair: -pair[1])
    return counted((OUTCOME.get(name, sentence_case(name)).lower(), count) for name, count in ordered) or "none yet"


def counted(counts: Iterable[tuple[str, int]]) -> str:
    return ", ".join(f"{number(count)} {word}" for word, count in counts)


def total_cost(model: float | None, judge: float | None) -> str:
    """Of model and judge together; of an unknown sum the known part: ``$0.25 + judge unknown``."""
    if model is not None and judge is not None:
        return money(model + judge)
    if model is not None:
        return f"{money(model)} + judge {UNKNOWN}"
    return f"{money(judge)} + model {UNKNOWN}" if judge else UNKNOWN


def unknown_cost(model: str, cost: float | None, n_tokens: int | None) -> str:
    """Why the cost of a model or judge is unknown; empty if it is known."""
    if cost is not None:
        return ""
    if n_tokens is None:
        return "the endpoint does not report tokens for every response"
    return f"no price is configured for {model}"


def tokens(tokens_in: int | None, tokens_out: int | None) -> str:
    """``1,234 tokens in, 56 out``; unknown where the endpoint does not report them for every response."""
    if tokens_in is None or tokens_out is None:
        return f"tokens {UNKNOWN}"
    return f"{number(tokens_in)} tokens in, {number(tokens_out)} out"
