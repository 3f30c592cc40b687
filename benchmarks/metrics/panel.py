"""Several verdicts on one answer: of several judges, or of one judge that is asked again, as one score.

Every second repeat reads what has no order of its own, such as accepted answers, in reverse. One verdict that is
missing makes the score an error: a mean over whichever judges answered would compare with nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from benchmarks.metrics.base import Item, Judge, JudgedMetric, JudgeUsage, Score, ScoreStatus, scored, shortened
from benchmarks.providers.base import known_sum

MEAN, MAJORITY = "mean", "majority"
VOTES = (MEAN, MAJORITY)
MAX_REASON = 1_000
MAX_TEXT = 100_000
"""Characters of all prompts, and of all responses, that are stored with a score."""


MOST_JUDGES = 5
MOST_REPEATS = 5


def judges_named(text: str) -> list[str]:
    """The judges of a run, which stores their names separated by commas."""
    return [name for part in text.split(",") if (name := part.strip())]


@dataclass(frozen=True, slots=True)
class Seat:
    """One verdict to be asked for. ``repeat`` counts from 1 for each judge."""

    judge: Judge
    repeat: int


async def judged_by_panel(metric: JudgedMetric, item: Item, seats: Sequence[Seat], vote: str = MEAN) -> Score:
    """The score of one seat as it is, or what all of them come to, with each verdict in ``detail["verdicts_of"]``."""
    if len(seats) == 1:
        return await metric.judge(item, seats[0].judge)
    scores: list[Score] = []
    rows = []
    for seat in seats:
        variant = metric.reordered(item) if seat.repeat % 2 == 0 else item
        score = await metric.judge(variant, seat.judge)
        scores.append(score)
        usage = _together(seats, scores)
        if score.status is not ScoreStatus.SCORED or score.value is None:
            return replace(score, usage=usage)
        row = {"judge": seat.judge.model, "repeat": seat.repeat, "reordered": variant != item, "value": score.value}
        rows.append(row | {"reason": shortened(score.reason, MAX_REASON)})
    values = [score.value for score in scores if score.value is not None]
    threshold = scores[0].detail.get("passes_at", metric.passes_at)
    n_passed = sum(value >= threshold for value in values)
    kept = {name: scores[0].detail[name] for name in ("passes_at", "rubric") if name in scores[0].detail}
    if vote == MAJORITY:
        value = 0.5 if 2 * n_passed == len(values) else float(2 * n_passed > len(values))
        kept["passes_at"] = 1.0  # a tie is neither
        reason = f"{n_passed} of {len(values)} verdicts are correct."
    else:
        value = math.fsum(values) / len(values)
        reason = f"Mean of {len(values)} verdicts: {', '.join(f'{each:.2f}' for each in values)}."
    score = scored(value, f"{reason} {_first_reason(scores, value)}".strip(), **kept, verdicts_of=rows)
    return replace(score, usage=usage)


def _first_reason(scores: Sequence[Score], value: float) -> str:
    """The reason of the verdict nearest to the score."""
    return min(scores, key=lambda score: abs((score.value or 0.0) - value)).reason


def _together(seats: Sequence[Seat], scores: Sequence[Score]) -> JudgeUsage:
    used = [(seat, score.usage) for seat, score in zip(seats, scores, strict=False) if score.usage]
    return JudgeUsage(
        calls=sum(usage.calls for _, usage in used),
        tokens_in=known_sum(*(usage.tokens_in for _, usage in used)),
        tokens_out=known_sum(*(usage.tokens_out for _, usage in used)),
        raw_reply=_texts([(seat, usage.raw_reply) for seat, usage in used]),
        prompt=_texts([(seat, usage.prompt) for seat, usage in used]),
        cached_tokens=sum(usage.cached_tokens for _, usage in used),
        notes=tuple(dict.fromkeys(note for _, usage in used for note in usage.notes)),
        by_model=tuple(
            (seat.judge.model, usage.tokens_in, usage.tokens_out, usage.cached_tokens) for seat, usage in used
        ),
    )


def _texts(parts: Sequence[tuple[Seat, str]]) -> str:
    """The texts under their judges, each with its share of the characters that are kept."""
    most = MAX_TEXT // max(1, len(parts))
    return "\n\n".join(f"── {seat.judge.model}, repeat {seat.repeat} ──\n{text[:most]}" for seat, text in parts)
