"""What a run's scores mean, and what runs say against each other, as tables of a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from benchmarks.management.printing import table
from benchmarks.models import Run
from benchmarks.presentation.numbers import p_words, percent, points
from benchmarks.queries.statistics import Compared
from benchmarks.statistics.sentences import threshold_sentence

NOTHING = "–"
COMPARED_HEAD = ("run", "against", "metric", "tasks", "difference", "95 % interval", "effect size", "p", "p adjusted")

Found = Mapping[str, Any]


def statistics_text(run: Run) -> str:
    """Everything the summary tells beyond the means; empty where there is none of it."""
    summary = run.summary
    parts = [
        *(_chance(metric, found) for metric, found in summary.get("chance", {}).items()),
        *_thresholds(summary.get("thresholds", ())),
        *(_reliability(metric, found) for metric, found in summary.get("reliability", {}).items()),
    ]
    if adaptive := summary.get("adaptive"):
        parts.append(_adaptive(adaptive))
    return "\n\n".join(parts)


def comparisons_text(found: Sequence[Compared]) -> str:
    """The sentences first, then the same in numbers."""
    sentences = [line for one in found for line in _sentences(one)]
    rows = [_compared(one) for one in found]
    return "\n".join([*sentences, "", table(COMPARED_HEAD, rows, right=(3, 4, 7, 8))])


def _chance(metric: str, found: Found) -> str:
    rows = [
        (
            one["group"] or "all",
            percent(one["guess"]),
            *_mean(one["raw"]),
            *_mean(one["corrected"]),
            str(one["raw"]["n"]),
        )
        for one in found["groups"]
    ]
    if len(rows) > 1:
        rows.append(("average", "", "", "", *_mean(found["average"]), str(found["average"]["n"])))
    head = (metric, "a guess", "raw", "95 % interval", "corrected", "95 % interval", "n")
    return table(head, rows, right=(1, 2, 4, 6))


def _thresholds(thresholds: Sequence[Found]) -> Iterator[str]:
    if thresholds:
        rows = [
            (
                one["measure"],
                one["group"] or "all",
                threshold_sentence(one["threshold"], one["low"], one["high"], one["note"]),
                str(one["n"]),
            )
            for one in thresholds
        ]
        yield table(("difficulty", "task class", "half way between guessing and perfect at", "n"), rows, right=(3,))


def _reliability(metric: str, found: Found) -> str:
    shares = [(f"pass@{k}", found["pass_at"][k]) for k in found["pass_at"]]
    shares += [(f"pass^{k}", found["pass_hat"][k]) for k in found["pass_hat"]]
    shares += [("tasks that flip", found["flipped"]), ("two tries agree", found["agreement"])]
    rows = [(words, *_mean(share), str(share["n"])) for words, share in shares]
    text = table((f"repeats, {metric}", "share", "95 % interval", "tasks"), rows, right=(1, 3))
    if judge := found.get("judge"):
        spread = NOTHING if judge["deviation"] is None else points(judge["deviation"])
        text += f"\nThe judge's scores of {judge['n_answers']} equal answers spread by {spread} points."
    return text


def _adaptive(found: Found) -> str:
    rows = [(str(one["n_shapes"]), str(one["asked"]), *_mean(one)) for one in found["strata"]]
    rows.append(("all alike", str(found["canvases"]), *_mean(found["overall"])))
    reached = "reached" if found["reached"] else "not reached"
    return (
        f"{found['canvases']} canvases of at most {found['max_canvases']}: {found['reason']}. "
        f"The target of {points(found['target_half_width'])} points to either side was {reached}.\n"
        + table(("shapes", "canvases", "mean", "confidence sequence"), rows, right=(0, 1, 2))
    )


def _sentences(one: Compared) -> Iterator[str]:
    yield f"{one.metric}: {one.sentence}"
    if one.missing_sentence:
        yield f"  {one.missing_sentence}"


def _compared(one: Compared) -> tuple[str, ...]:
    found = one.comparison
    effect = NOTHING if found.effect_size is None else f"{found.effect_size:.2f} ({found.effect_size_name})"
    return (
        one.name_b,
        one.name_a,
        one.metric,
        str(found.n_shared),
        *_mean({"mean": found.difference, "low": found.low, "high": found.high}, points),
        effect,
        *(NOTHING if p is None else p_words(p).removeprefix("p ").removeprefix("= ") for p in _p_values(one)),
    )


def _p_values(one: Compared) -> tuple[float | None, float | None]:
    return one.comparison.p_value, one.p_adjusted


def _mean(found: Found, written: Callable[[float], str] = percent) -> tuple[str, str]:
    """A mean and its bounds, each in one cell."""
    mean, low, high = (found[name] for name in ("mean", "low", "high"))
    return (
        NOTHING if mean is None else written(mean),
        NOTHING if low is None or high is None else f"{points(low)} to {points(high)}",
    )
