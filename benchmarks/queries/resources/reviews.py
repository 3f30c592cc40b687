"""Reviews, and the labels of an answer, as other programs read them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar, Self

from benchmarks.models import Flag, Label, ReviewQueue
from benchmarks.queries.resources.base import Reader, Resource
from benchmarks.queries.reviews import AnswerLabels, ShownLabel, review_counts


@dataclass(frozen=True, kw_only=True)
class ReviewResource(Resource):
    described_by: ClassVar = ReviewQueue

    id: int
    name: str
    description: str
    metric: str
    drawn_from: dict[str, object]
    """Runs or experiment, filters, and the number of answers drawn from. Runs of an open blind review are left out"""
    sampling: Any
    """Method, size, seed, and groups of a stratified draw"""
    blind: bool
    overlap: int
    created_at: datetime
    closed_at: datetime | None

    @classmethod
    def of(cls, row: ReviewQueue, reader: Reader, **given: Any) -> Self:
        hidden = ("runs", "experiment") if row.blind and row.closed_at is None else ()
        drawn_from = {name: value for name, value in row.source.items() if name not in hidden}
        return super().of(row, reader, drawn_from=drawn_from, **given)


@dataclass(frozen=True, kw_only=True)
class Counts(Resource):
    answers: int
    labels: int
    wanted: int
    """Labels of a finished review"""
    twice: int
    """Answers that two people have labeled"""
    flagged: int
    disagreeing: int
    """Answers with different values"""
    wrong: int
    """Answers with the lowest value"""


@dataclass(frozen=True, kw_only=True)
class ReviewDetail(ReviewResource):
    progress: Counts

    @classmethod
    def of(cls, row: ReviewQueue, reader: Reader, **given: Any) -> Self:
        return super().of(row, reader, progress=Counts.of(review_counts(row), reader), **given)


@dataclass(frozen=True, kw_only=True)
class EarlierLabel(Resource):
    value: float | None
    reason: str
    first_wrong_step: int | None
    """0 if none is wrong, null if it was not said"""
    flags: list[Flag]
    created_at: datetime
    replaced_at: datetime | None


@dataclass(frozen=True, kw_only=True)
class LabelResource(Resource):
    """A current label. Its author is a number for those who may not see who labeled."""

    described_by: ClassVar = Label

    id: int
    metric: str
    value: float | None
    reason: str
    first_wrong_step: int | None
    flags: list[Flag]
    author: str
    mine: bool
    """Whether the caller gave it"""
    review: int | None
    """The queue it was given in"""
    created_at: datetime
    earlier: list[EarlierLabel]
    """What the same person said before, newest first"""

    @classmethod
    def of(cls, row: ShownLabel, reader: Reader, **given: Any) -> Self:
        earlier = [EarlierLabel.of(each, reader) for each in row.earlier]
        return super().of(
            row.label, reader, author=row.author, mine=row.mine, review=row.label.queue_id, earlier=earlier, **given
        )


@dataclass(frozen=True, kw_only=True)
class ResultLabels(Resource):
    labels: list[LabelResource]
    hidden: int
    """Labels of an open blind review that you see after labeling the answer"""

    @classmethod
    def of(cls, row: AnswerLabels, reader: Reader, **given: Any) -> Self:
        return super().of(
            row, reader, labels=[LabelResource.of(each, reader) for each in row.shown], hidden=row.n_hidden
        )
