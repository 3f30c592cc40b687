"""Several verdicts on one answer: of several judges, or of one judge that is asked again, as one score.

Every second repeat reads what has no order of its own, such as accepted answers, in reverse. If a judge's replies
cannot be read, another judge takes its seat, and the score says so. A seat that stays without a verdict makes the score
an error: a mean over whichever judges answered would compare with nothing.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from benchmarks.metrics.base import (
    FIRST_WRONG_STEP,
    Item,
    Judge,
    JudgedMetric,
    JudgeUsage,
    Score,
    ScoreStatus,
    scored,
    shortened,
)
from benchmarks.providers.base import known_sum

J = TypeVar("J", bound=Judge)

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
class Seat(Generic[J]):
    """One verdict to be asked for. ``repeat`` counts from 1 for each judge."""

    judge: J
    repeat: int
    substitutes: Sequence[J] = ()
    """Asked one after the other if the replies of ``judge`` cannot be read."""


@dataclass(frozen=True, slots=True)
class Heard:
    """What a judge said on a seat that is its own or, with ``instead_of``, another's."""

    score: Score
    judge: Judge
    repeat: int
    instead_of: str = ""

    @property
    def gives_value(self) -> bool:
        return self.score.status is ScoreStatus.SCORED and self.score.value is not None


async def judged_by_panel(metric: JudgedMetric, item: Item, seats: Sequence[Seat[J]], vote: str = MEAN) -> Score:
    """The score of one seat as it is, or what all of them come to, with each verdict in ``detail["verdicts_of"]``."""
    asked: list[Heard] = []
    given: list[Heard] = []
    rows = []
    for seat in seats:
        variant = metric.reordered(item) if seat.repeat % 2 == 0 else item
        verdicts = await _asked_for(metric, variant, seat)
        asked += verdicts
        last = verdicts[-1]
        if not last.gives_value:
            return replace(_failure(verdicts), usage=_together(asked))
        given.append(last)
        row = {"judge": last.judge.model, "repeat": seat.repeat, "reordered": variant != item}
        row |= {"value": last.score.value, "reason": shortened(last.score.reason, MAX_REASON)}
        rows.append(row | ({"instead_of": last.instead_of} if last.instead_of else {}))
    if len(seats) == 1:
        return replace(_named(given[0]), usage=_together(asked))
    score = _voted(metric, [verdict.score for verdict in given], vote)
    reason = " ".join(filter(None, [score.reason, *dict.fromkeys(map(_substitution, given))]))
    replaced = ", ".join(dict.fromkeys(verdict.instead_of for verdict in given if verdict.instead_of))
    detail = {**score.detail, "verdicts_of": rows} | ({"instead_of": replaced} if replaced else {})
    return replace(score, reason=reason, detail=detail, usage=_together(asked))


async def _asked_for(metric: JudgedMetric, item: Item, seat: Seat[J]) -> list[Heard]:
    """What the judge of a seat said, and each that was asked in its place; the last one counts."""
    verdicts = [Heard(await metric.judge(item, seat.judge), seat.judge, seat.repeat)]
    for judge in seat.substitutes if verdicts[0].score.detail.get("unreadable") else ():
        verdicts.append(Heard(await metric.judge(item, judge), judge, seat.repeat, seat.judge.model))
        if verdicts[-1].gives_value:
            break
    return verdicts


def _failure(verdicts: Sequence[Heard]) -> Score:
    """The first judge's error, with what those in its place came to."""
    first = verdicts[0].score
    return replace(first, reason=" ".join(verdict.score.reason for verdict in verdicts))


def _named(verdict: Heard) -> Score:
    """The score of one verdict; one in another's place says so."""
    score = verdict.score
    if not verdict.instead_of:
        return score
    detail = {**score.detail, "judge": verdict.judge.model, "instead_of": verdict.instead_of}
    return replace(score, reason=f"{score.reason} {_substitution(verdict)}".strip(), detail=detail)


def _substitution(verdict: Heard) -> str:
    if not verdict.instead_of:
        return ""
    return f"{verdict.judge.model} judged in place of {verdict.instead_of}, whose replies could not be read."


def _voted(metric: JudgedMetric, scores: Sequence[Score], vote: str) -> Score:
    values = [score.value for score in scores if score.value is not None]
    threshold = scores[0].detail.get("passes_at", metric.passes_at)
    n_passed = sum(value >= threshold for value in values)
    kept = {name: scores[0].detail[name] for name in ("passes_at", "rubric") if name in scores[0].detail}
    named, count = Counter(score.detail.get(FIRST_WRONG_STEP) for score in scores).most_common(1)[0]
    kept |= {FIRST_WRONG_STEP: named} if named is not None and 2 * count > len(scores) else {}
    if vote == MAJORITY:
        value = 0.5 if 2 * n_passed == len(values) else float(2 * n_passed > len(values))
        kept["passes_at"] = 1.0  # a tie is neither
        reason = f"{n_passed} of {len(values)} verdicts are correct."
    else:
        value = math.fsum(values) / len(values)
        reason = f"Mean of {len(values)} verdicts: {', '.join(f'{each:.2f}' for each in values)}."
    return scored(value, f"{reason} {_first_reason(scores, value)}".strip(), **kept)


def _first_reason(scores: Sequence[Score], value: float) -> str:
    """The reason of the verdict nearest to the score."""
    return min(scores, key=lambda score: abs((score.value or 0.0) - value)).reason


def _together(verdicts: Sequence[Heard]) -> JudgeUsage | None:
    """What all calls used; of a single verdict as its judge reports it."""
    if len(verdicts) == 1:
        return verdicts[0].score.usage
    used = [(verdict, verdict.score.usage) for verdict in verdicts if verdict.score.usage]
    return JudgeUsage(
        calls=sum(usage.calls for _, usage in used),
        tokens_in=known_sum(*(usage.tokens_in for _, usage in used)),
        tokens_out=known_sum(*(usage.tokens_out for _, usage in used)),
        raw_reply=_texts([(verdict, usage.raw_reply) for verdict, usage in used]),
        prompt=_texts([(verdict, usage.prompt) for verdict, usage in used]),
        cached_tokens=sum(usage.cached_tokens for _, usage in used),
        notes=tuple(dict.fromkeys(note for _, usage in used for note in usage.notes)),
        by_model=tuple(
            (verdict.judge.model, usage.tokens_in, usage.tokens_out, usage.cached_tokens) for verdict, usage in used
        ),
    )


def _texts(parts: Sequence[tuple[Heard, str]]) -> str:
    """The texts under their judges, each with its share of the characters that are kept."""
    most = MAX_TEXT // max(1, len(parts))
    return "\n\n".join(f"── {each.judge.model}, repeat {each.repeat} ──\n{text[:most]}" for each, text in parts)
